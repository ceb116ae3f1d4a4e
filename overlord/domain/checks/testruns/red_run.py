"""How a run of tests that has to fail ended: for an assertion in the tests of this change, or otherwise.

The red of red and green is found here alone: by the criteria of contracts and by the disciplines. A test that cannot fail proves nothing,
and one that fails because nothing ran proves as little. A report of the tests decides; without one the output does (`red_output`).
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from minion.protocol import StepOutcome, StepResult
from overlord.domain.checks.testruns.junit import Case, CaseOutcome
from overlord.domain.checks.testruns.red_output import RedCode, failing_names, told_by
from overlord.domain.checks.testruns.run import Run, bare_name, read_run

SHOWN = 5
"""Tests that are named."""
_CRASH = re.compile(r"^\S.*?:\d+: (\w[\w.]*)\s*$", re.MULTILINE)
"""How pytest ends a traceback: where, and with which exception."""
_LOADING = frozenset({"ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "TabError"})
_ASSERTED = frozenset(
    {
        "AssertionError",
        "Failed",
        "AssertionFailedError",
        "ComparisonFailure",
        "ExpectationNotMetError",
        "ExpectationFailedException",
    }
)
"""Of pytest, JUnit, RSpec and PHPUnit."""
_BEGINNING = re.compile(r"(?:\w+\.)*(\w*(?:Error|Exception|Failed|Exit|Interrupt|Warning))\b")
_PLAIN_ASSERT = re.compile(r"assert\b|expected\b|Expected\b|expect\(|DID NOT RAISE|Failed asserting")
_ANYWHERE = re.compile(
    r"\bAssertionError\b|\bassertion\b.*\bfailed\b|\bexpect\(|\bERR_ASSERTION\b|\bexpected:? .*\bgot:?\b",
    re.DOTALL,
)
_NOT_LOADED = re.compile(
    r"\b(?:ImportError|ModuleNotFoundError|SyntaxError)\b|Cannot find (?:module|package)|ERR_MODULE_NOT_FOUND"
    r"|does not provide an export|error\[E\d+\]|\[(?:build|setup) failed\]"
)
_GO_FAILED = re.compile(r"^\s*--- FAIL: ", re.MULTILINE)
_GO_PANIC = re.compile(r"^panic: ", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedRun:
    """What a run came to."""

    code: RedCode
    why: str
    """A sentence: what was seen, and where it is not red, what would make it so."""
    cases: tuple[Case, ...] = ()
    """The tests that it is about."""
    by_report: bool = True
    """Whether a report of the tests tells it; else the exit code and the output do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedQuestion:
    """What is asked of a run."""

    changed: Collection[str]
    """The paths that the change writes, as the report may name them."""
    paths: Collection[str] = ()
    """The names of the one file whose test has to fail; empty where any changed one may."""
    base: StepResult | None = None
    """The same run without the change; None where it is not known. What fails there too is not of this change."""
    rewritten: Collection[str] = ()
    """The bare names of tests whose own text the change wrote: these are of this change though they failed at base."""
    files: Collection[str] = ()
    """The test files of the change."""


def reason_of(case: Case) -> RedCode:
    """Why a test failed: for an assertion, since something could not be loaded, or with another error."""
    if case.is_error or case.is_file:
        return RedCode.IMPORT_ERROR
    text = case.message
    crash = _CRASH.findall(text)
    name = crash[-1].rpartition(".")[2] if crash else ""
    if not name and (found := _BEGINNING.match(text)):
        name = found[1]
    if name in _LOADING:
        return RedCode.IMPORT_ERROR
    if name in _ASSERTED or name.endswith("AssertionError") or _PLAIN_ASSERT.match(text):
        return RedCode.ASSERTION
    if _GO_FAILED.search(text):
        return RedCode.ERROR if _GO_PANIC.search(text) else RedCode.ASSERTION
    if name and name != "Error":
        return RedCode.ERROR
    if _ANYWHERE.search(text):
        return RedCode.ASSERTION
    return RedCode.IMPORT_ERROR if _NOT_LOADED.search(text) else RedCode.ERROR


