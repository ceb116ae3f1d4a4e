"""Fetches that are begun when a label is seen, beside the requests that its claim needs: what dispatch waits for is there by then.

Each is for the issues it was begun for, and each of these takes it once. Whatever goes wrong is nobody's trouble here: dispatch fetches
again, and says it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from overlord.domain.identifiers import Sha
from overlord.errors import OverlordError

Heads = Mapping[str, Sha | None]
"""Where branches are; None for one that is nowhere."""
FRESH_S = 10.0
"""A job that comes to be dispatched later than that after the label was seen begins on what the branch is then."""


@dataclass(slots=True)
class _Fetch:
    branch: str
    begun_at: float
    task: asyncio.Task[Heads | None]
    issues: set[int] = field(default_factory=set)


class EarlyFetches:
    """At most one for each repository. Times are the monotonic clock's."""

    def __init__(self) -> None:
        self._fetches: dict[str, _Fetch] = {}

    def begin(
        self,
        name: str,
        branch: str,
        issues: Collection[int],
        fetch: Callable[[], Awaitable[Heads]],
        *,
        now: float,
    ) -> None:
        """Begin to fetch for these issues, unless that is under way for them. `fetch` says where the branches are then."""
        known = self._fetches.get(name)
        if known is not None and not known.task.done() and known.branch == branch:
            return
        self._fetches[name] = _Fetch(branch, now, asyncio.create_task(_tried(fetch)), set(issues))

    async def take(self, name: str, branch: str, issue: int, *, now: float) -> Heads | None:
        """Where the branches are that an issue's job needs, if they were fetched for it; waits until they are."""
        known = self._fetches.get(name)
        if known is None or known.branch != branch or issue not in known.issues:
            return None
        known.issues.discard(issue)
        if not known.issues:
            del self._fetches[name]
        return await asyncio.shield(known.task) if now - known.begun_at <= FRESH_S else None

    async def close(self) -> None:
        """Stop what is under way: every fetch can be repeated."""
        tasks = [fetch.task for fetch in self._fetches.values()]
        self._fetches.clear()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def _tried(fetch: Callable[[], Awaitable[Heads]]) -> Heads | None:
    with suppress(OverlordError, OSError):
        return await fetch()
    return None
