"""Making a backup while a daemon works: first the database as it is at one moment, then what it names.

What it names only grows (evidence, commits), so whatever is taken after the database is at least what that knows; retention,
which takes away, is kept out meanwhile. Nothing of the environment gets into it: no key and no token, unless the operator
wrote one into overlord.yaml.
"""

import asyncio
import re
import tempfile
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from overlord.adapters.git.history import taken
from overlord.domain.portfolio.files import layout
from overlord.entrypoints.backup.archive import Packer, packing
from overlord.entrypoints.backup.manifest import (
    DATABASE,
    HEADS,
    INSTANCE,
    PACK,
    SETTINGS,
    SHALLOW,
    Manifest,
    evidence_name,
    history_name,
    is_portfolio,
    transcript_name,
)
from overlord.errors import Refused, StoreError
from overlord.file_tree import FileTree, UnreadableFileError
from overlord.home import Home
from overlord.store import evidence, jobs, sessions
from overlord.store.database import copied, open_reader
from overlord.store.schema.migrations import LATEST

_HEX = re.compile(r"[0-9a-f]{62}")
_MOST_PORTFOLIO_FILE = 64 << 20
_PLACE = re.compile(r"[0-9a-f]{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBackup:
    """A backup that was written."""

    file: Path
    size: int
    manifest: Manifest
    missing: tuple[str, ...]
    """Evidence that the database names and nobody has."""
    left_out: tuple[str, ...]
    """Files of the portfolio that cannot be read, as links that somebody put there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _NamedInDatabase:
    """What a database says there is besides itself."""

    evidence: frozenset[str]
    sessions: tuple[str, ...]
    """Those that have not ended."""
    commits: dict[str, set[str]]
    """The commits each repository's open jobs need."""


def make(home: Home, target: Path, *, at: datetime) -> WrittenBackup:
    """Write a backup of a home. Raises StoreError, and Refused for a name that is taken."""
    if target.exists():
        raise Refused(f"{target} is there already; name another file")
    try:
        with home.housekeeping(exclusive=False), tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            copy = Path(scratch, DATABASE)
            open_reader(home.database).close()
            copied(home.database, copy)
            named = _read_names(copy)
            with packing(target, at=at) as packer:
                missing, left_out = _pack(home, packer, named, copy, Path(scratch))
                manifest = packer.finish(schema=LATEST)
    except FileExistsError:
        raise Refused(f"{target} is there already; name another file") from None
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror or error}") from error
    return WrittenBackup(
        file=target, size=target.stat().st_size, manifest=manifest, missing=missing, left_out=left_out
    )


def _read_names(copy: Path) -> _NamedInDatabase:
    commits: defaultdict[str, set[str]] = defaultdict(set)
    with closing(open_reader(copy)) as connection:
        for job in jobs.open_jobs(connection):
            found = {job.head_sha, job.phase_sha, job.pushing_sha, job.pushed_sha} - {None}
            if found:
                commits[job.space] |= {sha for sha in (*found, job.base_sha) if sha}
        exhibits = evidence.exhibits(connection)
        return _NamedInDatabase(
            evidence=frozenset(item.sha256 for item in exhibits if item.removed_at is None),
            sessions=tuple(session.id for session in sessions.live(connection)),
            commits=dict(commits),
        )


def _pack(
    home: Home, packer: Packer, named: _NamedInDatabase, copy: Path, scratch: Path
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The evidence that is missing, and the files that were left out."""
    packer.add(DATABASE, copy)
    packer.add_text(INSTANCE, home.instance())
    if home.settings.is_file():
        packer.add(SETTINGS, home.settings)
    left_out = _pack_portfolio(home, packer)
    kept = set()
    for place in sorted(home.evidence.glob("*")):
        for file in sorted(place.glob("*")) if _PLACE.fullmatch(place.name) else ():
            if _HEX.fullmatch(file.name):
                packer.add(evidence_name(place.name + file.name), file)
                kept.add(place.name + file.name)
    for session in named.sessions:
        transcript = home.transcript(session)
        if transcript.is_file():
            packer.add(transcript_name(session), transcript, size=_whole_lines(transcript))
    for space, commits in sorted(named.commits.items()):
        asyncio.run(_pack_history(home, packer, space, commits, scratch))
    return tuple(sorted(named.evidence - kept)), tuple(left_out)


def _pack_portfolio(home: Home, packer: Packer) -> list[str]:
    """Add the portfolio's files as they are now; those that were left out."""
    tree, left = FileTree(home.root), list[str]()
    found = [home.root / name for name in (*layout.BRIEF_FILES, layout.RULES)]
    found += [path for place in layout.PLACES for path in (home.root / place).rglob("*")]
    for file in sorted(found):
        name = str(file.relative_to(home.root))
        if not is_portfolio(name):
            continue
        try:
            content = tree.read(name, most=_MOST_PORTFOLIO_FILE)
        except UnreadableFileError:
            left.append(name)
            continue
        if content is not None:
            packer.add_bytes(name, content)
    return left


async def _pack_history(home: Home, packer: Packer, space: str, commits: set[str], scratch: Path) -> None:
    history = await taken(home.mirror(space), commits, scratch)
    if history is None:
        return
    packer.add(history_name(space, PACK), history.pack)
    packer.add_text(history_name(space, HEADS), "".join(f"{sha}\n" for sha in history.heads))
    packer.add_text(history_name(space, SHALLOW), history.shallow)
    history.pack.unlink()


def _whole_lines(file: Path) -> int:
    """How much of a file that is being written ends with a whole line."""
    content = file.read_bytes()
    return content.rfind(b"\n") + 1
