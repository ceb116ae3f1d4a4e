"""Rules: questions that are answered always, by whom, for how long, and how often each answered."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.chat.lines import listed, since, words
from overlord.domain.knowledge.rule import Rule
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold
from overlord.domain.view.view import Table, View
from overlord.queries.look import Look
from overlord.queries.query import Cell, Nothing, Query
from overlord.store.knowledge import rules

NONE = "No rule answers anything yet."
_COLUMNS = ("rule", "where", "a question with", "is answered", "by", "until", "used")
_TEXT = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleView:
    """A rule as people and programs see it."""

    ref: str
    space: str
    """Empty where it counts in all repositories."""
    question: str
    words: tuple[str, ...]
    answer: str
    actor: str
    created_at: datetime
    expires_at: datetime | None
    state: str
    """`counts`, `over` or `revoked`."""
    revoked_by: str
    decision_id: int | None
    used: int
    used_at: datetime | None


def rule_view(rule: Rule, at: datetime) -> RuleView:
    """A rule, and whether it counts."""
    state = "counts" if rule.counts(at) else "over" if rule.revoked_at is None else "revoked"
    return RuleView(
        ref=rule.ref,
        space=rule.space,
        question=rule.question,
        words=rule.words,
        answer=rule.answer,
        actor=rule.actor,
        created_at=rule.created_at,
        expires_at=rule.expires_at,
        state=state,
        revoked_by=rule.revoked_by,
        decision_id=rule.decision_id,
        used=rule.used,
        used_at=rule.used_at,
    )


def _read(look: Look, _arguments: Nothing) -> tuple[RuleView, ...]:
    return tuple(rule_view(rule, look.at) for rule in rules.every(look.connection))


def _view(look: Look, found: tuple[RuleView, ...]) -> View:
    rows = tuple(
        (
            (Bold(item.ref),),
            (item.space or "all",),
            (words(" + ".join(item.words)),),
            (words(item.answer, _TEXT),),
            (words(item.actor),),
            (until(item),),
            (f"{item.used}{f', {since(item.used_at, look.at)} ago' if item.used_at else ''}",),
        )
        for item in found
    )
    counting = sum(item.state == "counts" for item in found)
    summary = f"{count(counting, 'rule')} that {'counts' if counting == 1 else 'count'}"
    return View(summary=summary, parts=(listed(Table(_COLUMNS, rows), NONE),), has_title=True)


def until(item: RuleView) -> str:
    """How long it counts, in words."""
    if item.state == "revoked":
        return f"revoked by {words(item.revoked_by)}"
    if item.expires_at is None:
        return "it is revoked"
    return f"{item.expires_at:%Y-%m-%d}{' (over)' if item.state == 'over' else ''}"


def _csv(found: tuple[RuleView, ...]) -> Iterator[Sequence[Cell]]:
    names = tuple(RuleView.__dataclass_fields__)
    yield names
    for item in found:
        yield tuple(_cell(getattr(item, name)) for name in names)


def _cell(value: object) -> Cell:
    match value:
        case datetime():
            return value.isoformat()
        case tuple():
            return " ".join(map(str, value))
        case int() | None:
            return value
        case _:
            return str(value)


QUERY = Query(
    read=_read,
    view=_view,
    csv=_csv,
    usage="rules",
    means="questions that are answered always, and how often each rule answered",
    position=62,
    terminal="rules list",
)
