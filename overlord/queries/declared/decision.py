"""One decision with what it rests on, its answers, and what each of them does."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.chat.card import KIND_NAMES
from overlord.domain.chat.lines import actions_of, facts, words
from overlord.domain.chat.markdown import parts_of
from overlord.domain.conversation.argument import ApprovalArgument
from overlord.domain.decision import ApprovalKind, ApprovalRef, Decision, DecisionState
from overlord.domain.view.span import Code
from overlord.domain.view.view import Actions, Heading, Paragraph, Part, View
from overlord.queries.look import Look
from overlord.queries.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class OfDecision:
    """A decision."""

    number: Annotated[ApprovalRef | None, ApprovalArgument(kinds=frozenset({ApprovalKind.DECISION}))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownDecision:
    """A decision, and what an answer to it is bound to."""

    decision: Decision
    digest: str


def _read(look: Look, arguments: OfDecision) -> ShownDecision:
    decision = look.decision(arguments.number)
    return ShownDecision(decision=decision, digest=decision.digest)


def _view(_look: Look, shown: ShownDecision) -> View:
    decision = shown.decision
    text = f"{KIND_NAMES[decision.kind]} {decision.ref.label}, {decision.state}: {words(decision.title, 300)}"
    parts: list[Part] = [Heading(text), *parts_of(decision.body)]
    if decision.patterns:
        parts.append(Paragraph(("Paths: ", Code(", ".join(words(item) for item in decision.patterns)))))
    if decision.answered_by:
        parts.append(Paragraph((f"{words(decision.answered_by)} answered: {words(decision.answer, 1000)}",)))
    if decision.state is DecisionState.OPEN:
        parts.append(Actions(actions_of(decision)))
    parts.append(facts(("blocks", words(decision.blocks)), ("shown as", (Code(shown.digest),))))
    return View(summary=text, parts=tuple(parts))


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfDecision,
    usage="decision 5",
    means="one decision, and what each answer does",
    position=11,
    terminal="decisions show",
)
