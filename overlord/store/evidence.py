"""Evidence: files named by the hash of what they hold, and a row for each that says whose they are."""

import os
import sqlite3
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from overlord.domain.search import SpokenText
from overlord.errors import StoreError
from overlord.failpoints import Failpoint, Moment, reached
from overlord.store import search

GRACE_S = 3600.0
"""A file is put before its row is written; what nothing names is left alone for so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceFile:
    """A stored file: what it proves and how to find it."""

    job_id: int
    session_id: str | None
    kind: str
    sha256: str
    size: int
    at: datetime
    removed_at: datetime | None = None
    """When it was removed, as the settings say (`keep`); the row and the ledger tell that it was there."""


class EvidenceStore:
    """The folder of files. Writing is atomic: a name that exists holds its whole content."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, digest: str) -> Path:
        return self._root / digest[:2] / digest[2:]

    def put(self, content: bytes) -> str:
        """Store content and return its SHA-256; storing the same content again is free."""
        digest = sha256(content).hexdigest()
        target = self.path(digest)
        if target.is_file() and target.read_bytes() == content:
            os.utime(target)  # somebody may be about to name it: see `strays`
            return digest
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            reached(Failpoint.KEEP_EVIDENCE, Moment.BEFORE)
            Path(temporary).rename(target)
            _flush_directory(target.parent)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
        reached(Failpoint.KEEP_EVIDENCE, Moment.AFTER)
        return digest

    def get(self, digest: str) -> bytes:
        """Read content back; raises StoreError when it is gone or no longer what its name says."""
        try:
            content = self.path(digest).read_bytes()
        except FileNotFoundError:
            raise StoreError(f"evidence {digest} is missing") from None
        if sha256(content).hexdigest() != digest:
            raise StoreError(f"evidence {digest} was changed after it was written")
        return content

    def strays(self, named: Collection[str]) -> list[tuple[str, int]]:
        """The files that are in nobody's name and have not been touched for a while, with their sizes."""
        found, before = [], time.time() - GRACE_S
        for place in self._root.glob("[0-9a-f][0-9a-f]"):
            for file in place.iterdir():
                status = file.stat()
                if place.name + file.name not in named and status.st_mtime <= before:
                    found.append((place.name + file.name, status.st_size))
        return sorted(found)

    def remove(self, digest: str) -> None:
        """Delete a file that is in nobody's name."""
        reached(Failpoint.REMOVE_EVIDENCE, Moment.BEFORE)
        self.path(digest).unlink(missing_ok=True)
        reached(Failpoint.REMOVE_EVIDENCE, Moment.AFTER)


def _flush_directory(path: Path) -> None:
    """Without this a power cut may keep the row and lose the file's name."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def record(
    connection: sqlite3.Connection, evidence_file: EvidenceFile, spoken: Sequence[SpokenText] = ()
) -> None:
    """Add a row inside the caller's transaction; of a session's transcript, `spoken` is what is found in it from then on."""
    connection.execute(
        "INSERT INTO evidence (job_id, session_id, kind, sha256, size, at) VALUES (?,?,?,?,?,?)",
        (
            evidence_file.job_id,
            evidence_file.session_id,
            evidence_file.kind,
            evidence_file.sha256,
            evidence_file.size,
            evidence_file.at.isoformat(),
        ),
    )
    if spoken and evidence_file.session_id is not None:
        search.add_spoken(connection, evidence_file.job_id, evidence_file.session_id, spoken)


def exhibits(connection: sqlite3.Connection, job_id: int | None = None) -> list[EvidenceFile]:
    """A job's evidence, or all of it, oldest first."""
    where, arguments = ("", ()) if job_id is None else (" WHERE job_id = ?", (job_id,))
    rows = connection.execute(f"SELECT * FROM evidence{where} ORDER BY id", arguments)  # noqa: S608 - a constant
    return [
        EvidenceFile(
            job_id=row["job_id"],
            session_id=row["session_id"],
            kind=row["kind"],
            sha256=row["sha256"],
            size=row["size"],
            at=datetime.fromisoformat(row["at"]),
            removed_at=datetime.fromisoformat(row["removed_at"]) if row["removed_at"] else None,
        )
        for row in rows
    ]
