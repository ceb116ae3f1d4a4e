"""What runners of tests print: of pytest, unittest, node and cargo as they were recorded, of the others as their documentation shows."""

from typing import NamedTuple


class Printed(NamedTuple):
    """One run."""

    name: str
    exit_code: int
    output: str
    code: str
    """What it came to."""


_UNITTEST = """\
{mark}
======================================================================
{head}
----------------------------------------------------------------------
{text}

----------------------------------------------------------------------
Ran 1 test in 0.000s

FAILED ({kind}=1)
"""
_UNITTEST_ASSERTION = _UNITTEST.format(
    mark="F",
    head="FAIL: test_x (test_a.T.test_x)",
    text='Traceback (most recent call last):\n  File "test_a.py", line 4, in test_x\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2',
    kind="failures",
)
_UNITTEST_IMPORT = _UNITTEST.format(
    mark="E",
    head="ERROR: test_b (unittest.loader._FailedTest.test_b)",
    text="ImportError: Failed to import test module: test_b\nTraceback (most recent call last):\n"
    "  File \"test_b.py\", line 1, in <module>\n    import nothing_such\nModuleNotFoundError: No module named 'nothing_such'",
    kind="errors",
)
_UNITTEST_ERROR = _UNITTEST.format(
    mark="E",
    head="ERROR: test_x (test_c.T.test_x)",
    text='Traceback (most recent call last):\n  File "test_c.py", line 4, in test_x\n    {}["k"]\nKeyError: \'k\'',
    kind="errors",
)
_PYTEST_ASSERTION = """\
F                                                                        [100%]
=================================== FAILURES ===================================
____________________________________ test_p ____________________________________

    def test_p():
>       assert 1 == 2
E       assert 1 == 2

test_p.py:2: AssertionError
=========================== short test summary info ============================
FAILED test_p.py::test_p - assert 1 == 2
1 failed in 0.07s
"""
_PYTEST_IMPORT = """\
==================================== ERRORS ====================================
__________________________ ERROR collecting test_b.py __________________________
ImportError while importing test module '/tmp/x/test_b.py'.
test_b.py:1: in <module>
    import nothing_such
E   ModuleNotFoundError: No module named 'nothing_such'
=========================== short test summary info ============================
ERROR test_b.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
1 error in 0.31s
"""
_NODE_ENDS = "1..1\n# tests 1\n# suites 0\n# pass {passed}\n# fail {failed}\n"
_NODE_ASSERTION = (
    """\
TAP version 13
# Subtest: adds
not ok 1 - adds
  ---
  location: '/tmp/x/a.test.mjs:2:1'
  failureType: 'testCodeFailure'
  error: |-
    Expected values to be strictly equal:

    1 !== 2

  code: 'ERR_ASSERTION'
  name: 'AssertionError'
  ...
"""
    + _NODE_ENDS
)
_NODE_IMPORT = (
    """\
TAP version 13
# node:internal/modules/esm/resolve:283
#     throw new ERR_MODULE_NOT_FOUND(
# Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/tmp/x/nothing.mjs' imported from /tmp/x/b.test.mjs
# Subtest: /tmp/x/b.test.mjs
not ok 1 - /tmp/x/b.test.mjs
  ---
  error: 'test failed'
  code: 'ERR_TEST_FAILURE'
  ...
"""
    + _NODE_ENDS
)
_NODE_ERROR = (
    """\
TAP version 13
# Subtest: adds
not ok 1 - adds
  ---
  error: "Cannot read properties of null (reading 'x')"
  code: 'ERR_TEST_FAILURE'
  name: 'TypeError'
  ...
"""
    + _NODE_ENDS
)
_CARGO = """\
   Compiling calc v0.1.0 (/tmp/x)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.98s
     Running unittests src/lib.rs (target/debug/deps/calc-c6626fb655a8d231)

running 1 test
test tests::halves ... FAILED

failures:

---- tests::halves stdout ----

thread 'tests::halves' (32576) panicked at src/lib.rs:2:48:
{said}

failures:
    tests::halves

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.09s

error: test failed, to rerun pass `--lib`
"""
_CARGO_NONE = """\
     Running unittests src/lib.rs (target/debug/deps/calc-c6626fb655a8d231)

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests calc

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
_CARGO_BUILD = """\
   Compiling calc v0.1.0 (/tmp/x)
error[E0425]: cannot find function `third` in module `super`
 --> src/lib.rs:2:66

For more information about this error, try `rustc --explain E0425`.
error: could not compile `calc` (lib test) due to 1 previous error
"""
_GO_ASSERTION = """\
--- FAIL: TestHalf (0.00s)
    calc_test.go:9: Half(3) = 1, want 2
FAIL
FAIL\texample.com/calc\t0.002s
FAIL
"""
_GO_BUILD = """\
# example.com/calc [example.com/calc.test]
./calc_test.go:8:9: undefined: Third
FAIL\texample.com/calc [build failed]
FAIL
"""
_GO_PANIC = """\
--- FAIL: TestHalf (0.00s)
panic: runtime error: index out of range [0] with length 0 [recovered]
FAIL\texample.com/calc\t0.003s
FAIL
"""
_JEST_ASSERTION = """\
 FAIL  ./calc.test.js
  ✕ halves (3 ms)

  ● halves

    expect(received).toBe(expected) // Object.is equality

    Expected: 2
    Received: 1

      2 |
    > 3 | test('halves', () => expect(half(3)).toBe(2));

