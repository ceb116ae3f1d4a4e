"""What waits for you, what ended and what was spent: the morning briefing, now."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from overlord.domain.chat.brief_view import brief_view
from overlord.domain.chat.briefing import Briefing
from overlord.domain.conversation.look_argument import HoursArgument
from overlord.domain.view.view import View
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.queries.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class OfHours:
    """How far back."""

    hours: Annotated[float, HoursArgument(help="How far back what ended is told.")]


def _read(look: Look, arguments: OfHours) -> Briefing:
    since = look.at - timedelta(hours=arguments.hours)
    return overview.brief(look.connection, since=since, at=look.at)


def _view(_look: Look, briefing: Briefing) -> View:
    return brief_view(briefing)


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfHours,
    usage="brief",
    means="the morning briefing, now",
    position=16,
)
