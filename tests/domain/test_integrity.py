"""What a change may hold, what it must put right, and what only a person may let through."""

from collections.abc import Mapping

import pytest

from minion.protocol import Finding
from overlord.domain.checks.integrity import IntegrityLimits, check_integrity, hunks_first
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.scope.check import Change
from tests.domain.differ import ABSENT, FILE, GITLINK, LINK, bare, edit, together
from tests.domain.test_integrity_secret import SECRETS

TOKEN = SECRETS["GitHub token"]
Edit = tuple[Change, str]


def check(
    *edits: Edit,
    links: Mapping[str, str] | None = None,
    sizes: Mapping[str, int] | None = None,
    limits: IntegrityLimits | None = None,
    diff: str | None = None,
) -> CheckResult:
    changes, text = together(*edits)
    known = {change.path: 10 for change in changes} if sizes is None else sizes
    return check_integrity(
        changes, text if diff is None else diff, links or {}, known, limits or IntegrityLimits()
    )


def rules(result: CheckResult) -> list[str]:
    return [finding.rule for finding in result.findings]


def test_an_honest_change_passes() -> None:
    result = check(edit("calc.py", "a = 1\n", "a = 2\n"), edit("docs/new.md", None, "New.\n"))
    assert (result.name, result.score, result.summary) == (
        CheckName.INTEGRITY,
        CheckScore.PASS,
        "2 files, nothing tampered with",
    )
    assert (result.findings, result.subject) == ((), "")


@pytest.mark.parametrize(
    "hostile",
    [
        bare("vendor/lib", "A", old=ABSENT, new=GITLINK),
        bare("vendor/lib", "D", old=GITLINK, new=ABSENT),
        edit(".gitmodules", None, '[submodule "x"]\n'),
        edit("sub/.GitModules", "a\n", "b\n"),
        edit("kept.txt", "a\n", "b\n", was=".gitmodules"),
    ],
)
def test_submodules_are_refused(hostile: Edit) -> None:
    result = check(hostile)
    assert (result.score, set(rules(result))) == (CheckScore.FAIL, {"submodule"})
    assert "submodule" in result.summary


@pytest.mark.parametrize(
    "target",
    [
        "/etc/passwd",
        "../../x",
        "../../../x",
        "a/../../../x",
        "b/../x",
        ".git/config",
        "../.GIT/hooks",
        "",
        "a\0b",
    ],
)
def test_links_that_leave_the_tree_are_refused(target: str) -> None:
    change = bare("docs/link", "A", old=ABSENT, new=LINK)
    result = check(change, links={"docs/link": target})
    assert (result.score, rules(result)) == (CheckScore.FAIL, ["escaping-link"])


def test_a_link_whose_target_nobody_told_is_refused() -> None:
    assert rules(check(bare("docs/link", "A", old=ABSENT, new=LINK))) == ["escaping-link"]


@pytest.mark.parametrize("target", ["other.md", "../README.md", "deep/er/x", ".", ".."])
def test_links_within_the_tree_are_fine(target: str) -> None:
    change = bare("docs/link", "A", old=ABSENT, new=LINK)
    assert check(change, links={"docs/link": target}).score is CheckScore.PASS


def test_a_removed_link_needs_no_target() -> None:
    assert check(bare("docs/link", "D", old=LINK, new=ABSENT), sizes={}).score is CheckScore.PASS


def test_too_much_is_refused() -> None:
    small = IntegrityLimits(files=1, lines=2, file_bytes=100)
    files = check(edit("a", None, "1\n"), edit("b", None, "1\n"), limits=small)
    lines = check(edit("a", "1\n2\n", "3\n4\n"), limits=small)
    large = check(edit("a", None, "1\n"), limits=small, sizes={"a": 101})
    for result, word in ((files, "2 files"), (lines, "4 lines"), (large, "101 bytes")):
        assert (result.score, rules(result)) == (CheckScore.FAIL, ["too-large"])
        assert word in result.findings[0].message


