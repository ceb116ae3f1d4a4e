"""Whether Overlord could judge work in a repository: its tests and linter on the base commit, as the judge would run them."""

from collections.abc import Mapping
from dataclasses import dataclass

from minion.protocol import CheckReport, CheckStep, StepOutcome, StepResult, Tree
from overlord.domain.checks.file import ChecksFile
from overlord.domain.checks.lint import count_complaints, lint_everything
from overlord.domain.checks.testruns.judge import BASELINE_STEP, plan_tests
from overlord.domain.checks.testruns.run import NOTHING_RAN, Run, read_run
from overlord.domain.session import Ending
from overlord.domain.text.plain import count, visible

SECOND_STEP = "baseline_again"
MOST_NAMED = 10
OUTPUT_LINES = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a person is told. `judges`: a change could pass by itself, without a person standing in for the tests."""

    judges: bool
    tests: str
    lint: str
    advice: tuple[str, ...] = ()
    has_tests: bool = True
    """Whether something was found to be run as tests."""
    output: str = ""
    """The end of what the tests printed, when that explains more."""


def plan_trial(
    checks: ChecksFile | None, lint_configuration: Mapping[str, str], *, tests_s: int, lint_s: int
) -> tuple[CheckStep, ...]:
    """The base's tests twice, so that what changes by itself shows, and its linter over everything."""
    steps = plan_tests((), checks, tests_s, with_baseline=True)
    first = next(step for step in steps if step.name == BASELINE_STEP)
    again = next(step for step in steps if step.name != BASELINE_STEP)
    second = CheckStep(
        name=SECOND_STEP, tree=Tree.BASE, command=again.command, timeout_s=again.timeout_s, junit=again.junit
    )
    return (first, second, lint_everything(lint_configuration, checks, lint_s))


def judge_trial(report: CheckReport | None, ending: Ending, checks: ChecksFile | None) -> Trial:
    """What the runs say together."""
    if report is None:
        detail = f"{ending.kind.replace('_', ' ')} {visible(ending.detail)}".strip()
        return Trial(
            judges=False,
            tests=f"not made: the check session ended without a report ({detail})",
            lint="not made",
        )
    steps = {step.name: step for step in report.steps}
    lint = next(
        (_lint(step) for step in report.steps if step.name not in (BASELINE_STEP, SECOND_STEP)), "not made"
    )
    first, second = steps.get(BASELINE_STEP), steps.get(SECOND_STEP)
    if first is None or second is None:
        return Trial(judges=False, tests="not made", lint=lint)
    judges, detail, advice = _tests(first, second, checks)
    return Trial(
        judges=judges,
        tests=detail,
        lint=lint,
        advice=advice,
        has_tests=read_run(first) != NOTHING_RAN,
        output="" if judges else _end_of(first),
    )


def _tests(
    first: StepResult, second: StepResult, checks: ChecksFile | None
) -> tuple[bool, str, tuple[str, ...]]:
    """Whether they can judge, what is told of them, and what would help."""
    shown = " ".join(first.command)
    if read_run(first) == NOTHING_RAN:
        advice = (
            "The first job here asks once: write tests first, or accept changes without tests. If there are some, name their"
            " command in .nebulus/checks.yaml."
        )
        return False, "none were found", (advice,)
    if first.outcome is StepOutcome.NO_TOOLCHAIN:
        advice = "Add it to the project's test dependencies, or to `setup` in .nebulus/environment.yaml."
        return (
            False,
            f"`{shown}` cannot be run: {visible(first.output).strip() or 'its program is missing'}",
            (advice,),
        )
    if first.outcome is StepOutcome.TIMED_OUT:
        advice = "Raise `checks.tests_s`, or name a faster selection in .nebulus/checks.yaml."
        return False, f"`{shown}` did not finish in {first.duration_s:.0f} s", (advice,)
    if first.outcome is not StepOutcome.RAN:
        return False, f"`{shown}` could not be run: {visible(first.output)}", ()
    command = checks.tests if checks else None
    if command is not None and command.by_exit_code:
        return _by_exit_code(first, shown)
    run, again = read_run(first), read_run(second)
    if run is None:
        return False, f"`{shown}` left no report to read (exit code {first.exit_code})", ()
    return _by_report(run, again, first)


def _by_exit_code(first: StepResult, shown: str) -> tuple[bool, str, tuple[str, ...]]:
    if first.exit_code != 0:
        return False, f"`{shown}` fails at base (exit code {first.exit_code}), so no change could pass", ()
    advice = (
        "Judged by exit code alone. With `junit:` in .nebulus/checks.yaml, single tests could be told apart."
    )
    return True, f"`{shown}` passes in {first.duration_s:.1f} s", (advice,)


def _by_report(run: Run, again: Run | None, first: StepResult) -> tuple[bool, str, tuple[str, ...]]:
    passed, failed = [case.id for case in run.passed], [case.id for case in run.failed]
    text = f"{len(passed)} passed, {len(failed)} failed in {first.duration_s:.1f} s"
    advice = []
    if failed:
        named = ", ".join(visible(name) for name in failed[:MOST_NAMED])
        more = f" and {len(failed) - MOST_NAMED} more" if len(failed) > MOST_NAMED else ""
        advice.append(
            f"These fail at base, so no change is held to them: {named}{more}. Checks have no network; tests that need"
            " one fail here."
        )
    if again is not None:
        differ = [name for name in run.cases if run.passes(name) is not again.passes(name)]
        if flaky := sorted({*differ, *run.flaky}):
            text += f", {len(flaky)} not the same twice"
            advice.append(f"Not the same twice: {', '.join(map(visible, flaky[:MOST_NAMED]))}.")
    if not passed:
        return False, text, tuple(advice)
    return True, text, tuple(advice)


def _lint(step: StepResult) -> str:
    program = step.command[0] if step.command else "the linter"
    if step.outcome is not StepOutcome.RAN:
        return f"{program} could not be run: {visible(step.output).strip() or step.outcome.replace('_', ' ')}"
    if step.captured is None:
        return f"{program} says too much to be compared"
    found = count_complaints(step.captured)
    return (
        f"{program}: {count(found, 'finding')} today; only new ones count" if found else f"{program}: nothing"
    )


def _end_of(step: StepResult) -> str:
    return "\n".join(visible(step.output).splitlines()[-OUTPUT_LINES:])
