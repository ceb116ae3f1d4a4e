"""The judge on a JavaScript project, with node's own runner: what is right passes, and what only looks so does not."""

import shutil

import pytest

from overlord.domain.checks.file import CheckCommand, ChecksFile
from overlord.domain.checks.testruns.report import REPORT_PATH
from overlord.domain.environments.node import node_part
from overlord.domain.environments.source import Sources
from overlord.domain.evaluation import CheckScore
from tests.judge_set.fixes import Fix
from tests.judge_set.judge import Judged, judge
from tests.required import missing

TEST = """\
const { test, describe, it } = require('node:test');
const assert = require('node:assert');
const { add, double } = require('../calc');

test('adds', () => {
  assert.strictEqual(add(1, 2), 3);
});

describe('double', () => {
  it('doubles', () => {
    assert.strictEqual(double(2), 4);
  });
});
"""
BASE = {
    "package.json": '{"name": "calc", "scripts": {"test": "node --test test/"}}\n',
    "calc.js": "exports.add = (a, b) => a - b;\nexports.double = (a) => a * 2;\n",
    "test/calc.test.js": TEST,
}
MENDED = BASE["calc.js"].replace("a - b", "a + b")
ADDS = "assert.strictEqual(add(1, 2), 3)"
ZERO = BASE["calc.js"].replace("a * 2", "0")
DOUBLES = "assert.strictEqual(double(2), 4)"


def judged(**change: str) -> Judged:
    if shutil.which("node") is None:
        missing("node", "there is no node here")
    package = {"package.json": BASE["package.json"].encode()}
    part = node_part(Sources(names=frozenset(package), files=package), beside_python=False)
    assert part is not None
    checks = ChecksFile(tests=CheckCommand(command=part.reported, junit=REPORT_PATH))
    named = {{"code": "calc.js", "tests": "test/calc.test.js"}[name]: text for name, text in change.items()}
    made, _ = judge(BASE, Fix("", is_right=True, change=dict(named)), None, checks)
    return Judged("calc", Fix("", is_right=True, change={}), made)


def test_a_fix_is_known_test_by_test() -> None:
    right = judged(code=MENDED)
    assert right.is_delivered, right.told
    assert right.checks[1].summary.startswith("2 passed, 0 new, 1 fixed, 0 broken")


def test_new_behaviour_is_proved_by_a_test_that_fails_without_it() -> None:
    more = MENDED + "exports.half = (a) => a / 2;\n"
    test = (
        TEST.replace("{ add,", "{ half, add,")
        + "\ntest('halves', () => {\n  assert.strictEqual(half(4), 2);\n});\n"
    )
    assert "1 new (1 of them fail on base)" in judged(code=more, tests=test).checks[1].summary


@pytest.mark.parametrize(
    ("after", "rule"),
    [
        (TEST.replace(ADDS, "add(1, 2)"), "red-test-rewritten"),
        (TEST.replace(ADDS, "assert.ok(add(1, 2) !== undefined)"), "red-test-rewritten"),
        (TEST.replace(ADDS, f"try {{ {ADDS}; }} catch (error) {{}}"), "red-test-rewritten"),
        (TEST.replace("test('adds', ()", "test.skip('adds', ()"), "red-test-skipped"),
        (TEST.replace("test('adds', () => {", "(() => () => {"), "red-test-gone"),
    ],
    ids=["emptied", "weakened", "swallowed", "skipped", "deleted"],
)
def test_a_red_test_that_was_changed_instead_fixes_nothing(after: str, rule: str) -> None:
    made = judged(tests=after)
    assert made.rules[0] == rule, made.told
    assert made.checks[1].score is CheckScore.NEEDS_REVISION


def test_what_an_old_test_expects_is_a_claim_and_a_weaker_one_is_sent_back() -> None:
    expects = judged(
        code=ZERO.replace("a - b", "a + b"), tests=TEST.replace(DOUBLES, "assert.strictEqual(double(2), 0)")
    )
    assert (expects.checks[1].subject, expects.checks[1].findings[0].rule) == (
        "changed_tests",
        "changed-test",
    )
    weaker = judged(
        code=ZERO.replace("a - b", "a + b"), tests=TEST.replace(DOUBLES, "assert.ok(double(2) >= 0)")
    )
    assert "assertion-weakened" in weaker.rules and not weaker.is_delivered
