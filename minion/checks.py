"""A check session: the judge's commands, each on a fresh copy, and one report.

The connection for the report is opened before any command runs; then the door stops listening, the shim is closed,
and what runs has nobody to talk to. Results are read when everything a command started is dead.
"""

import os
import shutil
import stat
from pathlib import Path

from minion import descendants, shell
from minion.errors import GitFailed
from minion.git import Git
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
from minion.shim import Shim
from minion.start import Start
from minion.toolchain import Plan, plan
from minion.trees import Trees

KEPT_OUTPUT = 40_000
LARGEST_JUNIT = 2_000_000


def check(start: Start, brief: Brief) -> None:
    """Run every step of the brief and deliver the report. Raises DoorGone, DoorRefused or Interrupted."""
    known = descendants.children()
    try:
        with start.interrupts.waiting():
            trees = _fetch(start, brief)
    except (GitFailed, OSError) as error:
        results = tuple(
            _broken(step, f"The repository could not be fetched: {error}") for step in brief.steps
        )
        start.door.post(REPORT_PATH, encode(CheckReport(steps=results)))
        return
    held = start.door.hold(REPORT_PATH)
    start.door.close()
    descendants.adopt_orphans()
    descendants.hide()
    try:
        results = tuple(
            _step(start, trees, step, number, known) for number, step in enumerate(brief.steps, 1)
        )
        held.finish(encode(CheckReport(steps=results)))
    finally:
        trees.close()
        held.close()


def _fetch(start: Start, brief: Brief) -> Trees:
    shim = Shim(start.door.path, patience_s=start.door.patience_s)
    try:
        git = Git(shell.search_path(start.search_path))
        return Trees(start.home, shim.url + REPOSITORY_PATH, brief, git)
    finally:
        shim.close()


def _step(start: Start, trees: Trees, step: CheckStep, number: int, known: frozenset[int]) -> StepResult:
    place = start.home / f"step-{number}"
    results = place / "results"
    try:
        trees.lay_out(step, place / "tree")
        results.mkdir()
        todo = plan(step, place / "tree", results)
        if isinstance(todo, StepOutcome):
            return StepResult(name=step.name, outcome=todo)
        return _run(start, step, todo, place, known)
    except (GitFailed, OSError) as error:
        return _broken(step, str(error))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _run(start: Start, step: CheckStep, todo: Plan, place: Path, known: frozenset[int]) -> StepResult:
    # Home and temporary directory are the step's own: nothing an earlier one left is picked up.
    environment = shell.command_environment(start.environment, place)
    try:
        done = shell.run(
            todo.arguments,
            directory=place / "tree",
            environment=environment,
            timeout_s=step.timeout_s,
            keep_bytes=KEPT_OUTPUT,
            waiting=start.interrupts.waiting,
        )
    except FileNotFoundError as error:
        return StepResult(
            name=step.name, outcome=StepOutcome.NO_TOOLCHAIN, command=todo.shown, output=str(error)
        )
    finally:
        ended = descendants.end_all_but(known)
    if not ended:
        return _broken(step, "Processes the command started could not be ended.")
    return StepResult(
        name=step.name,
        outcome=StepOutcome.TIMED_OUT if done.exit_code is None else StepOutcome.RAN,
        command=todo.shown,
        exit_code=done.exit_code,
        junit=_junit(place / "results" / "junit.xml"),
        output=done.output,
        duration_s=round(done.duration_s, 3),
    )


def _junit(file: Path) -> str | None:
    """The results a runner wrote: a regular file of bearable size, or nothing."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(descriptor, "rb") as source:  # noqa: PTH123
        kind = os.fstat(descriptor)
        if not stat.S_ISREG(kind.st_mode) or kind.st_size > LARGEST_JUNIT:
            return None
        return source.read(LARGEST_JUNIT).decode("utf-8", "replace")


def _broken(step: CheckStep, why: str) -> StepResult:
    return StepResult(name=step.name, outcome=StepOutcome.BROKEN, command=step.command, output=why)
