"""What one job taught is in the next one's brief: looked back on once, held against what happened, accepted by a person."""

import json
import sqlite3
from typing import Any

from minion.protocol import Brief, SessionKind
from overlord.domain.decision import Verb
from overlord.domain.event import EventName
from overlord.domain.interface import Interface
from overlord.domain.job import JobState
from overlord.domain.knowledge.note import NoteState
from overlord.domain.person import Person
from overlord.embedded.play import call, edit, say, submit
from overlord.embedded.reviewer import RETROSPECTIVE
from overlord.store import ledger, sessions
from overlord.store.knowledge import notes, retrospectives
from overlord.store.rows import adapter
from overlord.verbs.knowledge import accept_note
from overlord.verbs.verb import Context
from tests.memory.world import made_memory_world
from tests.world import REPO, World

ASK = call("ask_question", question="Which rounding do sums have?", options=["half even", "half up"])
WRONG = edit("calc.py", "return a - b", "return b - a")
RIGHT = edit("calc.py", "return b - a", "return a + b")
ROUNDING = "Sums are rounded half even: the books have to agree with the bank's."
TESTS = "Expected values of sums are worked out by hand before the test is written."
UNFOUNDED = "The calculator is written in Python."


def note(kind: str, text: str, *evidence: str, question: str = "") -> dict[str, Any]:
    return {"kind": kind, "text": text, "question": question, "evidence": list(evidence)}


async def test_two_of_three_notes_are_drafted_and_once_accepted_the_next_job_has_them() -> None:
    async with made_memory_world(portfolio={"retrospectives": True}) as world:
        await world.issue("add() subtracts")
        world.model_will(ASK, WRONG, submit())
        world.model_will(RIGHT, submit())
        await world.make_due()
        await world.until(world.decisions)
        [question] = await world.decisions()
        await world.answer(question, Verb.REPLY, "half even, as the bank does")
        await world.settle()
        job = await world.job()
        assert (job.state, job.revision) == (JobState.IN_REVIEW, 1)
        answer = [
            note("decision", ROUNDING, "f1", question="Which rounding do sums have?"),
            note("convention", TESTS, "f2"),
            note("pattern", UNFOUNDED),
        ]
        world.model_will(say(json.dumps({"notes": answer})), when=RETROSPECTIVE)
        await world.forge.merge(REPO, job.pull_number or 0)
        await world.settle()
        await world.until(lambda: written(world))
        [told] = await written(world)
        assert (told["notes"], told["dropped"]) == (2, {"cites nothing": 1})
        drafts = await world.read(notes.of_state, NoteState.DRAFT)
        assert [draft.text for draft in drafts] == [ROUNDING, TESTS]
        assert drafts[0].source.evidence == f"retrospective: decision {question.id}"
        assert drafts[1].source.evidence.startswith("retrospective: finding of evaluation ")
        await accept(world, "n1", "n2")
        await world.issue("double() is slow, and its sums are rounded")
        world.model_will(edit("calc.py", "return a * 2", "return a + a"), submit())
        await world.settle()
        assert {known.text for known in (await brief(world, 2)).portfolio.notes} == {ROUNDING, TESTS}
        assert len(await written(world)) == 1
        assert (await world.read(retrospectives.get, 1)).tries == 1


async def written(world: World) -> list[dict[str, Any]]:
    """What the ledger says of retrospectives."""
    rows = await world.read(lambda c: list(ledger.entries(c)))
    return [dict(row.details) for row in rows if row.name == EventName.RETROSPECTIVE_WRITTEN]


async def brief(world: World, job: int) -> Any:
    """Of the job's newest work session."""
    session = await world.read(sessions.last_of, job, SessionKind.WORK)
    return adapter(Brief).validate_json(session.brief)


async def accept(world: World, *refs: str) -> None:
    """A person has these notes count."""

    def act(connection: sqlite3.Connection) -> None:
        context = Context(
            connection=connection,
            current_settings=world.settings,
            at=world.clock.now(),
            contract=world.overlord.parts.contract,
            interface=Interface.TERMINAL,
            actor="cli:alice",
            by=Person.of("cli:alice"),
        )
        for ref in refs:
            accept_note(context, ref, "")

    await world.overlord.parts.database.write("by hand", act)
