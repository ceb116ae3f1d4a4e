"""The bank of questions: what everybody's projects have to answer, and what each kind of project has to answer beside that.

It is Overlord's own file, `config/bootstrap/discovery.yaml`; a repository cannot change it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from overlord.config_files import packaged
from overlord.domain.contracts.part import as_tuple
from overlord.domain.discovery.question import Discovery, Kind, ProjectKind, Question, Status
from overlord.domain.text.plain_yaml import load_yaml
from overlord.domain.text.problem import first_problem
from overlord.errors import SettingsError

KIND_QUESTION = "solution.kind"
"""The question whose answer says which module of questions belongs to a project."""
_SOURCE = "the bank of questions"
_WORDS: dict[ProjectKind, tuple[str, ...]] = {
    ProjectKind.MOBILE: ("mobile app", "mobile", "android", "ios app", "iphone", "flutter", "react native"),
    ProjectKind.WEB_APP: ("web app", "webapp", "web application", "website", "web site", "single page app"),
    ProjectKind.API: ("rest api", "an api", "web api", "graphql", "http api", "web service", "microservice"),
    ProjectKind.CLI: ("command line", "command-line", "cli", "terminal tool", "console application"),
    ProjectKind.DATA: ("data pipeline", "data warehouse", "etl", "data analysis", "machine learning"),
    ProjectKind.LIBRARY: ("library", "sdk", "npm package", "python package"),
}
KIND_WORDS: dict[ProjectKind, str] = {
    ProjectKind.MOBILE: "a mobile app",
    ProjectKind.WEB_APP: "a web app",
    ProjectKind.API: "an API",
    ProjectKind.CLI: "a command line tool",
    ProjectKind.DATA: "a data pipeline",
    ProjectKind.LIBRARY: "a library",
}
"""How each is called in an answer."""
_SPOKEN = {kind: re.compile(rf"\b(?:{'|'.join(words)})s?\b") for kind, words in _WORDS.items()}


class BankQuestion(BaseModel):
    """One question of the bank."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*\.[a-z0-9_]{1,40}$")]
    tier: Literal[1, 2, 3]
    section: Annotated[str, Field(min_length=1, max_length=80)]
    ask: Annotated[str, Field(min_length=5, max_length=300)]
    kind: Literal["question", "decision"] = "question"
    default: Annotated[str, Field(max_length=500)] = ""
    rationale: Annotated[str, Field(max_length=500)] = ""
    alternatives: Annotated[tuple[str, ...], Field(max_length=10), BeforeValidator(as_tuple)] = ()
    keywords: Annotated[tuple[str, ...], Field(max_length=40), BeforeValidator(as_tuple)] = ()
    """Headings under which documents answer it, in lower case."""
    code: str = ""
    """The topic of the survey's fact that answers it."""

    def asked(self, default: str = "") -> Question:
        """As a question that nothing answers yet; `default` stands in place of its own."""
        return Question(
            id=self.id,
            tier=self.tier,
            section=self.section,
            ask=self.ask,
            kind=Kind(self.kind),
            default=default or self.default,
            rationale="" if default else self.rationale,
            alternatives=self._others(default or self.default),
        )

    def _others(self, proposed: str) -> tuple[str, ...]:
        """What could be chosen in place of what is proposed: where a kind has a default of its own, the common one too."""
        common = (self.default,) if self.alternatives and self.default else ()
        known = [*common, *self.alternatives]
        return tuple(text for text in known if _bare(text) != _bare(proposed))


def _bare(text: str) -> str:
    """A choice without what a sentence has."""
    return text.casefold().rstrip(".")


