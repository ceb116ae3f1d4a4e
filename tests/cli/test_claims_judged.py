"""What runs without a report show of a claim: how pytest ended, and what it counts."""

from pathlib import Path

import pytest

from minion.protocol import CheckStep, StepOutcome, StepResult
from overlord.domain.checks.file import CheckCommand, ChecksFile
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.scope.check import Change
from overlord.entrypoints.claim.judging import why_not_shown
from overlord.entrypoints.claim.planning import LaidOut, Planned
from overlord.entrypoints.claim.record import Claim, ClaimedCall
from tests.called_rows import RED, VERIFIED
from tests.records import later

PYTEST = ("python3", "-m", "pytest", "-q")
PASSED, FAILED = (
    "2 passed in 0.01s",
    "FAILED test_calc.py::test_add - assert 0 == 2\n1 failed, 1 passed in 0.01s",
)
RED_CALL, GREEN, REFACTOR = DisciplineName.TDD_RED, DisciplineName.TDD_GREEN, DisciplineName.TDD_REFACTOR


def shown(place: Path, discipline: DisciplineName, base: tuple[int, str], head: tuple[int, str]) -> str:
    call = ClaimedCall(
        ref="c1",
        discipline=discipline,
        space="acme/calc",
        session="",
        actor="mcp:alice",
        arguments={**RED, "test_path": "test_calc.py", "impl_path": "calc.py"},
        directory="",
        base_commit="a" * 40,
        created_at=later(1),
        ended_at=later(2),
    )
    claim = Claim(
        format="overlord-claim-1", call=call, result=VERIFIED, evidence=(), ledger=(), ledger_head="0" * 64
    )
    ran = [
        StepResult(name=name, outcome=StepOutcome.RAN, exit_code=code, output=output)
        for name, (code, output) in (("baseline", base), ("tests", head))
    ]
    runs = tuple(Planned(step=CheckStep(name=run.name, command=PYTEST), recorded=run) for run in ran)
    changed = Change(status="M", path="calc.py", old_mode="100644", new_mode="100644", added=1, removed=1)
    return why_not_shown(
        LaidOut(
            claim=claim,
            base=place,
            head=place,
            runs=runs,
            changes=(changed,),
            checks=ChecksFile(tests=CheckCommand(command=PYTEST)),
        ),
        ran,
    )


HOLDS = {
    "red": (RED_CALL, (0, PASSED), (1, FAILED)),
    "green": (GREEN, (1, FAILED), (0, PASSED)),
    "green where others fail still": (GREEN, (1, FAILED), (1, FAILED)),
    "green that counts nothing on either side": (GREEN, (1, ""), (0, "")),
    "refactor": (REFACTOR, (0, PASSED), (0, PASSED)),
}


@pytest.mark.parametrize("what", HOLDS)
def test_runs_that_may_show_it(tmp_path: Path, what: str) -> None:
    assert shown(tmp_path, *HOLDS[what]) == ""


NOT_SHOWN = {
    "red passes": (RED_CALL, (0, PASSED), (0, PASSED), "no test of it fails"),
    "red by words pytest does not know": (RED_CALL, (4, "usage"), (4, "usage"), "words it does not know"),
    "red without a test": (RED_CALL, (0, PASSED), (5, "no tests ran in 0.01s"), "No test ran"),
    "green was green": (GREEN, (0, PASSED), (0, PASSED), "none was red before"),
    "green ends early": (GREEN, (1, FAILED), (0, ""), "not one test is counted as passed"),
    "refactor of what failed": (REFACTOR, (1, FAILED), (0, PASSED), "both before and after"),
    "refactor that fails": (REFACTOR, (0, PASSED), (1, FAILED), "both before and after"),
    "refactor ends early": (REFACTOR, (0, PASSED), (0, "1 passed in 0.01s"), "2 tests ran before"),
}


@pytest.mark.parametrize("what", NOT_SHOWN)
def test_runs_that_cannot_show_it(tmp_path: Path, what: str) -> None:
    discipline, base, head, told = NOT_SHOWN[what]
    assert told in shown(tmp_path, discipline, base, head)
