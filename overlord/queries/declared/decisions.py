"""Every decision that waits."""

from overlord.domain.decision import Decision
from overlord.domain.text.plain import count
from overlord.domain.view.view import View
from overlord.queries.declared.inbox import waiting_view
from overlord.queries.look import Look
from overlord.queries.query import Nothing, Query
from overlord.store import decisions


def _read(look: Look, _arguments: Nothing) -> tuple[Decision, ...]:
    found = decisions.waiting(look.connection)
    return tuple(item for item in found if look.is_theirs(look.decision_space(item)))


def _view(look: Look, waiting: tuple[Decision, ...]) -> View:
    return waiting_view(look, waiting, f"{count(len(waiting), 'decision')} waiting for a person")


QUERY = Query(
    read=_read,
    view=_view,
    usage="decisions",
    means="what waits for a person",
    position=10,
    is_narrowed=True,
    terminal="decisions list",
)
