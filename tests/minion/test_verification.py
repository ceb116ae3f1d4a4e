"""Verifications of disciplines against a real check session: what is red, green and a refactoring on a real project, and what is not."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from minion.protocol import SessionKind
from overlord.domain.disciplines.call import CallStatus, Verification
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.disciplines.verification.seen import Seen
from overlord.domain.disciplines.verification.verify import judge, needed, plan
from overlord.domain.disciplines.worker_result import WorkerResult
from overlord.domain.scope.check import Change
from overlord.domain.session import Ending, EndKind
from tests.minion.session_api import SessionApi

Files = Mapping[str, str]
Verify = Callable[..., Verification]

RED, GREEN, REFACTOR = DisciplineName.TDD_RED, DisciplineName.TDD_GREEN, DisciplineName.TDD_REFACTOR
PASSED = WorkerResult(status=CallStatus.PASS)
CALC = {
    "calc.py": "def add(a, b):\n    return a + b\n\n\ndef half(a):\n    return a // 2\n",
    "test_calc.py": "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n",
}
NEW = "import calc\n\n\ndef test_half():\n    assert calc.half(3) == 1.5\n"
RIGHT = CALC["calc.py"].replace("//", "/")


@pytest.fixture
def verify(make_door: Callable[..., SessionApi], run: Callable[..., int]) -> Verify:
    """Plan, run and judge what a worker did to these files."""

    def verified(
        discipline: DisciplineName,
        files: Files,
        change: Mapping[str, str | None],
        *,
        directory: str = "",
        **arguments: str,
    ) -> Verification:
        changes = [_change(path, files.get(path), text) for path, text in sorted(change.items())]
        told: dict[str, Any] = {"arguments": arguments, "directory": directory, "changes": changes}
        steps = plan(discipline, timeout_s=30, **told).steps
        seen = Seen(result=PASSED, **told)
        if steps:
            door = make_door(files, change=change, kind=SessionKind.CHECK, steps=steps)
            assert run(door) == 0
            told |= {"report": door.check_report, "ending": Ending(kind=EndKind.EXITED)}
        wanted, head = needed(discipline, seen), {**files, **change}
        told["base"] = {path: files[path].encode() for path in wanted.base if path in files}
        told["head"] = {path: text.encode() for path in wanted.head if (text := head.get(path)) is not None}
        return judge(discipline, Seen(result=PASSED, **told))

    return verified


def _change(path: str, before: str | None, after: str | None) -> Change:
    status = "A" if before is None else "D" if after is None else "M"
    return Change(path=path, status=status, added=1, removed=int(before is not None))


@pytest.mark.parametrize(
    ("test", "code", "said"),
    [
        (NEW, "assertion", "Red for an assertion: test_half::test_half."),
        ("import calc\ndef test_half():\n    import pytest\n    with pytest.raises(ValueError):\n        calc.half(3)\n", "assertion", ""),
        ("import nothing_such\ndef test_half():\n    assert False\n", "import_error", "error before any assertion"),
        ("def test_half(:\n", "import_error", "error before any assertion"),
        ("def test_half(nothing_such):\n    assert False\n", "import_error", "error before any assertion"),
        ("def test_half():\n    from calc import third\n    assert third(3) == 1\n", "import_error", ""),
        ("import calc\ndef test_half():\n    assert calc.half('x') == 1\n", "error", "no failed assertion"),
        ("def half():\n    assert False\n", "no_test_ran", "No test of this change was run"),
        ("import pytest\n@pytest.mark.skip\ndef test_half():\n    assert False\n", "no_test_ran", "skipped"),
        ("import calc\ndef test_half():\n    assert calc.half(4) == 2\n", "passed", "It passes already"),
        ("import os\ndef test_half():\n    os._exit(1)\n", "unclear", "no readable report"),
    ],
)  # fmt: skip
def test_red_is_told_apart(verify: Verify, test: str, code: str, said: str) -> None:
    made = verify(RED, CALC, {"test_half.py": test}, test_path="test_half.py")
    assert (made.code, made.verified) == (code, code == "assertion"), made.why
    assert said in made.why


def test_a_test_that_hangs_is_no_red(verify: Verify) -> None:
    hanging = "import time\ndef test_half():\n    time.sleep(600)\n"
    line = "timeout 1 python -m pytest -q test_half.py"
    made = verify(RED, CALC, {"test_half.py": hanging}, test_path="test_half.py", test_cmd=line)
    assert not made.verified


RED_FILES = {**CALC, "test_half.py": NEW}
GREEN_FILES = {**RED_FILES, "calc.py": RIGHT}
CHEATED = {"calc.py": CALC["calc.py"] + "\n", "test_half.py": NEW.replace("1.5", "1")}


@pytest.mark.parametrize(
    ("discipline", "files", "change", "is_verified", "said"),
    [
        (GREEN, RED_FILES, {"calc.py": RIGHT}, True, "failed for an assertion before and passes now"),
        (GREEN, RED_FILES, CHEATED, False, "test_half::test_half does not pass as it was written."),
        (GREEN, RED_FILES, {"calc.py": RIGHT.replace("a + b", "a - b")}, False, "passed before and fails"),
        (REFACTOR, GREEN_FILES, {"calc.py": RIGHT.replace("a + b", "b + a")}, True, "2 tests passed before"),
    ],
    ids=["green", "the test is changed", "another test breaks", "refactor"],
)
def test_green_and_refactor_on_a_real_project(
    verify: Verify, discipline: DisciplineName, files: Files, change: Files, is_verified: bool, said: str
) -> None:
    made = verify(discipline, files, change, test_path="test_half.py", impl_path="calc.py")
    assert made.verified is is_verified, made.why
    assert said in made.why


@pytest.mark.parametrize("line", ["pytest -q", ""])
def test_a_project_in_a_directory_of_its_repository(verify: Verify, line: str) -> None:
    files = {f"web/{path}": text for path, text in CALC.items()} | {"test_top.py": "import nothing_such\n"}
    made = verify(
        RED, files, {"web/test_half.py": NEW}, directory="web", test_path="test_half.py", test_cmd=line
    )
    assert (made.code, made.verified) == ("assertion", True), made.why


def test_a_directory_that_is_not_there_is_told(verify: Verify) -> None:
    made = verify(RED, CALC, {"test_half.py": NEW}, directory="nowhere", test_cmd="pytest -q")
    assert "There is no directory 'nowhere' in the tree" in made.why
