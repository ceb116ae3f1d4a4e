"""Initiatives and tasks as rows: numbers are never used twice, keys once, and two edits at once make no circle together."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.task import MOST_LINKS, AddressedCriterion, Task, TaskState
from overlord.errors import NotFound, Refused
from overlord.store import ledger
from overlord.store.database import Database
from overlord.store.portfolio import cycles, initiatives, tasks
from overlord.store.schema.migrations import migrate
from tests.portfolio_views import a_task, an_initiative
from tests.records import NOW, later


@pytest.fixture
def store() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        migrate(connection)
        yield connection


def an_added(store: sqlite3.Connection, number: int = 1, **given: object) -> Initiative:
    common = {"state": InitiativeState.QUEUED, "slug": ""}
    made = initiatives.add(store, an_initiative(0, **{**common, "key": f"key {number}", **given}))
    assert made is not None
    return made


def added(store: sqlite3.Connection, many: int, initiative: Initiative | None = None) -> list[Task]:
    owner = initiative or an_added(store)
    return [tasks.add(store, a_task(0, initiative_id=owner.id)) for _ in range(many)]


def names(store: sqlite3.Connection) -> list[str]:
    return [entry.name for entry in ledger.entries(store)]


def test_a_key_makes_one_initiative_ever(store: sqlite3.Connection) -> None:
    first = an_added(store)
    initiatives.change(store, first.id, at=NOW, state=InitiativeState.CANCELLED)
    assert initiatives.add(store, an_initiative(0, key="key 1")) is None
    assert [item.id for item in initiatives.every(store)] == [first.id]


def test_a_slug_is_used_once_in_a_space(store: sqlite3.Connection) -> None:
    slugs = [an_added(store, number, title="Faster!").slug for number in (1, 2, 3)]
    assert slugs == ["faster", "faster-2", "faster-3"]
    assert an_added(store, 4, title="Faster!", space="acme/web").slug == "faster"
    assert an_added(store, 5, title="更快").slug == "initiative"


def test_a_tasks_number_is_never_used_twice(store: sqlite3.Connection) -> None:
    first, second = added(store, 2)
    tasks.change(store, second.id, at=NOW, state=TaskState.CANCELLED)
    store.execute("DELETE FROM tasks WHERE id = ?", (second.id,))
    [third] = added(store, 1, initiatives.get(store, first.initiative_id))
    assert [first.ref, third.ref] == ["i1.1", "i1.3"]


def test_what_changes_nothing_is_no_fact(store: sqlite3.Connection) -> None:
    [task] = added(store, 1)
    before = names(store)
    tasks.change(store, task.id, at=later(60), priority=task.priority)
    initiatives.change(store, task.initiative_id, at=later(60), title="Goal 0")
    assert names(store) == before
    assert tasks.get(store, task.id).updated_at == NOW


def test_why_it_waits_is_said_without_making_it_newer(store: sqlite3.Connection) -> None:
    [task] = added(store, 1)
    before = names(store)
    tasks.say_waits(store, task.id, "its initiative is paused")
    assert tasks.get(store, task.id) == tasks.get(store, task.id)
    assert (tasks.get(store, task.id).updated_at, names(store)) == (NOW, before)


def test_what_is_worked_on_again_is_not_completed_any_more(store: sqlite3.Connection) -> None:
    [task] = added(store, 1)
    done = tasks.change(store, task.id, at=later(60), state=TaskState.DONE)
    assert done.completed_at == later(60) == tasks.get(store, task.id).completed_at
    again = tasks.change(store, task.id, at=later(90), state=TaskState.PENDING)
    assert again.completed_at is None and tasks.get(store, task.id).completed_at is None
    ended = initiatives.change(store, 1, at=later(60), state=InitiativeState.DONE)
    assert ended.completed_at == later(60)
    assert initiatives.change(store, 1, at=later(90), state=InitiativeState.ACTIVE).completed_at is None


@pytest.mark.parametrize("text", ["i1.1", "1.1", " I1.1 ", "i1.#1"])
def test_a_task_is_named_by_its_initiative_and_its_number(store: sqlite3.Connection, text: str) -> None:
    [task] = added(store, 1)
    assert tasks.named(store, text).id == task.id
    assert tasks.named(store, "1", initiative_id=1).id == task.id


@pytest.mark.parametrize("text", ["", "i1", "x", "i1.2", "i2.1", "i1.99999999999", "i1.¹", "i1.-1"])
def test_what_names_no_task_is_refused(store: sqlite3.Connection, text: str) -> None:
    added(store, 1)
    with pytest.raises(NotFound):
        tasks.named(store, text)


# Links


def blockers(store: sqlite3.Connection, task: Task) -> list[int]:
    found = [link for link in tasks.links(store) if link.blocked_id == task.id]
    return [tasks.get(store, link.blocker_id).number for link in found]


def test_a_circle_is_refused_with_the_circle_and_nothing_is_changed(store: sqlite3.Connection) -> None:
    one, two, three = added(store, 3)
    tasks.link(store, two, [one], at=NOW)
    tasks.link(store, three, [two], at=NOW)
    with pytest.raises(Refused) as refused:
        tasks.link(store, one, [three], at=NOW)
    said = "i1.1 waits for i1.3, which waits for i1.2, which waits for i1.1"
    assert (
        str(refused.value)
        == f"the tasks would wait for each other in a circle: {said}; take one of these out"
    )
    assert blockers(store, one) == []
    with pytest.raises(Refused, match=r"i1\.1 waits for i1\.1"):
        tasks.link(store, one, [one], at=NOW)


def test_a_circle_over_two_initiatives_is_one_too(store: sqlite3.Connection) -> None:
    [one], [other] = added(store, 1), added(store, 1, an_added(store, 2))
    tasks.link(store, one, [other], at=NOW)
    with pytest.raises(Refused, match=r"i1\.1 waits for i2\.1, which waits for i1\.1"):
        tasks.link(store, other, [one], at=NOW)


def test_links_are_said_whole(store: sqlite3.Connection) -> None:
    one, two, three = added(store, 3)
    tasks.link(store, three, [one, two], at=later(5))
    assert blockers(store, three) == [1, 2]
    assert tasks.get(store, three.id).updated_at == later(5)
    tasks.link(store, three, [two], at=later(9))
    assert blockers(store, three) == [2]
    tasks.link(store, three, [], at=later(9))
    assert blockers(store, three) == []


def test_a_task_waits_for_so_many_at_most(store: sqlite3.Connection) -> None:
    *others, last = added(store, MOST_LINKS + 2)
    with pytest.raises(Refused, match=f"at most {MOST_LINKS} others"):
        tasks.link(store, last, others, at=NOW)


async def test_two_edits_at_once_make_no_circle_together(tmp_path: Path) -> None:
    """The daemon's own writer, and a command beside it: each transaction looks at what the other wrote."""
    path = tmp_path / "overlord.db"
    daemon = await Database.open(path, exclusive=True)
    beside = await Database.open(path, exclusive=False)
    try:
        one, two = await daemon.write("by hand", lambda c: added(c, 2))
        tried = await asyncio.gather(
            daemon.write("by hand", lambda c: tasks.link(c, one, [two], at=NOW)),
            beside.write("by hand", lambda c: tasks.link(c, two, [one], at=NOW)),
            return_exceptions=True,
        )
        assert sorted(type(item).__name__ for item in tried) == ["NoneType", "Refused"]
        assert len(await daemon.read(tasks.links)) == 1
    finally:
        await beside.close()
        await daemon.close()


