"""The day's briefing is written down: `daily/2026-11-26.md`, once a day, with or without a chat.

The file comes first and the row after it: cut off in between, the file is written once more. Whether a day has its briefing, its row says,
so a clock that jumps over the hour, or back, neither loses a day nor writes one twice.
"""

import asyncio
import sqlite3
from datetime import date, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import structlog

from overlord.domain.chat.brief_view import brief_view
from overlord.domain.portfolio.day_note import MOST_BYTES, day_file
from overlord.domain.portfolio.files import layout
from overlord.domain.view.markdown import markdown
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.file_tree import FileTree, UnreadableFileError, digest_of
from overlord.queries import overview
from overlord.store.portfolio import daily_notes
from overlord.verbs.typed_words import typed_words

log = structlog.get_logger()


def is_due(connection: sqlite3.Connection, parts: Parts) -> bool:
    """Whether the hour of the briefing has come on a day that has none, and there is a portfolio to tell of."""
    day = _day(parts)
    return day is not None and _is_missing(connection, day)


def _is_missing(connection: sqlite3.Connection, day: date) -> bool:
    has_note = daily_notes.of_day(connection, day.isoformat()) is not None
    return not has_note and daily_notes.has_anything(connection)


def _day(parts: Parts) -> date | None:
    """The day whose hour came last, by the briefing's own time zone; None where there is no hour."""
    cron = parts.settings.briefing.cron
    if cron is None:
        return None
    return cron.slot_at(parts.clock.now()).at.astimezone(ZoneInfo(cron.zone)).date()


async def step(parts: Parts) -> Progress:
    """Write the briefing of the day that is due. A file that cannot be written is told in the log, and its day is kept in the database."""
    day, at = _day(parts), parts.clock.now()
    if day is None or not await parts.database.read(lambda c: _is_missing(c, day)):
        return Progress.IDLE
    text = parts.current.redactor.redact(await parts.database.read(partial(_text, at=at)))
    try:
        await asyncio.to_thread(_write, FileTree(parts.home.root), day, text)
    except UnreadableFileError as error:
        log.warning("day_not_written", day=day.isoformat(), reason=str(error))
    await parts.database.write(
        Failpoint.DAY_BRIEFED, lambda c: daily_notes.add(c, day.isoformat(), text, at=at)
    )
    return Progress.MOVED


def _text(connection: sqlite3.Connection, *, at: datetime) -> str:
    """What there is to tell since the last one."""
    last = daily_notes.last(connection)
    yesterday = at - timedelta(days=1)
    since = last.written_at if last is not None and last.written_at <= at else yesterday
    return markdown(brief_view(overview.brief(connection, since=since, at=at)), typed_words)


def _write(tree: FileTree, day: date, text: str) -> None:
    path = layout.daily(day)
    before = tree.read(path, most=MOST_BYTES)
    content = day_file(day.isoformat(), text, before)
    if content != before:
        tree.put(path, content, expected="" if before is None else digest_of(before))
