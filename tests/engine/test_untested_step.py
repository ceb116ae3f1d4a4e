"""A repository without tests: asked about once, before its first session; what was said counts until there are tests."""

import json
from typing import Any

import pytest

from minion.protocol import CheckReport, SessionKind, StepOutcome, StepResult
from overlord.domain.checks.testruns.judge import BASELINE_STEP, TESTS_STEP
from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.evaluation import CheckName, CheckScore
from overlord.domain.interface import Interface
from overlord.domain.job import JobState
from overlord.engine import due
from overlord.engine.evaluation import evaluate
from overlord.engine.scope.allow import allowed
from overlord.engine.sessions import apply_answers, dispatch, untested
from overlord.errors import Refused
from overlord.store import decisions, ledger, sessions
from overlord.store.checks import evaluations
from overlord.store.spaces import untested_policies
from overlord.verbs import commands
from overlord.verbs.untested import ask_again
from tests.called_rows import open_call
from tests.engine.stage import Stage, made_stage, passes
from tests.world import CALC, REPO

BARE = {"calc.py": CALC["calc.py"]}
TEST = {"tests/test_calc.py": CALC["tests/test_calc.py"]}


async def answer(stage: Stage, decision: Decision, verb: Verb, by: str = "cli:alice") -> None:
    shown, at = decision.digest, stage.parts.clock.now()
    await stage.write(
        commands.answer_decision,
        decision.id,
        verb,
        actor=by,
        interface=Interface.TERMINAL,
        digest=shown,
        at=at,
    )


async def asked_and_told(stage: Stage, verb: Verb) -> None:
    """A first job asked, and somebody answered it."""
    await stage.claimed()
    await stage.step(dispatch.step)
    await answer(stage, await stage.asked(), verb)
    await stage.step(apply_answers.step)


async def test_a_call_waits_for_no_word_about_tests() -> None:
    async with made_stage(BARE) as stage:
        await stage.claimed()
        await stage.step(dispatch.step)
        assert (await stage.asked()).subject is Subject.UNTESTED
        await stage.write(lambda c: open_call(c, space=REPO))
        assert await stage.read(untested.waiting_jobs) == {}


async def brief(stage: Stage, session: str = "j1-work-1") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((await stage.read(sessions.get, session)).brief)
    return found


async def names(stage: Stage) -> list[str]:
    return [entry.name for entry in await stage.read(lambda c: list(ledger.entries(c)))]


async def test_it_is_asked_before_the_first_session_and_without_an_answer_none_begins() -> None:
    async with made_stage(BARE) as stage:
        await stage.claimed()
        job = await stage.step(dispatch.step)
        decision = await stage.asked()
        assert (job.state, decision.subject) == (JobState.WAITING, Subject.UNTESTED)
        assert decision.verbs == (Verb.WRITE_TESTS, Verb.WITHOUT_TESTS, Verb.RETRY, Verb.DROP)
        assert await stage.read(sessions.of_job, 1) == []
        await answer(stage, decision, Verb.RETRY)
        assert (await stage.step(apply_answers.step)).state is JobState.QUEUED
        assert (await stage.step(dispatch.step)).state is JobState.WAITING, "nothing was accepted"
        await answer(stage, await stage.asked(), Verb.DROP)
        assert (await stage.step(apply_answers.step)).state is JobState.CANCELLED
        assert await stage.read(untested_policies.of, REPO) is None


@pytest.mark.parametrize(
    "files",
    [
        CALC,  # they fail
        {**BARE, ".nebulus/checks.yaml": "tests: make check\n"},
        {**BARE, ".nebulus/checks.yaml": "tests: [\n"},  # another step says that it does not parse
        {"go.mod": "module x\n"},
    ],
)
async def test_nobody_is_asked_where_there_is_something_to_run(files: dict[str, str]) -> None:
    async with made_stage(files) as stage:
        job = await stage.claimed()
        assert await untested.ask_first(stage.parts, job, job.base) is None


async def test_other_jobs_there_wait_for_the_one_answer_and_take_no_turn() -> None:
    async with made_stage(BARE) as stage:
        await stage.claimed()
        await stage.step(dispatch.step)
        await stage.claimed("Another")

        async def steps() -> list[int]:
            found = await stage.read(lambda c: due.look(c, stage.parts, retried=(), delayed=()))
            return [job.id for job in found.steps]

        assert await steps() == [2], "it says what it waits for"
        job = await stage.step(dispatch.step, 2)
        assert (job.state, job.reason) == (
            JobState.QUEUED,
            "It waits: job 1 asks how work is judged here, where no tests were found.",
        )
        assert await steps() == []
        await answer(stage, await stage.asked(), Verb.WITHOUT_TESTS)
        assert sorted(await steps()) == [1, 2]
        await stage.step(dispatch.step, 2)
        assert await stage.read(sessions.live_of, 2) is not None
        assert await stage.read(decisions.waiting) == []