def test_ten_thousand_are_read_as_one_is(store: sqlite3.Connection) -> None:
    [task, _] = added(store, 2)
    said = (AddressedCriterion(number=1, evidence="tests/test_x.py"),)
    given: dict[str, Any] = {
        "labels": ("a", "b"),
        "paths": ("src/**",),
        "addressed": said,
        "is_linked": True,
        "job_id": None,
    }
    tasks.change(store, task.id, at=later(5), state=TaskState.DONE, **given)
    for state in (TaskState.DONE, TaskState.PENDING):
        assert tasks.of_states(store, [state]) == [
            tasks.get(store, item.id) for item in tasks.of_states(store, [state])
        ]
    assert len(tasks.of_states(store, [*TaskState])) == 2


def test_a_persons_run_takes_the_place_of_one_that_waits_for_a_fact(store: sqlite3.Connection) -> None:
    first = cycles.ask(store, trigger=cycles.FACT, actor="overlord", at=NOW)
    asked = cycles.ask(store, trigger=cycles.PERSON, actor="cli:alice", at=NOW)
    assert (asked.id, asked.trigger, asked.actor) == (first.id, cycles.PERSON, "cli:alice")
    again = cycles.ask(store, trigger=cycles.FACT, actor="overlord", at=NOW)
    assert again == asked, "and stays theirs"
