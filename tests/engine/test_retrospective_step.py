"""A job that is over is looked back on once: with a model, whose answer is held against the facts, or without one."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from minion.protocol import Outcome, Report
from overlord.domain.decision import Verb
from overlord.domain.evaluation import CheckName, CheckScore
from overlord.domain.event import EventName
from overlord.domain.job import Job
from overlord.domain.knowledge.note import Note, NoteState
from overlord.embedded.model import Refusal
from overlord.embedded.play import say
from overlord.embedded.reviewer import RETROSPECTIVE
from overlord.engine.knowledge import retrospective
from overlord.engine.knowledge.retrospective import REST_S
from overlord.engine.runtime.progress import Progress
from overlord.store import decisions, jobs, ledger, sessions
from overlord.store.budgets import costs
from overlord.store.checks import evaluations
from overlord.store.knowledge import notes, retrospectives
from tests.engine.stage import EXITED, FIXED, Stage, made_stage
from tests.records import a_check, a_decision, a_finding

LEARNED = ("The report's tests need the year 2025.", "Amounts are counted in cents.")
UTC = "Dates are stored in UTC: local times broke the report in summer."
SKIP = "Sessions may skip the slow tests."


def a_note(text: str, *evidence: str) -> dict[str, Any]:
    return {"kind": "convention", "text": text, "question": "", "evidence": list(evidence)}


@asynccontextmanager
async def looking_back(**settings: Any) -> AsyncIterator[Stage]:
    portfolio = {"retrospectives": True, **settings.pop("portfolio", {})}
    async with made_stage(portfolio=portfolio, **settings) as stage:
        yield stage


@pytest.fixture
async def retro() -> AsyncIterator[Stage]:
    async with looking_back() as stage:
        yield stage


async def worked(stage: Stage, *learnings: str) -> Job:
    """EVALUATING: a session did its work, said what it learned, and is over."""
    job = await stage.claimed()
    session = await stage.session(job)
    report = Report(outcome=Outcome.COMPLETE, summary="done", learnings=learnings)
    await stage.ends(session, report)
    await stage.write(sessions.end, session, at=stage.parts.clock.now(), ending=str(EXITED.kind))
    return await stage.submitted(FIXED, job)


async def merged(stage: Stage, job: Job, event: EventName = EventName.MERGED) -> Job:
    at = stage.parts.clock.now()
    data = {"pull": 7, "head": job.head_sha}
    found: Job = await stage.write(lambda c: _move(c, job, event, at, data))
    return found


def _move(connection: Any, job: Job, event: EventName, at: Any, data: Mapping[str, Any]) -> Job:
    return jobs.move(connection, job.id, event, at=at, data=data)


async def missed(stage: Stage, job: Job) -> None:
    """An evaluation held something against the work."""
    finding = a_finding(message="it fails in summer", file="tests/test_report.py")
    row = await stage.evaluated(
        a_check(CheckName.TESTS, CheckScore.NEEDS_REVISION, findings=(finding,)), job=job
    )
    await stage.write(evaluations.close, row)


async def told(stage: Stage, job: Job, answer: str) -> None:
    """A person answered a question of the job's."""
    asked = await stage.write(
        decisions.raise_decision,
        a_decision(id=0, job_id=job.id, title="Which time zone?", verbs=(Verb.REPLY, Verb.DROP)),
    )
    await stage.write(
        lambda c: decisions.answer(
            c,
            asked.id,
            digest=asked.digest,
            verb=Verb.REPLY if answer else Verb.DROP,
            text=answer,
            actor="cli:alice",
            at=stage.parts.clock.now(),
        )
    )


async def a_merged_job(stage: Stage) -> Job:
    """One that has an answer (f1), a finding (f2) and two learnings (f3, f4)."""
    job = await worked(stage, *LEARNED)
    await missed(stage, job)
    await told(stage, job, "UTC, always.")
    return await merged(stage, job)


def learns(stage: Stage, reply: object) -> None:
    text = reply if isinstance(reply, str) else json.dumps({"notes": reply})
    stage.world.model_will(say(text), when=RETROSPECTIVE)


async def drafted(stage: Stage, number: int = 1) -> list[Note]:
    found: list[Note] = await stage.read(notes.of_job, number)
    return found


async def is_due(stage: Stage) -> bool:
    found: bool = await stage.read(lambda c: retrospective.is_due(c, stage.parts))
    return found


async def written(stage: Stage) -> Mapping[str, Any]:
    """What the ledger says of the one retrospective there was."""
    [entry] = [
        entry
        for entry in await stage.read(lambda c: list(ledger.entries(c)))
        if entry.name == EventName.RETROSPECTIVE_WRITTEN
    ]
    return dict(entry.details)


