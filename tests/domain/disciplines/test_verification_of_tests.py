"""Red and refactor of test files: what the tests that are there prove is not taken away on the way."""

import pytest

from minion.protocol import CheckReport, StepResult
from overlord.domain.disciplines.call import Verification
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.disciplines.verification.seen import Seen
from overlord.domain.disciplines.verification.verify import judge
from overlord.domain.scope.check import Change
from tests.domain.disciplines.test_red_run import ASSERTED, case, ran
from tests.domain.disciplines.test_verification_of_runs import EXITED, PASSED, TEST, named

OLD = "import pytest\n\n\ndef test_old():\n    assert half(4) == 2\n    assert half(6) == 3\n"
NEW = "\n\ndef test_new():\n    assert half(3) == 1\n"
CHANGES = [Change(path="test_new.py", status="M", added=3)]


def judged(discipline: DisciplineName, base: StepResult, head: StepResult, after: str) -> Verification:
    report = CheckReport(
        steps=(named("baseline", base), named("base_tests", base), named("tests", head)),
    )
    seen = Seen(
        result=PASSED,
        arguments={"test_path": "test_new.py", "impl_path": "test_new.py"},
        changes=CHANGES,
        report=report,
        ending=EXITED,
        base={"test_new.py": OLD.encode()},
        head={"test_new.py": after.encode()},
    )
    return judge(discipline, seen)


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (OLD + NEW, ""),
        (OLD.replace("== 3", "== 4") + NEW, ""),
        (NEW, "test_new.py has fewer tests than before; gone: test_old."),
        (OLD.replace("    assert half(6) == 3\n", "") + NEW, "test_new.py asserts less than before"),
        (OLD.replace("    assert half(4)", "    pytest.skip()\n    assert half(4)") + NEW, "The test leaves before"),
    ],
)  # fmt: skip
def test_red_takes_nothing_away_from_the_tests_that_are_there(after: str, why: str) -> None:
    base, head = ran(case("test_old")), ran(case("test_old"), case("test_new", said=ASSERTED))
    made = judged(DisciplineName.TDD_RED, base, head, after)
    assert (made.verified, made.code) == ((False, "wrong_test") if why else (True, "assertion"))
    assert made.why.startswith(why)


def test_red_removes_no_file_of_tests() -> None:
    seen = Seen(
        result=PASSED,
        arguments={"test_path": "test_new.py"},
        changes=[TEST, Change(path="tests/old.rs", status="D", removed=9)],
    )
    made = judge(DisciplineName.TDD_RED, seen)
    assert (made.verified, made.code) == (False, "wrong_test")
    assert made.why == "It removed tests/old.rs. Red leaves the tests that are there as they are."


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (OLD.replace("half(4)", "half(2 + 2)"), "1 test passed before and passes now; test_new.py holds tests itself."),
        (OLD.replace("    assert half(6) == 3\n", ""), "test_new.py asserts less than before"),
        (OLD.replace("half(6) == 3", "half(6)"), "This asserts less than before"),
    ],
)  # fmt: skip
def test_a_refactoring_of_tests_leaves_what_they_prove(after: str, why: str) -> None:
    green = ran(case("test_old"))
    made = judged(DisciplineName.TDD_REFACTOR, green, green, after)
    assert made.verified is why.startswith("1 test passed")
    assert made.why.startswith(why)
