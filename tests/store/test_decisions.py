"""A decision is answered once, to exactly what was shown, by whoever comes first; and carried out once."""

import asyncio
import json
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from overlord.domain.decision import Decision, DecisionKind, DecisionState, Subject, Verb
from overlord.errors import NotFound, Refused
from overlord.store import decisions, ledger
from overlord.store.database import Database, write_from_command
from tests.records import HEAD, NOW, a_decision, later
from tests.stored import ask, claim, prepare

QUESTION: dict[str, Any] = {
    "kind": DecisionKind.QUESTION,
    "subject": Subject.QUESTION,
    "verbs": (Verb.REPLY,),
    "options": ("left [1]", "right"),
    "expires_at": later(600),
}


def answer(
    connection: sqlite3.Connection,
    decision: Decision,
    verb: Verb = Verb.RETRY,
    *,
    digest: str | None = None,
    text: str = "",
    actor: str = "cli:alice",
    at: datetime = NOW,
) -> Decision:
    return decisions.answer(
        connection, decision.id, digest=digest or decision.digest, verb=verb, text=text, actor=actor, at=at
    )


def told(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return [
        (entry.name, entry.actor) for entry in ledger.entries(connection) if entry.name.startswith("decision")
    ]


async def test_a_decision_is_read_back_as_it_was_asked(database: Database) -> None:
    raised = await database.write(
        "by hand", lambda c: ask(c, patterns=("src/**",), head_sha=HEAD, **QUESTION)
    )
    assert await database.read(lambda c: decisions.get(c, raised.id)) == raised
    assert await database.read(decisions.waiting) == [raised]
    *_, entry = await database.read(lambda c: list(ledger.entries(c)))
    assert entry.name == "decision_raised"
    assert json.loads(entry.data)["digest"] == raised.digest


async def test_an_answer_is_kept_with_who_gave_it(database: Database) -> None:
    asked = await database.write("by hand", ask)
    answered = await database.write("by hand", lambda c: answer(c, asked, Verb.DROP, at=later(5)))
    assert (answered.state, answered.verb, answered.answer) == (DecisionState.ANSWERED, Verb.DROP, "Drop it")
    assert (answered.answered_by, answered.answered_at, answered.applied) == ("cli:alice", later(5), False)
    assert await database.read(lambda c: decisions.get(c, asked.id)) == answered
    assert await database.read(told) == [("decision_raised", "overlord"), ("decision_answered", "cli:alice")]
    *_, entry = await database.read(lambda c: list(ledger.entries(c)))
    assert json.loads(entry.data) == {
        "decision": asked.id,
        "verb": "drop",
        "answer": "Drop it",
        "digest": asked.digest,
    }


async def test_the_second_answer_is_refused_with_the_first(database: Database) -> None:
    asked = await database.write("by hand", ask)
    await database.write("by hand", lambda c: answer(c, asked, actor="slack:U1"))
    with pytest.raises(Refused, match="decision 1 was answered before, by slack:U1: Try again"):
        await database.write("by hand", lambda c: answer(c, asked, Verb.DROP))
    assert len(await database.read(told)) == 2


async def test_of_fifty_answers_at_once_exactly_one_wins(database: Database, path: Path) -> None:
    asked = await database.write("by hand", ask)

    def beside(number: int) -> Decision:
        verb = asked.verbs[number % len(asked.verbs)]
        return write_from_command(path, "by hand", lambda c: answer(c, asked, verb, actor=f"cli:{number}"))

    inside = (
        database.write("by hand", lambda c, n=n: answer(c, asked, Verb.DROP, actor=f"slack:{n}"))  # type: ignore[misc]
        for n in range(40)
    )
    outside = (asyncio.to_thread(beside, number) for number in range(10))
    outcomes = await asyncio.gather(*inside, *outside, return_exceptions=True)
    won = [item for item in outcomes if isinstance(item, Decision)]
    assert len(won) == 1
    assert {type(item) for item in outcomes} == {Decision, Refused}
    assert await database.read(lambda c: decisions.get(c, asked.id)) == won[0]
    assert await database.read(told) == [
        ("decision_raised", "overlord"),
        ("decision_answered", won[0].answered_by),
    ]


async def test_an_answer_to_what_was_not_shown_is_refused(database: Database) -> None:
    asked = await database.write("by hand", ask)
    await database.write("by hand", lambda c: c.execute("UPDATE decisions SET body = 'something else'"))
    with pytest.raises(Refused, match="decision 1 has changed since it was shown; look at it again"):
        await database.write("by hand", lambda c: answer(c, asked))
    assert await database.read(told) == [("decision_raised", "overlord")]


async def test_only_what_was_offered_can_be_answered(database: Database) -> None:
    asked = await database.write("by hand", ask)
    with pytest.raises(Refused, match="decision 1 takes one of retry, take_over, drop; not grant"):
        await database.write("by hand", lambda c: answer(c, asked, Verb.GRANT))


async def test_what_is_open_takes_an_answer_whatever_the_time_is(database: Database) -> None:
    asked = await database.write("by hand", lambda c: ask(c, **QUESTION))
    at = later(366 * 86400)
    given = await database.write("by hand", lambda c: answer(c, asked, Verb.REPLY, text="left", at=at))
    assert given.answer == "left"


async def test_what_is_over_is_expired_once(database: Database) -> None:
    asked = await database.write("by hand", lambda c: ask(c, **QUESTION))
    forever = await database.write("by hand", lambda c: ask(c, claim(c, 8)))
    assert await database.read(decisions.timed) == [asked]
    await database.write("by hand", lambda c: decisions.expire(c, [asked], at=later(600)))
    await database.write("by hand", lambda c: decisions.expire(c, [asked], at=later(601)))
    assert await database.read(decisions.timed) == []
    assert await database.read(decisions.waiting) == [forever]
    assert [name for name, _ in await database.read(told)].count("decision_expired") == 1
    with pytest.raises(Refused, match="decision 1 is expired and takes no answer any more"):
        await database.write("by hand", lambda c: answer(c, asked, Verb.REPLY, text="left", at=later(601)))


async def test_what_nobody_needs_to_answer_any_more_is_closed(database: Database) -> None:
    job = await database.write("by hand", claim)
    session = await database.write("by hand", lambda c: prepare(c, job))
    asked = await database.write("by hand", lambda c: ask(c, job, session_id=session.id, **QUESTION))
    blocker = await database.write("by hand", lambda c: ask(c, job))
    other = await database.write("by hand", lambda c: ask(c, claim(c, 8)))
    superseded = DecisionState.SUPERSEDED
    await database.write(
        "by hand", lambda c: decisions.close_waiting(c, job.id, superseded, at=NOW, session_id=session.id)
    )
    assert await database.read(lambda c: decisions.waiting(c, job.id)) == [blocker]
    await database.write("by hand", lambda c: decisions.close_waiting(c, job.id, superseded, at=NOW))
    assert await database.read(decisions.waiting) == [other]
    with pytest.raises(Refused, match="is superseded and takes no answer any more"):
        await database.write("by hand", lambda c: answer(c, asked, Verb.REPLY))
    assert [name for name, _ in await database.read(told)].count("decision_superseded") == 2


async def test_an_answer_is_carried_out_once(database: Database) -> None:
    job = await database.write("by hand", claim)
    asked = await database.write("by hand", lambda c: ask(c, job))
    assert await database.read(lambda c: decisions.unapplied(c, job.id)) == []
    answered = await database.write("by hand", lambda c: answer(c, asked))
    assert await database.read(lambda c: decisions.unapplied(c, job.id)) == [answered]
    await database.write("by hand", lambda c: decisions.mark_applied(c, answered))
    assert await database.read(lambda c: decisions.unapplied(c, job.id)) == []
    assert len(await database.read(lambda c: decisions.answered(c, job.id))) == 1


async def test_a_question_is_one_row_however_often_it_is_sent(database: Database) -> None:
    session = await database.write("by hand", prepare)

    def put(connection: sqlite3.Connection) -> Decision:
        asked = a_decision(id=0, job_id=session.job_id, session_id=session.id, **QUESTION)
        return decisions.raise_decision(connection, asked, question_id="q1")

    raised = await database.write("by hand", put)
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        await database.write("by hand", put)
    assert await database.read(lambda c: decisions.of_question(c, session.id, "q1")) == raised
    assert await database.read(lambda c: decisions.of_question(c, session.id, "q2")) is None
    assert await database.read(lambda c: decisions.asked_by(c, session.id)) == 1


async def test_the_next_brief_has_what_people_answered(database: Database) -> None:
    job = await database.write("by hand", claim)
    asked = await database.write(
        "by hand", lambda c: ask(c, job, title="acme/calc#7: left or right?", **QUESTION)
    )
    await database.write("by hand", lambda c: answer(c, asked, Verb.REPLY, text="left"))
    [brief] = await database.read(lambda c: decisions.answers_for_brief(c, job.id))
    assert (brief.question, brief.answer) == ("acme/calc#7: left or right?", "left")


async def test_an_unknown_decision_is_named(database: Database) -> None:
    with pytest.raises(NotFound, match=r"there is no decision 9$"):
        await database.read(lambda c: decisions.get(c, 9))
