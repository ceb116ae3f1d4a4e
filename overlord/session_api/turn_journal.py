"""What sessions did turn by turn, for whoever traces them: in memory, bounded, and forgotten with the daemon."""

import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from minion.protocol import Event
from overlord.domain.trace import Called, Turned

SESSIONS = 64
MOST = 1000
"""Turns, and uses of tools, of one session."""
_TOOL = re.compile(r"[a-z][a-z_]{0,39}")


@dataclass(slots=True)
class _Page:
    turns: list[Turned] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)
    asked: set[int] = field(default_factory=set)
    """The requests since the last turn."""
    order: list[tuple[int, bool]] = field(default_factory=list)
    """Every request, and whether it was answered."""

    def turns_made(self) -> tuple[Turned, ...]:
        """The turns. A session's word of a turn may come before its request is settled, or after the next one is; where there are as
        many answers as turns, each turn had the next."""
        if sum(answered for _, answered in self.order) != len(self.turns):
            return tuple(self.turns)
        left = iter(self.order)
        return tuple(replace(turn, exchanges=_up_to_an_answer(left)) for turn in self.turns)


def _up_to_an_answer(left: Iterator[tuple[int, bool]]) -> frozenset[int]:
    found = set()
    for exchange, answered in left:
        found.add(exchange)
        if answered:
            break
    return frozenset(found)


class Journal:
    """One page for each session that said something lately."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, _Page] = OrderedDict()

    def asked(self, session: str, exchange: int, *, answered: bool) -> None:
        """A request to a model is over."""
        page = self._page(session)
        if len(page.asked) < MOST:
            page.asked.add(exchange)
        if len(page.order) < MOST:
            page.order.append((exchange, answered))

    def turned(self, session: str, turn: int, at: datetime) -> None:
        """A reply of the model has come, and is acted on."""
        page = self._page(session)
        if len(page.turns) < MOST:
            page.turns.append(Turned(turn=turn, at=at, exchanges=frozenset(page.asked)))
            page.asked.clear()

    def called(self, session: str, event: Event, at: datetime) -> None:
        """A tool was used; a name that can be none of ours is told as `unknown`."""
        page = self._page(session)
        if len(page.calls) < MOST:
            tool = event.text if _TOOL.fullmatch(event.text) else "unknown"
            took_s = min(max(event.duration_s, 0.0), 86_400.0)
            called = Called(
                turn=event.turn, tool=tool, start=at - timedelta(seconds=took_s), end=at, failed=event.failed
            )
            page.calls.append(called)

    def take(self, session: str) -> tuple[tuple[Turned, ...], tuple[Called, ...]]:
        """What is known of a session that has ended, which is then forgotten."""
        page = self._pages.pop(session, _Page())
        return page.turns_made(), tuple(page.calls)

    def _page(self, session: str) -> _Page:
        page = self._pages.setdefault(session, _Page())
        self._pages.move_to_end(session)
        while len(self._pages) > SESSIONS:
            self._pages.popitem(last=False)
        return page