def test_an_unknown_size_is_too_large() -> None:
    result = check(bare("data.bin", "A", old=ABSENT, binary=True), sizes={})
    assert (result.score, rules(result)) == (CheckScore.FAIL, ["too-large"])
    assert "unknown" in result.findings[0].message


def test_source_that_cannot_be_read_is_refused() -> None:
    result = check(bare("calc.py", "M", binary=True))
    assert (result.score, rules(result)) == (CheckScore.FAIL, ["unreadable-file"])
    assert check(bare("logo.png", "M", binary=True)).score is CheckScore.PASS


def test_a_cut_diff_is_too_large_and_one_that_does_not_fit_is_unreadable() -> None:
    change = edit("a", "1\n", "2\n")
    cut = check(change, diff="diff --git a/a b/a\n@@ -1\n[cut: the diff is longer than 20 bytes]\n")
    assert (cut.score, rules(cut)) == (CheckScore.FAIL, ["too-large"])
    strange = check(change, diff="")
    assert (strange.score, rules(strange)) == (CheckScore.FAIL, ["unreadable-diff"])


def test_a_secret_fails_and_is_not_shown() -> None:
    result = check(edit("calc.py", "a = 1\n", f'a = 1\ntoken = "{TOKEN}"\n'))
    assert (result.score, rules(result)) == (CheckScore.FAIL, ["secret"])
    [finding] = result.findings
    assert (finding.file, finding.line) == ("calc.py", 2)
    assert TOKEN not in repr(result)
    assert finding.evidence.startswith('token = "ghp_[GitHub token')


def test_a_secret_that_only_moves_is_not_the_changes() -> None:
    result = check(edit("calc.py", f'token = "{TOKEN}"\nb = 1\n', f'b = 1\n    token = "{TOKEN}"\n'))
    assert result.score is CheckScore.PASS


def test_a_random_looking_value_is_a_note() -> None:
    result = check(edit("calc.py", None, "password = 'q7Zp2LmX9vRt4KsW1aBn'\n"))
    assert (result.score, rules(result), result.subject) == (CheckScore.PASS, ["possible-secret"], "")
    assert result.summary == "1 file, nothing tampered with, 1 note"
    assert "q7Zp2" not in repr(result)


@pytest.mark.parametrize("char", ["\u202e", "\u2066", "\U000e0041"])
def test_hidden_characters_are_sent_back(char: str) -> None:
    result = check(edit("calc.py", None, f"if admin:{char} pass\n"))
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["hidden-characters"])
    assert char not in repr(result)
    assert check(edit("calc.py", None, "größer = '“x”'\n")).score is CheckScore.PASS


def test_a_conflict_that_was_left_is_sent_back() -> None:
    left = "one\n<<<<<<< mine\ntwo\n=======\n2\n>>>>>>> theirs\n"
    result = check(edit("a.md", "one\ntwo\n", left))
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["conflict-mark"])
    assert [finding.line for finding in result.findings] == [2]
    assert check(edit("a.md", "one\n", "one\n<<<<<<< as git writes it\n")).score is CheckScore.PASS


def test_silencing_a_linter_is_noted() -> None:
    result = check(edit("calc.py", None, "import os  # noqa: F401\n"))
    assert (result.score, rules(result)) == (CheckScore.PASS, ["check-silenced"])


def test_unusual_names_are_sent_back() -> None:
    for name in ("a\nb.py", "a\u202eb.py", "a\\b.py", "a\x1bb.py"):
        result = check(edit(name, None, "1\n"))
        assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["unusual-name"])


def test_weakened_tests_are_sent_back() -> None:
    result = check(
        edit("tests/test_a.py", "def test_a():\n    assert a\n", "@skip\ndef test_a():\n    assert a\n")
    )
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["test-skipped"])
    assert result.findings[0].suggestion


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("conftest.py", "test-configuration"),
        (".github/workflows/ci.yml", "ci"),
        ("CODEOWNERS", "codeowners"),
        ("uv.lock", "lock-file"),
        ("Dockerfile", "container"),
        (".pre-commit-config.yaml", "hook"),
        ("AGENTS.md", "agent-instructions"),
    ],
)
def test_protected_changes_pass_only_with_a_person(path: str, rule: str) -> None:
    for change in (edit(path, "a\n", "b\n"), edit(path, None, "b\n"), edit("x.txt", "a\n", "b\n", was=path)):
        result = check(change)
        assert (result.score, rules(result)) == (CheckScore.PASS, [rule])
        assert result.subject is Subject.PROTECTED_CHANGE
        assert result.findings[0].file == path


