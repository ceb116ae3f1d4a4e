"""What waits for you, what ended and what was spent: the day's briefing, now, or as it was written on an earlier day."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from overlord.domain.budgets.budget import Cost
from overlord.domain.chat.brief_view import brief_view
from overlord.domain.chat.briefing import Briefing
from overlord.domain.conversation.look_argument import HoursArgument, NamedArgument
from overlord.domain.text.plain import visible
from overlord.domain.view.view import View
from overlord.errors import NotFound
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store.portfolio import daily_notes


@dataclass(frozen=True, slots=True, kw_only=True)
class OfDay:
    """Of an earlier day, or now and how far back."""

    day: Annotated[str, NamedArgument(name="day", help="As it was written on this day: 2026-11-26.")]
    hours: Annotated[float, HoursArgument(help="How far back what ended is told.")]


def _read(look: Look, arguments: OfDay) -> Briefing:
    if arguments.day:
        return _of_day(look, arguments.day)
    since = look.at - timedelta(hours=arguments.hours)
    return overview.brief(look.connection, since=since, at=look.at)


def _of_day(look: Look, day: str) -> Briefing:
    note = daily_notes.of_day(look.connection, day)
    if note is None:
        newest = daily_notes.last(look.connection)
        known = f"the newest is of {newest.day}" if newest is not None else "none was written yet"
        raise NotFound(
            f"there is no briefing of {visible(day)[:20]!r}: days are written as 2026-11-26, and {known}"
        )
    at = note.written_at
    return Briefing(
        since=at,
        at=at,
        waiting=(),
        finished=(),
        failed=(),
        to_review=(),
        spent=Cost(tokens=0),
        kept=note.text,
    )


def _view(_look: Look, briefing: Briefing) -> View:
    return brief_view(briefing)


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfDay,
    usage="briefing",
    means="the day's briefing, now or of an earlier day",
    position=16,
    aliases=("brief",),
)
