"""Defences against code under test that reports its own tests."""

from tests.faults.mutants.mutant import Mutant

FORGERY = ("tests/minion/test_checks_forgery.py::test_no_code_under_test_makes_a_failing_test_pass",)

GUARDED = (
    Mutant(
        name="a control that passes ends the belief in a run",
        file="minion/checks/guarded_run.py",
        before='if control == "passed":',
        after='if control == "never":',
        tests=FORGERY,
        says="assert not True",
    ),
    Mutant(
        name="tests whose code was replaced do not pass",
        file="minion/checks/guarded_controls.py",
        before="if function.__code__ is not code:",
        after="if function.__code__ is None:",
        tests=FORGERY,
        says="assert not True",
    ),
    Mutant(
        name="no pass is logged that was not made",
        file="minion/checks/guarded_run.py",
        before="if self._passed[name] < 0:",
        after="if self._passed[name] < -9:",
        tests=FORGERY,
        says="assert not True",
    ),
    Mutant(
        name="base's tests need a control on the new code when they had one at base",
        file="overlord/domain/checks/testruns/judge.py",
        before="if not is_controlled(runs.base, runs.restored or runs.head):",
        after="if not runs.base.cases:",
        tests=("tests/domain/test_testing.py",),
        says=r"assert \[\] == \['no-controls'\]",
    ),
)
