"""What a rule would have answered before it is made: past questions of sessions, and whether people said the same.

Take a decision that was answered in words (`5`, or `5 about cache token` with the words that count), or a question with its answer (`Which
cache do we use? Redis.`). Where a person said otherwise, or another rule does, that is shown; a rule that is too wide is not made.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import listed, words
from overlord.domain.conversation.argument import WordsArgument
from overlord.domain.conversation.look_argument import FilterArgument
from overlord.domain.interface import Interface
from overlord.domain.knowledge.preview import RulePreview
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold
from overlord.domain.view.view import Action, Actions, Bullets, Fields, Note, Part, Table, View
from overlord.queries.declared.rules import RuleView, rule_view
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store.knowledge import rule_drafts

NONE = "No past question would have been answered by it."
_COLUMNS = ("decision", "where", "the question", "a person said", "the same")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfPreview:
    """Of what, and where it would count."""

    space: Annotated[
        str,
        FilterArgument(
            name="space", help="Where it would count, as owner/name; the decision's own, or everywhere."
        ),
    ] = ""
    words: Annotated[
        str,
        WordsArgument(
            missing="Say which answered decision, or a question with its answer.",
            help="An answered decision's number, or a question and its answer.",
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAnswer:
    """A past question that it would have answered."""

    decision: int
    space: str
    question: str
    answer: str
    by: str
    is_same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedRule:
    """A rule before it is made."""

    text: str
    """What it was asked of."""
    space: str
    question: str
    words: tuple[str, ...]
    answer: str
    problem: str
    """Why it is not made; empty where it can be."""
    contradictions: int
    answered: tuple[PastAnswer, ...]
    rules: tuple[RuleView, ...]
    """Rules that answer the same otherwise."""


def _read(look: Look, arguments: OfPreview) -> PreviewedRule:
    space = look.space(arguments.space) if arguments.space else ""
    drafted = rule_drafts.drafted(look.connection, arguments.words, space=space)
    return _previewed(arguments.words, rule_drafts.previewed(look.connection, drafted, at=look.at), look)


def _previewed(text: str, found: RulePreview, look: Look) -> PreviewedRule:
    return PreviewedRule(
        text=text,
        space=found.drafted.space,
        question=found.drafted.question,
        words=found.drafted.words,
        answer=found.drafted.answer,
        problem=found.problem,
        contradictions=found.contradictions,
        answered=tuple(
            PastAnswer(
                decision=item.past.decision_id,
                space=item.past.space,
                question=item.past.question,
                answer=item.past.answer,
                by=item.past.by,
                is_same=item.is_same,
            )
            for item in found.answered
        ),
        rules=tuple(rule_view(rule, look.at) for rule in found.rules),
    )


def _view(_look: Look, found: PreviewedRule) -> View:
    what = count(len(found.answered), "past question")
    summary = f"It would have answered {what}; {count(found.contradictions, 'contradiction')}"
    return View(summary=summary, parts=tuple(_parts(found)), has_title=True)


def _parts(found: PreviewedRule) -> Iterator[Part]:
    yield Fields(
        (
            ("a question with", (words(" + ".join(found.words), 300),)),
            ("where", (found.space or "all repositories",)),
            ("is answered", (words(found.answer, 300),)),
        )
    )
    rows = tuple(
        (
            (str(item.decision),),
            (item.space,),
            (words(item.question),),
            (words(item.answer),),
            ("yes" if item.is_same else Bold("no"),),
        )
        for item in found.answered
    )
    yield listed(Table(_COLUMNS, rows), NONE)
    if found.rules:
        yield Bullets(
            tuple(
                (Bold(rule.ref), f" answers the same otherwise: {words(rule.answer)}") for rule in found.rules
            )
        )
    if found.problem:
        yield Note(f"It is not made: {found.problem}.")
        return
    yield Actions(
        (Action("Answer this always", CommandRef("rule-add", (found.text,)), "nobody is asked again"),)
    )


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfPreview,
    usage="rule-preview 5",
    means="what a rule would have answered, before it is made",
    position=63,
    terminal="rules preview",
    gaps={Interface.MCP: "a rule is made by a person"},
)
