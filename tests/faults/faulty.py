"""A stand-in before a port that counts calls and lets chosen ones fail: once before their effect, once after it, or each from
that one on until the fault is lifted.

A call is known by its name and by how many of that name had their effect before it: what failed before its effect shifts nobody's
number. What failed after it is often asked for again, which shifts those of its name that follow: they fail in other stories.
One story serves several calls, far from each other; `FAULT_TOGETHER=1` gives each a story of its own.
"""

import inspect
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

UNCOUNTED = frozenset({"close", "follow"})
TOGETHER = int(os.environ.get("FAULT_TOGETHER", "12"))
"""How many calls fail in one story."""
MOST_LEFT = 0.05
"""Of the calls that a story makes without a fault, the share that one with a fault may do without: how often something is asked is
not always the same, and so one call may be left of however few."""
Call = tuple[str, int]
"""The name of a call, and which of that name it is; the first is 1."""


class Mode(StrEnum):
    """When a call that was chosen fails."""

    BEFORE = "once before the effect"
    AFTER = "once after the effect"
    FOR_GOOD = "for good"


@dataclass(slots=True, kw_only=True)
class Plan:
    """What happens to the calls of one story. `error` makes the exception the port promises."""

    mode: Mode
    error: Callable[[str], Exception]
    left: list[Call] = field(default_factory=list)
    """Those still to fail, in whatever order they come."""
    fired: list[Call] = field(default_factory=list)
    seen: list[Call] = field(default_factory=list)
    """Those that had their effect, in order."""
    failures: list[str] = field(default_factory=list)
    """What has failed since it fails for good, by name."""
    is_over: bool = False
    """Nothing fails or counts any more: what comes after the story is another poll."""

    async def call(self, name: str, act: Callable[[], Awaitable[Any]]) -> Any:
        if self.is_over:
            return await act()
        due = (name, 1 + sum(name == other for other, _ in self.seen))
        if due in self.left and not self.failures:
            self.left.remove(due)
            self.fired.append(due)
        elif not self.failures:
            self.seen.append(due)
            return await act()
        if self.mode is Mode.FOR_GOOD:
            self.failures.append(name)
        elif self.mode is Mode.AFTER:
            self.seen.append(due)
            await act()
        raise self.error(f"{name} failed, as was arranged")

    def lift(self) -> None:
        """What failed for good does so no more, until the next call that is to."""
        self.failures.clear()

    def end(self) -> None:
        self.is_over = True
        self.lift()

    def __str__(self) -> str:
        met = ", ".join(f"{name} ({number})" for name, number in self.fired)
        return f"{met or 'nothing'} fails {self.mode}"


class Faulty:
    """Stands before a port; which plan a call follows is told by the call's first argument."""

    def __init__(
        self,
        port: Any,
        plans: Mapping[str, Plan],
        space_of: Callable[[object], str | None],
        *,
        only: Collection[str] = (),
        by_argument: bool = False,
    ) -> None:
        """`only` names the methods that count, if not all. `by_argument`: a call is called what its first argument says."""
        self._port = port
        self._plans = plans
        self._space_of = space_of
        self._only = only
        self._by_argument = by_argument

    def __getattr__(self, method: str) -> Any:
        found = getattr(self._port, method)
        counts = inspect.iscoroutinefunction(found) and method not in UNCOUNTED
        if not counts or (self._only and method not in self._only):
            return found

        async def called(*arguments: Any, **options: Any) -> Any:
            plan = (
                self._plans.get(self._space_of(arguments[0]) or "") if arguments else None
            )  # "": about no space
            if plan is None:
                return await found(*arguments, **options)
            name = str(arguments[0]) if self._by_argument else method
            return await plan.call(name, lambda: found(*arguments, **options))

        return called


def chains(calls: Sequence[Call], together: int = TOGETHER, *, apart: bool = False) -> list[list[Call]]:
    """The calls of a story, dealt to as many stories as are needed: neighbours fail in different ones. `apart`: so do all of a name."""
    most = max(Counter(name for name, _ in calls).values(), default=0)
    count = max(-(-len(calls) // together), most if apart else 0)
    dealt: list[list[Call]] = [[] for _ in range(count)]
    for number, call in enumerate(calls):
        turns = [dealt[(number + later) % count] for later in range(count)]
        free = [chain for chain in turns if not apart or call[0] not in [name for name, _ in chain]]
        free[0].append(call)
    return dealt


async def told(
    calls: Sequence[Call],
    tell: Callable[[list[list[Call]]], Awaitable[Sequence[Plan]]],
    *,
    apart: bool = False,
) -> None:
    """Tell stories in which these calls fail, several in each; what one of them did not come to for what failed before, in a story
    of its own. `apart`: no two of a name in one. Raises AssertionError for what fails in none."""
    again = [call for plan in await tell(chains(calls, apart=apart)) for call in plan.left]
    left = [call for plan in await tell(chains(again, 1)) for call in plan.left] if again else []
    print(f"of {len(calls)} calls, {len(again)} failed in no story with others: {again}; and in none: {left}")
    assert calls, "no call was counted"
    never = [name for name, number in left if number == 1]
    assert not never, f"never failed: {never}"
    assert len(left) <= max(1, MOST_LEFT * len(calls)), f"did not fail: {left}"
