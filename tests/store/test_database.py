"""One writer, whole transactions, one daemon; readers and commands beside it."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from overlord.errors import StoreError
from overlord.store import ledger
from overlord.store.database import Database, open_reader, write_from_command
from overlord.store.schema.migrations import LATEST
from overlord.store.spaces import spaces
from tests.records import NOW
from tests.stored import claim, opened


def note(connection: sqlite3.Connection, name: str = "acme/calc") -> None:
    spaces.note_poll(connection, name, at=NOW)


def noted(connection: sqlite3.Connection) -> list[str]:
    return [row["name"] for row in connection.execute("SELECT name FROM spaces ORDER BY name")]


async def test_what_was_written_is_there_after_a_restart(path: Path) -> None:
    async with opened(path) as database:
        await database.write("by hand", note)
    async with opened(path) as database:
        assert await database.read(noted) == ["acme/calc"]


async def test_the_database_is_durable_and_checks_references(database: Database) -> None:
    def pragma(connection: sqlite3.Connection, name: str) -> object:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]

    assert await database.read(lambda c: pragma(c, "journal_mode")) == "wal"
    assert await database.read(lambda c: pragma(c, "synchronous")) == 2
    assert await database.read(lambda c: pragma(c, "foreign_keys")) == 1


async def test_an_exception_rolls_everything_back_and_is_raised(database: Database) -> None:
    def half(connection: sqlite3.Connection) -> None:
        note(connection)
        raise LookupError("in the middle")

    with pytest.raises(LookupError, match="in the middle"):
        await database.write("by hand", half)
    assert await database.read(noted) == []
    await database.write("by hand", note)
    assert await database.read(noted) == ["acme/calc"]


async def test_a_statement_that_rolls_back_by_itself_keeps_its_own_error(database: Database) -> None:
    def conflict(connection: sqlite3.Connection) -> None:
        note(connection)
        connection.execute("INSERT OR ROLLBACK INTO spaces (name) VALUES ('acme/calc')")

    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        await database.write("by hand", conflict)
    assert await database.read(noted) == []


async def test_a_commit_that_fails_leaves_no_transaction_open(database: Database) -> None:
    def dangling(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA defer_foreign_keys=ON")
        connection.execute(
            "INSERT INTO grants (job_id, kind, value, granted_by, at) VALUES (99, 'tokens', '1', 'x', 'y')"
        )

    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        await database.write("by hand", dangling)
    await database.write("by hand", note)
    assert await database.read(noted) == ["acme/calc"]


async def test_reading_changes_nothing(database: Database) -> None:
    await database.read(note)
    assert await database.read(noted) == []


async def test_a_cancelled_write_is_whole_and_does_not_block_the_next(database: Database) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(connection: sqlite3.Connection) -> None:
        note(connection, "acme/one")
        begun.set()
        assert go.wait(30)
        note(connection, "acme/two")

    writing = asyncio.create_task(database.write("by hand", slow))
    assert await asyncio.to_thread(begun.wait, 30)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    next_write = asyncio.create_task(database.write("by hand", lambda c: note(c, "acme/three")))
    go.set()
    await next_write
    assert await database.read(noted) == ["acme/one", "acme/three", "acme/two"]


async def test_a_write_cancelled_before_its_turn_or_after_never_halves_another(database: Database) -> None:
    def pair(connection: sqlite3.Connection, number: int) -> None:
        note(connection, f"a/{number:03}")
        note(connection, f"b/{number:03}")

    writes = [asyncio.create_task(database.write("by hand", partial(pair, number=n))) for n in range(60)]
    for number, task in enumerate(writes):
        if number % 3 == 0:
            await asyncio.sleep(0)
            task.cancel()
    await asyncio.gather(*writes, return_exceptions=True)
    names = await database.read(noted)
    assert {name[2:] for name in names if name[0] == "a"} == {name[2:] for name in names if name[0] == "b"}
    assert {f"b/{n:03}" for n in range(60) if n % 3} <= set(names)


async def test_a_second_daemon_is_refused_until_the_first_is_gone(path: Path) -> None:
    async with opened(path):
        with pytest.raises(
            StoreError, match=r"another Overlord daemon is using .*; stop it, or set OVERLORD_HOME"
        ):
            await Database.open(path, exclusive=True)
    async with opened(path):
        pass


async def test_a_daemon_of_another_process_is_refused_too(path: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path; from overlord.store.database import Database\n"
        "asyncio.run(Database.open(Path(sys.argv[1]), exclusive=True))"
    )
    async with opened(path):
        done = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", program, str(path)], capture_output=True, text=True
        )
    assert done.returncode == 1
    assert "another Overlord daemon is using" in done.stderr


@pytest.mark.parametrize(
    "content", [b"this is no database at all, just words" * 40, b"SQLite format 3\0" + b"x" * 200]
)
async def test_what_is_no_database_is_refused_and_the_lock_let_go(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"overlord\.db cannot be used: "):
        await Database.open(path, exclusive=True)
    path.unlink()
    async with opened(path):
        pass


async def test_a_database_that_cannot_be_opened_is_refused(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be used: unable to open"):
        await Database.open(path, exclusive=True)


async def test_a_newer_schema_is_refused_with_what_to_do(path: Path) -> None:
    async with opened(path):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version={LATEST + 1}")
    connection.close()
    newer = rf"schema {LATEST + 1}, newer than this Overlord's {LATEST}; install the newer version again"
    with pytest.raises(StoreError, match=newer):
        await Database.open(path, exclusive=True)
    with pytest.raises(StoreError, match=rf"has schema {LATEST + 1} and this Overlord reads {LATEST}"):
        open_reader(path)
    with pytest.raises(StoreError, match="run the daemon's own version"):
        write_from_command(path, "by hand", note)


async def test_the_home_is_closed_to_others(path: Path) -> None:
    async with opened(path):
        assert path.parent.stat().st_mode & 0o077 == 0


# Beside an open writer.


async def test_a_command_reads_and_writes_beside_the_daemon(path: Path, database: Database) -> None:
    job = await database.write("by hand", claim)
    reader = open_reader(path)
    assert [entry.name for entry in ledger.entries(reader)] == ["claimed"]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        note(reader)
    reader.close()
    await asyncio.to_thread(write_from_command, path, "by hand", lambda c: note(c, job.space))
    assert await database.read(noted) == ["acme/calc"]


async def test_a_command_waits_for_the_daemons_transaction(path: Path, database: Database) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(connection: sqlite3.Connection) -> None:
        note(connection, "acme/daemon")
        begun.set()
        assert go.wait(30)

    writing = asyncio.create_task(database.write("by hand", slow))
    assert await asyncio.to_thread(begun.wait, 30)
    beside = asyncio.create_task(
        asyncio.to_thread(write_from_command, path, "by hand", lambda c: note(c, "acme/command"))
    )
    go.set()
    await asyncio.gather(writing, beside)
    assert await database.read(noted) == ["acme/command", "acme/daemon"]


async def test_a_command_that_fails_writes_nothing(path: Path, database: Database) -> None:
    def half(connection: sqlite3.Connection) -> None:
        note(connection)
        raise LookupError

    with pytest.raises(LookupError):
        await asyncio.to_thread(write_from_command, path, "by hand", half)
    assert await database.read(noted) == []


async def test_a_command_cannot_leave_a_dangling_reference(path: Path, database: Database) -> None:
    statement = (
        "INSERT INTO grants (job_id, kind, value, granted_by, at) VALUES (99, 'tokens', '1', 'x', 'y')"
    )
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        await asyncio.to_thread(write_from_command, path, "by hand", lambda c: c.execute(statement))
    assert await database.read(noted) == []


def test_without_a_database_a_command_says_what_to_do(path: Path) -> None:
    with pytest.raises(StoreError, match="there is no Overlord state at "):
        open_reader(path)
    with pytest.raises(StoreError, match="there is no Overlord state"):
        write_from_command(path, "by hand", note)
    assert not path.exists()


def test_a_command_on_what_is_no_database_says_so(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database at all, just words" * 40)
    for use in (open_reader, lambda place: write_from_command(place, "by hand", note)):
        with pytest.raises(StoreError, match="cannot be used: file is not a database"):
            use(path)


@pytest.mark.parametrize("name", ["a home", "100%", "what?", "#1", "a%20b", "größe"])
async def test_a_home_may_have_any_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / "overlord.db"
    async with opened(path) as database:
        await database.write("by hand", note)
    reader = open_reader(path)
    assert noted(reader) == ["acme/calc"]
    reader.close()
    assert [item.name for item in tmp_path.iterdir()] == [name]


async def test_a_program_that_is_being_started_keeps_no_closed_database_locked(path: Path) -> None:
    """Between its fork and its exec it has everything that the daemon has open."""
    database = await Database.open(path, exclusive=True)
    held = [
        int(entry.name)
        for entry in Path("/proc/self/fd").iterdir()
        if _leads_to(entry, path.with_suffix(".lock"))
    ]
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=held) as program:
        await database.close()
        async with opened(path):
            assert program.poll() is None


def _leads_to(descriptor: Path, file: Path) -> bool:
    try:
        return descriptor.samefile(file)
    except OSError:
        return False  # the one that lists them is closed by now


async def test_a_lock_that_is_just_let_go_of_is_waited_for(path: Path) -> None:
    before = await Database.open(path, exclusive=True)
    following = asyncio.create_task(Database.open(path, exclusive=True))
    await asyncio.sleep(0)
    await before.close()
    await (await following).close()
