"""A stand-in before a port that counts calls and lets one of them fail: once before its effect, once after it, or each from
that one on until the fault is lifted."""

import inspect
import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

UNCOUNTED = frozenset({"close", "follow"})


class Mode(StrEnum):
    """When the call that was chosen fails."""

    BEFORE = "once before the effect"
    AFTER = "once after the effect"
    FOR_GOOD = "for good"


@dataclass(slots=True, kw_only=True)
class Plan:
    """What happens to the calls of one story. `error` makes the exception the port promises."""

    number: int
    mode: Mode
    error: Callable[[str], Exception]
    calls: int = 0
    fired: list[str] = field(default_factory=list)
    is_lifted: bool = False

    async def call(self, method: str, act: Callable[[], Awaitable[Any]]) -> Any:
        self.calls += 1
        is_due = self.calls >= self.number if self.mode is Mode.FOR_GOOD else self.calls == self.number
        if self.is_lifted or not is_due:
            return await act()
        self.fired.append(method)
        if self.mode is Mode.AFTER:
            await act()
        raise self.error(f"{method} failed, as was arranged")

    def __str__(self) -> str:
        return (
            f"call {self.number} ({', '.join(dict.fromkeys(self.fired)) or 'not reached'}) fails {self.mode}"
        )


class Faulty:
    """Stands before a port; which plan a call follows is told by the call's first argument."""

    def __init__(
        self,
        port: Any,
        plans: Mapping[str, Plan],
        space_of: Callable[[object], str | None],
        *,
        only: Collection[str] = (),
    ) -> None:
        """`only` names the methods that count, if not all."""
        self._port = port
        self._plans = plans
        self._space_of = space_of
        self._only = only

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
            return await plan.call(method, lambda: found(*arguments, **options))

        return called


def every(ordinary: int) -> int:
    """The step from one call that fails to the next: `ordinary`, or each of them where FAULT_EVERY is set."""
    return 1 if os.environ.get("FAULT_EVERY") else ordinary
