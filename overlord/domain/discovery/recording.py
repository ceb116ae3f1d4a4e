"""What an architect records of a discovery, read strictly: answers with where they were read, and questions nobody had thought of.

It is a model's output. A quote is looked up before anybody is spared a question, and what a person or the code says stays.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from overlord.domain.contracts.part import as_tuple
from overlord.domain.discovery.bank import with_kind
from overlord.domain.discovery.question import (
    MOST_ANSWER_CHARS,
    MOST_QUESTIONS,
    Confidence,
    Discovery,
    Kind,
    Question,
    Status,
)
from overlord.domain.text.near import did_you_mean
from overlord.domain.text.plain import count, plain_line, visible

MOST_BYTES = 400_000
MOST_NEW = 20
"""Questions that an architect may add to a discovery, in all of its sessions together."""
LEAST_QUOTE_CHARS = 8
"""Shorter quotes are found in any text."""
_MOST_PROBLEMS = 30
_Text = Annotated[str, Field(max_length=MOST_ANSWER_CHARS)]
_Alternatives = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=500)], ...],
    Field(max_length=10),
    BeforeValidator(as_tuple),
]
_ADDED = re.compile(r"(?:conflict|gap|decision)\.\d+")
_FILLERS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "by",
        "code",
        "in",
        "is",
        "it",
        "its",
        "language",
        "of",
        "on",
        "or",
        "project",
        "runs",
        "tests",
        "the",
        "this",
        "to",
        "use",
        "uses",
        "using",
        "we",
        "with",
        "written",
    ]
)
"""Words that do not tell two answers apart."""


class RecordingError(ValueError):
    """A recording that cannot be read; the message has every problem, one a line."""


class RecordedAnswer(BaseModel):
    """What an architect found on a question that is there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(min_length=1, max_length=80)]
    answer: _Text = ""
    confidence: Confidence = Confidence.LOW
    source: Annotated[str, Field(max_length=300)] = ""
    """The path of the file that says it."""
    quote: Annotated[str, Field(max_length=2_000)] = ""
    """That file's own words."""
    rationale: _Text = ""
    alternatives: _Alternatives = ()
    default: _Text = ""
    """What is proposed to a person, where it is another than the answer."""


