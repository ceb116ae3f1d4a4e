"""Tests made weaker are named; tests made better are left alone."""

import pytest

from overlord.domain.changes.diff import parse_diff
from overlord.domain.checks.testcode.tests import Weakness
from overlord.domain.checks.weakening import weaknesses
from tests.domain.differ import edit, together

TEST = """\
import calc


def test_add():
    assert calc.add(1, 2) == 3
    assert calc.add(0, 0) == 0


def test_close():
    assert calc.third() == approx(0.333, rel=1e-3)
"""


def found(*edits: tuple[str, str | None, str | None]) -> list[Weakness]:
    changes, diff = together(*(edit(path, before, after) for path, before, after in edits))
    files = parse_diff(changes, diff)
    assert files is not None
    return list(weaknesses(files))


def rules(before: str | None, after: str | None, path: str = "tests/test_calc.py") -> list[str]:
    return [weakness.rule for weakness in found((path, before, after))]


@pytest.mark.parametrize(
    "marker",
    [
        "@pytest.mark.skip",
        '@pytest.mark.skipif(True, reason="x")',
        "@pytest.mark.xfail",
        '@unittest.skip("x")',
        "@unittest.expectedFailure",
        "@skipIf(True)",
    ],
)
def test_skipping_is_named_with_its_line(marker: str) -> None:
    [weakness] = found(
        ("tests/test_calc.py", TEST, TEST.replace("def test_close", f"{marker}\ndef test_close"))
    )
    assert (weakness.rule, weakness.line, weakness.evidence) == ("test-skipped", 9, marker)


@pytest.mark.parametrize(
    "statement",
    [
        "pytest.skip('later')",
        "pytest.importorskip('calc')",
        "self.skipTest('x')",
        "raise unittest.SkipTest",
        "return",
        "return None",
    ],
)
def test_leaving_a_test_early_is_skipping(statement: str) -> None:
    after = TEST.replace(
        "def test_add():\n", f'def test_add():\n    """Adds."""\n    # now\n    {statement}\n'
    )
    assert rules(TEST, after) == ["test-skipped"]


def test_a_return_further_down_is_none_of_it() -> None:
    assert rules(TEST, TEST.replace("== 0\n", "== 0\n    return\n")) == []


@pytest.mark.parametrize(
    "words", ["__test__ = False", "collect_ignore = ['test_calc.py']", "pytest.exit('x', 0)"]
)
def test_switching_collection_off_is_skipping(words: str) -> None:
    assert rules("import pytest\n", f"import pytest\n{words}\n", "conftest.py") == ["test-skipped"]


def test_a_new_test_that_skips_somewhere_weakens_nothing() -> None:
    assert rules(None, f"@pytest.mark.skipif(WINDOWS)\n{TEST}") == []


def test_a_comment_about_skipping_is_no_skip() -> None:
    assert rules(TEST, f"# pytest.skip(…) is not used here\n{TEST}") == []


def test_deleting_a_test_is_named() -> None:
    weakness = found(("tests/test_calc.py", TEST, TEST[: TEST.index("def test_close")]))[0]
    assert weakness.rule == "tests-deleted"
    assert "test_close" in weakness.message
    assert rules(TEST, None) == ["tests-deleted"]


def test_deleting_what_tests_read_is_not_deleting_tests() -> None:
    assert rules('{"a": 1}\n', None, "tests/data.json") == []


def test_a_test_that_lost_its_name_is_deleted() -> None:
    assert rules(TEST, TEST.replace("def test_close", "def check_close")) == ["tests-deleted"]
    assert rules("class TestA:\n    x = 1\n", "class A:\n    x = 1\n") == ["tests-deleted"]


def test_renaming_a_test_to_another_test_is_fine() -> None:
    assert rules(TEST, TEST.replace("def test_close", "def test_nearly")) == []


def test_moving_tests_between_files_is_fine() -> None:
    head, tail = TEST[: TEST.index("def test_close")], TEST[TEST.index("def test_close") :]
    assert found(("tests/test_calc.py", TEST, head), ("tests/test_close.py", None, tail)) == []
    assert found(("tests/test_b.py", None, tail), ("tests/test_calc.py", TEST, head)) == []


def test_adding_other_tests_elsewhere_does_not_make_up_for_deleted_ones() -> None:
    other = "def test_true():\n    assert one == 1\n\n\ndef test_one():\n    assert two == 2\n"
    assert [
        item.rule for item in found(("tests/test_calc.py", TEST, None), ("tests/test_b.py", None, other))
    ] == ["tests-deleted"]


def test_moving_a_test_file_where_no_test_is_looked_for_is_deleting() -> None:
    changes, diff = together(edit("docs/calc.txt", TEST, TEST, was="tests/test_calc.py"))
    assert [item.rule for item in weaknesses(parse_diff(changes, diff) or ())] == ["tests-deleted"]


