"""What sessions could not decide: what waits for you, and how the latest were resolved, by whom and from which rule or note."""

from dataclasses import dataclass
from datetime import datetime

from overlord.domain.chat.lines import Line, listed, since, words
from overlord.domain.portfolio.escalation import Escalation, SuggestedAnswer
from overlord.domain.view.span import Bold
from overlord.domain.view.view import Table, View
from overlord.queries import portfolio_brief
from overlord.queries.look import Look
from overlord.queries.query import Nothing, Query
from overlord.store.portfolio import escalations

MOST_RESOLVED = 20
"""Of those that need no answer any more, the newest."""
_ANSWER = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationView:
    """One of them, as people and programs are shown it."""

    ref: str
    """As `e5`."""
    type: str
    kind: str
    state: str
    place: str
    """Its repository, with its initiative: `acme/calc / refresh-tokens`."""
    question: str
    suggested: tuple[SuggestedAnswer, ...]
    blocks: str
    path: tuple[str, ...]
    """Who had it, in order."""
    decision_id: int | None
    """What a person answers it by; None where nobody is asked."""
    resolution: str
    resolved_by: str
    cites: str
    """The rule or note that answered it: `r2`, `n12`."""
    created_at: datetime
    resolved_at: datetime | None


def _read(look: Look, _arguments: Nothing) -> tuple[EscalationView, ...]:
    connection = look.connection
    found = (*escalations.unresolved(connection), *escalations.newest_over(connection, limit=MOST_RESOLVED))
    return tuple(_shown(look, item) for item in found)


def _shown(look: Look, item: Escalation) -> EscalationView:
    affected = portfolio_brief.affected_by(look.connection, item)
    return EscalationView(
        ref=item.ref,
        type=item.type,
        kind=item.kind,
        state=item.state,
        place=affected.place(item.space),
        question=item.question,
        suggested=item.suggested,
        blocks=affected.blocks,
        path=item.path,
        decision_id=item.decision_id,
        resolution=item.resolution,
        resolved_by=item.resolved_by,
        cites=item.cites,
        created_at=item.created_at,
        resolved_at=item.resolved_at,
    )


def _view(look: Look, found: tuple[EscalationView, ...]) -> View:
    table = Table(
        ("id", "state", "kind", "where", "what", "blocks", "answer", "age"),
        tuple(_row(item, look.at) for item in found),
    )
    waiting = sum(item.resolved_at is None for item in found)
    title = f"Escalations: {waiting} open" if waiting else "Escalations: none is open"
    return View(summary=title, parts=(listed(table, "No session has escalated anything."),), has_title=True)


def _row(item: EscalationView, at: datetime) -> tuple[Line, ...]:
    asked = (
        f", decision {item.decision_id}" if item.resolved_at is None and item.decision_id is not None else ""
    )
    cited = f", from {item.cites}" if item.cites else ""
    answer = f"{words(item.resolution, _ANSWER)} ({item.resolved_by}{cited})" if item.resolution else ""
    return (
        (Bold(item.ref),),
        (f"{item.state}{asked}",),
        (f"{item.type}, {item.kind.replace('_', ' ')}",),
        (words(item.place),),
        (words(item.question),),
        (words(item.blocks),),
        (answer,) if answer else (),
        (since(item.created_at, at),),
    )


QUERY = Query(
    read=_read,
    view=_view,
    usage="escalations",
    means="what sessions could not decide, and how it was resolved",
    position=64,
    has_runs=False,
)
