"""Everything that waits for a person: decisions, proposals and drafts of skills, oldest first."""

from overlord.domain.chat.lines import decisions_table, listed, look_at
from overlord.domain.decision import Decision
from overlord.domain.text.plain import count
from overlord.domain.view.view import View
from overlord.queries.look import Look
from overlord.queries.query import Nothing, Query
from overlord.store import decisions


def _read(look: Look, _arguments: Nothing) -> tuple[Decision, ...]:
    found = decisions.inbox(look.connection)
    return tuple(item for item in found if look.is_theirs(look.decision_space(item)))


def _view(look: Look, waiting: tuple[Decision, ...]) -> View:
    return waiting_view(look, waiting, f"{count(len(waiting), 'question')} for people")


def waiting_view(look: Look, waiting: tuple[Decision, ...], title: str) -> View:
    """What waits, with what shows each of them."""
    table = listed(decisions_table(waiting, look.at), "Nothing waits for a person.")
    return View(summary=title, parts=(table, *look_at(waiting)), has_title=True)


QUERY = Query(
    read=_read,
    view=_view,
    usage="inbox",
    means="everything that waits for a person",
    position=9,
    is_narrowed=True,
)
