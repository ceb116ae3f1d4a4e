"""A job's diff, file by file, with what its session was allowed to write beside it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import escape

from minion.protocol import Scope
from overlord.domain.changes.diff import FileDiff, Hunk, is_cut, parse_diff
from overlord.domain.identifiers import RepositoryName
from overlord.domain.text.plain import visible
from overlord.entrypoints.web.pages.highlight import highlighted
from overlord.errors import GitFailed, NotFound
from overlord.ports.git import Git
from overlord.queries.session import Change

MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a file's diff."""

    kind: str
    """`add`, `del`, `hunk`, or nothing for what stands around a change."""
    old: int | None
    new: int | None
    html: str
    """Its text, coloured and escaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """One file of a diff."""

    path: str
    status: str
    is_in_scope: bool
    added: int
    removed: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownDiff:
    """What a job has changed against the commit it began from."""

    files: tuple[ChangedFile, ...]
    is_cut: bool
    """Whether there is more than a page shows."""


async def shown(git: Git, space: RepositoryName, change: Change, scope: Scope | None) -> ShownDiff:
    """Raises NotFound where the commits are not kept any more."""
    try:
        names = await git.changes(space, change.base, change.head)
        text = await git.diff(space, change.base, change.head, limit_bytes=MOST_BYTES)
    except GitFailed:
        raise NotFound(
            f"the commits are not kept any more: {change.base[:12]} to {change.head[:12]}"
        ) from None
    files = parse_diff(names, text) or ()
    return ShownDiff(files=tuple(_file(file, scope) for file in files), is_cut=is_cut(text))


def _file(file: FileDiff, scope: Scope | None) -> ChangedFile:
    return ChangedFile(
        path=file.change.path,
        status=_STATUSES.get(file.change.status, file.change.status),
        is_in_scope=scope is None or all(map(scope.allows, file.change.paths)),
        added=len(list(file.added)),
        removed=len(list(file.removed)),
        rows=tuple(row for hunk in file.hunks for row in _rows(file.change.path, hunk)),
    )


_STATUSES = {"A": "added", "M": "changed", "D": "deleted", "R": "renamed", "T": "another type"}


def _rows(path: str, hunk: Hunk) -> Iterator[Row]:
    head = hunk.text.partition("\n")[0]
    yield Row(kind="hunk", old=None, new=None, html=str(escape(visible(head))))
    old, new = _starts(head)
    for line, html in zip(hunk.lines, highlighted(path, [line.text for line in hunk.lines]), strict=True):
        is_old, is_new = line.sign != "+", line.sign != "-"
        yield Row(kind=_KINDS[line.sign], old=old if is_old else None, new=new if is_new else None, html=html)
        old, new = old + is_old, new + is_new


_KINDS = {"+": "add", "-": "del", " ": ""}
_START = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)")


def _starts(head: str) -> tuple[int, int]:
    """The first line's numbers, before and after."""
    found = _START.match(head)
    return (int(found[1]), int(found[2])) if found else (1, 1)
