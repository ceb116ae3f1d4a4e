"""Tests weakened by meaning, in three languages: each way is named, and honest changes of tests are left alone."""

import pytest

from overlord.domain.checks.testcode.compare import Compared, Source

PYTHON = '''\
import pytest
from calc import half, total
from pytest import approx


def check(value):
    assert value == 3


def test_total():
    """It adds."""
    result = total([1, 2])
    assert result == 3
    assert total([]) == 0, "nothing is nothing"


@pytest.mark.parametrize("given, made", [([1], 1), ([1, 2], 3), ([1, 2, 3], 6)])
def test_rows(given, made):
    assert total(given) == made


def test_half():
    assert half(1) == approx(0.5, rel=1e-9)
    with pytest.raises(ValueError, match="number"):
        half("x")


def test_checked():
    check(total([3]))
'''
SCRIPT = """\
import assert from 'node:assert';
import { half, total } from './calc';

function check(value) {
  expect(value).toBe(3);
}

describe('calc', () => {
  it('adds', () => {
    const result = total([1, 2]);
    expect(result).toBe(3);
    assert.strictEqual(total([]), 0);
  });

  it.each([[[1], 1], [[1, 2], 3], [[1, 2, 3], 6]])('adds %j', (given, made) => {
    expect(total(given)).toBe(made);
  });

  it('halves', () => {
    expect(half(1)).toBeCloseTo(0.5, 9);
    expect(() => half('x')).toThrow(TypeError);
  });

  it('is checked', () => {
    check(total([3]));
  });
});
"""
GO = """\
package calc

import "testing"

func check(t *testing.T, value int) {
	if value != 3 {
		t.Errorf("got %d", value)
	}
}

func TestTotal(t *testing.T) {
	got := Total([]int{1, 2})
	if got != 3 {
		t.Errorf("got %d", got)
	}
	assert.Equal(t, 0, Total(nil))
}

func TestRows(t *testing.T) {
	tests := []struct {
		given []int
		made  int
	}{
		{[]int{1}, 1},
		{[]int{1, 2}, 3},
		{[]int{1, 2, 3}, 6},
	}
	for _, tt := range tests {
		t.Run("row", func(t *testing.T) {
			if made := Total(tt.given); made != tt.made {
				t.Errorf("got %d", made)
			}
		})
	}
}

func TestChecked(t *testing.T) {
	check(t, Total([]int{3}))
}
"""
FILES = {"tests/test_calc.py": PYTHON, "src/calc.test.ts": SCRIPT, "calc_test.go": GO}