def test_fewer_assertions_are_counted() -> None:
    [weakness] = found(("tests/test_calc.py", TEST, TEST.replace("    assert calc.add(0, 0) == 0\n", "")))
    assert weakness.rule == "assertion-removed"
    assert "1 removed, 0 added" in weakness.message


def test_a_changed_assertion_is_not_a_removed_one() -> None:
    assert rules(TEST, TEST.replace("== 0\n", "== 0, 'zero'\n")) == []


def test_a_commented_assertion_is_found() -> None:
    after = TEST.replace("    assert calc.add(0, 0)", "    # assert calc.add(0, 0)")
    assert rules(TEST, after) == ["assertion-removed", "assertion-removed"]


@pytest.mark.parametrize(
    "empty",
    [
        "assert True",
        "assert 1  # yes",
        "assert not False, 'x'",
        "assert calc.add(1, 2) == 4 or True",
        "assert (calc.add(1, 2) == 4, 'wrong')",
        "self.assertTrue(True)",
        "self.assertFalse(0, 'x')",
    ],
)
def test_assertions_that_always_hold_are_named(empty: str) -> None:
    assert rules(TEST, TEST.replace("assert calc.add(0, 0) == 0", empty)) == ["empty-assertion"]


@pytest.mark.parametrize(
    "real", ["assert one, 'message'", "assert f(1, 2)", "assert not result", "assert True is x"]
)
def test_assertions_that_can_fail_are_not(real: str) -> None:
    assert rules(TEST, TEST.replace("assert calc.add(0, 0) == 0", real)) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("approx(x, rel=1e-3)", "approx(x, rel=0.1)"),
        ("approx(x)", "approx(x, abs=0.5)"),
        ("approx(x)", "approx(x, rel=1_0)"),
        ("f(a, b, places=7)", "f(a, b, places=2)"),
        ("f(a, b)", "f(a, b, decimal=1)"),
        ("f(a, b, delta=.1)", "f(a, b, delta=2.)"),
        ("f(a, rtol=1e-9, atol=1)", "f(a, rtol=1e-2, atol=1)"),
    ],
)
def test_looser_tolerances_are_named(before: str, after: str) -> None:
    [weakness] = found(("test_a.py", f"assert {before}\n", f"assert {after}\n"))
    assert weakness.rule == "tolerance-loosened"
    assert "→" in weakness.message
    assert found(("test_a.py", f"assert {after}\n", f"assert {before}\n")) == []


def test_a_tolerance_in_a_new_test_is_its_own_business() -> None:
    assert rules(TEST, f"{TEST}\n\ndef test_new():\n    assert x == approx(1, rel=0.5)\n") == []


def test_a_changed_number_that_is_no_assertion_is_none_of_it() -> None:
    assert rules("x = f(rel=1)\n", "x = f(rel=2)\n", "test_a.py") == []


@pytest.mark.parametrize(
    "line",
    [
        'if os.environ.get("PYTEST_CURRENT_TEST"):',
        'if "pytest" in sys.modules:',
        "from _pytest import runner",
        'sys.modules["pytest"] = fake',
    ],
)
def test_code_that_sees_it_is_tested_is_named(line: str) -> None:
    assert rules("import sys\n", f"import sys\n{line}\n", "calc.py") == ["sees-tests"]
    assert rules("import sys\n", f"import sys\n{line}\n", "notes.md") == []


@pytest.mark.parametrize(
    "path", ["pytest.py", "_pytest/__init__.py", "src/unittest.py", "a/sitecustomize.py", "x.pth"]
)
def test_a_stand_in_for_the_runner_is_named(path: str) -> None:
    assert rules(None, "x = 1\n", path) == ["runner-replaced"]
    assert rules("x = 1\n", None, path) == []


def test_a_folder_of_unit_tests_is_no_stand_in() -> None:
    assert rules(None, "x = 1\n", "tests/unittest/test_a.py") == []


def test_other_languages_have_tests_too() -> None:
    before = 'it("adds", () => {\n  expect(add(1)).toBe(2)\n})\n'
    assert rules(before, before.replace("it(", "it.skip("), "a.spec.ts") == ["test-skipped"]
    assert rules(before, "", "a.spec.ts") == ["tests-deleted", "assertion-removed"]


def test_hostile_lines_are_read_quickly() -> None:
    bait = ["assert " * 20_000, "x" * 200_000, "assert (" * 20_000, "rel=" * 30_000, " " * 100_000 + "assert"]
    text = "".join(f"{line}\n" for line in bait * 20)
    rules(text, text.replace("x", "y"), "test_a.py")
    rules(None, text)
