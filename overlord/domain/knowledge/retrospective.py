"""What a job that is over teaches: the facts that are shown to a model, and what of its answer is kept.

What it answers is hostile until it was held against the facts and vetted: an entry that an issue's author could write must not become what
the next session goes by.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from overlord.domain.knowledge.matching import question_in, says_same
from overlord.domain.knowledge.note import MOST_SOURCE_CHARS, Note, NoteKind
from overlord.domain.knowledge.vetting import vetted
from overlord.domain.text.plain import visible

MOST_NOTES = 3
"""That come of one job."""
MOST_READ = 12
"""Notes of an answer that are looked at; the others are counted."""
MOST_FACTS = 60
MOST_FACT_CHARS = 700
MOST_REPLY_CHARS = 64_000
MOST_KNOWN = 40
"""Notes that a model is told of, so that it does not say them again."""
_FACT_ID = re.compile(r"[ef][1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something that happened in the job."""

    source: str
    """Where people find it: `finding of evaluation 3`, `decision 5`."""
    text: str
    """Words of people, agents or repositories: untrusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookBack:
    """One job, as it is looked back on."""

    issue: str
    title: str
    ending: str
    facts: tuple[Fact, ...]
    """Without those that show nothing to learn from by themselves. What people said comes first."""
    learnings: tuple[Fact, ...] = ()
    """What sessions said they learned; they are among the facts too."""

    ids: tuple[str, ...] = ()
    """By what a model cites each fact; numbered where nobody says."""

    @property
    def shown(self) -> Mapping[str, Fact]:
        """The facts by the ids that a model cites."""
        ids = self.ids or tuple(f"f{number}" for number in range(1, len(self.facts) + 1))
        return dict(list(zip(ids, self.facts, strict=True))[:MOST_FACTS])

    @property
    def fingerprint(self) -> str:
        """The same facts are asked about once."""
        held = [self.issue, self.ending, [[fact.source, fact.text] for fact in self.facts[:MOST_FACTS]]]
        return sha256(json.dumps(held).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Something to note."""

    kind: NoteKind
    text: str
    question: str
    evidence: str
    """What it rests on, in words."""
    doubt: str = ""
    """Why people are to look at it before it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """What came of it."""

    kept: tuple[Lesson, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many notes were not kept, by the reason."""
    is_readable: bool = True
    """Whether the answer was in form."""
    is_vouched: bool = False
    """Whether each is held against what happened; else it is a session's word alone."""


class _Note(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    kind: str
    text: str
    question: str = ""
    evidence: list[str] = Field(default_factory=list)


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    notes: list[Any]


def messages_for(
    back: LookBack, known: Sequence[Note], *, prompt: str, discipline: str, fence: str
) -> list[dict[str, str]]:
    """One request's messages. `prompt` is `config/prompts/retrospective.md`; `fence` a random word made for this request."""
    entries = "\n\n".join(f"{ref} ({fact.source}): {_cut(fact.text)}" for ref, fact in back.shown.items())
    noted = "\n".join(f"- {_cut(note.text)}" for note in known[:MOST_KNOWN]) or "nothing yet"
    job = f"{visible(back.issue)}: {_line(back.title)}\nIt ended: {_line(back.ending)}"
    data = [
        f'<{fence} source="{source}">\n{text}\n</{fence}>'
        for source, text in (("the job", job), ("what is known already", noted), ("entries", entries))
    ]
    return [
        {"role": "system", "content": prompt.format(fence=fence, discipline=discipline)},
        {"role": "user", "content": "\n\n".join(data)},
    ]


def _cut(text: str) -> str:
    text = visible(text).strip()
    return text if len(text) <= MOST_FACT_CHARS else f"{text[:MOST_FACT_CHARS].rstrip()} …"


def _line(text: str) -> str:
    return " ".join(visible(text).split())[:200]


def lessons_in(reply: str, back: LookBack, known: Sequence[Note]) -> Lessons:
    """What of a model's answer is kept: what cites entries that it was given, is fit to be kept, and is not known."""
    try:
        said = _Reply.model_validate_json(reply.strip()) if len(reply) <= MOST_REPLY_CHARS else None
    except ValidationError:
        said = None
    if said is None:
        return Lessons(is_readable=False)
    dropped = Counter[str]()
    if (unread := len(said.notes) - MOST_READ) > 0:
        dropped["too many"] += unread
    kept = list[Lesson]()
    for item in said.notes[:MOST_READ]:
        found = _lesson(item, back)
        why = found if isinstance(found, str) else _why_not(found, kept, known)
        if why:
            dropped[why] += 1
        elif isinstance(found, Lesson):
            kept.append(found)
    return Lessons(kept=tuple(kept), dropped=dropped, is_vouched=True)


def cited_entries(reply: str) -> tuple[tuple[str, ...], ...] | None:
    """The ids of the entries that each note of an answer cites; None for an answer that is not in form."""
    try:
        said = _Reply.model_validate_json(reply.strip()) if len(reply) <= MOST_REPLY_CHARS else None
        notes = [_Note.model_validate(item) for item in said.notes] if said is not None else None
    except ValidationError:
        return None
    return None if notes is None else tuple(tuple(note.evidence) for note in notes)


def _lesson(item: object, back: LookBack) -> Lesson | str:
    """One note of an answer, or why it is none."""
    try:
        said = _Note.model_validate(item)
        kind = NoteKind(said.kind)
    except (ValidationError, ValueError):
        return "not in form"
    cited = list(dict.fromkeys(said.evidence))
    if not cited:
        return "cites nothing"
    if not all(_FACT_ID.fullmatch(ref) and ref in back.shown for ref in cited):
        return "cites what it was not given"
    return _vetted(kind, said.text, said.question, [back.shown[ref] for ref in cited])


def _vetted(kind: NoteKind, text: str, question: str, cited: Sequence[Fact]) -> Lesson | str:
    found = vetted(text, question)
    if found.problem:
        return "not fit to be kept"
    sources = ", ".join(dict.fromkeys(fact.source for fact in cited))
    return Lesson(
        kind=kind,
        text=found.text,
        question=found.question or question_in(found.text),
        evidence=sources[:MOST_SOURCE_CHARS],
        doubt=found.doubt,
    )


def _why_not(lesson: Lesson, kept: Sequence[Lesson], known: Sequence[Note]) -> str:
    """Why a note that could be kept is not; empty where it is."""
    present = (*(other.text for other in kept), *(note.text for note in known))
    if any(says_same(lesson.text, text) for text in present):
        return "known already"
    return "too many" if len(kept) == MOST_NOTES else ""


def lessons_of(learnings: Iterable[Fact], known: Sequence[Note]) -> Lessons:
    """Without a model: what sessions said they learned, as they said it. People look at each of them."""
    kept, dropped = list[Lesson](), Counter[str]()
    for fact in learnings:
        found = _vetted(NoteKind.PATTERN, fact.text, "", [fact])
        why = found if isinstance(found, str) else _why_not(found, kept, known)
        if why:
            dropped[why] += 1
        elif isinstance(found, Lesson):
            kept.append(found)
    return Lessons(kept=tuple(kept), dropped=dropped)
