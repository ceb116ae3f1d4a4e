"""Whether what is known answers an escalation: whose word counts for it, and what a model says of notes that might."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from json import dumps

from pydantic import BaseModel, ConfigDict, ValidationError

from overlord.domain.event import OVERLORD
from overlord.domain.knowledge.known import is_own
from overlord.domain.knowledge.note import Note, NoteKind
from overlord.domain.portfolio.escalation import TIERS, Escalation, EscalationKind, EscalationType, Tier
from overlord.domain.text.plain import visible

_WORD = re.compile(r"\w+")
FEWEST_QUOTED = 8
"""Characters that a quote has at least: one word is in every note."""
MOST_QUESTION = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAnswer:
    """An answer, and the rule or note that it is from: `r2`, `n12`."""

    answer: str
    cites: str
    rule_id: int | None = None


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    answered: bool
    note: str
    quote: str


def takes_rules(escalation: Escalation) -> bool:
    """Whether a rule may answer it: never an approval, which is given for what is shown."""
    return escalation.type is not EscalationType.APPROVAL


def takes_note(escalation: Escalation, note: Note) -> bool:
    """Whether a note may answer it. What is a person's to decide, only a decision that a person made answers; what has to be
    provided, and an approval, none does."""
    if escalation.type is EscalationType.APPROVAL or escalation.kind is EscalationKind.CREDENTIALS:
        return False
    if is_own(note, escalation.job_id):
        return False
    if TIERS[escalation.kind] is not Tier.PERSON:
        return True
    is_a_persons = (
        note.actor != OVERLORD and not note.actor.startswith("session:") and not note.source.session_id
    )
    return note.kind is NoteKind.DECISION and is_a_persons


def takes_model(escalation: Escalation) -> bool:
    """Whether a model may be asked which note answers it."""
    return escalation.type is not EscalationType.APPROVAL and TIERS[escalation.kind] is Tier.ORCHESTRATOR


def fingerprint(escalation: Escalation, notes: Sequence[Note]) -> str:
    """Of a question and the notes that might answer it: the same is asked of a model once."""
    held = [
        _WORD.findall(escalation.question.casefold()),
        [[note.ref, note.text, note.question] for note in notes],
    ]
    return sha256(dumps(held).encode()).hexdigest()[:16]


def messages_for(
    escalation: Escalation, notes: Sequence[Note], *, prompt: str, fence: str
) -> list[dict[str, str]]:
    """One request's messages. `prompt` is `config/prompts/note_answers.md`; `fence` a random word made for this request."""
    known = "\n\n".join(
        f"{note.ref}: {visible(note.text)}"
        + (f"\n(It answers: {visible(note.question)})" if note.question else "")
        for note in notes
    )
    data = [
        f'<{fence} source="notes">\n{known}\n</{fence}>',
        f'<{fence} source="question">\n{visible(escalation.question)[:MOST_QUESTION]}\n</{fence}>',
    ]
    return [
        {"role": "system", "content": prompt.format(fence=fence)},
        {"role": "user", "content": "\n\n".join(data)},
    ]


def answer_in(reply: str, notes: Sequence[Note]) -> KnownAnswer | None:
    """The note that a model says answers it: whole, for a quote could leave out a `not`. None where it says that none does, where its
    reply is not in form, and where its quote is not in that note."""
    try:
        said = _Reply.model_validate_json(reply.strip())
    except ValidationError:
        return None
    note = next((note for note in notes if note.ref == said.note.strip()), None)
    quote = said.quote.strip()
    if not said.answered or note is None or len(quote) < FEWEST_QUOTED or quote not in note.text:
        return None
    return KnownAnswer(answer=note.text, cites=note.ref)
