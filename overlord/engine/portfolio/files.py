"""The files of the portfolio that people write: read when somebody wrote to them, and Overlord's own part of them written.

A look asks for each file's mark alone and reads those whose mark is another one. What cannot be read is told in the row of its file;
the file is left as it is, and what was read of it before stays what counts.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial

from overlord.domain.event import OVERLORD
from overlord.domain.portfolio.files import layout
from overlord.domain.portfolio.files.goals import MOST_CHARS as MOST_OVERVIEW_CHARS
from overlord.domain.portfolio.files.goals import Overview, read_overview
from overlord.domain.portfolio.files.plan_file import BrokenMarksError, PlanFile, planned, read_plan, seen
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.task import Task
from overlord.domain.text.hidden_text import without_hidden
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.file_tree import FileTree, UnreadableFileError, digest_of
from overlord.store.portfolio import cycles, files, initiatives, tasks
from overlord.store.portfolio.files import KnownFile

MOST_BYTES = 1024 * 1024
"""Of any one file."""
MOST_BRIEF_CHARS = 8_000
"""What sessions are told of each file for briefs."""
_MOST_TROUBLE_CHARS = 2_000
_PLAN, _OVERVIEW = "/plan.md", "/OVERVIEW.md"
Redact = Callable[[str], str]
"""A text without secrets."""


async def look(parts: Parts) -> Progress:
    """Read the files that changed since they were last read; whether there were any. Goals that are others are something to decide by."""
    paths, known = await parts.database.read(partial(_watched, repositories=parts.settings.repositories))
    tree = FileTree(parts.home.root)
    changed = await asyncio.to_thread(_changed, tree, paths, known)
    if not changed:
        return Progress.IDLE
    before = await parts.database.read(lambda c: {path: files.get(c, path) for path in changed})
    reading = partial(_read_all, tree, before, redact=parts.current.redactor.redact, at=parts.clock.now())
    found = await asyncio.to_thread(lambda: list(reading()))
    is_news = any(_is_news(before[file.path], file) for file in found)
    put = partial(_put_read, found=found, is_news=is_news, at=parts.clock.now())
    await parts.database.write(Failpoint.FILES_READ, put)
    return Progress.MOVED


def _is_news(before: KnownFile | None, now: KnownFile) -> bool:
    return now.path.endswith(_OVERVIEW) and now.text != (before.text if before is not None else "")


def overview_of(connection: sqlite3.Connection, space: str) -> Overview:
    """What a repository's OVERVIEW.md said when it was last read."""
    known = files.get(connection, layout.overview(space))
    return read_overview(known.text) if known is not None else Overview()


def plan_of(connection: sqlite3.Connection, initiative: Initiative) -> str:
    """An initiative's plan in words, as it was last read or written."""
    known = files.get(connection, layout.plan(initiative.space, initiative.slug))
    return known.text if known is not None else ""


def brief_words(connection: sqlite3.Connection) -> Mapping[str, str]:
    """What people tell every session, by the file it stands in: without secrets and hidden text, and cut."""
    known = ((path, files.get(connection, path)) for path in layout.BRIEF_FILES)
    return {path: file.text for path, file in known if file is not None and file.text}


async def write_plan(
    parts: Parts, initiative: Initiative, *, prose: str | None = None, based_on: str | None = None
) -> str:
    """Have plan.md say this plan (what it says already, without `prose`), with the tasks as they are now. What is in the way, in words
    for people; empty when it was written.

    `based_on`: the plan, as `plan_of` had it, that the new one was made from. If people changed it since, or broke the marks, their file
    is left, and the new plan goes beside it.
    """
    path = layout.plan(initiative.space, initiative.slug)
    before, listed = await parts.database.read(
        lambda c: (files.get(c, path), tasks.of_initiative(c, initiative.id))
    )
    known = before.text if before is not None else ""
    redact = parts.current.redactor.redact
    writer = _PlanWriter(
        FileTree(parts.home.root),
        path,
        prose=None if prose is None else redact(prose),
        known=known,
        listed=listed,
    )
    found = await asyncio.to_thread(
        partial(writer.write, known if based_on is None else based_on, redact=redact)
    )
    if found is None:
        return ""
    text, digest, mark, trouble = found
    kept = text if text is not None else known
    row = KnownFile(
        path=path, digest=digest, mark=mark, text=kept, trouble=trouble, read_at=parts.clock.now()
    )
    if before is None or (before.digest, before.mark, before.text, before.trouble) != (
        digest,
        mark,
        kept,
        trouble,
    ):
        await parts.database.write(Failpoint.FILES_READ, partial(_put_all, found=[row]))
    return trouble


async def write_day(parts: Parts, day: date, text: str) -> str:
    """Write the briefing of a day. What is in the way, in words for people: a note that somebody changed is left as it is."""
    path, tree = layout.daily(day), FileTree(parts.home.root)
    before = await parts.database.read(lambda c: files.get(c, path))
    content = parts.current.redactor.redact(text).encode()
    try:
        if await asyncio.to_thread(partial(tree.read, path, most=MOST_BYTES)) != content:
            expected = before.digest if before is not None else ""
            await asyncio.to_thread(partial(tree.put, path, content, expected=expected))
    except UnreadableFileError as error:
        return f"{path}: {error}"
    row = KnownFile(path=path, digest=digest_of(content), read_at=parts.clock.now())
    await parts.database.write(Failpoint.FILES_READ, partial(_put_all, found=[row]))
    return ""


