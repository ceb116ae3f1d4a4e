"""A home made from a backup: unpacked beside, proved, and moved to its place, the database last. Without a database a home is
nobody's, so what was cut off before is simply done again."""

import asyncio
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain, count
from pathlib import Path

from overlord.adapters.git.history import History, mirror_of
from overlord.domain.event import EventName, LedgerEvent
from overlord.domain.identifiers import Sha
from overlord.domain.portfolio.files import layout
from overlord.entrypoints.backup.archive import flush, read
from overlord.entrypoints.backup.manifest import (
    DATABASE,
    HEADS,
    HEADS_FILE,
    INSTANCE,
    PACK,
    SETTINGS,
    SHALLOW,
    SHALLOW_FILE,
    Manifest,
    history_name,
    history_of,
    place_in,
)
from overlord.errors import GitFailed, Refused, StoreError
from overlord.failpoints import Failpoint, Moment, reached
from overlord.home import STAGING, Home
from overlord.store import ledger
from overlord.store.database import exclusively, write_from_command
from overlord.store.schema.migrations import LATEST, is_as_made, migrate


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A home that was made."""

    home: Path
    manifest: Manifest
    settings: str
    """What became of the operator's settings, in a sentence; empty when the backup has none."""


def restore(file: Path, home: Home, *, at: datetime, actor: str) -> Restored:
    """Make a home of a backup. Raises Refused for a home that is somebody's, NotFound, and StoreError for a backup that is
    damaged, of a newer version, or not of Overlord's making."""
    _check_free(home)
    try:
        home.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with exclusively(home.database):
            _check_free(home)
            for left in home.stagings():
                shutil.rmtree(left)
            staging = Home(Path(tempfile.mkdtemp(prefix=STAGING, dir=home.root)))
            try:
                manifest = read(file, partial(_unpack, staging))
                asyncio.run(_prove(staging, manifest, at=at, actor=actor))
                settings = _move_in(staging, home)
            finally:
                shutil.rmtree(staging.root, ignore_errors=True)
    except GitFailed as error:
        raise StoreError(f"{file} is damaged: {error}") from error
    except OSError as error:
        raise StoreError(f"{home.root} cannot be used: {error.strerror or error}") from error
    return Restored(home=home.root, manifest=manifest, settings=settings)


def verify(file: Path) -> Manifest:
    """Read a backup to its end and compare all of it with its manifest. Raises as `restore` does."""

    def skip(_name: str, content: Iterator[bytes]) -> None:
        for _ in content:
            pass

    return read(file, skip)


def _check_free(home: Home) -> None:
    if home.database.exists():
        raise Refused(
            f"{home.root} is in use: it has a database. Move it away first, or restore into another folder with --home"
        )


def _unpack(staging: Home, name: str, content: Iterator[bytes]) -> None:
    target = staging.root / (place_in(staging, name) or name)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for chunk in content:
            file.write(chunk)


async def _prove(staging: Home, manifest: Manifest, *, at: datetime, actor: str) -> None:
    """See that what was unpacked can be worked with, and write into its ledger that it was a backup."""
    if DATABASE not in manifest.members or INSTANCE not in manifest.members:
        raise StoreError("this backup has no database: it is none of Overlord's")
    _check_database(staging.database)
    event = LedgerEvent(
        name=EventName.BACKUP_RESTORED,
        at=at,
        actor=actor,
        data={"created_at": f"{manifest.created_at:%Y-%m-%d %H:%M:%S} UTC", "by": manifest.overlord},
    )
    write_from_command(staging.database, Failpoint.BACKUP_RESTORED, lambda c: ledger.append(c, event))
    for space in sorted({found[0] for name in manifest.members if (found := history_of(name))}):
        await mirror_of(_history(staging, space), staging.mirror(space))
    shutil.rmtree(staging.root / "history", ignore_errors=True)


def _check_database(path: Path) -> None:
    """Whether a file is a whole database of ours, in a schema of ours, and its ledger sound; and bring it up to date."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA trusted_schema=OFF")
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if version > LATEST:
                raise StoreError(
                    f"this backup has schema {version}, newer than this Overlord's {LATEST}; install the newer version"
                )
            if not is_as_made(connection):
                raise StoreError("the database in this backup is not as Overlord makes one")
            if (found := connection.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
                raise StoreError(f"the database in this backup is damaged: {found}")
            migrate(connection)
            if wrong := next(ledger.problems(connection), None):
                raise StoreError(f"the ledger in this backup is broken: {wrong}")
    except sqlite3.DatabaseError as error:
        raise StoreError(f"the database in this backup cannot be used: {error}") from error


def _history(staging: Home, space: str) -> History:
    parts = {part: staging.root / history_name(space, part) for part in (PACK, HEADS, SHALLOW)}
    try:
        heads, shallow = (parts[part].read_text(encoding="ascii") for part in (HEADS, SHALLOW))
    except (OSError, UnicodeDecodeError):
        heads = shallow = ""
    if not (HEADS_FILE.fullmatch(heads) and SHALLOW_FILE.fullmatch(shallow) and parts[PACK].is_file()):
        raise StoreError(f"the history of {space} in this backup cannot be read")
    return History(pack=parts[PACK], heads=[Sha(sha) for sha in heads.split()], shallow=shallow)


def _keep_aside(place: Path, new: Path) -> None:
    """What people wrote there before is lost by no restore."""
    if place.is_symlink() or (place.is_file() and place.read_bytes() != new.read_bytes()):
        first = f"{place.name}.before-restore"
        names = chain([first], (f"{first}-{number}" for number in count(2)))
        place.rename(next(free for name in names if not (free := place.with_name(name)).exists()))


def _move_in(staging: Home, home: Home) -> str:
    """Everything to its place; once the database is there, the home is restored."""
    settings = ""
    if staging.settings.exists() and home.settings.exists():
        staging.settings.unlink()
        settings = f"{SETTINGS} of the backup was left out: there is one in {home.root} already."
    elif staging.settings.exists():
        settings = f"{SETTINGS} was restored."
    files = [path for path in staging.root.rglob("*") if path.is_file() and path != staging.database]
    mirrors = [path for path in (staging.root / "mirrors").glob("*/*.git") if path.is_dir()]
    for mirror in mirrors:
        place = home.root / mirror.relative_to(staging.root)
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        mirror.rename(place)
    for path in files:
        if not any(path.is_relative_to(mirror) for mirror in mirrors):
            place = home.root / path.relative_to(staging.root)
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if layout.is_prose(str(path.relative_to(staging.root))):
                _keep_aside(place, path)
            path.replace(place)
    os.sync()  # thousands of files come to the disk at once, before the one that names them
    for suffix in ("-wal", "-shm"):
        home.database.with_name(home.database.name + suffix).unlink(missing_ok=True)
    reached(Failpoint.RESTORE_HOME, Moment.BEFORE)
    staging.database.rename(home.database)
    flush(home.root)
    reached(Failpoint.RESTORE_HOME, Moment.AFTER)
    return settings