class Module(BaseModel):
    """What one kind of project has to answer beside the common questions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: Annotated[tuple[BankQuestion, ...], Field(max_length=10), BeforeValidator(as_tuple)]
    defaults: dict[str, str] = Field(default={})
    """By the id of a common question: what is proposed in its place."""


class Bank(BaseModel):
    """Every question there is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: Annotated[tuple[BankQuestion, ...], Field(max_length=40), BeforeValidator(as_tuple)]
    kinds: dict[ProjectKind, Module]

    @model_validator(mode="after")
    def _ids_are_known_once(self) -> "Bank":
        common = [item.id for item in self.questions]
        ids = [*common, *(item.id for module in self.kinds.values() for item in module.questions)]
        if doubles := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"the same id is listed twice: {', '.join(doubles)}")
        named = {name for module in self.kinds.values() for name in module.defaults}
        if unknown := sorted(named - set(common)):
            raise ValueError(f"defaults of unknown questions: {', '.join(unknown)}")
        return self

    def of(self, kind: ProjectKind) -> tuple[BankQuestion, ...]:
        """The common questions, then those of a kind."""
        module = self.kinds.get(kind)
        return (*self.questions, *(module.questions if module else ()))

    def default_of(self, identifier: str, kind: ProjectKind) -> str:
        """What is proposed for a common question in a project of this kind; empty where that is the usual proposal."""
        module = self.kinds.get(kind)
        return module.defaults.get(identifier, "") if module else ""


def load_bank(text: str, source: str) -> Bank:
    """Read a bank's YAML. Raises SettingsError that names the key and the place it came from."""
    try:
        return Bank.model_validate(load_yaml(text))
    except yaml.YAMLError as error:
        raise SettingsError(f"{source} cannot be read as YAML: {error}") from None
    except ValidationError as error:
        raise SettingsError(f"{source}: {first_problem(error)}") from None


@cache
def bank() -> Bank:
    """The one that comes with Overlord."""
    return load_bank(packaged("bootstrap/discovery.yaml"), _SOURCE)


def questions(kind: ProjectKind, *, asks_kind: bool | None = None) -> tuple[Question, ...]:
    """Every question for a project of this kind, unanswered. What kind it is, is only asked where nobody knows, or is sure."""
    found = bank()
    asks = kind is ProjectKind.OTHER if asks_kind is None else asks_kind
    asked = (item.asked(found.default_of(item.id, kind)) for item in found.of(kind))
    return tuple(item for item in asked if asks or item.id != KIND_QUESTION)


def kind_named(texts: Sequence[str]) -> tuple[ProjectKind, bool]:
    """The kind of project that texts speak of most, and whether it is more than of all others together; OTHER where they speak of
    none."""
    folded = [" ".join(text.casefold().split()) for text in texts]
    counts = {kind: sum(len(words.findall(text)) for text in folded) for kind, words in _SPOKEN.items()}
    best = max(counts, key=lambda kind: counts[kind])
    if not counts[best]:
        return ProjectKind.OTHER, False
    return best, counts[best] * 2 > sum(counts.values())


def with_kind(discovery: Discovery) -> Discovery:
    """The same, with the questions of its kind once a person or a document settles which kind that is. Those of a kind that had been
    taken for it go, unless they are answered."""
    asked = discovery.get(KIND_QUESTION)
    if asked is None or asked.is_open:
        return discovery
    kind, _ = kind_named([asked.answer.replace("_", " ")])
    if kind is ProjectKind.OTHER and re.search(r"\bapi\b", asked.answer.casefold()):
        kind = ProjectKind.API
    module = bank().kinds.get(kind)
    if module is None or kind is discovery.kind:
        return discovery
    before = bank().kinds.get(discovery.kind)
    gone = {item.id for item in before.questions} if before else set()
    kept = tuple(item for item in discovery.questions if item.id not in gone or not item.is_open)
    changed = [
        replace(item, default=module.defaults[item.id], rationale="")
        for item in kept
        if item.id in module.defaults and item.status is Status.GAP and not item.recorded
    ]
    new = [item.asked() for item in module.questions if all(item.id != other.id for other in kept)]
    return replace(discovery, kind=kind, questions=kept).with_changed([*changed, *new])
