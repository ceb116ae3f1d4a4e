"""A session is over: what it pushed becomes one commit of ours within its scope, and its end decides where its job goes."""

import sqlite3

import pytest

from minion.protocol import Outcome, Report
from overlord.domain.budgets.budget import Cost
from overlord.domain.decision import Subject
from overlord.domain.event import EventName
from overlord.domain.identifiers import SessionId
from overlord.domain.job import JobState
from overlord.domain.model_fault import FaultKind, ModelOutage
from overlord.domain.session import MAX_LOSSES, Ending, EndKind, SessionState, StopReason
from overlord.engine.sessions import collect, ending
from overlord.store import jobs, sessions
from overlord.store.budgets import exchanges, model_outages
from tests.engine.stage import DONE, EXITED, FIXED, NAME, Stage, made_stage
from tests.world import REPO

KILLED = Ending(kind=EndKind.KILLED, exit_code=137)


async def test_a_session_that_runs_is_left_alone(stage: Stage) -> None:
    await stage.running()
    assert not await collect.step(stage.parts, await stage.job())
    assert (await stage.job()).state is JobState.RUNNING


async def test_what_was_pushed_becomes_one_commit_of_ours_with_its_evidence(stage: Stage) -> None:
    session = await stage.running()
    await stage.ends(session, files=FIXED)
    job = await stage.step(collect.step)
    assert (job.state, job.losses) == (JobState.EVALUATING, 0)
    commit = stage.world.forge.objects.commits[job.head]
    assert (commit.parents, commit.author.split(" <")[0]) == ((job.base_sha,), "Overlord")
    ended = await stage.read(sessions.get, session.id)
    assert (ended.state, ended.ending, ended.taken_sha) == (SessionState.ENDED, "exited", job.head_sha)
    kinds = "SELECT kind FROM evidence ORDER BY kind"
    found = await stage.read(lambda c: [row["kind"] for row in c.execute(kinds)])
    assert found == ["brief", "diff", "log", "report"]


async def test_few_changes_outside_the_scope_are_taken_out_and_told() -> None:
    async with made_stage(spaces={REPO: {"scope": ["calc.py"]}}) as stage:
        session = await stage.running()
        await stage.ends(session, files={**FIXED, "README.md": "mine\n"})
        job = await stage.step(collect.step)
        changed = await stage.parts.git.changes(NAME, job.base, job.head)
        assert [change.path for change in changed] == ["calc.py"]
        assert (await stage.read(sessions.get, session.id)).dropped == ("README.md",)


@pytest.mark.parametrize(("is_away", "subject"), [(True, Subject.MODEL), (False, Subject.STOPPED_SHORT)])
async def test_a_session_that_ended_for_its_model_is_put_in_overlords_own_words_where_it_saw_that(
    stage: Stage, is_away: bool, subject: Subject
) -> None:
    session = await stage.running()
    at = stage.parts.clock.now()
    key = ModelOutage(model="gpt-x", kind=FaultKind.KEY, detail="401", since=at)

    def asked(connection: sqlite3.Connection) -> None:
        balance = exchanges.balance(connection, session.account(REPO), (), at=at)
        exchanges.reserve(connection, balance, cost=Cost(tokens=1, nusd=None), model="gpt-x", at=at)
        if is_away:
            model_outages.put(connection, key, at=at)

    await stage.parts.database.write("by hand", asked)
    await stage.ends(session, Report(outcome=Outcome.ERROR, reason="model", summary="Believe me."))
    await stage.step(collect.step)
    decision = await stage.asked()
    assert (decision.subject, decision.body == key.verdict(at)) == (subject, is_away)
    assert "Believe me" not in decision.body if is_away else "Believe me" in decision.body


async def test_done_without_a_change_is_a_persons_to_look_at(stage: Stage) -> None:
    session = await stage.running()
    await stage.ends(session)
    job = await stage.step(collect.step)
    asked = await stage.asked()
    assert (job.state, asked.subject) == (JobState.WAITING, Subject.STOPPED_SHORT)
    assert asked.body.startswith("It says it is done and changed nothing.")


async def test_done_without_a_change_tells_which_edits_failed(stage: Stage) -> None:
    session = await stage.running()
    transcript = stage.parts.home.transcript(session.id)
    transcript.parent.mkdir(parents=True, exist_ok=True)
    transcript.write_text(
        '{"messages": [], "reply": {"tool_calls": [{"id": "a", "function": {"name": "edit_file", "arguments": "{}"}}]}}\n'
        '{"messages": [{"role": "tool", "tool_call_id": "a", "content": "Error: old does not occur in @calc.py."}], "reply": {}}\n'
        '{"cut off'
    )
    await stage.ends(session)
    await stage.step(collect.step)
    first = (await stage.asked()).body.splitlines()[0]
    assert first == (
        "It says it is done and changed nothing. An edit failed: old does not occur in @\u200bcalc.py."
    )