async def test_what_a_model_learns_becomes_drafts_and_is_asked_once(retro: Stage) -> None:
    job = await a_merged_job(retro)
    learns(
        retro, [a_note(UTC, "f1", "f2"), a_note("Amounts are cents, never floats.", "f4"), a_note("Be nice.")]
    )
    assert await is_due(retro)
    assert await retrospective.step(retro.parts) is Progress.MOVED
    first, second = await drafted(retro)
    assert (first.text, first.state, first.space, first.actor) == (
        UTC,
        NoteState.DRAFT,
        job.space,
        "overlord",
    )
    assert first.source.job_id == job.id
    assert first.source.evidence == "retrospective: decision 1, finding of evaluation 1"
    assert second.source.evidence == "retrospective: report of j1-work-1"
    assert await written(retro) == {
        "notes": 2,
        "refs": ["n1", "n2"],
        "dropped": {"cites nothing": 1},
        "source": "model",
    }
    asked = len(retro.world.model.requests)
    assert (await is_due(retro), await retrospective.step(retro.parts)) == (False, Progress.IDLE)
    assert len(retro.world.model.requests) == asked == 1


async def test_the_model_is_shown_the_facts_as_data(retro: Stage) -> None:
    await a_merged_job(retro)
    await retrospective.step(retro.parts)
    system, user = retro.world.model.messages()
    assert system["content"].startswith(RETROSPECTIVE)
    assert "f1 (decision 1): asked: Which time zone?\nanswered: UTC, always." in user["content"]
    assert (
        "f2 (finding of evaluation 1): [tests/test-failed] tests/test_report.py it fails in summer"
        in (user["content"])
    )
    assert f"f3 (report of j1-work-1): {LEARNED[0]}" in user["content"]
    assert "UTC, always" not in system["content"]


async def test_it_is_on_the_repositorys_books_and_not_on_the_jobs(retro: Stage) -> None:
    job = await a_merged_job(retro)
    await retrospective.step(retro.parts)
    assert len(retro.world.model.requests) == 1
    assert (await retro.read(costs.of_job, job.id)).tokens == 0


async def test_a_job_with_nothing_to_learn_says_so_and_no_model_is_asked(retro: Stage) -> None:
    job = await worked(retro)
    await told(retro, job, "")
    await merged(retro, job)
    assert await retrospective.step(retro.parts) is Progress.MOVED
    assert (await written(retro))["notes"] == 0
    assert (await drafted(retro), retro.world.model.requests) == ([], [])
    assert not await is_due(retro)


async def test_a_model_may_find_nothing(retro: Stage) -> None:
    await a_merged_job(retro)
    learns(retro, [])
    await retrospective.step(retro.parts)
    assert await drafted(retro) == []
    assert ((await written(retro))["notes"], (await written(retro))["source"]) == (0, "model")
    assert not await is_due(retro)


@pytest.mark.parametrize("reply", ["I learned a lot.", '{"notes": "none"}', ""])
async def test_an_answer_out_of_form_leaves_what_sessions_said(retro: Stage, reply: str) -> None:
    await a_merged_job(retro)
    learns(retro, reply)
    await retrospective.step(retro.parts)
    assert [note.text for note in await drafted(retro)] == list(LEARNED)
    assert (await written(retro))["source"] == "reports"
    assert not await is_due(retro)


async def test_without_reviews_no_model_is_asked() -> None:
    async with looking_back(checks={"review": False}, autonomy="proactive") as stage:
        await a_merged_job(stage)
        await retrospective.step(stage.parts)
        found = await drafted(stage)
        assert [(note.text, note.state) for note in found] == [(text, NoteState.DRAFT) for text in LEARNED]
        assert stage.world.model.requests == []


async def test_over_budget_no_model_is_asked() -> None:
    async with looking_back(budget={"space_day_tokens": 1}) as stage:
        await a_merged_job(stage)
        await retrospective.step(stage.parts)
        assert [note.text for note in await drafted(stage)] == list(LEARNED)
        assert stage.world.model.requests == []


async def test_a_model_that_is_away_is_asked_once_more_after_a_while(retro: Stage) -> None:
    await a_merged_job(retro)
    retro.world.model.refusal = Refusal(status=503, message="busy")
    assert await retrospective.step(retro.parts) is Progress.IDLE
    assert not await is_due(retro)
    asked = len(retro.world.model.requests)
    assert await retrospective.step(retro.parts) is Progress.IDLE
    assert len(retro.world.model.requests) == asked
    retro.world.clock.move(REST_S)
    assert await is_due(retro)
    assert await retrospective.step(retro.parts) is Progress.MOVED
    assert [note.text for note in await drafted(retro)] == list(LEARNED)
    assert not await is_due(retro)


