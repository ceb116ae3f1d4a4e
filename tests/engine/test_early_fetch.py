"""A fetch begun when a label is seen is taken once by each issue it was begun for, and is nobody's trouble when it fails."""

import asyncio

from overlord.domain.identifiers import Sha
from overlord.engine.runtime.early_fetch import FRESH_S, EarlyFetches, Heads
from overlord.errors import GitFailed

HEADS = {"main": Sha("a" * 40), "minion/issue-7": None}


async def at_once() -> Heads:
    return HEADS


async def test_each_issue_takes_it_once_and_waits_until_it_has_ended() -> None:
    fetches, go = EarlyFetches(), asyncio.Event()

    async def fetch() -> Heads:
        await go.wait()
        return HEADS

    fetches.begin("acme/calc", "main", [7, 8], fetch, now=1)
    taken = asyncio.create_task(fetches.take("acme/calc", "main", 7, now=2))
    await asyncio.sleep(0)
    assert not taken.done()
    go.set()
    assert await taken == HEADS
    assert await fetches.take("acme/calc", "main", 7, now=2) is None
    assert await fetches.take("acme/calc", "main", 8, now=1 + FRESH_S) == HEADS
    assert await fetches.take("acme/calc", "main", 8, now=2) is None


async def test_it_is_not_for_another_issue_branch_or_repository_nor_for_long() -> None:
    fetches = EarlyFetches()
    fetches.begin("acme/calc", "main", [7], at_once, now=1)
    assert await fetches.take("acme/calc", "main", 9, now=1) is None
    assert await fetches.take("acme/calc", "next", 7, now=1) is None
    assert await fetches.take("acme/web", "main", 7, now=1) is None
    assert await fetches.take("acme/calc", "main", 7, now=1.1 + FRESH_S) is None


async def test_what_went_wrong_is_left_to_dispatch() -> None:
    fetches = EarlyFetches()

    async def fetch() -> Heads:
        raise GitFailed("no")

    fetches.begin("acme/calc", "main", [7], fetch, now=1)
    assert await fetches.take("acme/calc", "main", 7, now=1) is None


async def test_closing_stops_it() -> None:
    fetches, ended = EarlyFetches(), asyncio.Event()

    async def fetch() -> Heads:
        try:
            await asyncio.Event().wait()
            return HEADS
        finally:
            ended.set()

    fetches.begin("acme/calc", "main", [7], fetch, now=1)
    await asyncio.sleep(0)
    await fetches.close()
    assert ended.is_set()
    await fetches.close()