class NewQuestion(BaseModel):
    """A question that an architect adds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["conflict", "gap", "decision"]
    section: Annotated[str, Field(min_length=1, max_length=80)]
    tier: Literal[1, 2, 3] = 2
    ask: Annotated[str, Field(min_length=5, max_length=1_000)]
    default: _Text = ""
    rationale: _Text = ""
    alternatives: _Alternatives = ()
    source: Annotated[str, Field(max_length=300)] = ""
    quote: Annotated[str, Field(max_length=2_000)] = ""


class Recording(BaseModel):
    """All of one call."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    items: Annotated[
        tuple[RecordedAnswer, ...], Field(max_length=MOST_QUESTIONS), BeforeValidator(as_tuple)
    ] = ()
    questions: Annotated[tuple[NewQuestion, ...], Field(max_length=MOST_NEW), BeforeValidator(as_tuple)] = ()

    @model_validator(mode="after")
    def _says_something(self) -> "Recording":
        if not self.items and not self.questions:
            raise ValueError(
                "it records nothing: name what you found in `items`, or what to ask in `questions`"
            )
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What became of a recording."""

    discovery: Discovery
    accepted: tuple[str, ...]
    """A sentence for each thing that was kept, and how."""
    refused: tuple[str, ...]
    """A sentence for each that was not, and why."""


def read_recording(text: bytes) -> Recording:
    """The JSON of a call. Raises RecordingError with everything that is wrong with it."""
    if len(text) > MOST_BYTES:
        raise RecordingError(
            f"it is {len(text):,} bytes long; {MOST_BYTES:,} are the most: record in several calls"
        )
    try:
        return Recording.model_validate_json(text)
    except ValidationError as error:
        raise RecordingError("\n".join(_problems(error))) from None


def record(discovery: Discovery, recording: Recording, texts: Mapping[str, str]) -> Recorded:
    """The discovery with what was recorded. `texts` are the files by path that quotes are looked up in."""
    desk = _Desk(discovery=discovery, texts=texts)
    for item in recording.items:
        desk.take(item)
    for question in recording.questions:
        desk.add(question)
    return Recorded(
        discovery=with_kind(desk.discovery), accepted=tuple(desk.accepted), refused=tuple(desk.refused)
    )


@dataclass(slots=True, kw_only=True)
class _Desk:
    """The discovery while a recording is gone through, and what is said of each of its parts."""

    discovery: Discovery
    texts: Mapping[str, str]
    accepted: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    folded: dict[str, str] = field(default_factory=dict)
    """Texts with single spaces, each folded once however many quotes are looked up in it."""

    def take(self, item: RecordedAnswer) -> None:
        """One answer."""
        known = self.discovery.get(item.id)
        if known is None:
            self.refused.append(f"{_shown(item.id)}: there is no such question{self._nearest(item.id)}")
        elif item.id in self.seen:
            self.refused.append(f"{item.id}: it is recorded twice; the first is kept")
        elif known.status in (Status.CONFIRMED, Status.ANSWERED):
            self._keep(replace(known, recorded=True))
            self.refused.append(
                f"{item.id}: a person answered it, and that stays; where documents or code say otherwise, add a conflict"
                " to `questions`"
            )
        elif known.from_code and item.answer.strip() and not _agrees(known.answer, item.answer):
            self._keep(replace(known, recorded=True))
            self._contradicted(known, item)
        else:
            self._answered(known, item)
        self.seen.add(item.id)

    def add(self, new: NewQuestion) -> None:
        """One question more, unless it is asked already."""
        ask = _clean(new.ask)
        same = next((item for item in self.discovery.questions if _same(item.ask, ask)), None)
        if not _same(ask, ask):
            self.refused.append("a question without words is none")
        elif same is not None:
            self.accepted.append(f"{same.id}: this is asked already, and was not added again")
        elif (problem := self._full()) is not None:
            self.refused.append(f"“{_shown(ask)}” was not added: {problem}")
        else:
            sources, note = self._sources(new.source, new.quote)
            question = Question(
                id=self._next_id(new.kind),
                tier=new.tier,
                section=_clean(new.section) or new.kind,
                ask=ask,
                kind=Kind(new.kind),
                default=_clean(new.default),
                rationale=_clean(new.rationale),
                alternatives=tuple(filter(None, map(_clean, new.alternatives))),
                sources=sources,
                recorded=True,
            )
            self._keep(question)
            self.accepted.append(f"{question.id}: added, and a person is asked{note}")

    def _answered(self, known: Question, item: RecordedAnswer) -> None:
        answer, default = _clean(item.answer), _clean(item.default)
        rationale = _clean(item.rationale) or known.rationale
        alternatives = tuple(filter(None, map(_clean, item.alternatives))) or known.alternatives
        changed = replace(known, recorded=True, rationale=rationale, alternatives=alternatives)
        if known.from_code:
            self._keep(replace(changed, rationale=rationale or (answer if answer != known.answer else "")))
            self.accepted.append(f"{item.id}: what the code says is kept: {_shown(known.answer)}")
            return
        if not answer:
            self._keep(replace(changed, default=default or known.default))
            self.accepted.append(
                f"{item.id}: nothing says it, and a person is asked"
                if known.is_open
                else f"{item.id}: kept as it is"
            )
            return
        confidence, note = self._confidence(item)
        sources, missing = self._sources(item.source, item.quote)
        changed = replace(
            changed,
            status=Status.INFERRED,
            answer=answer,
            confidence=confidence,
            default=default,
            sources=sources,
        )
        self._keep(changed)
        asked = "and a person is asked" if changed.is_open else "and nobody is asked"
        self.accepted.append(f"{item.id}: recorded with {confidence} confidence, {asked}{note or missing}")

    def _contradicted(self, known: Question, item: RecordedAnswer) -> None:
        """The code says one thing, and this another: a person says which."""
        source = f" ({', '.join(known.sources)})" if known.sources else ""
        said = f"{item.source} says" if item.source in self.texts else "it was recorded as"
        ask = f"{known.ask} The code says “{_shown(known.answer)}”{source}; {said} “{_shown(item.answer)}”. Which is right?"
        before = len(self.accepted)
        self.add(
            NewQuestion(
                kind="conflict",
                section=known.section,
                tier=known.tier,
                ask=_clean(ask)[:1_000],
                default=known.answer,
                rationale=item.rationale,
                alternatives=(_clean(item.answer)[:500],) if _clean(item.answer) else (),
                source=item.source,
                quote=item.quote,
            )
        )
        said = f" {self.accepted.pop()}" if len(self.accepted) > before else ""
        self.refused.append(f"{item.id}: the code says {_shown(known.answer)}, and that stays.{said}")

    def _confidence(self, item: RecordedAnswer) -> tuple[Confidence, str]:
        """How sure it is, and why that is less than was said."""
        if item.confidence is not Confidence.HIGH:
            return item.confidence, ""
        if not item.source or not item.quote:
            problem = "high confidence needs a `source` and a `quote` from it"
        elif item.source not in self.texts:
            problem = f"there is no file {_shown(item.source)} that can be read{did_you_mean(item.source[:200], list(self.texts)[:100])}"
        elif len(_folded(item.quote)) < LEAST_QUOTE_CHARS:
            problem = f"a quote has {LEAST_QUOTE_CHARS} characters or more"
        elif not self._holds(item.source, item.quote):
            problem = f"{_shown(item.source)} does not contain the quote; copy its words as they stand"
        else:
            return Confidence.HIGH, ""
        return Confidence.LOW, f"; taken down from high: {problem}"

    def _holds(self, source: str, quote: str) -> bool:
        if source not in self.folded:
            self.folded[source] = _folded(self.texts[source])
        return _folded(quote) in self.folded[source]

    def _sources(self, source: str, quote: str) -> tuple[tuple[str, ...], str]:
        """Where it was read, as far as there is such a file and it does say so; else a note."""
        if not source:
            return (), ""
        if source not in self.texts:
            return (), f"; its source was left out: there is no file {_shown(source)} that can be read"
        if quote.strip() and not self._holds(source, quote):
            return (), f"; its source was left out: {_shown(source)} does not contain the quote"
        return (source,), ""

    def _full(self) -> str | None:
        if sum(1 for item in self.discovery.questions if _ADDED.fullmatch(item.id)) >= MOST_NEW:
            return (
                f"{count(MOST_NEW, 'question')} were added, which is the most; put the most important first"
            )
        if len(self.discovery.questions) >= MOST_QUESTIONS:
            return f"a discovery has {MOST_QUESTIONS} questions at most"
        return None

    def _next_id(self, kind: str) -> str:
        taken = {item.id for item in self.discovery.questions}
        return next(
            name for number in range(1, MOST_QUESTIONS + 2) if (name := f"{kind}.{number}") not in taken
        )

    def _nearest(self, identifier: str) -> str:
        known = [item.id for item in self.discovery.questions]
        near = get_close_matches(identifier, known, n=1, cutoff=0.0)
        return f"; the nearest is {near[0]}" if near else ""

    def _keep(self, question: Question) -> None:
        self.discovery = self.discovery.with_changed([question])


def _problems(error: ValidationError) -> Sequence[str]:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = []
    for problem in found[:_MOST_PROBLEMS]:
        key = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            lines.append(f"{_shown(key)}: there is no such key")
        else:
            said = problem["msg"].removeprefix("Value error, ")
            lines.append(_shown(f"{key}: {said}" if key else said))
    if len(found) > _MOST_PROBLEMS:
        lines.append(f"and {len(found) - _MOST_PROBLEMS} more")
    return lines


def _agrees(code: str, answer: str) -> bool:
    """Whether an answer says what the code says, with less or with more after it."""
    known, said = _telling(code), _telling(answer)
    return not said or said[: len(known)] == known or set(said) <= set(known)


def _telling(text: str) -> list[str]:
    words = re.findall(r"[^\W_][\w+#.-]*", text.casefold())
    return [word.rstrip(".-") for word in words if word.rstrip(".-") not in _FILLERS]


def _same(one: str, other: str) -> bool:
    """Whether two questions ask the same: no case, no marks, no spaces."""
    words = re.findall(r"\w+", one.casefold())
    return bool(words) and words == re.findall(r"\w+", other.casefold())


def _clean(text: str) -> str:
    return visible(text).strip()


def _folded(text: str) -> str:
    return " ".join(text.split())


def _shown(text: str) -> str:
    """Somebody's words inside a sentence of ours."""
    return plain_line(text, limit=200)
