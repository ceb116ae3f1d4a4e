"""Only what the change brings counts, and a linter that did not lint is no pass."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from minion.protocol import CheckReport, StepOutcome, StepResult, Tree
from overlord.domain.checks.file import parse_checks
from overlord.domain.checks.lint import LINT_BASE_STEP, LINT_STEP, judge_lint, plan_lint
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckResult, CheckScore
from overlord.domain.scope.check import Change
from overlord.domain.session import Ending, EndKind
from tests.domain.differ import ABSENT, LINK, bare, edit, together

EXITED = Ending(kind=EndKind.EXITED)
EDITED = together(edit("a.py", "import os\nx = 1\n", "import os\nx = 2\nimport sys\n"))
F401 = "a.py:{}:8: F401 [*] `os` imported but unused\n"


def ran(name: str, captured: str | None, *, code: int = 0, output: str = "") -> StepResult:
    return StepResult(
        name=name, outcome=StepOutcome.RAN, exit_code=code, captured=captured, output=output, duration_s=1.0
    )


def judged(
    base: str | StepResult,
    head: str | StepResult,
    edited: tuple[list[Change], str] = EDITED,
    checks: str = "",
) -> CheckResult:
    steps = tuple(
        given if isinstance(given, StepResult) else ran(name, given)
        for name, given in ((LINT_BASE_STEP, base), (LINT_STEP, head))
    )
    parsed = parse_checks(checks.encode()) if checks else None
    changes, diff = edited
    asked = plan_lint(changes, {}, parsed, 60)
    return judge_lint(CheckReport(steps=steps), EXITED, asked, changes=changes, diff=diff, checks=parsed)


def places(result: CheckResult) -> list[tuple[str, str | None, int | None]]:
    return [(finding.rule, finding.file, finding.line) for finding in result.findings]


def test_nothing_new_passes() -> None:
    result = judged(F401.format(1), F401.format(1))
    assert (result.score, result.summary) == (CheckScore.PASS, "1 file linted with ruff, nothing new")


def test_a_line_that_moved_is_nothing_new() -> None:
    assert judged(F401.format(1), F401.format(20)).score is CheckScore.PASS


def test_what_the_change_brings_is_sent_back() -> None:
    more = F401.format(1) + "a.py:3:8: F401 [*] `sys` imported but unused\n"
    result = judged(F401.format(1), more)
    assert (result.score, result.summary) == (
        CheckScore.NEEDS_REVISION,
        "1 new complaint; 1 file linted with ruff",
    )
    assert places(result) == [("F401", "a.py", 3)]
    assert result.findings[0].message == "`sys` imported but unused"


def test_one_more_of_the_same_kind_is_named_where_lines_were_added() -> None:
    result = judged(F401.format(1), F401.format(1) + F401.format(2) + F401.format(9))
    assert places(result) == [("F401", "a.py", 1), ("F401", "a.py", 2)]
    other = judged(F401.format(1), F401.format(1) + F401.format(3))
    assert places(other) == [("F401", "a.py", 3)]


def test_syntax_errors_and_odd_lines() -> None:
    said = "a.py:2:3: invalid-syntax: Expected a name\nwarning: a.py: no\na.py:9 nothing\nb.py:1:1: E1 not ours\n"
    result = judged("", said)
    assert places(result) == [("invalid-syntax", "a.py", 2)]


def test_a_renamed_file_keeps_its_old_complaints() -> None:
    edited = together(edit("new.py", "import os\n", "import os\n", was="old.py"))
    assert judged("old.py:1:8: F401 x\n", "new.py:1:8: F401 x\n", edited).score is CheckScore.PASS


def test_a_name_with_a_colon_is_read() -> None:
    edited = together(edit("a:1.py", "x\n", "y\n"))
    assert places(judged("", "a:1.py:4:1: E999 bad\n", edited)) == [("E999", "a:1.py", 4)]


def test_a_diff_that_cannot_be_read_only_loses_the_places() -> None:
    result = judged("", F401.format(7), (EDITED[0], ""))
    assert places(result) == [("F401", "a.py", 7)]


def test_what_is_run_at_base_and_at_head() -> None:
    changes, _ = together(
        edit("new.py", None, "x\n"),
        edit("kept.pyi", "x\n", "y\n", was="was.py"),
        edit("gone.py", "x\n", None),
        edit("readme.md", "x\n", "y\n"),
        edit("setup.cfg", "x\n", "y\n"),
        bare("link.py", "A", old=ABSENT, new=LINK),
    )
    base, head = plan_lint(changes, {}, None, 60)
    assert (base.name, base.tree, base.restore, base.capture) == (LINT_BASE_STEP, Tree.BASE, (), True)
    assert base.command[-3:] == ("--", "was.py", "gone.py")
    assert (head.name, head.tree, head.restore, head.timeout_s) == (LINT_STEP, Tree.HEAD, ("setup.cfg",), 60)
    assert head.command[-3:] == ("--", "new.py", "kept.pyi")
    assert "--isolated" in head.command


SURE = "--select=E9,F63,F7,F82"


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        ({"ruff.toml": ""}, ("ruff", "--force-exclude")),
        ({".ruff.toml": "", ".flake8": "[flake8]\n"}, ("ruff", "--force-exclude")),
        (
            {"pyproject.toml": "[tool.ruff.lint]\nselect = ['B']\n", "tox.ini": "[flake8]\n"},
            ("ruff", "--force-exclude"),
        ),
        (
            {"pyproject.toml": "[tool.black]\n", "tox.ini": "[flake8]\nignore = E1\n"},
            ("flake8", "--exit-zero"),
        ),
        ({"setup.cfg": "[metadata]\n[flake8]\nmax-line-length=99\n"}, ("flake8", "--exit-zero")),
        ({"setup.cfg": "[metadata]\n"}, ("ruff", SURE)),
        ({}, ("ruff", "--isolated")),
        ({"ruff.toml": "line-length = 100\n"}, ("ruff", SURE)),
        ({"ruff.toml": "[lint]\nextend-select = ['I']\n"}, ("ruff", f"{SURE},I")),
        ({"ruff.toml": "extend = '../ruff.toml'\n"}, ("ruff", "--force-exclude")),
        ({"pyproject.toml": "[tool.ruff.lint]\nignore = ['E501']\n"}, ("ruff", SURE)),
        ({"tox.ini": "[flake8]\nexclude = docs\n[pytest]\nmax-x = 1\n"}, ("flake8", SURE)),
    ],
)
def test_the_linter_a_repository_uses(configuration: dict[str, str], words: tuple[str, str]) -> None:
    for step in plan_lint(EDITED[0], configuration, None, 60):
        assert step.command[0] == words[0]
        assert words[1] in step.command


def test_nothing_to_lint_is_said_plainly() -> None:
    changes, diff = together(edit("readme.md", "x\n", "y\n"))
    asked = plan_lint(changes, {}, None, 60)
    assert asked == ()
    result = judge_lint(None, EXITED, asked, changes=changes, diff=diff)
    assert (result.score, result.summary) == (CheckScore.PASS, "no files to lint")


def test_only_deleted_files_leave_nothing_to_lint() -> None:
    assert plan_lint(together(edit("a.py", "x\n", None))[0], {}, None, 60) == ()


def test_new_files_need_no_run_at_base() -> None:
    changes, diff = together(edit("a.py", None, "import os\n"))
    asked = plan_lint(changes, {}, None, 60)
    assert [step.name for step in asked] == [LINT_STEP]
    report = CheckReport(steps=(ran(LINT_STEP, F401.format(1)),))
    assert places(judge_lint(report, EXITED, asked, changes=changes, diff=diff)) == [("F401", "a.py", 1)]


@pytest.mark.parametrize(
    ("head", "subject"),
    [
        (
            StepResult(name=LINT_STEP, outcome=StepOutcome.NO_TOOLCHAIN, output="no ruff"),
            Subject.NO_TOOLCHAIN,
        ),
        (StepResult(name=LINT_STEP, outcome=StepOutcome.TIMED_OUT), Subject.CHECKS_UNAVAILABLE),
        (StepResult(name=LINT_STEP, outcome=StepOutcome.BROKEN), Subject.CHECKS_UNAVAILABLE),
        (ran(LINT_STEP, None), Subject.CHECKS_UNAVAILABLE),
        (ran(LINT_STEP, "", code=2, output="bad configuration"), Subject.CHECKS_UNAVAILABLE),
        (ran("other", ""), Subject.CHECKS_UNAVAILABLE),
    ],
)
def test_a_linter_that_did_not_lint_is_no_pass(head: StepResult, subject: Subject) -> None:
    result = judged("", head)
    assert (result.score, result.subject) == (None, subject)


@pytest.mark.parametrize("report", [None, CheckReport(steps=(ran(LINT_BASE_STEP, ""), ran(LINT_STEP, "")))])
def test_a_session_that_broke_off_is_no_pass(report: CheckReport | None) -> None:
    changes, diff = EDITED
    asked = plan_lint(changes, {}, None, 60)
    ending = Ending(kind=EndKind.OUT_OF_MEMORY)
    result = judge_lint(report, ending, asked, changes=changes, diff=diff)
    assert (result.score, result.subject) == (None, Subject.CHECKS_UNAVAILABLE)


COMMAND = "lint: {command: make lint, timeout_s: 30}"


def test_a_configured_command_is_run_as_it_is() -> None:
    changes, _ = together(edit("readme.md", "x\n", "y\n"))
    steps = plan_lint(changes, {}, parse_checks(COMMAND.encode()), 60)
    assert [(step.name, step.command, step.timeout_s) for step in steps] == [
        (LINT_BASE_STEP, ("make", "lint"), 30),
        (LINT_STEP, ("make", "lint"), 30),
    ]


def by_command(base: StepResult, head: StepResult) -> CheckResult:
    return judged(base, head, checks=COMMAND)


def test_a_configured_command_is_judged_by_its_exit_code() -> None:
    good, bad = ran(LINT_BASE_STEP, "fine"), ran(LINT_STEP, "a.py is ugly", code=1)
    assert by_command(good, ran(LINT_STEP, None)).score is CheckScore.PASS
    result = by_command(good, bad)
    assert (result.score, places(result)) == (CheckScore.NEEDS_REVISION, [("command-failed", None, None)])
    assert "a.py is ugly" in result.findings[0].evidence


def test_a_configured_command_that_names_places_is_quoted() -> None:
    said = "web/a.ts:3:7 - error: x is 7 wide\n  --> b.py:9\n"
    result = by_command(ran(LINT_BASE_STEP, ""), ran(LINT_STEP, said, code=1))
    assert places(result) == [("lint", "b.py", 9), ("lint", "web/a.ts", 3)]
    assert [finding.message for finding in result.findings] == ["-->", "- error: x is # wide"]


def both_fail(base: str, head: str) -> CheckResult:
    return by_command(ran(LINT_BASE_STEP, base, code=1), ran(LINT_STEP, head, code=1))


def test_a_command_that_fails_at_base_too_is_compared_by_what_it_says() -> None:
    assert both_fail("a.py:3: bad\n", "a.py:7: bad\n").score is CheckScore.PASS
    worse = both_fail("a.py:3: bad\n", "a.py:7: bad\na.py:9: worse\n")
    assert (worse.score, places(worse)) == (CheckScore.NEEDS_REVISION, [("lint", "a.py", 9)])
    for base, head in (("", "a.py:7: bad\n"), ("a.py:7: bad\n", "no"), ("no", "no")):
        assert both_fail(base, head).score is None


def test_complaints_without_words_and_hostile_ones_are_shown_safely() -> None:
    result = judged("", "a.py:1:1: E1 \x1b[31mred\u202e\na.py:2:2: \n")
    assert [finding.message for finding in result.findings] == ["[31mred", "The linter complains here."]


def test_many_complaints_are_counted_and_some_are_listed() -> None:
    result = judged("", "".join(f"a.py:{line}:1: E1 {line}\n" for line in range(1, 200)))
    assert result.summary.startswith("199 new complaints")
    assert len(result.findings) == 50


def test_only_the_runs_asked_for_are_looked_at() -> None:
    steps: Sequence[StepResult] = (ran(LINT_BASE_STEP, ""), ran(LINT_STEP, ""))
    broken = replace(steps[0], name="tests", outcome=StepOutcome.BROKEN)
    changes, diff = EDITED
    report = CheckReport(steps=(*steps, broken))
    asked = plan_lint(changes, {}, None, 60)
    assert judge_lint(report, EXITED, asked, changes=changes, diff=diff).score is CheckScore.PASS
