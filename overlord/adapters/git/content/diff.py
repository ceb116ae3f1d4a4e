"""Reading `git diff --raw --numstat -z -M`: the only place names of changed files come from."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypedDict

from overlord.domain.scope.check import Change


def parse_changes(output: bytes) -> list[Change]:
    """Every changed path, with modes from the raw part and line counts from the numstat part."""
    # By the names' bytes: two names may read the same once what is no UTF-8 is written out.
    fields = iter(output.split(b"\0")[:-1])
    changes: dict[bytes, Change] = {}
    for item in fields:
        if item.startswith(b":"):
            path, change = _raw(item, fields)
            changes[path] = change
        else:
            path, numbers = _counted(item, fields)
            changes[path] = replace(changes[path], **numbers)
    return list(changes.values())


def parse_sizes(output: bytes) -> dict[str, int]:
    """Bytes by path, from `git ls-tree -r -l -z`; submodules, which have none, are left out."""
    sizes = {}
    for entry in output.split(b"\0")[:-1]:
        described, _, path = entry.decode(errors="backslashreplace").partition("\t")
        size = described.split()[-1]
        if size != "-":
            sizes[path] = int(size)
    return sizes


def _raw(item: bytes, fields: Iterator[bytes]) -> tuple[bytes, Change]:
    old_mode, new_mode, _old, _new, status = item[1:].decode().split(" ")
    path, old_path = next(fields), None
    if status[0] in "RC":
        old_path, path = path, next(fields)
    return path, Change(
        path=shown(path),
        old_path=shown(old_path) if old_path is not None and status[0] == "R" else None,
        status=status[0],
        old_mode=old_mode,
        new_mode=new_mode,
    )


class _Counts(TypedDict):
    added: int
    removed: int
    binary: bool


def _counted(item: bytes, fields: Iterator[bytes]) -> tuple[bytes, _Counts]:
    added, removed, path = item.split(b"\t", 2)
    if not path:
        next(fields)  # the old name of a rename
        path = next(fields)
    if added == b"-":
        return path, _Counts(added=0, removed=0, binary=True)
    return path, _Counts(added=int(added), removed=int(removed), binary=False)


def shown(path: bytes) -> str:
    """A name as text; what is no UTF-8 is written out."""
    return path.decode(errors="backslashreplace")


def parse_batch_check(output: bytes) -> list[int | None]:
    """The size of each object `git cat-file --batch-check` was asked for; None for what is there no file."""
    found: list[int | None] = []
    for line in output.splitlines():
        words = line.rsplit(b" ", 2)
        found.append(int(words[2]) if len(words) == 3 and words[1] == b"blob" else None)
    return found


def parse_batch(paths: Sequence[str], output: bytes) -> Iterator[tuple[str, bytes]]:
    """What `git cat-file --batch` printed for `paths`, which are files, in their order: each with its content."""
    place = 0
    for path in paths:
        end = output.index(b"\n", place)
        size = int(output[place:end].rsplit(b" ", 1)[1])
        yield path, output[end + 1 : end + 1 + size]
        place = end + 1 + size + 1


def parse_listing(output: bytes) -> dict[str, str]:
    """What `git ls-tree -r -z` printed: files and links by path, with their blobs' SHAs."""
    found = {}
    for entry in output.split(b"\0")[:-1]:
        words, path = entry.split(b"\t", 1)
        _, kind, sha = words.split(b" ")
        if kind == b"blob":
            with suppress(UnicodeDecodeError):
                found[path.decode()] = sha.decode()
    return found
