"""Wishes and pauses: one row for each thing asked, and what became of it."""

import sqlite3

import pytest

from overlord.domain.pause import EVERYTHING, Pause
from overlord.errors import NotFound
from overlord.store.database import Database
from overlord.store.spaces import pauses, work_requests
from overlord.store.spaces.work_requests import WorkRequestState
from tests.records import NOW, REPO, later


async def test_a_wish_waits_until_it_is_answered_and_is_then_told_once(database: Database) -> None:
    def act(c: sqlite3.Connection) -> None:
        first = work_requests.add(c, space=REPO, number=1, actor="cli:alice", at=NOW)
        assert work_requests.add(c, space=REPO, number=1, actor="cli:alice", at=later(9)) == first
        assert work_requests.add(c, space=REPO, number=1, actor="cli:bob", at=NOW).id != first.id

    await database.write("by hand", act)
    first, second = await database.read(work_requests.waiting)
    at = later(60)
    await database.write(
        "by hand",
        lambda c: work_requests.answer(c, first.id, WorkRequestState.REFUSED, "It is closed.", at=at),
    )
    assert await database.read(work_requests.waiting) == [second]
    assert await database.read(lambda c: work_requests.of_space(c, "acme/other")) == []
    told = await database.read(lambda c: work_requests.get(c, first.id))
    assert (told.answer, told.answered_at, told.job_id) == ("It is closed.", at, None)
    assert (await database.read(lambda c: work_requests.get(c, second.id))).answered_at is None
    again = await database.write(
        "by hand", lambda c: work_requests.add(c, space=REPO, number=1, actor="cli:alice", at=later(99))
    )
    assert again.id not in {first.id, second.id}
    with pytest.raises(NotFound):
        await database.read(lambda c: work_requests.get(c, 99))


async def test_the_pause_of_everything_is_over_each_space(database: Database) -> None:
    mine = Pause(space=REPO, actor="cli:alice", at=NOW, reason="[1]")
    whole = Pause(space=EVERYTHING, actor="cli:bob", at=NOW)
    await database.write("by hand", lambda c: pauses.add(c, mine))
    assert await database.read(lambda c: pauses.over(c, REPO)) == mine
    assert await database.read(lambda c: pauses.over(c, "acme/other")) is None
    await database.write("by hand", lambda c: pauses.add(c, whole))
    assert await database.read(lambda c: pauses.over(c, REPO)) == whole
    assert await database.read(lambda c: pauses.of(c, REPO)) == mine
    assert list((await database.read(pauses.every)).values()) == [whole, mine]
    await database.write("by hand", lambda c: pauses.remove(c, EVERYTHING))
    assert await database.read(pauses.every) == {REPO: mine}
