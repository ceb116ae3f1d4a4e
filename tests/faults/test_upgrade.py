"""Another version of Overlord takes over while a session runs: forwards by itself and with a copy kept, backwards never."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from overlord.domain.job import JobState
from overlord.store.schema.migrations import LATEST
from tests.faults.campaign import DEADLINE_S, Campaign, under_fire
from tests.faults.served import served

S = JobState
NEWER = LATEST + 1


def look(database: Path, query: str) -> list[tuple[object, ...]]:
    """Ask a database of any schema."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


@asynccontextmanager
async def upgraded(told: Campaign) -> AsyncIterator[subprocess.Popen[bytes]]:
    """`overlord serve` of the next version."""
    (told.place.home / "overlord.yaml").write_text(json.dumps({**told.place.given, "poll_s": 1}))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OVERLORD_")}
    with told.place.log.open("ab") as log:
        process = subprocess.Popen(
            (sys.executable, "-m", "tests.faults.next_version", "serve"),
            env={**kept, "OVERLORD_HOME": str(told.place.home)},
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        (told.place.home / "overlord.yaml").unlink()


async def until(told: Campaign, process: subprocess.Popen[bytes], query: str, answer: object) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while look(told.place.home / "overlord.db", query) != [(answer,)]:
            assert process.poll() is None, told.log()
            await told.world.something_happens()


async def test_a_session_goes_on_under_the_next_version_and_there_is_no_way_back_but_the_copy() -> None:
    async with under_fire() as told:
        issue = await told.issue("holds")
        database = told.place.home / "overlord.db"
        async with served(told) as daemon:
            await daemon.until(told.world.is_holding)
            await daemon.stopped()
        async with upgraded(told) as process:
            await until(told, process, "PRAGMA user_version", NEWER)
            (told.world.root / "go").touch()
            await until(told, process, "SELECT state FROM jobs", S.IN_REVIEW)
            process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, DEADLINE_S) == 0, told.log()
        assert look(database, "SELECT losses, revision FROM jobs") == [(0, 0)]
        assert look(database, "SELECT count(*) FROM sessions WHERE kind = 'work'") == [(1,)]
        assert look(database, "SELECT text FROM news") == [("new",)]
        [(said,)] = look(database, "SELECT data FROM ledger WHERE name = 'database_upgraded'")
        assert json.loads(str(said)) == {"from": LATEST, "to": NEWER, "copy": f"overlord.db.before-{NEWER}"}
        copy = told.place.home / f"overlord.db.before-{NEWER}"
        assert look(copy, "PRAGMA user_version") == [(LATEST,)]
        before = database.read_bytes()
        async with served(told) as older:
            assert await older.code() == 6
        assert (
            f"has schema {NEWER}, newer than this Overlord's {LATEST}; install the newer version"
            in told.log()
        )
        assert f"or go back to overlord.db.before-{NEWER}, the copy from before the upgrade" in told.log()
        await told.command("status", done=(6,))
        assert database.read_bytes() == before
        for beside in ("-wal", "-shm"):
            Path(f"{database}{beside}").unlink(missing_ok=True)
        copy.replace(database)
        await told.settle()
        told.expect(issue, S.IN_REVIEW, S.WAITING)
