"""Inbox: everything that waits for a person, with what it rests on beside the answers."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from overlord.domain.answers import consequence_of, label_for
from overlord.domain.chat.card import KIND_NAMES
from overlord.domain.conversation.argument import arguments_of
from overlord.domain.decision import ApprovalKind, ApprovalRef, Decision, DecisionState, Verb
from overlord.domain.text.reference import IssueRef
from overlord.domain.view.view import Actions, Heading, View
from overlord.queries import registry
from overlord.queries.look import Look
from overlord.queries.registry import Question
from overlord.store import decisions, jobs, seen_decisions
from overlord.store.seen_decisions import Seen
from overlord.verbs.answering import right_of
from overlord.verbs.right import Right

WORDED = frozenset({Verb.REPLY, Verb.ADD_BUDGET, Verb.LIMIT, Verb.REJECT, Verb.RETRY, Verb.ONE_MORE})
"""Answers that take words of the person's."""
NEEDED = frozenset({Verb.REPLY, Verb.ADD_BUDGET, Verb.LIMIT})
"""Those that are none without them."""
DANGEROUS = frozenset({Verb.DROP, Verb.REJECT, Verb.TAKE_OVER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """One answer."""

    verb: Verb
    label: str
    consequence: str
    takes_words: bool
    needs_words: bool
    is_dangerous: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Something that waits."""

    decision: Decision
    kind: str
    space: str
    issue: IssueRef | None
    view: View
    """What it rests on."""
    digest: str
    answers: tuple[Offered, ...]
    suggested: tuple[str, ...]
    """Texts that are offered with an answer in words."""
    right: Right
    """What whoever answers it must at least be."""
    is_new: bool = False
    """Whether whoever looks was not shown it before."""
    changed_since: datetime | None = None
    """When whoever looks was last shown it, if it was another one then."""

    @property
    def label(self) -> str:
        return self.decision.ref.label

    @property
    def worded_verb(self) -> str:
        """The answer that a suggested text goes with; empty where none takes one."""
        return next((answer.verb for answer in self.answers if answer.needs_words), "")

    @property
    def is_open(self) -> bool:
        return self.decision.state is DecisionState.OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Something that was answered."""

    decision: Decision
    answer: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """The page."""

    waiting: tuple[Asked, ...]
    is_news: bool
    """Whether something is to be remembered of what is shown."""
    answered: tuple[Given, ...]


def inbox(look: Look, sees: Iterable[str] = (), actor: str = "") -> Inbox:
    """Of the repositories that somebody `sees`; empty for all. What holds up work comes first, and then the oldest. What the `actor`
    was not shown before, or not like that, is marked."""
    seen, known = frozenset(sees), seen_decisions.by(look.connection, actor)
    found = [asked(look, decision) for decision in decisions.inbox(look.connection)]
    mine = [
        _marked(item, known.get(item.decision.id), look.at)
        for item in found
        if not seen or item.space in seen
    ]
    mine.sort(
        key=lambda item: (item.decision.ref.kind is not ApprovalKind.DECISION, item.decision.created_at)
    )
    given = [item for item in decisions.newest_answered(look.connection, limit=20) if not seen]
    is_news = seen_decisions.is_due(known, (item.decision for item in mine), at=look.at)
    return Inbox(waiting=tuple(mine), is_news=is_news, answered=tuple(map(_given, given)))


def _marked(item: Asked, seen: Seen | None, at: datetime) -> Asked:
    """With what is news of it to somebody."""
    if not item.is_open:
        return item
    if seen is None:
        return replace(item, is_new=True)
    if seen.digest != item.digest:
        return replace(item, changed_since=seen.at)
    before, before_at = seen.look_before(at)
    if not before:
        return replace(item, is_new=True)
    return replace(item, changed_since=before_at) if before != item.digest else item


def count(look: Look, sees: Iterable[str] = ()) -> int:
    """How much waits."""
    seen = frozenset(sees)
    if not seen:
        return decisions.count_open(look.connection)
    return sum(_space(look, item) in seen for item in decisions.inbox(look.connection))


def one(look: Look, ref: ApprovalRef, actor: str = "") -> Asked:
    """One of them, marked as in the inbox. Raises NotFound."""
    found = asked(look, decisions.meant(look.connection, ref))
    return _marked(found, seen_decisions.by(look.connection, actor).get(found.decision.id), look.at)


def asked(look: Look, decision: Decision) -> Asked:
    """A decision as the page shows it."""
    job = jobs.get(look.connection, decision.job_id) if decision.job_id is not None else None
    is_open = decision.state is DecisionState.OPEN
    return Asked(
        decision=decision,
        kind=KIND_NAMES[decision.kind],
        space=job.space if job is not None else decision.space,
        issue=IssueRef(number=job.issue.number, space=job.space) if job is not None else None,
        view=_rests_on(look, decision),
        digest=decision.digest,
        answers=tuple(_offered(decision, verb) for verb in decision.verbs) if is_open else (),
        suggested=decision.suggested,
        right=right_of(decision),
    )


def _space(look: Look, decision: Decision) -> str:
    return jobs.get(look.connection, decision.job_id).space if decision.job_id is not None else decision.space


def _rests_on(look: Look, decision: Decision) -> View:
    """What its own query shows, without the title and the commands, which stand beside it as a heading and buttons."""
    ref = decision.ref
    query = registry.find(ref.kind)
    [(field, _)] = arguments_of(query.arguments)
    shown = Question(name=ref.kind, arguments=query.arguments(**{field: ref})).view(look)
    parts = [part for part in shown.parts if not isinstance(part, Actions)]
    if parts and isinstance(parts[0], Heading):
        parts = parts[1:]
    return View(summary=shown.summary, parts=tuple(parts))


def _offered(decision: Decision, verb: Verb) -> Offered:
    return Offered(
        verb=verb,
        label=label_for(decision.subject, verb),
        consequence=consequence_of(decision.subject, verb),
        takes_words=verb in WORDED,
        needs_words=verb in NEEDED,
        is_dangerous=verb in DANGEROUS,
    )


def _given(decision: Decision) -> Given:
    assert decision.answered_at is not None, "it was answered"
    return Given(
        decision=decision,
        answer=decision.answer,
        by=decision.answered_by,
        at=decision.answered_at,
    )
