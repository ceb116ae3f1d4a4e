"""A check session: the judge's commands, each on a fresh copy, and one report.

The connection for the report is opened before any command runs; then the session API stops listening, the shim is closed,
and what runs has nobody to talk to. Results are read when everything a command started is dead.
"""

import shutil
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from minion import descendants, shell
from minion.checks.guarded_run import RunOutcome
from minion.checks.results import Results, packed_inside, read
from minion.checks.toolchain import Plan, guarded_environment, plan
from minion.errors import GitFailed
from minion.git import Git
from minion.loopback import Loopback
from minion.protocol import (
    REPORT_PATH,
    REPOSITORY_PATH,
    Brief,
    CheckReport,
    CheckStep,
    StepOutcome,
    StepResult,
    encode,
)
from minion.start import Start
from minion.workspace.ready import ReadyCopy
from minion.workspace.trees import Trees, clear

KEPT_OUTPUT = 40_000
LARGEST_RESULTS = 4_000_000
"""One run's, packed: some 400,000 tests."""
MOST_RERUN = 50
"""With more tests failing than this, they are broken, not flaky."""
CAPTURED = "captured"
LARGEST_REPORT = 12_000_000
"""All results together, packed; what the session API takes is more, and JSON makes them longer."""


def check(start: Start, brief: Brief) -> None:
    """Run every step of the brief and deliver the report. Raises SessionApiGone, SessionApiRefused or Interrupted."""
    known = descendants.children()
    try:
        with start.interrupts.waiting():
            trees = _fetch(start, brief)
    except (GitFailed, OSError) as error:
        results = tuple(
            _broken(step, f"The repository could not be fetched: {error}") for step in brief.steps
        )
        start.session_api.post(REPORT_PATH, encode(CheckReport(steps=results)))
        return
    report_post = start.session_api.hold(REPORT_PATH)
    start.session_api.close()
    descendants.adopt_orphans()
    descendants.hide()
    checker = Checker(start, trees, known, largest_bytes=LARGEST_REPORT // max(len(brief.steps), 1))
    try:
        results = tuple(checker.run(step, number) for number, step in enumerate(brief.steps, 1))
        report_post.finish(encode(CheckReport(steps=results)))
    finally:
        trees.close()
        report_post.close()


def _fetch(start: Start, brief: Brief) -> Trees:
    loopback = Loopback(start.session_api.path, patience_s=start.session_api.patience_s)
    try:
        git = Git(shell.search_path(start.search_path))
        ready = ReadyCopy.from_environment(start.environment, brief.base_sha)
        return Trees(
            start.home,
            loopback.url + REPOSITORY_PATH,
            brief,
            git,
            ready=ready,
            patience_s=start.session_api.patience_s,
        )
    finally:
        loopback.close()


class Checker:
    """Runs steps one after the other. `known` are the children this process had before the first."""

    def __init__(self, start: Start, trees: Trees, known: frozenset[int], *, largest_bytes: int) -> None:
        self._start = start
        self._trees = trees
        self._known = known
        self._largest_bytes = min(largest_bytes, LARGEST_RESULTS)

    def run(self, step: CheckStep, number: int) -> StepResult:
        """Run a step's command; if tests failed and the step asks for it, those again, each time on a fresh copy."""
        first = self._attempt(step, f"step-{number}", step.timeout_s)
        reruns: list[str] = []
        left_s = step.timeout_s - first.result.duration_s
        if 0 < len(first.failed) <= MOST_RERUN:
            while len(reruns) < step.reruns and left_s > 0:
                place = f"step-{number}-again-{len(reruns) + 1}"
                again = self._attempt(step, place, left_s, only=first.failed)
                if again.result.junit is None:
                    break
                reruns.append(again.result.junit)
                left_s -= again.result.duration_s
        return replace(first.result, rerun_junit=tuple(reruns))

    def _attempt(
        self, step: CheckStep, name: str, timeout_s: float, *, only: tuple[str, ...] = ()
    ) -> "_Attempt":
        """Lay out the step's tree, run its command, end what it started, read what it left."""
        place = self._start.home / name
        try:
            self._trees.lay_out(step, place / "tree")
            made = self._start.repository_environment()
            if made is not None:
                made.lay_over(place / "tree")
            inside = _inside(place / "tree", step.directory)
            todo = plan(step, inside, place / "results", made)
            if isinstance(todo, StepOutcome):
                return _Attempt(StepResult(name=step.name, outcome=todo, command=step.command))
            if step.junit:
                clear(inside, step.junit)
            watched = step.watched if only else ()
            with closing(Results(place / "results", only=only, watched=watched)) as results:
                done = self._execute(step, todo, place, results, inside=inside, timeout_s=timeout_s)
                if isinstance(done, StepResult):
                    return _Attempt(done)
                return self._read(step, todo, done, results, inside, is_first=not only)
        except (GitFailed, OSError, ValueError) as error:
            return _Attempt(_broken(step, str(error)))
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _read(
        self,
        step: CheckStep,
        todo: Plan,
        done: shell.Finished,
        results: Results,
        tree: Path,
        *,
        is_first: bool,
    ) -> "_Attempt":
        limit = self._largest_bytes if is_first else self._largest_bytes // 8
        detail = (
            results.outcome(done.exit_code, limit)
            if todo.guarded and done.exit_code is not None
            else RunOutcome()
        )
        junit, unread = detail.junit, detail.too_large and f"the report is too large: {detail.too_large}"
        if step.junit and not todo.guarded:
            junit, unread = packed_inside(tree, step.junit, limit)
        captured = read(results.directory / CAPTURED, limit) if step.capture else None
        result = StepResult(
            name=step.name,
            outcome=StepOutcome.TIMED_OUT if done.exit_code is None else StepOutcome.RAN,
            command=todo.shown,
            exit_code=done.exit_code,
            junit=junit,
            unread=unread,
            output=done.output
            + (f"\n[The report is not believed: {detail.doubt}.]\n" if detail.doubt else ""),
            duration_s=round(done.duration_s, 3),
            captured=None if captured is None else shell.printable(captured),
        )
        return _Attempt(result, detail.failed)

    def _execute(
        self, step: CheckStep, todo: Plan, place: Path, results: Results, *, inside: Path, timeout_s: float
    ) -> shell.Finished | StepResult:
        # Home and temporary directory are the step's own: nothing an earlier one left is picked up.
        # A linter needs nothing of the tree's packages, and must not be made to import them.
        tree = None if step.capture else place / "tree"
        environment = shell.command_environment(self._start.environment, place, tree=tree)
        if todo.guarded:
            environment = guarded_environment(environment)
        try:
            done = shell.run(
                _captured(todo, place, environment["PATH"]) if step.capture else todo.arguments,
                directory=inside,
                environment=environment,
                timeout_s=timeout_s,
                keep_bytes=KEPT_OUTPUT,
                waiting=self._start.interrupts.waiting,
                stdin=results.far.fileno() if todo.guarded else subprocess.DEVNULL,
            )
        except FileNotFoundError as error:
            missing = StepOutcome.NO_TOOLCHAIN
            return StepResult(name=step.name, outcome=missing, command=todo.shown, output=str(error))
        finally:
            ended = descendants.end_all_but(self._known)
        return done if ended else _broken(step, "Processes the command started could not be ended.")


class _Attempt(NamedTuple):
    """One run of a step's command, and the names of the tests that failed in it."""

    result: StepResult
    failed: tuple[str, ...] = ()


def _inside(tree: Path, directory: str) -> Path:
    """The directory of a step in its tree. Raises ValueError for one that leaves it, by a link too, or is not there."""
    inside = (tree / directory).resolve()
    if not inside.is_relative_to(tree.resolve()) or not inside.is_dir():
        raise ValueError(f"There is no directory {directory!r} in the tree.")
    return inside if directory else tree


def _captured(todo: Plan, place: Path, search_path: str) -> tuple[str, ...]:
    """The command with its standard output in a file; raises FileNotFoundError for a program that is not there."""
    program = todo.arguments[0]
    if "/" not in program and shutil.which(program, path=search_path) is None:
        raise FileNotFoundError(f"No program is called {program!r} here.")
    return ("sh", "-c", 'exec "$@" >"$0"', str(place / "results" / CAPTURED), *todo.arguments)


def _broken(step: CheckStep, why: str) -> StepResult:
    return StepResult(name=step.name, outcome=StepOutcome.BROKEN, command=step.command, output=why)
