"""Environments: one row for each key, what was used last first, and none in use is offered for removal."""

import sqlite3
from functools import partial
from typing import Any

from minion.protocol import SessionKind
from overlord.store import environments, sessions
from overlord.store.database import Database
from overlord.store.environments import Environment, EnvironmentState
from tests.records import NOW, REPO, later
from tests.stored import claim, prepare

KEY = "0123456789abcdef0123"


def an_environment(connection: sqlite3.Connection, key: str = KEY, **given: Any) -> Environment:
    """One that is written down, with its setup session, which has ended unless the row says that it is being made."""
    number = 100 + len(environments.everything(connection))
    session = prepare(connection, claim(connection, number), SessionKind.SETUP, layer=key)
    values: dict[str, Any] = {
        "id": key,
        "space": REPO,
        "state": EnvironmentState.READY,
        "image": "",
        "packages": ("libpq-dev", "gcc"),
        "session_id": session.id,
        "at": NOW,
        "used_at": NOW,
    }
    environment = Environment(**{**values, **given})
    environments.put(connection, environment)
    if environment.state is not EnvironmentState.MAKING:
        sessions.end(connection, session, at=NOW, ending="exited")
    return environment


async def test_what_is_written_is_read_again(database: Database) -> None:
    made = await database.write("by hand", lambda c: an_environment(c, size=7, trouble="a 'quoted'\nword"))
    assert await database.read(lambda c: environments.get(c, KEY)) == made
    assert await database.read(lambda c: environments.get(c, "f" * 20)) is None


async def test_putting_it_again_is_a_new_row_whatever_it_was_before(database: Database) -> None:
    failed: dict[str, Any] = {"state": EnvironmentState.FAILED, "trouble": "no network", "size": 3}
    await database.write("by hand", lambda c: an_environment(c, **failed))
    again = await database.write("by hand", an_environment)
    assert await database.read(environments.everything) == [again]
    assert (again.trouble, again.size) == ("", 0)


async def test_changes_are_marked_and_a_row_is_forgotten_once(database: Database) -> None:
    await database.write("by hand", an_environment)
    await database.write("by hand", lambda c: environments.mark(c, KEY, used_at=later(9), size=5))
    found = await database.read(lambda c: environments.get(c, KEY))
    assert found is not None
    assert (found.used_at, found.size, found.at) == (later(9), 5, NOW)
    for _ in range(2):
        await database.write("by hand", lambda c: environments.remove(c, KEY))
    assert await database.read(environments.everything) == []


async def test_the_one_used_last_comes_first(database: Database) -> None:
    for key, used in (("a" * 20, 5), ("b" * 20, 9), ("c" * 20, 1), ("d" * 20, 5)):
        await database.write("by hand", lambda c, k=key, u=used: an_environment(c, k, used_at=later(u)))  # type: ignore[misc]
    found = await database.read(environments.everything)
    assert [environment.id[0] for environment in found] == ["b", "a", "d", "c"]


async def test_what_failed_is_forgotten_for_one_space_and_nothing_else_is(database: Database) -> None:
    rows = {
        "a" * 20: (REPO, EnvironmentState.FAILED),
        "b" * 20: ("acme/web", EnvironmentState.FAILED),
        "c" * 20: (REPO, EnvironmentState.READY),
        "d" * 20: (REPO, EnvironmentState.MAKING),
    }
    for key, (space, state) in rows.items():
        await database.write("by hand", partial(an_environment, key=key, space=space, state=state))
    await database.write("by hand", lambda c: environments.forget_failed(c, REPO))
    found = await database.read(environments.everything)
    assert {environment.id[0] for environment in found} == {"b", "c", "d"}


async def test_unused_is_what_no_session_makes_or_runs_in_finished_or_not(database: Database) -> None:
    def filled(connection: sqlite3.Connection) -> None:
        an_environment(connection, "a" * 20)
        an_environment(connection, "b" * 20, state=EnvironmentState.FAILED)
        an_environment(connection, "c" * 20, state=EnvironmentState.MAKING)
        left = an_environment(connection, "d" * 20, state=EnvironmentState.MAKING)
        sessions.end(connection, sessions.get(connection, left.session_id), at=NOW, ending="lost")
        an_environment(connection, "e" * 20)
        prepare(connection, claim(connection, 7), layer="e" * 20)

    await database.write("by hand", filled)
    found = await database.read(environments.unused)
    assert {environment.id[0] for environment in found} == {"a", "b", "d"}
