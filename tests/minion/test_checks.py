"""A check session: fresh trees, guarded runners, and results a judge can see through."""

from collections.abc import Callable

from minion.protocol import SessionKind, StepOutcome, Tree
from tests.minion.door import Door, check_step

FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n",
}
FIXED = {"calc.py": "def add(a, b):\n    return a + b\n"}


def test_base_fails_and_the_change_passes(make_door: Callable[..., Door], run: Callable[..., int]) -> None:
    door = make_door(
        FILES,
        change=FIXED,
        kind=SessionKind.CHECK,
        steps=(check_step("base", tree=Tree.BASE), check_step("head")),
    )
    assert run(door) == 0
    base, head = door.check_report.steps
    assert (base.outcome, base.exit_code) == (StepOutcome.RAN, 1)
    assert (head.outcome, head.exit_code) == (StepOutcome.RAN, 0)
    assert head.junit is not None
    assert 'name="test_add"' in head.junit
