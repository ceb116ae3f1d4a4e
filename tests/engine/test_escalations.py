"""Drafts are answered from what is known or put to a person once; an answer reaches the session, the knowledge, and the job that waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from minion.protocol import Outcome, PortfolioBrief, Report, ResolvedText
from overlord.domain.decision import Audience, Decision, DecisionState, Subject, Verb
from overlord.domain.event import EventName
from overlord.domain.interface import Interface
from overlord.domain.job import Job, JobState
from overlord.domain.knowledge.note import Note, NoteKind, NoteSource, NoteState
from overlord.domain.portfolio.escalated import DO_WITHOUT
from overlord.domain.portfolio.escalation import (
    TIERS,
    Escalation,
    EscalationKind,
    EscalationState,
    EscalationType,
    Tier,
)
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.task import TaskState
from overlord.domain.session import Account, Session
from overlord.engine.portfolio import escalations
from overlord.engine.runtime.parts import Parts
from overlord.engine.sessions import collect
from overlord.errors import ModelUnavailable
from overlord.ports.model import Assistant
from overlord.store import decisions, jobs, ledger, sessions
from overlord.store.conversation import steering
from overlord.store.knowledge import notes
from overlord.store.portfolio import cycles, initiatives, tasks
from overlord.store.portfolio import escalations as rows
from overlord.verbs import commands
from tests.engine.stage import Stage, made_stage
from tests.portfolio import a_task, an_initiative
from tests.records import NOW, an_escalation
from tests.world import REPO

NO_ANSWER = '{"answered": false, "note": "", "quote": ""}'
STUCK = Report(outcome=Outcome.BLOCKED, summary="I wait for e1.", turns=2)


@dataclass
class Said(Assistant):
    """An assistant that says one thing, and counts how often it is asked."""

    reply: str | Exception
    asked: list[str] = field(default_factory=list)

    async def answer(self, account: Account, messages: Sequence[Mapping[str, str]]) -> str:
        self.asked.append(f"{account.id} {messages[-1]['content']}")
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


async def planned(stage: Stage) -> None:
    """An active initiative i1 with the task i1.1, for which issue 1 was opened."""

    def make(connection: Any) -> None:
        made = initiatives.add(connection, an_initiative())
        assert made is not None
        initiatives.change(connection, made.id, at=NOW, state=InitiativeState.ACTIVE)
        task = tasks.add(connection, a_task(initiative_id=made.id))
        tasks.change(connection, task.id, at=NOW, issue_number=1)

    await stage.write(make)


async def drafted(stage: Stage, **given: Any) -> Escalation:
    """A draft of a session of task i1.1, which blocks that."""
    values = {"initiative_id": 1, "task_id": 1, "session_id": "j1-work-1", "job_id": 1, **given}
    made: Escalation = await stage.write(rows.draft, an_escalation(id=0, **values))
    return made


async def at_work(stage: Stage) -> Session:
    session = await stage.running()
    await planned(stage)
    return session


async def raised(stage: Stage, **given: Any) -> Decision:
    await drafted(stage, **given)
    assert await escalations.step(stage.parts)
    return await stage.asked()


async def answer(stage: Stage, verb: Verb, text: str = "") -> Escalation:
    decision = await stage.asked()
    at = stage.parts.clock.now()
    await stage.write(
        commands.answer_decision,
        decision.id,
        verb,
        actor="slack:U1",
        interface=Interface.CHAT,
        text=text,
        at=at,
    )
    assert await stage.read(escalations.is_due)
    assert await escalations.step(stage.parts)
    assert not await stage.read(escalations.is_due)
    found: Escalation = await stage.read(rows.of_decision, decision.id)
    return found


async def told(stage: Stage) -> list[str]:
    return [message.text for message in await stage.read(steering.of_job, 1)]


async def learned(stage: Stage) -> list[Note]:
    found: list[Note] = await stage.read(notes.counting_in, REPO)
    return found


async def know(stage: Stage, text: str, **given: Any) -> None:
    values: dict[str, Any] = {
        "id": 0,
        "space": REPO,
        "kind": NoteKind.CONVENTION,
        "text": text,
        "question": "",
        "state": NoteState.ACTIVE,
        "source": NoteSource(),
        "actor": "overlord",
        "created_at": NOW,
        "updated_at": NOW,
    }
    await stage.write(notes.add, Note(**{**values, **given}))


def assisted(stage: Stage, reply: str | Exception) -> tuple[Parts, Said]:
    said = Said(reply)
    return replace(stage.parts, assistant=said), said


# Review.


async def test_what_nothing_answers_is_put_to_a_person_once(stage: Stage) -> None:
    await at_work(stage)
    decision = await raised(stage)
    assert (decision.subject, decision.about, decision.audience) == (Subject.ESCALATED, "e1", Audience.WRITER)
    assert decision.blocks == 'task #1 "Implement token blacklist"'
    assert decision.title.startswith("acme/calc / refresh-tokens: Redis or")
    pending = await stage.read(rows.get, 1)
    assert (pending.state, pending.decision_id) == (EscalationState.PENDING, decision.id)
    assert pending.path == ("j1-work-1", "overlord")
    assert not await stage.read(escalations.is_due)
    assert not await escalations.step(stage.parts)


@pytest.mark.parametrize("kind", [kind for kind in EscalationKind if TIERS[kind] is not Tier.SESSION])
async def test_credentials_and_direction_are_an_approvers_where_there_are_any(kind: EscalationKind) -> None:
    async with made_stage(slack={"approvers": ["U123"]}) as stage:
        await at_work(stage)
        decision = await raised(stage, kind=kind)
        is_approvers = kind in (EscalationKind.CREDENTIALS, EscalationKind.DIRECTION)
        assert (decision.audience is Audience.APPROVER) is is_approvers


async def test_without_approvers_whoever_may_write_decides(stage: Stage) -> None:
    await at_work(stage)
    assert (await raised(stage, kind=EscalationKind.CREDENTIALS)).audience is Audience.WRITER


async def test_a_note_of_the_same_question_answers_without_asking_a_model(stage: Stage) -> None:
    await at_work(stage)
    await know(stage, "Redis.", question="Redis or Memcached for token blacklisting?")
    parts, said = assisted(stage, NO_ANSWER)
    await drafted(stage, kind=EscalationKind.DEPENDENCY)
    assert await escalations.step(parts)
    resolved = await stage.read(rows.get, 1)
    assert (resolved.resolution, resolved.cites, resolved.resolved_by) == ("Redis.", "n1", "overlord")
    assert said.asked == []
    assert "The answer (by overlord, from n1): Redis." in (await told(stage))[0]


async def test_a_model_finds_the_note_that_answers_and_its_quote_is_held_against_it(stage: Stage) -> None:
    await at_work(stage)
    await know(stage, "Short-lived state like token lists is kept in Redis.")
    reply = '{"answered": true, "note": "n1", "quote": "is kept in Redis"}'
    parts, said = assisted(stage, reply)
    await drafted(stage, kind=EscalationKind.DEPENDENCY)
    await escalations.step(parts)
    resolved = await stage.read(rows.get, 1)
    assert (resolved.state, resolved.cites) == (EscalationState.RESOLVED, "n1")
    assert resolved.resolution == "Short-lived state like token lists is kept in Redis."
    assert len(said.asked) == 1
    assert said.asked[0].startswith("escalation-1 ")


async def test_a_model_is_told_of_no_note_that_may_not_answer(stage: Stage) -> None:
    session = await at_work(stage)
    own = NoteSource(job_id=session.job_id, session_id=session.id)
    await know(stage, "Short-lived state like token lists is kept in Redis.", contradicted_by="session:x: no")
    await know(stage, "Token lists may be kept in Redis, I say.", source=own, actor=f"session:{session.id}")
    parts, said = assisted(stage, '{"answered": true, "note": "n1", "quote": "is kept in Redis"}')
    await drafted(stage, kind=EscalationKind.DEPENDENCY, job_id=session.job_id)
    await escalations.step(parts)
    assert said.asked == []
    assert (await stage.read(rows.get, 1)).state is EscalationState.PENDING


@pytest.mark.parametrize(
    "reply",
    [
        NO_ANSWER,
        '{"answered": true, "note": "n1", "quote": "is kept in Memcached"}',
        "I think Redis.",
        ModelUnavailable("away"),
    ],
    ids=["none answers", "another quote", "no form", "no model"],
)
async def test_a_model_that_proves_nothing_leaves_it_to_a_person_and_is_asked_once(
    stage: Stage, reply: str | Exception
) -> None:
    await at_work(stage)
    await know(stage, "Short-lived state like token lists is kept in Redis.")
    parts, said = assisted(stage, reply)
    for _ in range(2):
        await drafted(stage, kind=EscalationKind.DEPENDENCY)
        await escalations.step(parts)
    assert [item.state for item in await stage.read(rows.every)] == [EscalationState.PENDING] * 2
    assert len(said.asked) == 1


@pytest.mark.parametrize(
    "given",
    [{"kind": EscalationKind.TRADE_OFF}, {"type": EscalationType.APPROVAL, "kind": EscalationKind.SCOPE}],
)
async def test_no_model_is_asked_about_what_is_a_persons(stage: Stage, given: dict[str, Any]) -> None:
    await at_work(stage)
    await know(stage, "Short-lived state like token lists is kept in Redis.")
    parts, said = assisted(stage, NO_ANSWER)
    await drafted(stage, **given)
    await escalations.step(parts)
    assert said.asked == []
    assert (await stage.read(rows.get, 1)).state is EscalationState.PENDING


# Answers.


async def test_an_answer_reaches_the_running_session_and_is_noted_with_where_it_comes_from(
    stage: Stage,
) -> None:
    session = await at_work(stage)
    await raised(stage)
    resolved = await answer(stage, Verb.REPLY, "Redis")
    assert (resolved.state, resolved.resolved_by) == (EscalationState.RESOLVED, "slack:U1")
    assert resolved.is_delivered
    [message] = await stage.read(steering.unread, 1)
    assert (message.session_id, message.actor) == (session.id, "slack:U1")
    assert "Redis (persistent, shared across instances)" in message.text
    [note] = await learned(stage)
    assert (note.kind, note.state, note.actor) == (NoteKind.DECISION, NoteState.ACTIVE, "slack:U1")
    assert (note.question, note.source.escalation_id) == (resolved.question, 1)
    assert (await stage.read(cycles.asked)).trigger == "fact"
    assert EventName.ESCALATION_CLEARED in await stage.events()


async def test_an_answer_is_carried_out_once(stage: Stage) -> None:
    await at_work(stage)
    await raised(stage)
    await answer(stage, Verb.REPLY, "Redis")
    assert not await escalations.step(stage.parts)
    assert (len(await told(stage)), len(await learned(stage))) == (1, 1)


async def test_do_without_tells_the_session_and_teaches_nothing(stage: Stage) -> None:
    await at_work(stage)
    await raised(stage)
    resolved = await answer(stage, Verb.DROP)
    assert resolved.resolution == DO_WITHOUT
    assert DO_WITHOUT in (await told(stage))[0]
    assert await learned(stage) == []
    assert (await stage.job()).state is JobState.RUNNING, "the job goes on"


async def test_an_approval_with_words_tells_them_and_teaches_nothing(stage: Stage) -> None:
    await at_work(stage)
    await raised(stage, type=EscalationType.APPROVAL)
    resolved = await answer(stage, Verb.REJECT, "use the old table")
    assert resolved.resolution == "Rejected: use the old table"
    assert await learned(stage) == []


async def test_what_an_answer_holds_of_secrets_goes_nowhere(stage: Stage) -> None:
    await at_work(stage)
    await raised(stage)
    token = "ghp_" + "a" * 36
    resolved = await answer(stage, Verb.REPLY, f"use {token}")
    assert token not in resolved.resolution
    assert token not in (await told(stage))[0]
    assert not await learned(stage), "what a secret was taken out of teaches nothing"


async def test_a_job_that_is_over_is_told_nothing_and_the_next_brief_is(stage: Stage) -> None:
    await at_work(stage)
    await raised(stage)
    await stage.move(await stage.job(), EventName.LIFETIME_EXCEEDED)
    resolved = await answer(stage, Verb.REPLY, "Memcached")
    assert not resolved.is_delivered
    assert await told(stage) == []
    found = await stage.read(lambda c: escalations.resolved_for(c, 1, 1))
    assert found == (
        ResolvedText(ref="e1", question=resolved.question, resolution="Memcached", by="slack:U1"),
    )
    job = await stage.claimed()
    brief = PortfolioBrief(briefing="", initiative="i1", resolved=found)
    session = await stage.session(job, is_started=False, portfolio=brief)
    await stage.write(rows.note_briefed, session)
    assert (await stage.read(rows.get, 1)).is_delivered


async def test_a_brief_tells_what_is_of_its_own_task_last(stage: Stage) -> None:
    await at_work(stage)
    for number, task in enumerate((1, None, None)):
        made = await drafted(stage, task_id=task, question=f"Which of {number}?")
        await stage.write(rows.resolve, made.id, "x", by="overlord", cites="r1", at=NOW)
    found = await stage.read(lambda c: escalations.resolved_for(c, 1, 1))
    assert [item.ref for item in found] == ["e2", "e3", "e1"]
    assert found[0].by == "overlord from r1"


# A job that waits.


async def stuck(stage: Stage) -> Job:
    """The session escalates, says it is blocked by that, and is over."""
    session = await at_work(stage)
    await raised(stage)
    await stage.ends(session, STUCK)
    return await stage.step(collect.step)


async def test_a_session_that_only_escalated_frees_its_place_and_nobody_is_asked_twice(stage: Stage) -> None:
    job = await stuck(stage)
    assert job.state is JobState.WAITING
    assert job.reason.startswith("waits for e1: Redis or Memcached")
    assert (await stage.asked()).about == "e1", "the one question there is"
    assert await stage.read(sessions.started_running) == 0


async def test_its_job_goes_on_by_itself_once_it_is_resolved_with_the_answer_in_its_brief(
    stage: Stage,
) -> None:
    await stuck(stage)
    await answer(stage, Verb.REPLY, "Redis")
    job = await stage.job()
    assert (job.state, job.reason) == (JobState.QUEUED, "")
    [message] = await stage.read(lambda c: steering.for_brief(c, 1))
    assert "Redis (persistent" in message.text


async def test_it_waits_until_the_last_of_them_is_resolved(stage: Stage) -> None:
    session = await at_work(stage)
    await drafted(stage, question="And which table?")
    await raised_second(stage)
    await stage.ends(session, STUCK)
    job = await stage.step(collect.step)
    assert job.reason.startswith("waits for e1, e2")
    first, second = await stage.read(decisions.waiting)
    for decision, state in ((first, JobState.WAITING), (second, JobState.QUEUED)):
        at = stage.parts.clock.now()
        await stage.write(
            commands.answer_decision,
            decision.id,
            Verb.DROP,
            actor="cli:alice",
            interface=Interface.TERMINAL,
            at=at,
        )
        await escalations.step(stage.parts)
        assert (await stage.job()).state is state


async def raised_second(stage: Stage) -> None:
    await drafted(stage)
    assert await escalations.step(stage.parts)


async def test_an_answer_that_came_as_the_session_ended_lets_its_job_go_on_at_once(stage: Stage) -> None:
    session = await at_work(stage)
    await raised(stage)
    await answer(stage, Verb.REPLY, "Redis")
    await stage.ends(session, STUCK)
    job = await stage.step(collect.step)
    assert job.state is JobState.QUEUED
    assert await stage.read(decisions.waiting) == []


async def test_a_session_that_read_its_answer_and_is_blocked_by_something_else_asks_a_person(
    stage: Stage,
) -> None:
    session = await at_work(stage)
    await raised(stage)
    await answer(stage, Verb.REPLY, "Redis")
    [message] = await stage.read(steering.unread, 1)

    def read(connection: Any) -> None:
        steering.mark_read(connection, session, {message.id}, turn=2, at=NOW)

    await stage.write(read)
    await stage.ends(session, STUCK)
    job = await stage.step(collect.step)
    assert job.state is JobState.WAITING
    assert (await stage.asked()).subject is Subject.BLOCKED


async def test_a_job_that_waits_for_another_answer_too_is_told_and_not_resumed(stage: Stage) -> None:
    session = await at_work(stage)
    await stage.ends(session, STUCK)
    await stage.step(collect.step)
    await drafted(stage)
    await escalations.step(stage.parts)
    of_job, _ = sorted(await stage.read(decisions.waiting), key=lambda item: item.about)
    assert of_job.subject is Subject.BLOCKED
    [asked] = [item for item in await stage.read(decisions.waiting) if item.about]
    await stage.write(
        commands.answer_decision,
        asked.id,
        Verb.REPLY,
        actor="cli:alice",
        interface=Interface.TERMINAL,
        text="Redis",
        at=stage.parts.clock.now(),
    )
    await escalations.step(stage.parts)
    assert (await stage.job()).state is JobState.WAITING
    assert len(await told(stage)) == 1


# What nobody needs any more.


async def end_task(stage: Stage) -> None:
    await stage.write(lambda c: tasks.change(c, 1, at=NOW, state=TaskState.CANCELLED))


async def end_initiative(stage: Stage) -> None:
    await stage.write(lambda c: initiatives.change(c, 1, at=NOW, state=InitiativeState.CANCELLED))


async def stop_job(stage: Stage) -> None:
    await stage.write(commands.stop_job, 1, actor="cli:alice", at=NOW)


@pytest.mark.parametrize("end", [end_task, end_initiative, stop_job])
async def test_a_question_about_what_has_ended_is_taken_back(stage: Stage, end: Any) -> None:
    await at_work(stage)
    decision = await raised(stage)
    await end(stage)
    assert await stage.read(escalations.is_due)
    await escalations.step(stage.parts)
    assert (await stage.read(rows.get, 1)).state is EscalationState.WITHDRAWN
    assert (await stage.read(decisions.get, decision.id)).state is DecisionState.SUPERSEDED
    assert not await stage.read(escalations.is_due)


async def test_an_answer_to_what_was_taken_back_meanwhile_does_nothing(stage: Stage) -> None:
    await at_work(stage)
    decision = await raised(stage)
    at = stage.parts.clock.now()
    await stage.write(
        commands.answer_decision,
        decision.id,
        Verb.REPLY,
        actor="cli:alice",
        interface=Interface.TERMINAL,
        text="Redis",
        at=at,
    )
    await stage.write(lambda c: rows.withdraw(c, 1, reason="gone", at=NOW))
    await escalations.step(stage.parts)
    assert (await stage.read(rows.get, 1)).resolution == ""
    assert await told(stage) == []
    assert (await stage.read(decisions.get, decision.id)).applied


async def test_an_answer_about_the_portfolio_is_none_about_its_repository(stage: Stage) -> None:
    await at_work(stage)
    await raised(stage)
    await answer(stage, Verb.DROP)
    assert (await stage.job()).is_open, "a repository that is dropped ends its jobs"
    names = [entry.name for entry in await stage.read(lambda c: list(ledger.entries(c)))]
    assert EventName.DROPPED not in names
    assert len(await stage.read(jobs.open_jobs)) == 1
