"""The runs of tests that the disciplines of tests first have made: by the caller's command, the repository's own, or what is found."""

import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from pydantic import ValidationError

from minion.protocol import CheckStep, StepOutcome, StepResult, Tree
from overlord.domain.changes.paths import is_test_configuration, is_test_path
from overlord.domain.checks.file import CheckCommand, ChecksFile
from overlord.domain.checks.testcode.compare import Compared, Source
from overlord.domain.checks.testruns.judge import (
    BASELINE_STEP,
    NEW_ON_BASE_STEP,
    TESTS_STEP,
    plan_tests,
    read_runs,
)
from overlord.domain.checks.testruns.output_counts import total, why_fewer
from overlord.domain.checks.testruns.red_output import RedCode, told_by
from overlord.domain.checks.testruns.red_run import why_not_run
from overlord.domain.checks.testruns.report import why_unread
from overlord.domain.checks.testruns.run import RERUNS, Runs
from overlord.domain.checks.weakening import sees_tests, stands_in
from overlord.domain.disciplines.call import Verification
from overlord.domain.disciplines.verification.seen import Needed, Seen, within
from overlord.domain.evaluation import CheckResult
from overlord.domain.event import Json
from overlord.domain.scope.check import Change
from overlord.domain.text.problem import first_problem

_WORD = re.compile(r"[^\s;&|()<>'\"`$=]+")
_BUILDS = (
    "build.gradle*",
    "settings.gradle*",
    "gradle.properties",
    "pom.xml",
    "build.xml",
    "build.sbt",
    "cargo.toml",
    "build.rs",
    "cmakelists.txt",
    "*.cmake",
    "meson.build",
    "*.mk",
    "build.bazel",
    "build",
    "*.csproj",
    "*.fsproj",
    "directory.build.*",
    "rakefile",
    ".rspec",
    "mix.exs",
    "composer.json",
    "package.swift",
    "pubspec.yaml",
    ".mocharc*",
    "vite.config.*",
    "babel.config.*",
    ".babelrc*",
    "tsconfig*.json",
    "deno.json*",
)
"""Names of files that say which tests there are, beside those that are put back for a run of base's tests."""
_INSTALLED = frozenset({"node_modules", "site-packages", ".venv", "venv"})
"""Directories of what is installed: a runner of tests, and what it loads."""
UNCOUNTED = (
    "was changed, which may say which tests are run, and the output tells no number of tests: use a command that tells it, or one that"
    " writes a JUnit report."
)
MOST_OUTPUT = 4_000
"""Characters of an output that are kept with a finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is known before anything is run."""

    changes: Sequence[Change] = ()
    arguments: Mapping[str, Json] = field(default_factory=dict)
    directory: str = ""
    checks: ChecksFile | None = None
    """The repository's own commands."""
    timeout_s: int = 600
    """The most that one run may take."""


def checks_for(arguments: Mapping[str, Json], checks: ChecksFile | None) -> ChecksFile | None:
    """What is run: the caller's `test_cmd`, read as `.nebulus/checks.yaml` reads a command, else the repository's own. Raises
    ValueError for a command that cannot be read."""
    line = _line(arguments)
    if not line:
        return checks
    try:
        return ChecksFile(tests=CheckCommand.model_validate(line))
    except ValidationError as error:
        raise ValueError(f"test_cmd {first_problem(error).partition(': ')[2]}") from None


def command_files(seen: Seen) -> tuple[str, ...]:
    """The files of the change that the test command itself names: a script that runs the tests decides what they say. Those that are
    put back as they were (tests, settings) are not among them."""
    checks = checks_for(seen.arguments, seen.checks)
    words = checks.tests.command if checks and checks.tests else ()
    said = {posixpath.normpath(word) for line in words for word in _WORD.findall(line) if word.strip("./")}
    named = {name for word in said for name in (word, within(seen.directory, word))}
    changed = {path for path in seen.touched if path in named}
    return tuple(sorted(path for path in changed if not (is_test_path(path) or is_test_configuration(path))))


def runner_replaced(seen: Seen) -> str:
    """A file of the change that a test run loads in the place of its runner or of what that needs; empty for none. A link counts as
    what it is called."""
    there = (change.path for change in seen.changes if change.status != "D")
    inside = ((path, path.removeprefix(f"{seen.directory}/") if seen.directory else path) for path in there)
    return next(
        (path for path, name in inside if stands_in(name) or _INSTALLED & set(name.split("/")[:-1])), ""
    )


def seen_tests(seen: Seen) -> str:
    """Where code of the change newly asks whether it is being tested, as `calc.py:3`; empty for nowhere."""
    before = {line for content in seen.base.values() for line in _lines(content)}
    for path in sorted(seen.head):
        for number, line in enumerate(_lines(seen.head[path]), start=1):
            if line not in before and sees_tests(line):
                return f"{path}:{number}"
    return ""


def weakened(seen: Seen, paths: frozenset[str], rules: Collection[str] = ()) -> str:
    """What changed tests in these files prove less than before, as a sentence; empty for nothing. `rules`: of these kinds alone."""
    sources = [
        Source(
            path=change.path,
            before=seen.base.get(change.old_path or change.path),
            after=seen.head.get(change.path),
            old_path=change.old_path or "",
        )
        for change in seen.changes
        if not paths.isdisjoint(change.paths)
    ]
    found = Compared(sources).weaknesses()
    return next((one.message for one in found if not rules or one.rule in rules), "")


