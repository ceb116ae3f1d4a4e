"""What a session says when it escalates: read, held within limits, and refused with a sentence that says what to send instead."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from minion.protocol import NewEscalation
from overlord.domain.portfolio.escalation import (
    MOST_CONTEXT_CHARS,
    MOST_QUESTION_CHARS,
    MOST_SUGGESTED,
    EscalationKind,
    EscalationType,
    SuggestedAnswer,
)
from overlord.domain.portfolio.priority import Priority
from overlord.domain.text.plain import visible
from overlord.errors import Refused

MOST_LABEL_CHARS = 75
"""What a button of a chat can hold."""
MOST_DESCRIPTION_CHARS = 500
MOST_OF_SESSION = 10
"""Escalations that one session may write."""
MOST_OF_JOB = 30
"""That all sessions of one job may write: each revision and round of it is another session."""
DECIDE_IT = (
    "This is yours to decide: choose what fits the repository best, go on, and write down what you chose with note_knowledge if "
    "others will meet the same question."
)
GO_ON = "It waits for nobody here: go on with what it does not block. The answer reaches you as a message, or the next session."

Word = TypeVar("Word", bound=StrEnum)


class Blocks(StrEnum):
    """What cannot go on without an answer, where that is no task that is named."""

    NOTHING = "nothing"
    TASK = "task"
    INITIATIVE = "initiative"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A call that can be kept."""

    type: EscalationType
    kind: EscalationKind
    question: str
    context: str
    suggested: tuple[SuggestedAnswer, ...]
    priority: Priority
    blocks: str
    """A word of `Blocks`, or a task as `i3.4`."""


def read_escalation(call: NewEscalation) -> Asked:
    """Raises Refused."""
    question = visible(call.question).strip()
    if not question:
        raise Refused(
            "say in `question` what is to be decided, so that somebody who has not seen your work can answer"
        )
    _check_length("question", question, MOST_QUESTION_CHARS)
    context = visible(call.context).strip()
    _check_length("context", context, MOST_CONTEXT_CHARS)
    return Asked(
        type=_word("type", call.type, EscalationType),
        kind=_word("kind", call.kind, EscalationKind),
        question=question,
        context=context,
        suggested=_suggested(call),
        priority=_word("priority", call.priority, Priority),
        blocks=visible(call.blocks).strip().casefold() or Blocks.TASK,
    )


def _word(name: str, said: str, kind: type[Word]) -> Word:
    try:
        return kind(said.strip().casefold())
    except ValueError:
        raise Refused(f"`{name}` must be one of {', '.join(kind)}") from None


def _check_length(name: str, text: str, most: int) -> None:
    if len(text) > most:
        raise Refused(f"`{name}` has at most {most:,} characters, and this has {len(text):,}: say it shorter")


def _suggested(call: NewEscalation) -> tuple[SuggestedAnswer, ...]:
    if len(call.suggested) > MOST_SUGGESTED:
        raise Refused(
            f"`suggested` has at most {MOST_SUGGESTED} answers: leave out those that nobody would choose"
        )
    found = dict[str, SuggestedAnswer]()
    for item in call.suggested:
        label = " ".join(visible(item.label).split())
        description = " ".join(visible(item.description).split())
        if not label:
            raise Refused("each suggested answer needs a `label`: the answer in a few words")
        _check_length("label", label, MOST_LABEL_CHARS)
        _check_length("description", description, MOST_DESCRIPTION_CHARS)
        found.setdefault(label.casefold(), SuggestedAnswer(label=label, description=description))
    return tuple(found.values())