def red_run(step: StepResult, question: RedQuestion) -> RedRun:
    """How a run of the tests ended."""
    if step.outcome is StepOutcome.NOTHING_TO_RUN:
        return RedRun(code=RedCode.NO_TEST_RAN, why="There are no tests that could be run.")
    if step.outcome is not StepOutcome.RAN:
        return RedRun(code=RedCode.NOT_RUN, why=why_not_run(step))
    run = read_run(step)
    if run is None or not run.fits_its_exit_code:
        return replace(_by_output(step, question), by_report=False)
    known = read_run(question.base) if question.base is not None else None
    return _by_report(run, known, question)


def why_not_run(step: StepResult) -> str:
    """Why a step says nothing of the tests, as a sentence."""
    words = " ".join(step.output.split())[-300:]
    match step.outcome:
        case StepOutcome.TIMED_OUT:
            return "The tests did not end within their time."
        case StepOutcome.NO_TOOLCHAIN:
            return f"The program that runs the tests is not there: {words or 'nothing says which'}."
        case _:
            return f"The tests could not be run: {words or 'nothing says why'}."


def named(cases: Sequence[Case]) -> str:
    """The first tests by name."""
    more = f" and {len(cases) - SHOWN} more" if len(cases) > SHOWN else ""
    return ", ".join(case.id.lstrip(":") for case in cases[:SHOWN]) + more


def _by_report(run: Run, known: Run | None, question: RedQuestion) -> RedRun:
    failed = list(run.failed)
    mine = [case for case in failed if _is_mine(case, known, question)]
    others = [case for case in failed if case not in mine and known is not None and not known.fails(case.id)]
    if not mine:
        return _none_red(run, failed, others, question)
    reasons = {case.id: reason_of(case) for case in mine}
    if broken := [case for case in mine if reasons[case.id] is RedCode.IMPORT_ERROR]:
        said = f"{named(broken)} has an error before any assertion: it would be red whatever the work does."
        return RedRun(code=RedCode.IMPORT_ERROR, why=said, cases=tuple(broken))
    if others:
        said = f"{named(others)} fails with this change too, and is none of its tests: let only the new test fail."
        return RedRun(code=RedCode.WRONG_TEST, why=said, cases=tuple(others))
    if red := [case for case in mine if reasons[case.id] is RedCode.ASSERTION]:
        return RedRun(code=RedCode.ASSERTION, why=f"Red for an assertion: {named(red)}.", cases=tuple(red))
    said = (
        f"{named(mine)} ends with an exception that is no failed assertion: assert what is expected instead."
    )
    return RedRun(code=RedCode.ERROR, why=said, cases=tuple(mine))


def _none_red(run: Run, failed: list[Case], others: list[Case], question: RedQuestion) -> RedRun:
    """Why no test of the change fails."""
    own = [case for case in run.cases.values() if _is_there(case, question) and not run.fails(case.id)]
    passing = [case for case in own if run.passes(case.id)]
    if others or (failed and not passing):
        said = f"What fails is not the test that was to fail: {named(others or failed)}."
        return RedRun(code=RedCode.WRONG_TEST, why=said, cases=tuple(others or failed))
    if passing:
        flaky = [case for case in passing if case.id in run.flaky]
        said = f"{named(flaky)} failed once and passed when it was run again: a red test fails each time."
        if not flaky:
            said = f"It passes already, so it shows nothing: {named(passing)}."
        return RedRun(code=RedCode.PASSED, why=said, cases=tuple(flaky or passing))
    skipped = [case for case in own if case.outcome is CaseOutcome.SKIPPED]
    said = (
        f"The test was skipped: {named(skipped)}."
        if skipped
        else "No test of this change was run: the runner did not find it."
    )
    return RedRun(code=RedCode.NO_TEST_RAN, why=said, cases=tuple(skipped))