async def test_what_was_accepted_is_not_judged_and_passes_with_everything_else() -> None:
    async with made_stage(BARE, checks={"review": False}) as stage:
        await asked_and_told(stage, Verb.WITHOUT_TESTS)
        job = await judged(stage, StepOutcome.NOTHING_TO_RUN)
        [check] = await judged_tests(stage)
        assert (check.score, job.state) == (CheckScore.NOT_JUDGED, JobState.DELIVERING)
        assert check.summary.startswith("not judged: this repository has no tests (accepted by alice on ")


async def judged(stage: Stage, head: StepOutcome, **more: Any) -> Any:
    """Work came back, and its check session reported nothing at base and this of the change."""
    job = await stage.submitted(job=await stage.job())
    await stage.evaluated(*passes(CheckName.SCOPE, CheckName.INTEGRITY), job=job)
    check = await stage.session(job, SessionKind.CHECK)
    nothing = StepResult(name=BASELINE_STEP, outcome=StepOutcome.NOTHING_TO_RUN)
    lint = [
        StepResult(name=name, outcome=StepOutcome.RAN, exit_code=0, captured="")
        for name in ("lint_base", "lint")
    ]
    report = CheckReport(steps=(nothing, StepResult(name=TESTS_STEP, outcome=head, **more), *lint))
    await stage.ends(check, report)
    await stage.step(evaluate.step)
    return await stage.step(evaluate.step)


async def judged_tests(stage: Stage) -> list[Any]:
    past = await stage.read(evaluations.history, await stage.job())
    return [check for row in past for check in row.checks if check.name is CheckName.TESTS]


async def test_an_answer_that_was_taken_back_counts_for_no_change() -> None:
    async with made_stage(BARE, checks={"review": False}) as stage:
        await asked_and_told(stage, Verb.WITHOUT_TESTS)
        await stage.write(ask_again, REPO, actor="cli:bob", at=stage.parts.clock.now())
        with pytest.raises(Refused, match="nothing to take back"):
            await stage.write(ask_again, REPO, actor="cli:bob", at=stage.parts.clock.now())
        job = await judged(stage, StepOutcome.NOTHING_TO_RUN)
        decision = await stage.asked()
        assert (job.state, decision.subject) == (JobState.WAITING, Subject.NO_TESTS)
        await answer(stage, decision, Verb.WITHOUT_TESTS)
        assert (await stage.step(apply_answers.step)).state is JobState.EVALUATING, "the work is judged again"
        assert (await names(stage)).count("tests_policy_chosen") == 2


async def test_tests_that_fail_fail_whatever_was_accepted() -> None:
    async with made_stage(BARE, checks={"review": False}) as stage:
        await asked_and_told(stage, Verb.WITHOUT_TESTS)
        failed = '<testsuites><testsuite><testcase name="t"><failure/></testcase></testsuite></testsuites>'
        await judged(stage, StepOutcome.RAN, exit_code=1, junit=failed)
        assert [check.score for check in await judged_tests(stage)] == [CheckScore.NEEDS_REVISION]


async def test_tests_first_are_asked_of_each_session_and_may_be_written_where_the_scope_is_narrow() -> None:
    async with made_stage(BARE, spaces={REPO: {"scope": ["calc.py"]}}) as stage:
        await asked_and_told(stage, Verb.WRITE_TESTS)
        await stage.step(dispatch.step)
        told = await brief(stage)
        assert told["scope"]["patterns"] == ["calc.py", "tests/**"]
        assert told["answers"][-1]["answer"].startswith("Write tests first. Along with the change, add")
        assert any("tests are to be written first" in reason for reason in told["scope_reasons"])
        scope = await allowed(stage.parts, await stage.job())
        assert scope.scope.allows("tests/test_calc.py"), "the diff is judged by the same"


async def test_a_change_that_brings_no_test_is_sent_back() -> None:
    async with made_stage(BARE, checks={"review": False}) as stage:
        await asked_and_told(stage, Verb.WRITE_TESTS)
        job = await judged(stage, StepOutcome.NOTHING_TO_RUN)
        [check] = await judged_tests(stage)
        assert [finding.rule for finding in check.findings] == ["tests-missing"]
        assert (job.state, job.revision) == (JobState.QUEUED, 1)


async def test_npm_s_tests_of_the_change_are_run_where_base_has_none() -> None:
    async with made_stage({"package.json": "{}", "a.js": ""}, checks={"review": False}) as stage:
        await asked_and_told(stage, Verb.WRITE_TESTS)
        script = {"package.json": '{"scripts": {"test": "node --test tests/"}}'}
        job = await stage.submitted(script, job=await stage.job())
        found = await untested.own_tests(stage.parts, job, job.head, None)
        assert found is not None and found.tests is not None
        assert found.tests.words == "node --test tests/"
        await stage.write(ask_again, REPO, actor="cli:bob", at=stage.parts.clock.now())
        assert await untested.own_tests(stage.parts, job, job.head, None) is None


async def test_what_was_said_ends_when_there_are_tests() -> None:
    async with made_stage(BARE) as stage:
        await asked_and_told(stage, Verb.WITHOUT_TESTS)
        await stage.world.push(TEST)
        await stage.claimed("Another")
        await stage.step(dispatch.step, 2)
        assert await stage.read(sessions.live_of, 2) is not None
        assert await stage.read(untested_policies.of, REPO) is None
        assert "tests_policy_ended" in await names(stage)
