"""A secret that Overlord was given fails the change that holds it, wherever it stands, and no finding repeats it."""

import base64
from collections.abc import Mapping

import pytest

from overlord.domain.checks.integrity import IntegrityLimits, check_integrity
from overlord.domain.evaluation import CheckResult, CheckScore
from overlord.domain.text.redaction import Redactor
from tests.domain.differ import ABSENT, bare, edit, together
from tests.domain.test_integrity import Edit

SECRET = "plain-looking/value.of+42"
ENCODED = base64.b64encode(f"key={SECRET}".encode()).decode()
BINARY = bare("logo.png", "A", old=ABSENT, binary=True)


def check(*edits: Edit, binaries: Mapping[str, str] | None = None, size: int = 10) -> CheckResult:
    changes, diff = together(*edits)
    sizes = {change.path: size for change in changes}
    known = Redactor([SECRET, "main"])
    return check_integrity(changes, diff, {}, sizes, IntegrityLimits(), known=known, binaries=binaries)


@pytest.mark.parametrize("written", [SECRET, SECRET[::-1], ENCODED, SECRET.encode().hex()])
def test_it_fails_a_change_by_the_line_and_is_not_shown(written: str) -> None:
    result = check(edit("calc.py", "a = 1\n", f"a = 1\nb = '{written}'  # noqa\n"))
    assert result.score is CheckScore.FAIL
    assert {(item.rule, item.file, item.line) for item in result.findings if item.rule == "held-secret"} == {
        ("held-secret", "calc.py", 2)
    }
    assert written not in repr(result)


def test_it_is_found_over_several_lines_in_a_name_and_in_what_is_no_text() -> None:
    halves = f"a = '{SECRET[:12]}'\\\n    '{SECRET[12:]}'\n"
    over_lines = check(edit("calc.py", None, halves))
    assert [(item.rule, item.line) for item in over_lines.findings] == [("held-secret", None)]
    [finding] = check(edit(f"docs/{SECRET[::-1]}.md", None, "x\n")).findings
    assert (finding.rule, finding.file) == ("held-secret", None)
    [finding] = check(BINARY, binaries={"logo.png": "in base64"}).findings
    assert (finding.rule, finding.file) == ("held-secret", "logo.png")


def test_a_binary_file_that_nobody_looked_into_is_no_pass() -> None:
    assert [item.rule for item in check(BINARY).findings] == ["unreadable-file"]
    assert [item.rule for item in check(BINARY, size=3_000_000).findings] == ["too-large"]
    assert check(BINARY, binaries={"logo.png": ""}).score is CheckScore.PASS
    gone = bare("logo.png", "D", new=ABSENT, binary=True)
    assert check(gone).score is CheckScore.PASS


def test_what_was_there_before_and_what_is_too_short_to_be_one_pass() -> None:
    moved = edit("calc.py", f"a = '{SECRET}'\n", f"b = '{SECRET}'\n")
    assert check(moved).score is CheckScore.PASS
    assert check(edit("calc.py", None, "main = 1  # niam\n")).score is CheckScore.PASS