def _is_there(case: Case, question: RedQuestion) -> bool:
    """Whether a test stands in the file that was asked for, else in a changed one. A report that names no file leaves it open."""
    wanted = question.paths or question.changed
    if case.file:
        return case.file in wanted
    owner = case.id.split("::", 1)[0]
    stems = [path.rsplit(".", 1)[0].replace("/", ".") for path in question.changed]
    if any(
        f"{owner}.".startswith(f"{stem}.") for stem in stems
    ):  # it names the module, as Python's runners do
        return any(f"{owner}.".startswith(f"{path.rsplit('.', 1)[0].replace('/', '.')}.") for path in wanted)
    return True


def _is_mine(case: Case, known: Run | None, question: RedQuestion) -> bool:
    if not _is_there(case, question):
        return False
    return known is None or not known.fails(case.id) or bare_name(case) in question.rewritten


_UNCLEAR = (
    "The tests fail, with exit code {code}, and nothing in the output tells that it is for an assertion: use pytest, or have the"
    " command write a JUnit report and name it in .nebulus/checks.yaml (`tests: {{command: …, junit: PATH}}`)."
)


def _by_output(step: StepResult, question: RedQuestion) -> RedRun:
    """Where a command leaves no report that says which tests failed."""
    code = step.exit_code or 0
    base = question.base if question.base is not None and question.base.outcome is StepOutcome.RAN else None
    failed_before = base is not None and bool(base.exit_code)
    telling = told_by(code, step.output, base.output if base is not None and failed_before else "")
    if telling.code in {RedCode.NOT_RUN, RedCode.NO_TEST_RAN}:
        why = telling.line if telling.code is RedCode.NOT_RUN else f"No test was run: {telling.line}"
        return RedRun(code=telling.code, why=why)
    if telling.code is RedCode.PASSED:
        return RedRun(code=RedCode.PASSED, why="The tests pass, so they show nothing.")
    if telling.code is RedCode.UNCLEAR:
        return RedRun(code=RedCode.UNCLEAR, why=_UNCLEAR.format(code=code))
    if base is not None and failed_before and (told := _failed_before(base, step)):
        return told
    if unknown := _other_file(step.output, question):
        return RedRun(code=RedCode.UNCLEAR, why=unknown)
    if telling.code is RedCode.ASSERTION:
        return RedRun(code=telling.code, why=f"Red for an assertion, by the output: {telling.line}")
    what = (
        "has an error before any assertion" if telling.code is RedCode.IMPORT_ERROR else "ends with an error"
    )
    return RedRun(code=telling.code, why=f"It {what}: {telling.line}")


def _failed_before(base: StepResult, step: StepResult) -> RedRun | None:
    """What is to be said where the command fails without the change as well; None where a new failure is named."""
    if told_by(base.exit_code or 0, base.output).code is RedCode.NO_TEST_RAN:
        return None
    before, now = failing_names(base.output), failing_names(step.output)
    if now - before:
        return None
    if now:
        return RedRun(
            code=RedCode.WRONG_TEST,
            why=f"Only tests fail that failed before this change: {', '.join(sorted(now)[:SHOWN])}.",
        )
    said = "The tests fail without this change as well, and the output does not tell which: use pytest or a JUnit report."
    return RedRun(code=RedCode.UNCLEAR, why=said)


def _other_file(output: str, question: RedQuestion) -> str:
    """Why nobody knows whether it is the file that was asked for which fails; empty where that is known."""
    if not question.paths:
        return ""
    wanted = {path.rpartition("/")[2] for path in question.paths}
    others = {path for path in question.files if path not in question.paths}
    if not others or any(name in output for name in wanted):
        return ""
    return f"Several test files are changed, and the output does not name {', '.join(sorted(wanted))}: change that one alone."