Test Suites: 1 failed, 1 total
Tests:       1 failed, 1 total
"""
_JEST_IMPORT = """\
 FAIL  ./calc.test.js
  ● Test suite failed to run

    Cannot find module './nothing' from 'calc.test.js'

    > 1 | const { half } = require('./nothing');

Test Suites: 1 failed, 1 total
Tests:       0 total
"""
_JEST_ERROR = """\
 FAIL  ./calc.test.js
  ● halves

    TypeError: half is not a function

    > 3 | test('halves', () => expect(half(3)).toBe(2));

Tests:       1 failed, 1 total
"""
_VITEST_ASSERTION = """\
 FAIL  test/calc.test.ts > halves
AssertionError: expected 1 to be 2 // Object.is equality

 Test Files  1 failed (1)
      Tests  1 failed (1)
"""
_VITEST_IMPORT = """\
 FAIL  test/calc.test.ts [ test/calc.test.ts ]
Error: Failed to load url ./nothing (resolved id: ./nothing) in /x/test/calc.test.ts. Does the file exist?

 Test Files  1 failed (1)
      Tests  no tests
"""
_MOCHA_ASSERTION = """\
  0 passing (4ms)
  1 failing

  1) halves:

      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

1 !== 2
"""
RUNS = (
    Printed("unittest, an assertion", 1, _UNITTEST_ASSERTION, "assertion"),
    Printed("unittest, an import", 1, _UNITTEST_IMPORT, "import_error"),
    Printed("unittest, an exception", 1, _UNITTEST_ERROR, "error"),
    Printed("unittest, skipped", 0, "s\n-----\nRan 1 test in 0.000s\n\nOK (skipped=1)\n", "no_test_ran"),
    Printed("unittest, one of two skipped", 0, ".s\n-----\nRan 2 tests in 0.000s\n\nOK (skipped=1)\n", "passed"),
    Printed("unittest, none", 0, "\n-----\nRan 0 tests in 0.000s\n\nOK\n", "no_test_ran"),
    Printed("unittest of Python 3.12, none", 5, "\n-----\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", "no_test_ran"),
    Printed("unittest, green", 0, ".\n-----\nRan 1 test in 0.000s\n\nOK\n", "passed"),
    Printed("pytest, an assertion", 1, _PYTEST_ASSERTION, "assertion"),
    Printed("pytest, an import", 2, _PYTEST_IMPORT, "import_error"),
    Printed("pytest, none", 5, "\nno tests ran in 0.11s\n", "no_test_ran"),
    Printed("pytest, skipped", 0, "s  [100%]\n1 skipped in 0.01s\n", "no_test_ran"),
    Printed("pytest, green", 0, ".s  [100%]\n1 passed, 1 skipped in 0.01s\n", "passed"),
    Printed("node, an assertion", 1, _NODE_ASSERTION.format(passed=0, failed=1), "assertion"),
    Printed("node, an import", 1, _NODE_IMPORT.format(passed=0, failed=1), "import_error"),
    Printed("node, an exception", 1, _NODE_ERROR.format(passed=0, failed=1), "error"),
    Printed("node, none", 0, "TAP version 13\n1..0\n# tests 0\n# suites 0\n# pass 0\n", "no_test_ran"),
    Printed("node, green", 0, f"TAP version 13\nok 1 - adds\n{_NODE_ENDS.format(passed=1, failed=0)}", "passed"),
    Printed("cargo, an assertion", 101, _CARGO.format(said="assertion `left == right` failed\n  left: 1\n right: 2"), "assertion"),
    Printed("cargo, a panic", 101, _CARGO.format(said="index out of bounds: the len is 0 but the index is 0"), "error"),
    Printed("cargo, none", 0, _CARGO_NONE, "no_test_ran"),
    Printed("cargo, a build", 101, _CARGO_BUILD, "import_error"),
    Printed("cargo, green", 0, _CARGO_NONE.replace("running 0", "running 2", 1), "passed"),
    Printed("go, an assertion", 1, _GO_ASSERTION, "assertion"),
    Printed("go, a build", 1, _GO_BUILD, "import_error"),
    Printed("go, a panic", 2, _GO_PANIC, "error"),
    Printed("go, no file", 0, "?   \texample.com/calc\t[no test files]\n", "no_test_ran"),
    Printed("go, none", 0, "ok  \texample.com/calc\t0.001s [no tests to run]\n", "no_test_ran"),
    Printed("go, green", 0, "?   \texample.com/x\t[no test files]\nok  \texample.com/calc\t0.001s\n", "passed"),
    Printed("jest, an assertion", 1, _JEST_ASSERTION, "assertion"),
    Printed("jest, an import", 1, _JEST_IMPORT, "import_error"),
    Printed("jest, an exception", 1, _JEST_ERROR, "error"),
    Printed("jest, none", 1, "No tests found, exiting with code 1\n", "no_test_ran"),
    Printed("vitest, an assertion", 1, _VITEST_ASSERTION, "assertion"),
    Printed("vitest, an import", 1, _VITEST_IMPORT, "import_error"),
    Printed("vitest, none", 1, "No test files found, exiting with code 1\n", "no_test_ran"),
    Printed("mocha, an assertion", 1, _MOCHA_ASSERTION, "assertion"),
    Printed("mocha, none", 1, "Error: No test files found: \"test\"\n", "no_test_ran"),
    Printed("npm without tests", 1, 'npm error Missing script: "test"\n', "no_test_ran"),
    Printed("no program", 127, "sh: 1: nothing-such: not found\n", "not_run"),
    Printed("a signal", 139, "", "not_run"),
    Printed("nobody knows", 1, "it went wrong\n", "unclear"),
)  # fmt: skip
