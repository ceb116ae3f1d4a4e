"""The ledger is append-only and hash-chained: what is taken out, put in or changed shows, and is named."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overlord.domain.event import EventName, LedgerEvent
from overlord.store import jobs, ledger
from overlord.store.database import Database
from overlord.store.schema.migrations import migrate
from tests.records import NOW, later
from tests.stored import claim

TRIGGERS = ("ledger_is_never_changed", "ledger_is_never_shortened", "ledger_only_grows_at_its_end")


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A database a stranger has opened: five events, and the triggers of a program that is not asked."""
    with closing(sqlite3.connect(tmp_path / "overlord.db", isolation_level=None)) as opened:
        opened.row_factory = sqlite3.Row
        migrate(opened)
        for number in range(5):
            note(opened, number)
        yield opened


def note(connection: sqlite3.Connection, number: int = 0) -> str:
    event = LedgerEvent(
        name=EventName.PAUSED,
        at=later(number),
        actor="cli:älice",
        job_id=number % 2,
        data={"n": number, "a": "ü"},
    )
    return ledger.append(connection, event)


def without_triggers(connection: sqlite3.Connection) -> None:
    for name in TRIGGERS:
        connection.execute(f"DROP TRIGGER {name}")


def test_a_whole_chain_has_no_problems(connection: sqlite3.Connection) -> None:
    assert list(ledger.problems(connection)) == []
    entries = list(ledger.entries(connection))
    assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5]
    assert entries[0].previous == ledger.GENESIS
    assert [entry.previous for entry in entries[1:]] == [entry.hash for entry in entries[:-1]]
    assert ledger.head(connection) == entries[-1].hash


def test_an_empty_ledger_is_whole(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as opened:
        opened.row_factory = sqlite3.Row
        migrate(opened)
        assert list(ledger.problems(opened)) == []
        assert ledger.head(opened) == ledger.GENESIS


def test_events_are_given_by_job_and_after_a_known_one(connection: sqlite3.Connection) -> None:
    assert [entry.seq for entry in ledger.entries(connection, job_id=1)] == [2, 4]
    assert [entry.seq for entry in ledger.entries(connection, after=3)] == [4, 5]
    assert [entry.seq for entry in ledger.entries(connection, job_id=0, after=3)] == [5]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger SET actor = 'nobody' WHERE seq = 2",
        "DELETE FROM ledger WHERE seq = 5",
        "DELETE FROM ledger",
        "REPLACE INTO ledger SELECT seq, at, job_id, name, 'nobody', data, previous, hash FROM ledger WHERE seq = 2",
        "INSERT OR REPLACE INTO ledger SELECT 5, at, job_id, name, actor, data, previous, hash FROM ledger WHERE seq = 2",
        "INSERT INTO ledger SELECT 7, at, job_id, name, actor, data, previous, hash FROM ledger WHERE seq = 5",
        "INSERT INTO ledger SELECT 0, at, job_id, name, actor, data, previous, hash FROM ledger WHERE seq = 5",
    ],
)
def test_the_database_refuses_to_change_shorten_or_skip(
    connection: sqlite3.Connection, statement: str
) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    assert list(ledger.problems(connection)) == []
    assert len(list(ledger.entries(connection))) == 5


@pytest.mark.parametrize("column", ["at", "name", "actor", "data"])
def test_an_edited_event_is_named(connection: sqlite3.Connection, column: str) -> None:
    without_triggers(connection)
    connection.execute(f"UPDATE ledger SET {column} = {column} || ' ' WHERE seq = 3")
    assert list(ledger.problems(connection)) == ["event 3 was changed after it was written"]


def test_an_event_given_to_another_job_is_named(connection: sqlite3.Connection) -> None:
    without_triggers(connection)
    connection.execute("UPDATE ledger SET job_id = NULL WHERE seq = 3")
    assert list(ledger.problems(connection)) == ["event 3 was changed after it was written"]


@pytest.mark.parametrize(
    ("seq", "problems"),
    [
        (1, ["event 1 is missing: event 2 follows 0", "event 2 does not follow the one before it"]),
        (3, ["event 3 is missing: event 4 follows 2", "event 4 does not follow the one before it"]),
    ],
)
def test_an_event_taken_out_is_named(connection: sqlite3.Connection, seq: int, problems: list[str]) -> None:
    without_triggers(connection)
    connection.execute("DELETE FROM ledger WHERE seq = ?", (seq,))
    assert list(ledger.problems(connection)) == problems


def test_an_event_written_again_with_a_hash_of_its_own_breaks_the_chain_behind_it(
    connection: sqlite3.Connection,
) -> None:
    without_triggers(connection)
    entry = next(entry for entry in ledger.entries(connection) if entry.seq == 3)
    forged = ledger.Entry(**{**{name: getattr(entry, name) for name in entry.__slots__}, "actor": "nobody"})
    connection.execute(
        "UPDATE ledger SET actor = 'nobody', hash = ? WHERE seq = 3", (forged.computed_hash(),)
    )
    assert list(ledger.problems(connection)) == ["event 4 does not follow the one before it"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8")), st.integers() | st.text(st.characters(codec="utf-8"))
    )
)
def test_any_data_is_hashed_as_it_is_read_back(
    connection: sqlite3.Connection, data: dict[str, str | int]
) -> None:
    ledger.append(connection, LedgerEvent(name=EventName.STOPPED, at=NOW, data=dict(data)))
    assert list(ledger.problems(connection)) == []


async def test_a_move_and_its_event_are_written_together_or_not_at_all(database: Database) -> None:
    job = await database.write("by hand", claim)

    def move(connection: sqlite3.Connection) -> None:
        jobs.move(connection, job.id, EventName.STOPPED, at=NOW)

    def moved_and_lost(connection: sqlite3.Connection) -> None:
        move(connection)
        raise LookupError

    with pytest.raises(LookupError):
        await database.write("by hand", moved_and_lost)
    names = await database.read(lambda c: [entry.name for entry in ledger.entries(c)])
    assert names == ["claimed"]
    await database.write("by hand", move)
    names = await database.read(lambda c: [entry.name for entry in ledger.entries(c)])
    assert names == ["claimed", "stopped"]
