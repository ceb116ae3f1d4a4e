"""One question of a discovery, and all of them: what is known, from where, and what a person has to be asked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

MOST_QUESTIONS = 120
MOST_ANSWER_CHARS = 4_000
BATCH = 3
"""Questions that a person is asked at a time."""


class Status(StrEnum):
    """How far a question is."""

    GAP = "gap"
    """Nothing says it."""
    INFERRED = "inferred"
    """Documents or code say it, or somebody concluded it from them."""
    CONFIRMED = "confirmed"
    """A person accepted what was proposed."""
    ANSWERED = "answered"
    """A person said it in words of their own."""


class Confidence(StrEnum):
    """How sure an inferred answer is. Only a high one is not asked about."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Kind(StrEnum):
    """Why it is asked."""

    QUESTION = "question"
    """Of the bank: everybody's projects have to answer it."""
    DECISION = "decision"
    """A choice that shapes the project: it is written down with its reason and the alternatives."""
    CONFLICT = "conflict"
    """Two sources say different things: two documents, or a document and the code."""
    GAP = "gap"
    """The documents leave something open that the work needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, what is proposed, and what was answered."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]{0,79}$")]
    tier: Literal[1, 2, 3]
    """1: without it no work makes sense; 2: shapes the structure; 3: details that have usual answers."""
    section: Annotated[str, Field(min_length=1, max_length=80)]
    ask: Annotated[str, Field(min_length=1, max_length=1_000)]
    kind: Kind = Kind.QUESTION
    status: Status = Status.GAP
    confidence: Confidence = Confidence.LOW
    answer: Annotated[str, Field(max_length=MOST_ANSWER_CHARS)] = ""
    """The inferred answer, or a person's."""
    default: Annotated[str, Field(max_length=MOST_ANSWER_CHARS)] = ""
    """What is proposed to a person, who accepts it with one key."""
    rationale: Annotated[str, Field(max_length=MOST_ANSWER_CHARS)] = ""
    alternatives: Annotated[tuple[Annotated[str, Field(max_length=500)], ...], Field(max_length=10)] = ()
    sources: Annotated[tuple[Annotated[str, Field(max_length=300)], ...], Field(max_length=10)] = ()
    """Where it was read: `docs/plan.md`, `pyproject.toml`, a document that was given."""
    recorded: bool = False
    """Whether the architect has looked at it."""
    by: str = ""
    """The person who confirmed or answered."""
    from_code: bool = False
    """Whether code or configuration decides it: what says otherwise is a conflict, which a person is asked about."""

    @property
    def is_open(self) -> bool:
        """Whether a person has to be asked: a gap, or what nothing makes sure."""
        if self.status in (Status.CONFIRMED, Status.ANSWERED):
            return False
        return self.status is Status.GAP or self.confidence is not Confidence.HIGH

    @property
    def proposed(self) -> str:
        """What accepting it means."""
        return self.default or self.answer or NOT_DECIDED


NOT_DECIDED = "Not decided yet."
"""What accepting a question without a proposal means."""


class ProjectKind(StrEnum):
    """What is being built. Each has a module of questions and an example of a contract."""

    WEB_APP = "web_app"
    API = "api"
    CLI = "cli"
    LIBRARY = "library"
    DATA = "data"
    MOBILE = "mobile"
    OTHER = "other"


class RepositoryState(StrEnum):
    """What a repository holds when it is looked at first."""

    EMPTY = "empty"
    DOCS_ONLY = "docs_only"
    HAS_CODE = "has_code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """Every question, in the order in which they are asked."""

    kind: ProjectKind
    state: RepositoryState
    questions: Annotated[tuple[Question, ...], Field(max_length=MOST_QUESTIONS)]

    def get(self, identifier: str) -> Question | None:
        return next((item for item in self.questions if item.id == identifier), None)

    @property
    def open(self) -> tuple[Question, ...]:
        """What a person has to be asked, the first tier first."""
        return tuple(sorted((item for item in self.questions if item.is_open), key=lambda item: item.tier))

    def batch(self, most: int = BATCH) -> tuple[Question, ...]:
        """What is asked next."""
        return self.open[:most]

    @property
    def unrecorded(self) -> tuple[Question, ...]:
        """What the architect has not looked at yet."""
        return tuple(item for item in self.questions if not item.recorded)

    def with_changed(self, changed: Iterable[Question]) -> "Discovery":
        """The same with these questions in place of those of their ids, or after them where they are new."""
        by_id: Mapping[str, Question] = {item.id: item for item in changed}
        kept = tuple(by_id.get(item.id, item) for item in self.questions)
        known = {item.id for item in self.questions}
        return replace(self, questions=(*kept, *(item for name, item in by_id.items() if name not in known)))

    def to_json(self) -> str:
        return _ADAPTER.dump_json(self, indent=1).decode()


_ADAPTER = TypeAdapter(Discovery)


def read_discovery(text: str) -> Discovery:
    """What `to_json` wrote. Raises pydantic.ValidationError."""
    return _ADAPTER.validate_json(text)
