"""What a demo plays: a contract, the issues its jobs are about, and what the model says to them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One demo. `script` is a file of config/demo."""

    contract: str
    script: str
    issues: tuple[tuple[str, str], ...]
    """Their titles and texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a demo's sessions run in: a runner, and of a swarm one has already a manager and this machine's address there."""

    runner: str
    manager: str = ""
    host: str = ""


class DemoContract(StrEnum):
    """The contracts that a demo can be asked to show."""

    DEFAULT = "default"
    PLAN_FIRST = "plan-first"
    RED_GREEN = "red-green"
    CREW = "crew"


_RATE = (
    "Ten percent off makes everything free",
    "`total([1000], discount=10)` is 0 and should be 900. The test for it fails.",
)
_LIMIT = (
    "Discounts above 100 percent are accepted",
    "`total([100], discount=150)` in till.py pays the customer. It should raise a ValueError.",
)
_PAGE = (
    "Say on the basket's page what a discount takes off",
    "till.py needs `saved(prices, discount)`: `saved([1000], discount=10)` is 100. web/basket.html should have a line for it. "
    "Its tests go to tests/test_saved.py.",
)

STORIES: Mapping[DemoContract, Story] = {
    DemoContract.DEFAULT: Story(contract="default", script="script.yaml", issues=(_RATE, _LIMIT)),
    DemoContract.PLAN_FIRST: Story(contract="plan-first", script="plan-first.yaml", issues=(_LIMIT,)),
    DemoContract.RED_GREEN: Story(contract="red-green", script="red-green.yaml", issues=(_LIMIT,)),
    DemoContract.CREW: Story(contract="crew", script="crew.yaml", issues=(_PAGE,)),
}
