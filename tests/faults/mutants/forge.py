"""Defences towards the forge: what it says is looked at, what it refuses is put to people."""

from tests.faults.mutants.mutant import Mutant

FORGE = (
    Mutant(
        name="a hint leads to a look at everything, whichever poll comes first",
        file="overlord/engine/intake.py",
        before="if parts.hints.take(name, parts.clock.monotonic()):",
        after="if parts.hints.take(name, parts.clock.monotonic()) and hinted:",
        tests=(
            "tests/engine/test_hinted.py::test_a_check_that_failed_is_seen_by_the_ordinary_poll_that_comes_before_its_hint_is_due",
        ),
        says="IN_REVIEW",
    ),
)