# Each is (old, new, what is named).
WEAKENED = {
    "tests/test_calc.py": [
        ("assert result == 3", "assert True", "empty-assertion"),
        ("assert result == 3", "assert result == result", "empty-assertion"),
        ("assert result == 3", "assert result == 3 or True", "empty-assertion"),
        ("assert result == 3", "assert (result == 3, 'is it')", "empty-assertion"),
        ("assert result == 3", "assert 3 == 3", "empty-assertion"),
        ("assert result == 3", "assert total([1, 2]) == total([1, 2])", "assertion-weakened"),
        ("assert result == 3", "assert result is not None", "assertion-weakened"),
        ("assert result == 3", "assert isinstance(result, int)", "assertion-weakened"),
        ("assert result == 3", "assert result != 4", "assertion-weakened"),
        ("assert result == 3", "assert result >= 0", "assertion-weakened"),
        ("assert result == 3", "assert result in (0, 3)", "assertion-weakened"),
        ("assert result == 3", "assert result == 3 or result == 0", "assertion-weakened"),
        (
            "    assert result == 3\n",
            "    try:\n        assert result == 3\n    except AssertionError:\n        pass\n",
            "assertion-swallowed",
        ),
        (
            "    assert result == 3\n",
            "    try:\n        assert result == 3\n    except:\n        print('no')\n",
            "assertion-swallowed",
        ),
        (
            "    assert result == 3\n",
            "    with contextlib.suppress(Exception):\n        assert result == 3\n",
            "assertion-swallowed",
        ),
        ("    assert result == 3\n", "    if result:\n        assert result == 3\n", "assertion-conditional"),
        (
            "    assert result == 3\n",
            "    if not result:\n        return\n    assert result == 3\n",
            "assertion-conditional",
        ),
        ("    assert result == 3\n", "    pytest.skip('later')\n    assert result == 3\n", "test-skipped"),
        ("    assert result == 3\n", "    return\n    assert result == 3\n", "test-skipped"),
        ("    assert result == 3\n", "    for _ in []:\n        assert result == 3\n", "test-skipped"),
        ("    assert result == 3\n", "", "assertion-removed"),
        ("    assert result == 3\n", "    # assert result == 3\n", "assertion-removed"),
        ("rel=1e-9", "rel=1e-1", "tolerance-loosened"),
        ("rel=1e-9", "abs=1", "tolerance-loosened"),
        ("(ValueError, match=", "(Exception, match=", "assertion-weakened"),
        ('(ValueError, match="number")', "(ValueError)", "assertion-weakened"),
        ('(ValueError, match="number")', "(Exception)", "assertion-weakened"),
        (", ([1, 2, 3], 6)", "", "rows-removed"),
        ("    result = total([1, 2])\n", "    total = lambda _: 3\n    result = total([1, 2])\n", "stand-in"),
        ("def test_checked():\n", "def test_checked():\n    total = lambda _: 3\n", "stand-in"),
        (
            "def test_checked():\n",
            "def test_checked(patched):\n    patched.setattr('calc.total', lambda _: 3)\n",
            "stand-in",
        ),
        (
            "def test_checked():\n",
            "@patch('tests.test_calc.total', return_value=3)\ndef test_checked(made):\n",
            "stand-in",
        ),
        ("    assert value == 3\n", "    pass\n", "assertion-removed"),
        ("    check(total([3]))\n", "    total([3])\n", "assertion-removed"),
        ("def test_half():", "def half_test():", "tests-deleted"),
    ],
    "src/calc.test.ts": [
        ("expect(result).toBe(3)", "expect(true).toBe(true)", "empty-assertion"),
        ("expect(result).toBe(3)", "expect(result).toBe(result)", "empty-assertion"),
        ("expect(result).toBe(3)", "assert.ok(true)", "empty-assertion"),
        ("expect(result).toBe(3)", "expect(result).toBeDefined()", "assertion-weakened"),
        ("expect(result).toBe(3)", "expect(result).not.toBe(4)", "assertion-weakened"),
        ("expect(result).toBe(3)", "expect(result).toBeGreaterThan(-1)", "assertion-weakened"),
        ("assert.strictEqual(total([]), 0)", "assert.ok(total([]) !== undefined)", "assertion-weakened"),
        ("assert.strictEqual(total([]), 0)", "assert.strictEqual(0, 0)", "empty-assertion"),
        (
            "    expect(result).toBe(3);\n",
            "    try { expect(result).toBe(3); } catch (e) {}\n",
            "assertion-swallowed",
        ),
        (
            "    expect(result).toBe(3);\n",
            "    if (result) { expect(result).toBe(3); }\n",
            "assertion-conditional",
        ),
        (
            "    expect(result).toBe(3);\n",
            "    if (!result) return;\n    expect(result).toBe(3);\n",
            "assertion-conditional",
        ),
        ("    expect(result).toBe(3);\n", "    return;\n    expect(result).toBe(3);\n", "test-skipped"),
        ("    expect(result).toBe(3);\n", "", "assertion-removed"),
        ("toBeCloseTo(0.5, 9)", "toBeCloseTo(0.5, 0)", "tolerance-loosened"),
        ("toThrow(TypeError)", "toThrow()", "assertion-weakened"),
        (", [[1, 2, 3], 6]]", "]", "rows-removed"),
        ("describe('calc'", "jest.mock('./calc');\ndescribe('calc'", "stand-in"),
        ("    check(total([3]));\n", "    const total = () => 3;\n    check(total([3]));\n", "stand-in"),
        ("  expect(value).toBe(3);\n", "", "assertion-removed"),
        ("  it('halves', () => {", "  const halves = (() => {", "tests-deleted"),
    ],
    "calc_test.go": [
        ("if got != 3 {", "if false {", "empty-assertion"),
        ("if got != 3 {", "if got != got {", "empty-assertion"),
        ("if got != 3 {", "if got != 3 && false {", "empty-assertion"),
        ("if got != 3 {", "if got < 0 {", "assertion-weakened"),
        ("if got != 3 {", "if got == 7 {", "assertion-weakened"),
        ("assert.Equal(t, 0, Total(nil))", "assert.NotNil(t, Total(nil))", "assertion-weakened"),
        ("assert.Equal(t, 0, Total(nil))", "assert.Equal(t, 0, 0)", "empty-assertion"),
        (
            "	assert.Equal(t, 0, Total(nil))\n",
            "	if testing.Short() {\n		assert.Equal(t, 0, Total(nil))\n	}\n",
            "assertion-conditional",
        ),
        ("	got := Total(", "	t.Skip()\n	got := Total(", "test-skipped"),
        ("	got := Total(", "	return\n	got := Total(", "test-skipped"),
        ("	got := Total(", "	defer func() { recover() }()\n	got := Total(", "assertion-swallowed"),
        ('		t.Errorf("got %d", got)\n', "		t.Log(got)\n", "assertion-removed"),
        ("		{[]int{1, 2, 3}, 6},\n", "", "rows-removed"),
        ("	got := Total(", "	Total = func(_ []int) int { return 3 }\n	got := Total(", "stand-in"),
        ("func TestChecked(", "func checkedTest(", "tests-deleted"),
        ('		t.Errorf("got %d", value)\n', "", "assertion-removed"),
    ],
}
CASES = [(path, *case) for path, cases in WEAKENED.items() for case in cases]