def needed_code(seen: Seen) -> Needed:
    """The changed code of Python, on both sides."""
    code = frozenset(
        path for path in seen.touched if path.endswith((".py", ".pyi")) and not is_test_path(path)
    )
    return Needed(base=code, head=code)


def _lines(content: bytes) -> list[str]:
    return content.decode(errors="replace").split("\n")


def two_runs(asked: Asked) -> tuple[CheckStep, ...]:
    """The tests without the change and with it. Raises ValueError as `checks_for` does."""
    checks = checks_for(asked.arguments, asked.checks)
    command = checks.tests if checks else None
    made = CheckStep(
        name=TESTS_STEP,
        command=command.command if command else (),
        timeout_s=command.limit_s(asked.timeout_s) if command else asked.timeout_s,
        junit=command.junit if command else "",
        reruns=RERUNS,
    )
    return _placed((replace(made, name=BASELINE_STEP, tree=Tree.BASE), made), asked)


def base_on_head(asked: Asked) -> tuple[CheckStep, ...]:
    """The tests without the change, base's tests with it, and its own. Raises ValueError as `checks_for` does."""
    checks = checks_for(asked.arguments, asked.checks)
    steps = plan_tests(asked.changes, checks, asked.timeout_s, with_baseline=True)
    return _placed(tuple(step for step in steps if step.name != NEW_ON_BASE_STEP), asked)


def _placed(steps: tuple[CheckStep, ...], asked: Asked) -> tuple[CheckStep, ...]:
    """The steps in the project's directory, but for a command of the repository's own. All tests of the directory are run there, since
    paths of single files would be other ones."""
    is_own = not _line(asked.arguments) and asked.checks is not None and asked.checks.tests is not None
    if is_own or not asked.directory:
        return steps
    return tuple(replace(step, directory=asked.directory, files=()) for step in steps)


def _line(arguments: Mapping[str, Json]) -> str:
    line = arguments.get("test_cmd")
    return line.strip() if isinstance(line, str) else ""


def run_of(seen: Seen, *names: str) -> tuple[StepResult, ...] | Verification:
    """The steps of these names, or why there is nothing to judge by."""
    if seen.trouble:
        return Verification(verified=False, why=seen.trouble)
    found = [step for name in names if (step := seen.step(name)) is not None]
    if len(found) < len(names):
        return Verification(verified=False, why="The check session did not make every test run.")
    for step in found:
        if step.outcome not in {StepOutcome.RAN, StepOutcome.NOTHING_TO_RUN}:
            where = " on the files as they were" if step.name == BASELINE_STEP else ""
            return Verification(verified=False, why=f"{why_not_run(step)[:-1]}{where}.", output=shown(step))
    return tuple(found)


def compared_runs(seen: Seen, base: StepResult, restored: StepResult | None, head: StepResult) -> Runs | str:
    """The runs as their reports tell them, or why they cannot be believed, as a sentence."""
    made = read_runs(base, restored, head, None, seen.changes)
    if not isinstance(made, CheckResult):
        return made
    said = next((finding.message for finding in made.findings), made.summary)
    return f"{said[:1].upper()}{said[1:].rstrip('.')}."


def is_by_exit_code(seen: Seen, step: StepResult) -> bool:
    """Whether a command leaves nothing to judge it by but its exit code and its output, and was not to leave more."""
    checks = checks_for(seen.arguments, seen.checks)
    command = checks.tests if checks is not None else None
    return command is not None and (command.by_exit_code or (command.is_own_report and not step.junit))


def why_not_passed(base: StepResult, step: StepResult) -> str:
    """Why a run that left no report does not show that the tests pass, as a sentence: by its exit code, what it prints, and the number
    of tests that ran at base. Empty where it does."""
    if step.outcome is not StepOutcome.RAN or step.exit_code is None:
        return "Nothing was run."
    told = told_by(step.exit_code, step.output)
    if told.code is not RedCode.PASSED:
        return told.line or "What is printed does not tell why."
    return why_fewer(base.output, step.output) if step is not base else ""


def uncounted(seen: Seen, step: StepResult) -> str:
    """A file of the change that says which tests are built or run, where nothing is counted that would show what became of them; empty
    for none. Those that are put back as they were are not among them."""
    if total(step.output):
        return ""
    names = ((path, path.rpartition("/")[2].casefold()) for path in sorted(seen.touched))
    return next((path for path, name in names if any(fnmatchcase(name, one) for one in _BUILDS)), "")


def by_counts(step: StepResult) -> str:
    """By what a run without a report was judged."""
    ran = total(step.output)
    if not ran:
        return "by the exit code alone: the output tells no number of tests"
    return f"by the exit code and the output alone, which counts {ran} as passed"


def no_report(step: StepResult) -> str:
    """What is to be said of a run that was to leave a report and did not."""
    why = why_unread(step) or "it was cut short, or what reported was not the runner"
    return f"The test run left no readable report (exit code {step.exit_code}): {why}."


def shown(step: StepResult | None) -> str:
    """The telling part of what was run: the end of its output."""
    return step.output[-MOST_OUTPUT:] if step is not None else ""