class _PlanWriter:
    """Writes one plan.md, or beside it."""

    def __init__(
        self, tree: FileTree, path: str, *, prose: str | None, known: str, listed: Sequence[Task]
    ) -> None:
        self._tree = tree
        self._known = known
        self._path = path
        self._prose = prose
        self._listed = listed

    def write(self, based_on: str, *, redact: Redact) -> tuple[str | None, str, str, str] | None:
        """The plan in words where it could be read, digest and mark of the file, and what is in the way. None where there is no plan."""
        try:
            content = self._tree.read(self._path, most=MOST_BYTES)
            if content is None and self._prose is None and not self._known:
                return None
            plan, beside = self._plan(content, based_on, redact)
            if beside:
                return self._left(content, beside)
            new = plan.written(self._listed).encode()
            if new != content:
                self._tree.put(self._path, new, expected=digest_of(content) if content is not None else "")
            words = redact(seen(plan)[0].prose)
            return words, digest_of(new), self._tree.mark(self._path), ""
        except (UnreadableFileError, BrokenMarksError, UnicodeDecodeError) as error:
            return self._left(None, _reason(error))

    def _plan(self, content: bytes | None, based_on: str, redact: Redact) -> tuple[PlanFile, str]:
        """The file to be written, and why it is not to be."""
        new = planned(self._known if self._prose is None else self._prose)
        if content is None:
            return new, ""
        there = read_plan(content.decode())
        if self._prose is None:
            return there, ""
        if redact(seen(there)[0].prose) not in {based_on, redact(seen(new)[0].prose)}:
            return (
                there,
                "somebody changed it while it was planned anew: the new plan is in plan.md.new; merge the two into plan.md",
            )
        return new, ""

    def _left(self, content: bytes | None, why: str) -> tuple[str | None, str, str, str]:
        if self._prose is not None:
            try:
                beside = planned(self._prose).written(self._listed).encode()
                self._tree.put(f"{self._path}.new", beside)
            except UnreadableFileError as error:
                why = f"{why}; plan.md.new cannot be written either: {error}"
        return None, digest_of(content) if content is not None else "", self._tree.mark(self._path), why


def _watched(
    connection: sqlite3.Connection, *, repositories: Iterable[str]
) -> tuple[Sequence[str], Mapping[str, str]]:
    """The paths to look at, and the mark of each that was read before."""
    unfinished = initiatives.unfinished(connection)
    paths = [*layout.BRIEF_FILES, *(layout.overview(space) for space in repositories)]
    paths += [layout.plan(each.space, each.slug) for each in unfinished]
    return paths, files.marks(connection)


def _changed(tree: FileTree, paths: Sequence[str], known: Mapping[str, str]) -> Sequence[str]:
    return [path for path in paths if tree.mark(path) != known.get(path, "")]


def _read_all(
    tree: FileTree, before: Mapping[str, KnownFile | None], *, redact: Redact, at: datetime
) -> Iterator[KnownFile]:
    for path, known in before.items():
        mark = tree.mark(path)  # before it is read: whoever writes meanwhile is seen by the next look
        digest, text, trouble = "", known.text if known is not None else "", ""
        try:
            content = tree.read(path, most=MOST_BYTES)
            digest = digest_of(content) if content is not None else ""
            if content is not None:
                text, trouble = _said(path, content.decode(), redact)
            elif not path.endswith(_PLAN):
                text = ""  # a plan that somebody removed is still the plan
        except (UnreadableFileError, BrokenMarksError, UnicodeDecodeError) as error:
            trouble = _reason(error)
        trouble = redact(trouble)[:_MOST_TROUBLE_CHARS]
        yield KnownFile(path=path, digest=digest, mark=mark, text=text, trouble=trouble, read_at=at)


def _said(path: str, text: str, redact: Redact) -> tuple[str, str]:
    """What a file says to us, and what is wrong with it."""
    if path in layout.BRIEF_FILES:
        words = redact(without_hidden(text).text).strip()
        longer = f"sessions are told its first {MOST_BRIEF_CHARS} characters: shorten it"
        return words[:MOST_BRIEF_CHARS], longer if len(words) > MOST_BRIEF_CHARS else ""
    if path.endswith(_PLAN):
        plan, hidden = seen(read_plan(text))
        words = "; ".join(hidden[:3])
        return redact(
            plan.prose
        ), f"it has words that nobody sees, which are marked: {words}" if hidden else ""
    overview = read_overview(redact(text))
    if len(text) > MOST_OVERVIEW_CHARS:
        raise UnreadableFileError(overview.troubles[0])
    return redact(text), "; ".join(overview.troubles)


def _reason(error: Exception) -> str:
    return "it is no UTF-8 text: save it as UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


def _put_read(
    connection: sqlite3.Connection, *, found: Iterable[KnownFile], is_news: bool, at: datetime
) -> None:
    _put_all(connection, found=found)
    if is_news:
        cycles.ask(connection, trigger="fact", actor=OVERLORD, at=at)


def _put_all(connection: sqlite3.Connection, *, found: Iterable[KnownFile]) -> None:
    for file in found:
        files.put(connection, file)
