"""A job's diff, file by file, with what its session was allowed to write beside it."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import escape

from minion.protocol import Scope
from overlord.domain.changes.diff import FileDiff, Hunk, is_cut, parse_diff
from overlord.domain.identifiers import RepositoryName
from overlord.domain.scope.check import Change
from overlord.domain.text.plain import visible
from overlord.entrypoints.web.pages.highlight import Highlighter
from overlord.errors import GitFailed, NotFound
from overlord.ports.git import Git
from overlord.queries.session import Change as Commits

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


async def shown(git: Git, space: RepositoryName, commits: Commits, scope: Scope | None) -> ShownDiff:
    """Raises NotFound where the commits are not kept any more."""
    try:
        names = await git.changes(space, commits.base, commits.head)
        text = await git.diff(space, commits.base, commits.head, limit_bytes=MOST_BYTES)
    except GitFailed:
        raise NotFound(
            f"the commits are not kept any more: {commits.base[:12]} to {commits.head[:12]}"
        ) from None
    return await asyncio.to_thread(diff_of, names, text, scope)


def files_of(names: Sequence[Change], scope: Scope | None) -> tuple[ChangedFile, ...]:
    """The changed paths alone."""
    return tuple(_file(FileDiff(change=name, header=""), scope, None) for name in names)


def diff_of(names: Sequence[Change], text: str, scope: Scope | None) -> ShownDiff:
    """Of the changed paths and git's text; where that is cut or none, the paths alone."""
    files = parse_diff(names, text)
    if files is None:  # too long, or nothing that git writes: at least every file is named
        return ShownDiff(files=files_of(names, scope), is_cut=True)
    colours = Highlighter()
    return ShownDiff(files=tuple(_file(file, scope, colours) for file in files), is_cut=is_cut(text))


def _file(file: FileDiff, scope: Scope | None, colours: Highlighter | None) -> ChangedFile:
    return ChangedFile(
        path=file.change.path,
        status=_STATUSES.get(file.change.status, file.change.status),
        is_in_scope=scope is None or all(map(scope.allows, file.change.paths)),
        added=file.change.added,
        removed=file.change.removed,
        rows=tuple(row for hunk in file.hunks if colours for row in _rows(file.change.path, hunk, colours)),
    )


_STATUSES = {"A": "added", "M": "changed", "D": "deleted", "R": "renamed", "T": "another type"}


def _rows(path: str, hunk: Hunk, colours: Highlighter) -> Iterator[Row]:
    head = hunk.text.partition("\n")[0]
    yield Row(kind="hunk", old=None, new=None, html=str(escape(visible(head))))
    old, new = _starts(head)
    for line in hunk.lines:
        is_old, is_new = line.sign != "+", line.sign != "-"
        yield Row(
            kind=_KINDS[line.sign],
            old=old if is_old else None,
            new=new if is_new else None,
            html=colours.html(path, line.text),
        )
        old, new = old + is_old, new + is_new


_KINDS = {"+": "add", "-": "del", " ": ""}
_START = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)")


def _starts(head: str) -> tuple[int, int]:
    """The first line's numbers, before and after."""
    found = _START.match(head)
    return (int(found[1]), int(found[2])) if found else (1, 1)