PROJECT = """\
[project]
name = "calc"
version = "1"
dependencies = ["httpx"]

[project.urls]
# where it lives
home = "https://example.org"

[tool.other]
x = 1
y = 2
z = 3
w = 4

[tool.ruff.lint]
select = ["E"]

[[tool.mypy.overrides]]
module = "x"
"""


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ('select = ["E"]', "select = []", "test-configuration"),
        ('module = "x"', 'module = "*"', "test-configuration"),
        ("[tool.ruff.lint]", "[tool.ruffle.lint]", "test-configuration"),
        ('"httpx"', '"httpy"', "packaging"),
        ("w = 4", "w = 5", "packaging"),
        ('home = "https://example.org"', 'home = "https://example.com"', None),
        ("# where it lives", "# its home", None),
    ],
)
def test_shared_settings_are_judged_by_section(before: str, after: str, rule: str | None) -> None:
    result = check(edit("pyproject.toml", PROJECT, PROJECT.replace(before, after)))
    assert rules(result) == ([rule] if rule else [])


def test_a_new_or_deleted_settings_file_is_configuration() -> None:
    assert rules(check(edit("setup.cfg", None, "[metadata]\nname = x\n"))) == ["test-configuration"]
    assert rules(check(edit("tox.ini", "[tox]\n", None))) == ["test-configuration"]


def test_the_worst_finding_decides_and_comes_first() -> None:
    changes = (
        edit("AGENTS.md", "a\n", "b\n"),
        edit("tests/test_a.py", "assert a\n", "assert True\n"),
        edit("calc.py", None, f"{TOKEN}  # type: ignore\n"),
    )
    result = check(*changes)
    assert (result.score, result.subject) == (CheckScore.FAIL, "")
    assert rules(result) == ["secret", "empty-assertion", "agent-instructions", "check-silenced"]
    revised = check(*changes[:2])
    assert (revised.score, revised.subject) == (CheckScore.NEEDS_REVISION, "")


def test_many_findings_of_a_rule_are_counted_and_some_are_listed() -> None:
    result = check(edit("calc.py", None, f"{TOKEN}\n" * 80))
    assert "secret × 80" in result.summary
    assert len(result.findings) == 50


def test_named_hunks_come_first_for_people() -> None:
    body = "".join(f"{number}\n" for number in range(40))
    edits = (
        edit("a.py", body, body.replace("3\n", "three\n", 1).replace("33\n", f"{TOKEN}\n")),
        bare("b.png", "M", binary=True),
        edit("conftest.py", "x\n", "y\n"),
    )
    changes, diff = together(*edits)
    found = [
        Finding(check="integrity", rule="ci", message="", file="conftest.py"),
        Finding(check="integrity", rule="secret", message="", file="a.py", line=34),
        Finding(check="integrity", rule="other", message="", file="gone.py", line=1),
    ]
    shown = hunks_first(changes, diff, found)
    places = [shown.index(word) for word in ("[GitHub token", "+y", "+three", "b.png")]
    assert places == sorted(places)
    assert TOKEN not in shown
    assert hunks_first(changes, diff, [Finding(check="x", rule="y", message="", file="b.png")]).startswith(
        "diff --git a/b.png"
    )
    assert hunks_first(changes, diff, found, limit_chars=100).endswith("more characters]\n")
    assert "could not be read" in hunks_first(changes, "", found)


def test_modes_of_a_kept_file_change_nothing() -> None:
    assert check(bare("run.sh", "M", old=FILE, new="100755")).score is CheckScore.PASS
