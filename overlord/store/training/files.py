"""Records added to a session's files below `brain/training-data`, each once, whatever cuts the program off.

A file is written anew under another name and then takes the old one's place, so that it never has half a line. Which call a record
is of is noted first: a call that is repeated after a crash finds what it wrote, and does not take it for somebody else's.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from overlord.domain.training.record import MOST_FILE_BYTES, Record, RecordKind, read_lines
from overlord.domain.training.session import DIRECTORY, file_name, path_of
from overlord.errors import StoreError
from overlord.failpoints import Failpoint, Moment, reached
from overlord.file_tree import FileTree, UnreadableFileError

_NOTES = f"{DIRECTORY}/.written"
_LOCK = "training-data.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a call has in the files of its session now: written by this very act, or by one before that was cut off."""

    paths: tuple[Path, ...]
    counts: dict[RecordKind, int]


def existing_records(brain: Path, session_key: str, *, call: str = "") -> list[Record]:
    """The records of a session, but for those that this call wrote itself. Lines that are no records are passed over.

    `brain` is the directory of `Home.brain`; `call` a call's handle. Raises StoreError where a file cannot be read.
    """
    if not brain.is_dir():
        return []
    tree = FileTree(brain)
    own = {digest for digest, by in _notes(tree, session_key) if by == call}
    found = (
        record for kind in RecordKind for record in _records(kind, _read(tree, path_of(kind, session_key)))
    )
    return [record for record in found if record.digest not in own]


def write_records(brain: Path, session_key: str, kept: Sequence[Record], *, call: str = "") -> Written:
    """Have these records at the end of the session's files, each once. Nothing of what is there is changed.

    Raises StoreError, with nothing half written, where a file is full, a link, or cannot be written.
    """
    if not kept:
        return Written(paths=(), counts=dict.fromkeys(RecordKind, 0))
    with _locked(brain):
        tree = FileTree(brain)
        _note(tree, session_key, kept, call)
        counts = dict[RecordKind, int]()
        for kind in RecordKind:
            of_kind = [record for record in kept if record.kind is kind]
            counts[kind] = len({record.digest for record in of_kind})
            if of_kind:
                _append(tree, path_of(kind, session_key), kind, of_kind)
    paths = tuple(brain / path_of(kind, session_key) for kind in RecordKind if counts[kind])
    return Written(paths=paths, counts=counts)


def _append(tree: FileTree, path: str, kind: RecordKind, records: Sequence[Record]) -> None:
    content = _read(tree, path)
    there = {record.digest for record in _records(kind, content)}
    new = {record.digest: record.line for record in records if record.digest not in there}
    if new:
        _put(tree, path, content, new.values())


def _note(tree: FileTree, session_key: str, records: Sequence[Record], call: str) -> None:
    """Say which records this call is about to write."""
    path = _notes_path(session_key)
    there = set(_notes(tree, session_key))
    wanted = dict.fromkeys((record.digest, call) for record in records)
    new = [json.dumps(list(note)) for note in wanted if note not in there]
    if new:
        _put(tree, path, _read(tree, path), new)


def _notes(tree: FileTree, session_key: str) -> Iterator[tuple[str, str]]:
    for line in _read(tree, _notes_path(session_key)).splitlines():
        with contextlib.suppress(ValueError):  # somebody else wrote in it
            match json.loads(line):
                case [str() as digest, str() as by]:
                    yield digest, by


def _notes_path(session_key: str) -> str:
    return f"{_NOTES}/{file_name(session_key).removesuffix('.jsonl')}"


def _records(kind: RecordKind, content: bytes) -> Iterator[Record]:
    return (found for found in read_lines(kind, content) if isinstance(found, Record))


def _read(tree: FileTree, path: str) -> bytes:
    try:
        return tree.read(path, most=MOST_FILE_BYTES) or b""
    except UnreadableFileError as error:
        raise StoreError(f"the training data brain/{path} cannot be read: {error}") from None


def _put(tree: FileTree, path: str, before: bytes, lines: Iterable[str]) -> None:
    end = b"" if not before or before.endswith(b"\n") else b"\n"
    content = before + end + "".join(f"{line}\n" for line in lines).encode()
    if len(content) > MOST_FILE_BYTES:
        raise StoreError(
            f"the training data brain/{path} is full ({MOST_FILE_BYTES:,} bytes): move it elsewhere, and call again"
        )
    reached(Failpoint.KEEP_TRAINING_DATA, Moment.BEFORE)
    try:
        tree.put(path, content)
    except UnreadableFileError as error:
        raise StoreError(f"the training data brain/{path} cannot be written: {error}") from None
    reached(Failpoint.KEEP_TRAINING_DATA, Moment.AFTER)


@contextlib.contextmanager
def _locked(brain: Path) -> Iterator[None]:
    """One writer at a time, of whatever process."""
    try:
        brain.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(brain / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"the training data in OVERLORD_HOME/brain cannot be written: {error.strerror}"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