def found(path: str, before: str | None, after: str | None) -> list[str]:
    sides = [text.encode() if text is not None else None for text in (before, after)]
    return [one.rule for one in Compared([Source(path=path, before=sides[0], after=sides[1])]).weaknesses()]


@pytest.mark.parametrize(("path", "old", "new", "rule"), CASES)
def test_each_way_of_weakening_is_named(path: str, old: str, new: str, rule: str) -> None:
    assert old in FILES[path]
    assert rule in found(path, FILES[path], FILES[path].replace(old, new, 1))


HONEST = {
    "tests/test_calc.py": [
        ("result = total([1, 2])", "result = total([2, 1])"),
        ("assert result == 3", "assert result == 4"),
        ("assert result == 3", "assert 3 == result"),
        ("assert result == 3", "assert (result == 3), 'three'"),
        ("assert result == 3", "assert result == 3 and result < 9"),
        ("    result = total([1, 2])\n    assert result == 3\n", "    assert total([1, 2]) == 3\n"),
        ("def test_total(", "def test_it_adds("),
        ("def test_total(", "def test_alike():\n    assert Sum(1) == Sum(1)\n\n\ndef test_total("),
        ("([1], 1), ", "([1], 1), ([], 0), "),
        ("([1], 1), ", "([2], 2), "),
        ("rel=1e-9", "rel=1e-12"),
        ("    assert total([]) == 0", "    for empty in ([], ()):\n        assert total(empty) == 0"),
        (PYTHON, PYTHON.replace("total", "sum_of")),
    ],
    "src/calc.test.ts": [
        ("expect(result).toBe(3)", "expect(result).toEqual(3)"),
        ("expect(result).toBe(3)", "expect(result).toBe(4)"),
        ("it('adds'", "it('adds numbers'"),
        ("[[1], 1], ", "[[1], 1], [[], 0], "),
        ("total([1, 2]);", "total( [1,2] ); // two"),
    ],
    "calc_test.go": [
        ("if got != 3 {", "if got != 4 {"),
        ("{[]int{1}, 1},", "{[]int{1}, 1},\n		{nil, 0},"),
        ("TestTotal", "TestSum"),
    ],
}


@pytest.mark.parametrize(
    ("path", "old", "new"), [(path, *case) for path, cases in HONEST.items() for case in cases]
)
def test_an_honest_change_is_left_alone(path: str, old: str, new: str) -> None:
    assert old in FILES[path]
    assert found(path, FILES[path], FILES[path].replace(old, new, 1)) == []


@pytest.mark.parametrize(
    "source",
    [
        "def test_x():\n    " + "check_a(" * 40_000 + ")" * 40_000,
        "def test_x():\n    assert " + "(" * 40_000 + "1" + ")" * 40_000,
        "def test_x():\n" + "".join(f"    assert f({n}) == {n}\n" for n in range(30_000)),
        "".join(f"def test_{n}(): pass\n" for n in range(40_000)),
    ],
    ids=["calls in calls", "brackets", "assertions", "tests"],
)
def test_a_file_made_to_take_long_is_given_up_or_done_in_a_moment(source: str) -> None:
    """Measured in what is gone over, not in time; the suite's own limit would end what never ends."""
    found("tests/test_calc.py", PYTHON, source)
    found("tests/test_calc.py", source, PYTHON)
