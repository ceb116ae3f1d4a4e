"""How many tests ran, by what each runner prints; the summaries are as their documentation shows them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.checks.testruns.output_counts import Counted, counted, total, why_fewer
from tests.domain.disciplines.runner_outputs import RUNS, Printed

_NAMED_GREEN = "ok 1 - adds 12\n# pass 1\n# fail 0\n"


@pytest.mark.parametrize(
    ("output", "runner", "ran", "passed"),
    [
        ("1 failed, 2 passed, 3 skipped, 1 warning in 0.1s\n", "pytest", 3, 2),
        ("===== 4 passed, 2 subtests passed in 1.20s =====\n", "pytest", 4, 4),
        ("1 passed in 0.1s\n\n2 passed in 3.00s (0:00:03)\n", "pytest", 3, 3),
        ("Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=1, skipped=1)\n", "unittest", 4, 2),
        ("Ran 5 tests in 0.1s\n\nOK (skipped=1, expected failures=1)\n", "unittest", 3, 3),
        ("Ran 5 tests in 0.1s\n", "unittest", 5, 5),
        ("# tests 4\n# pass 2\n# fail 1\n# skipped 1\n", "node", 3, 2),
        ("ℹ pass 2\nℹ fail 0\nℹ cancelled 1\n", "node", 3, 2),
        ("test result: FAILED. 2 passed; 1 failed; 4 ignored; 0 measured\n", "cargo", 3, 2),
        ("     Summary [   0.003s] 2 tests run: 1 passed, 1 failed, 3 skipped\n", "nextest", 2, 1),
        ("Tests:       1 failed, 1 skipped, 2 passed, 4 total\n", "jest", 3, 2),
        ("      Tests  1 failed | 3 passed | 1 skipped (5)\n", "jest", 4, 3),
        ("  3 passing (4ms)\n  1 pending\n  2 failing\n", "mocha", 5, 3),
        (" 3 pass\n 1 fail\nRan 4 tests across 1 file.\n", "bun", 4, 3),
        ("FAILED | 2 passed (3 steps) | 1 failed (10ms)\n", "deno", 3, 2),
        ("3 examples, 1 failure, 1 pending\n", "rspec", 2, 1),
        ("3 runs, 5 assertions, 1 failures, 1 errors, 0 skips\n", "minitest", 3, 1),
        ("OK (3 tests, 5 assertions)\n", "junit", 3, 3),
        ("Tests: 4, Assertions: 5, Failures: 1, Skipped: 1.\n", "junit", 3, 2),
        ("[ERROR] Tests run: 3, Failures: 1, Errors: 1, Skipped: 0\n", "junit", 3, 1),
        ("Tests run: 9, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 1 s\n"
         "Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n", "junit", 3, 3),
        ("Failed!  - Failed:     1, Passed:     2, Skipped:     4, Total:     7\n", "dotnet", 3, 2),
        ("DONE 5 tests, 1 skipped, 1 failure in 0.1s\n", "gotestsum", 4, 3),
        ("67% tests passed, 1 tests failed out of 3\n", "ctest", 3, 2),
        ("Files=1, Tests=3,  0 wallclock secs\n", "prove", 3, 3),
        ("ok  \tx/a\t0.1s\nok  \tx/b\t(cached)\nFAIL\tx/c\t0.1s\n?   \tx/d\t[no test files]\n", "go packages", 3, 2),
        ("=== RUN   TestA\n=== RUN   TestA/b\n    --- FAIL: TestA/b (0.00s)\n--- SKIP: TestA (0.00s)\n", "go", 1, 0),
    ],
)  # fmt: skip
def test_what_each_runner_counts(output: str, runner: str, ran: int, passed: int) -> None:
    assert counted(output)[runner] == Counted(ran=ran, passed=passed)
    coloured = output.replace("\n", "\x1b[0m\r\n")
    assert counted(coloured)[runner] == Counted(ran=ran, passed=passed)


@pytest.mark.parametrize("run", RUNS, ids=[run.name for run in RUNS])
def test_what_ran_no_test_counts_none(run: Printed) -> None:
    """And what passed counts as many as ran."""
    found = counted(run.output)
    if run.code in {"no_test_ran", "not_run", "unclear"}:
        assert not found
    assert all(one.passed < one.ran for one in found.values()) or run.code == "passed"


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ("1 failed, 2 passed in 0.1s\n", "3 passed in 0.1s\n", ""),
        ("1 failed, 2 passed in 0.1s\n", "5 passed in 0.1s\n", ""),
        ("1 failed, 2 passed in 0.1s\n", "2 passed in 0.1s\n", "3 tests ran before, and with this change 2 passed"),
        ("1 failed, 2 passed in 0.1s\n", "2 passed, 1 skipped in 0.1s\n", "2 passed"),
        ("1 failed, 2 passed in 0.1s\n", "", "not one test is counted as passed, though the exit code is 0"),
        ("1 passed in 0.1s\n  2 passing (1ms)\n", "1 passed in 0.1s\n", "2 tests ran before"),
        ("FAIL\tx/a\t0.1s\n", "?   \tx/a\t[no test files]\n", "1 package ran before"),
        ("it works\n", "it works\n", ""),
        ("it works\n", "3 passed in 0.1s\n", ""),
        ("not ok 1 - adds 9\n# pass 0\n# fail 1\n", _NAMED_GREEN, ""),
        ("not ok 1 - adds\n# fail 1\n", "ok 1 - /tmp/x/a.test.mjs\n# pass 1\n", "adds ran before and is not named as passed"),
        ("not ok 1 - adds\n# fail 1\n", "ok 1 - adds # SKIP\n# pass 1\n", "adds ran before"),
        ("✖ adds (1.2ms)\nℹ fail 1\n✖ failing tests:\n", "✔ adds (0.9ms)\nℹ pass 1\n", ""),
        ("✖ adds (1.2ms)\nℹ fail 1\n", "✔ a.test.mjs (40ms)\nℹ pass 1\n", "adds ran before"),
    ],
)  # fmt: skip
def test_fewer_tests_than_before_show_nothing(before: str, now: str, said: str) -> None:
    assert bool(why_fewer(before, now)) is bool(said)
    assert said in why_fewer(before, now)


def test_packages_are_counted_only_where_tests_are_not() -> None:
    assert total("ok  \tx/a\t0.1s\n") == 1
    assert total("=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\nok  \tx/a\t0.1s\n") == 2


@given(st.text(), st.text())
def test_any_output_can_be_counted(before: str, now: str) -> None:
    assert not why_fewer(before, before) or any(one.passed < one.ran for one in counted(before).values())
    assert isinstance(why_fewer(before, now), str)
