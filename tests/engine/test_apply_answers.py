"""A person's answer is carried out once, as exactly the move it stands for; what it opens is open from then on."""

from datetime import timedelta

import pytest

from minion.protocol import SessionKind
from overlord.domain.budgets.budget import Unit
from overlord.domain.decision import Decision, DecisionKind, DecisionState, Subject, Verb
from overlord.domain.event import EventName
from overlord.domain.job import Job, JobState
from overlord.domain.session import SessionState
from overlord.engine.sessions import apply_answers
from overlord.store import decisions, jobs, ledger, sessions
from overlord.store.budgets import grants
from tests.engine.stage import Stage
from tests.records import a_decision


async def waits(stage: Stage, *verbs: Verb, job: Job | None = None, **given: object) -> Decision:
    """WAITING: a job whose work was judged waits for one of these answers."""
    job = job or await stage.submitted()
    if job.state is JobState.EVALUATING:
        await stage.move(job, EventName.CHECKS_UNAVAILABLE)
    asked = a_decision(id=0, job_id=job.id, verbs=verbs, created_at=stage.parts.clock.now(), **given)
    decision: Decision = await stage.write(decisions.raise_decision, asked)
    return decision


@pytest.mark.parametrize(
    ("verb", "state"),
    [
        (Verb.RETRY, JobState.QUEUED),
        (Verb.ONE_MORE, JobState.QUEUED),
        (Verb.REPLY, JobState.QUEUED),
        (Verb.KEEP, JobState.QUEUED),
        (Verb.RECHECK, JobState.EVALUATING),
        (Verb.ACCEPT, JobState.DELIVERING),
        (Verb.REDELIVER, JobState.DELIVERING),
        (Verb.TAKE_OVER, JobState.CANCELLED),
        (Verb.DROP, JobState.CANCELLED),
    ],
)
async def test_each_answer_is_one_move_by_who_answered(stage: Stage, verb: Verb, state: JobState) -> None:
    decision = await waits(stage, verb)
    await stage.world.answer(decision, verb, "words" if verb is Verb.REPLY else "")
    assert (await stage.step(apply_answers.step)).state is state
    moved = (await stage.events())[-1]
    assert EventName(moved) is apply_answers.MOVES[verb]


async def test_without_an_answer_nothing_moves_and_one_is_carried_out_once(stage: Stage) -> None:
    decision = await waits(stage, Verb.RETRY)
    assert not await apply_answers.step(stage.parts, await stage.job())
    await stage.world.answer(decision, Verb.RETRY)
    before = await stage.job()
    assert await apply_answers.step(stage.parts, before)
    assert not await apply_answers.step(stage.parts, before)
    assert (await stage.events()).count("work_resumed") == 1


async def test_what_else_the_job_asked_is_superseded(stage: Stage) -> None:
    first = await waits(stage, Verb.RETRY)
    second = await waits(stage, Verb.DROP, job=await stage.job(), title="Another")
    await stage.world.answer(first, Verb.RETRY)
    await stage.step(apply_answers.step)
    assert (await stage.read(decisions.get, second.id)).state is DecisionState.SUPERSEDED


async def test_more_budget_is_added_in_the_name_of_who_gave_it(stage: Stage) -> None:
    decision = await waits(stage, Verb.ADD_BUDGET, subject=Subject.BUDGET, options=("100000 tokens",))
    await stage.world.answer(decision, Verb.ADD_BUDGET, "5000 tokens")
    job = await stage.step(apply_answers.step)
    assert job.state is JobState.QUEUED
    added = await stage.read(lambda c: grants.added(c, Unit.TOKENS, job_id=1))
    [noted] = [
        entry for entry in await stage.read(lambda c: list(ledger.entries(c))) if entry.name == "budget_added"
    ]
    assert (added, noted.actor) == (5000, "cli:alice")


async def test_a_grant_lets_the_same_work_be_judged_again_and_an_escalation_be_done_again(
    stage: Stage,
) -> None:
    for number, (subject, state) in enumerate(
        ((Subject.SCOPE, JobState.EVALUATING), (Subject.ESCALATION, JobState.QUEUED)), 1
    ):
        job = await stage.submitted(job=await stage.claimed(f"Issue {number}"))
        decision = await waits(stage, Verb.GRANT, job=job, subject=subject, patterns=("README.md",))
        await stage.world.answer(decision, Verb.GRANT)
        assert (await stage.step(apply_answers.step, job.id)).state is state


async def test_allowed_dependencies_are_those_that_were_shown(stage: Stage) -> None:
    decision = await waits(stage, Verb.INSTALL, subject=Subject.DEPENDENCIES, options=("d" * 64,))
    await stage.world.answer(decision, Verb.INSTALL)
    assert (await stage.step(apply_answers.step)).state is JobState.EVALUATING
    may = [await stage.read(grants.may_install, 1, digest * 64) for digest in "de"]
    assert may == [True, False]


async def test_whoever_waits_for_a_person_has_no_session_left(stage: Stage) -> None:
    job = await stage.claimed()
    session = await stage.session(job, SessionKind.WORK, is_started=False)
    await apply_answers.wait_for_person(
        stage.parts,
        job,
        EventName.DISPATCH_REFUSED,
        Subject.ENVIRONMENT,
        "It fails.\n\nlog",
        ending="never started",
    )
    ended = await stage.read(sessions.get, session.id)
    assert (ended.state, ended.ending) == (SessionState.ENDED, "lost: never started")
    assert ((await stage.job()).reason, (await stage.asked()).body) == ("It fails.", "It fails.\n\nlog")


async def test_a_question_whose_time_is_over_is_closed_and_others_stay(stage: Stage) -> None:
    session = await stage.running()
    at = stage.parts.clock.now()
    question = a_decision(
        id=0,
        job_id=1,
        session_id=session.id,
        kind=DecisionKind.QUESTION,
        subject=Subject.QUESTION,
        verbs=(Verb.REPLY,),
        created_at=at,
        expires_at=at + timedelta(seconds=60),
    )
    asked = await stage.write(decisions.raise_decision, question)
    await apply_answers.expire(stage.parts)
    assert (await stage.read(decisions.get, asked.id)).state is DecisionState.OPEN
    stage.world.clock.move(61)
    await apply_answers.expire(stage.parts)
    assert (await stage.read(decisions.get, asked.id)).state is DecisionState.EXPIRED
    assert (await stage.read(jobs.get, 1)).state is JobState.RUNNING