@pytest.mark.parametrize(
    ("outcome", "subject"),
    [
        (Outcome.BLOCKED, Subject.BLOCKED),
        (Outcome.OUT_OF_BUDGET, Subject.BUDGET),
        (Outcome.ERROR, Subject.STOPPED_SHORT),
    ],
)
async def test_what_stopped_short_asks_in_its_own_words_and_keeps_the_work(
    stage: Stage, outcome: Outcome, subject: Subject
) -> None:
    session = await stage.running()
    await stage.ends(session, Report(outcome=outcome, summary="Which of the two?"), files=FIXED)
    job = await stage.step(collect.step)
    asked = await stage.asked()
    assert (job.state, asked.subject) == (JobState.WAITING, subject)
    assert "> Which of the two?" in asked.body
    assert job.head_sha is not None


async def test_a_loss_spends_no_attempt_and_the_fourth_is_a_persons(stage: Stage) -> None:
    job = await stage.claimed()
    for number in range(1, MAX_LOSSES + 1):
        session = await stage.running(job)
        await stage.ends(session, None, ending=KILLED)
        job = await stage.step(collect.step)
        assert (job.state, job.losses, job.revision) == (JobState.QUEUED, number, 0)
    session = await stage.running(job)
    await stage.ends(session, None, ending=KILLED)
    job = await stage.step(collect.step)
    assert (job.state, (await stage.asked()).subject) == (JobState.WAITING, Subject.LOSSES)


async def test_work_that_a_lost_session_had_pushed_is_where_the_next_begins(stage: Stage) -> None:
    session = await stage.running()
    await stage.ends(session, None, files=FIXED, ending=KILLED)
    job = await stage.step(collect.step)
    assert job.state is JobState.QUEUED
    assert await stage.parts.git.read_file(NAME, job.head, "calc.py") is not None


async def test_a_session_the_runner_knows_nothing_of_was_lost(stage: Stage) -> None:
    session = await stage.running()
    await stage.runner.remove(SessionId(session.id))
    job = await stage.step(collect.step)
    assert (job.state, job.losses) == (JobState.QUEUED, 1)
    ended = await stage.read(sessions.get, session.id)
    assert ended.ending == "lost: the runner knows nothing of it"


async def test_a_report_that_a_session_is_complete_counts_whatever_ended_it(stage: Stage) -> None:
    session = await stage.running()
    await stage.ends(session, DONE, files=FIXED, ending=KILLED)
    assert (await stage.step(collect.step)).state is JobState.EVALUATING


async def test_one_that_was_told_to_stop_by_somebody_else_was_lost(stage: Stage) -> None:
    session = await stage.running()
    told = Report(outcome=Outcome.ERROR, reason="terminated", summary="told to stop")
    await stage.ends(session, told, ending=EXITED)
    assert (await stage.step(collect.step)).state is JobState.QUEUED


async def test_one_that_is_over_its_time_is_stopped_and_asked_about(stage: Stage) -> None:
    session = await stage.running()
    await collect.step(stage.parts, await stage.job())
    stage.world.clock.move(session.time_limit_s + 1)
    job = await stage.step(collect.step)
    assert (job.state, (await stage.asked()).subject) == (JobState.WAITING, Subject.STOPPED_SHORT)
    ended = await stage.read(sessions.get, session.id)
    assert (ended.stop_reason, ended.ending) == (StopReason.TIME_LIMIT, "stopped")


async def test_a_running_job_without_a_session_goes_back_to_the_queue(stage: Stage) -> None:
    job = await stage.claimed()
    await stage.move(job, EventName.SESSION_STARTED)
    job = await stage.step(collect.step)
    assert (job.state, job.losses) == (JobState.QUEUED, 1)


async def test_a_session_whose_job_ended_is_stopped_and_its_evidence_kept(stage: Stage) -> None:
    session = await stage.running()
    await stage.move(await stage.job(), EventName.STOPPED)
    await collect.abandon(stage.parts, session)
    ended = await stage.read(sessions.get, session.id)
    assert (ended.state, ended.stop_reason) == (SessionState.ENDED, StopReason.JOB_CLOSED)
    assert await ending.clear(stage.parts, ended)
    assert (stage.held(), stage.world.git.sessions) == ([], {})
    assert (await stage.read(sessions.get, session.id)).cleared


async def test_what_it_printed_is_kept_without_secrets(stage: Stage) -> None:
    session = await stage.running()
    stage.runner.state.sessions[SessionId(session.id)].printed.append(f"key {stage.world.model.key}\n")
    await stage.ends(session, files=FIXED)
    await stage.step(collect.step)
    assert stage.world.files_with(stage.world.model.key) == []
    assert (await stage.read(jobs.get, 1)).state is JobState.EVALUATING
