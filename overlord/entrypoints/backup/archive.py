"""The file itself: a compressed tar whose members are known by name, plain, and proved by the manifest at its end.

An archive is hostile until it was read to its end: names come from a short list, links and devices are refused, what is read
is counted and hashed, and nobody but the caller writes anything.
"""

import io
import json
import os
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from overlord.entrypoints.backup.manifest import FORMAT, MANIFEST, Manifest, Member, digest_of, is_known
from overlord.errors import NotFound, StoreError
from overlord.failpoints import Failpoint, Moment, reached

_CHUNK = 1 << 20
_COMPRESSION = 6
_MOST_MANIFEST = 256 << 20
_PLAIN = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE})


class Packer:
    """Writes one archive, and keeps what the manifest will say."""

    def __init__(self, packed: tarfile.TarFile, at: datetime) -> None:
        self._packed = packed
        self._at = at
        self.members: dict[str, Member] = {}

    def add(self, name: str, source: Path, *, size: int | None = None) -> None:
        """Add a file as it is now, or as much of its beginning as is said."""
        with source.open("rb") as file:
            self._add(name, file, os.fstat(file.fileno()).st_size if size is None else size)

    def add_text(self, name: str, text: str) -> None:
        self.add_bytes(name, text.encode())

    def add_bytes(self, name: str, content: bytes) -> None:
        self._add(name, io.BytesIO(content), len(content))

    def finish(self, *, schema: int) -> Manifest:
        """Add the manifest."""
        manifest = Manifest(
            format=FORMAT,
            overlord=version("overlord"),
            schema_version=schema,
            created_at=self._at,
            members=dict(self.members),
        )
        self.add_text(MANIFEST, manifest.model_dump_json(indent=1))
        return manifest

    def _add(self, name: str, content: IO[bytes], size: int) -> None:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode, entry.mtime = size, 0o600, int(self._at.timestamp())
        hashed = _Hashed(content)
        self._packed.addfile(entry, hashed)
        self.members[name] = Member(sha256=hashed.digest(), size=size)


class _Hashed:
    """A file that is hashed while it is read."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content
        self._hash = sha256()

    def read(self, size: int = -1) -> bytes:
        chunk = self._content.read(size)
        self._hash.update(chunk)
        return chunk

    def chunks(self) -> Iterator[bytes]:
        """All of it, a piece at a time."""
        while chunk := self.read(_CHUNK):
            yield chunk

    def digest(self) -> str:
        return self._hash.hexdigest()


@contextmanager
def packing(target: Path, *, at: datetime) -> Iterator[Packer]:
    """Write an archive that is there as a whole or not at all, and readable for its owner alone."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    making = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz", compresslevel=_COMPRESSION) as packed:
                yield Packer(packed, at)
            file.flush()
            os.fsync(file.fileno())
        reached(Failpoint.KEEP_BACKUP, Moment.BEFORE)
        making.rename(target)
        flush(target.parent)
        reached(Failpoint.KEEP_BACKUP, Moment.AFTER)
    finally:
        making.unlink(missing_ok=True)


def flush(directory: Path) -> None:
    """Without this a power cut may keep a file and lose its name."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


Take = Callable[[str, Iterator[bytes]], None]


def read(file: Path, take: Take) -> Manifest:
    """Read an archive to its end, handing each member to `take` with its content, and prove it by its manifest.

    Raises NotFound, or StoreError for anything in it that is not as Overlord would have written it: what `take` was given
    until then is worth nothing.
    """
    found: dict[str, Member] = {}
    try:
        with tarfile.open(file, mode="r:gz") as packed:
            manifest = _read_members(file, packed, take, found)
    except FileNotFoundError:
        raise NotFound(f"there is no file {file}") from None
    except (tarfile.TarError, EOFError, zlib.error, UnicodeError) as error:
        raise StoreError(f"{file} is no whole backup: {error or 'it is cut short'}") from None
    except OSError as error:  # gzip's own complaints too
        raise StoreError(f"{file} cannot be read: {error.strerror or error}") from None
    _compare(file, manifest, found)
    return manifest


def _read_members(file: Path, packed: tarfile.TarFile, take: Take, found: dict[str, Member]) -> Manifest:
    for entry in packed:
        if entry.type not in _PLAIN or entry.issparse() or not is_known(entry.name) or entry.name in found:
            raise StoreError(f"{file} is no backup of Overlord's: it holds {ascii(entry.name)[:200]}")
        content = packed.extractfile(entry)
        if content is None:
            raise StoreError(f"{file} is no backup of Overlord's: {entry.name!a} has no content")
        if entry.name == MANIFEST:
            return _manifest(file, entry, content)
        hashed = _Hashed(content)
        take(entry.name, hashed.chunks())
        found[entry.name] = Member(sha256=hashed.digest(), size=entry.size)
    raise StoreError(f"{file} is no whole backup: it is cut short, its manifest is missing")


def _manifest(file: Path, entry: tarfile.TarInfo, content: IO[bytes]) -> Manifest:
    if entry.size > _MOST_MANIFEST:
        raise StoreError(f"{file} is no backup of Overlord's: its manifest is too large")
    text = content.read()
    try:
        if (written := json.loads(text).get("format")) != FORMAT:
            raise StoreError(
                f"{file} has format {ascii(written)[:20]}, and this Overlord reads {FORMAT}; use the version that wrote it"
            )
        return Manifest.model_validate_json(text)
    except (ValueError, AttributeError, ValidationError, RecursionError):
        raise StoreError(f"{file} is no backup of Overlord's: its manifest cannot be read") from None


def _compare(file: Path, manifest: Manifest, found: dict[str, Member]) -> None:
    for name in sorted(manifest.members.keys() | found.keys()):
        if name not in found:
            raise StoreError(f"{file} is damaged: {ascii(name)[:200]} is missing")
        if manifest.members.get(name) != found[name]:
            raise StoreError(f"{file} is damaged: {name} is not what was written")
        if digest_of(name) not in {None, found[name].sha256}:
            raise StoreError(f"{file} is damaged: {name} is not what its name says")


def file_name(at: datetime) -> str:
    """What a backup is called whose name nobody said."""
    return f"overlord-backup-{at.astimezone(UTC):%Y%m%dT%H%M%SZ}.tar.gz"