async def test_a_model_that_comes_back_is_heard(retro: Stage) -> None:
    await a_merged_job(retro)
    retro.world.model.refusal = Refusal(status=503, message="busy")
    await retrospective.step(retro.parts)
    retro.world.model.refusal = None
    retro.world.clock.move(REST_S)
    learns(retro, [a_note(UTC, "f1")])
    await retrospective.step(retro.parts)
    assert [note.text for note in await drafted(retro)] == [UTC]
    assert (await retro.read(retrospectives.get, 1)).tries == 2


@pytest.mark.parametrize(
    ("autonomy", "state"), [("cautious", "draft"), ("proactive", "active"), ("scheduled", "active")]
)
async def test_autonomy_says_whether_notes_count_at_once_and_doubtful_ones_never_do(
    autonomy: str, state: str
) -> None:
    async with looking_back(autonomy=autonomy) as stage:
        await a_merged_job(stage)
        learns(stage, [a_note(UTC, "f1"), a_note(SKIP, "f2")])
        await retrospective.step(stage.parts)
        first, second = await drafted(stage)
        assert (first.state, second.state) == (state, NoteState.DRAFT)
        assert second.reason


async def test_what_people_rejected_is_not_proposed_again(retro: Stage) -> None:
    await a_merged_job(retro)
    learns(retro, [a_note(UTC, "f1")])
    await retrospective.step(retro.parts)
    at = retro.parts.clock.now()
    await retro.write(
        lambda c: notes.change(c, 1, at=at, actor="cli:alice", reason="no", state=NoteState.REJECTED)
    )
    job = await worked(retro, "In UTC dates are stored, since local times broke the report.")
    await merged(retro, job)
    learns(retro, [a_note("In UTC dates are stored: by local times the report broke in summer.", "f1")])
    await retrospective.step(retro.parts)
    assert await drafted(retro, 2) == []
    assert (await retro.read(retrospectives.get, 2)).dropped == 1


@pytest.mark.parametrize("event", [EventName.STOPPED, EventName.PR_CLOSED, EventName.LIFETIME_EXCEEDED])
async def test_jobs_that_came_to_nothing_teach_too(retro: Stage, event: EventName) -> None:
    await merged(retro, await worked(retro, *LEARNED), event)
    assert await is_due(retro)


async def test_a_plan_teaches_nothing(retro: Stage) -> None:
    await merged(retro, await worked(retro, *LEARNED), EventName.PLAN_ACCEPTED)
    assert not await is_due(retro)


async def test_an_open_job_and_one_without_work_are_not_looked_back_on(retro: Stage) -> None:
    await worked(retro, *LEARNED)
    await merged(retro, await retro.claimed("another one"), EventName.STOPPED)
    assert not await is_due(retro)


async def test_a_session_that_still_runs_is_waited_for(retro: Stage) -> None:
    job = await worked(retro, *LEARNED)
    await retro.session(job)
    await merged(retro, job, EventName.STOPPED)
    assert not await is_due(retro)


async def test_what_ended_long_ago_is_left_alone(retro: Stage) -> None:
    await a_merged_job(retro)
    retro.world.clock.move(timedelta(days=5).total_seconds())
    assert not await is_due(retro)


async def test_a_repository_may_do_without() -> None:
    async with looking_back(spaces={"acme/calc": {"portfolio": {"retrospectives": False}}}) as stage:
        await a_merged_job(stage)
        assert not await is_due(stage)


async def test_what_a_person_pushed_on_top_is_shown_and_what_came_from_base_is_not(retro: Stage) -> None:
    job = await worked(retro)
    files = {"calc.py": "def add(a, b):\n    return sum((a, b))\n", "NEWS.md": "From base.\n"}
    head = await retro.commit(job, files)
    await retro.write(
        lambda c: _move(c, job, EventName.MERGED, retro.parts.clock.now(), {"pull": 7, "head": head})
    )
    learns(retro, [a_note("Sums are written with sum().", "f1")])
    await retrospective.step(retro.parts)
    shown = retro.world.model.messages()[1]["content"]
    assert f"f1 (push of {head[:12]}): a person changed the work of a session:" in shown
    assert "+    return sum((a, b))" in shown
    assert "From base." not in shown
    [note] = await drafted(retro)
    assert note.source.evidence == f"retrospective: push of {head[:12]}"


async def test_a_push_that_cannot_be_read_is_left_out(retro: Stage) -> None:
    job = await worked(retro, *LEARNED)
    gone = "d" * 40
    await retro.write(
        lambda c: _move(c, job, EventName.MERGED, retro.parts.clock.now(), {"pull": 7, "head": gone})
    )
    learns(retro, [a_note("Amounts are cents.", "f2")])
    await retrospective.step(retro.parts)
    assert [note.text for note in await drafted(retro)] == ["Amounts are cents."]
