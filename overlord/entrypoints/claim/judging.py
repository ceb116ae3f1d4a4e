"""Whether what was run here shows what a claim says, found by the code that an Overlord finds it by.

A run here leaves no report of its tests: where the repository's command leaves one, how the runs ended and what they count is held
against what that code asks for.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from minion.protocol import CheckReport, StepResult
from overlord.domain.checks.testruns.judge import BASE_TESTS_STEP, BASELINE_STEP, TESTS_STEP
from overlord.domain.checks.testruns.output_counts import why_fewer
from overlord.domain.checks.testruns.red_output import RedCode, pytest_ran_nothing, told_by
from overlord.domain.disciplines.call import CallStatus
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.disciplines.verification import verify
from overlord.domain.disciplines.verification.runs import is_by_exit_code
from overlord.domain.disciplines.verification.seen import Seen
from overlord.domain.disciplines.worker_result import WorkerResult
from overlord.domain.text.plain import visible
from overlord.entrypoints.claim.planning import LaidOut

READ_BYTES = 5_000_000
_NO_RUN = frozenset({RedCode.NOT_RUN, RedCode.NO_TEST_RAN})


def why_not_shown(laid: LaidOut, ran: Sequence[StepResult]) -> str:
    """Why these runs do not show what is claimed to be verified, as a sentence; empty where they do."""
    call = laid.claim.call
    seen = Seen(
        result=WorkerResult(status=CallStatus.PASS),
        arguments=call.arguments,
        directory=call.directory,
        changes=laid.changes,
        checks=laid.checks,
        report=CheckReport(steps=tuple(ran)),
    )
    steps = {step.name: step for step in ran}
    if not is_by_exit_code(seen, steps[TESTS_STEP]):
        line = next(" ".join(item.command) for item in laid.runs if item.step.name == TESTS_STEP)
        return _by_endings(call.discipline, line, steps)
    needed = verify.needed(call.discipline, seen)
    seen = replace(seen, base=_contents(laid.base, needed.base), head=_contents(laid.head, needed.head))
    found = verify.judge(call.discipline, seen)
    return "" if found.verified else visible(f"By what ran here it is not verified: {found.why}")


def _by_endings(discipline: DisciplineName, line: str, steps: Mapping[str, StepResult]) -> str:
    """Of runs whose reports are not to be had here: the least that what is claimed asks for."""
    base, head = steps[BASELINE_STEP], steps[TESTS_STEP]
    if discipline is DisciplineName.TDD_RED:
        return _not_red(line, base, head)
    if discipline is DisciplineName.TDD_GREEN and not base.exit_code:
        return "The tests pass without the change already, so none was red before."
    if discipline is DisciplineName.TDD_REFACTOR and (base.exit_code or head.exit_code):
        return "The tests do not pass both before and after it."
    against = steps.get(BASE_TESTS_STEP, head)
    return why_fewer(base.output, against.output) if not against.exit_code else ""


def _not_red(line: str, base: StepResult, head: StepResult) -> str:
    code = head.exit_code or 0
    if not code:
        return "The tests pass with the change, so no test of it fails."
    if why := pytest_ran_nothing(line, code, head.output):
        return f"No test ran with the change: {visible(why)}"
    told = told_by(code, head.output, base.output)
    return f"No test ran with the change: {visible(told.line)}" if told.code in _NO_RUN else ""


def _contents(place: Path, paths: Iterable[str]) -> dict[str, bytes]:
    """What is there of these files; of a link its target, as git has it. Nothing outside the place is read."""
    found: dict[str, bytes] = {}
    inside = place.resolve()
    for path in paths:
        file = place / path
        if not file.parent.resolve().is_relative_to(inside):
            continue
        if file.is_symlink():
            found[path] = os.fsencode(file.readlink())
        elif file.is_file():
            with file.open("rb") as opened:
                found[path] = opened.read(READ_BYTES)
    return found
