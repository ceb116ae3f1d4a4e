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
from overlord.domain.discovery.question import Discovery, Kind, ProjectKind, Question
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
            alternatives=self.alternatives,
        )


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


def questions(kind: ProjectKind) -> tuple[Question, ...]:
    """Every question for a project of this kind, unanswered. What kind it is, is only asked where nobody knows."""
    found = bank()
    asked = (item.asked(found.default_of(item.id, kind)) for item in found.of(kind))
    return tuple(item for item in asked if kind is ProjectKind.OTHER or item.id != KIND_QUESTION)


def kind_named(texts: Sequence[str]) -> tuple[ProjectKind, int]:
    """The kind of project that texts speak of most, and how often; OTHER where they speak of none."""
    folded = [" ".join(text.casefold().split()) for text in texts]
    counts = {kind: sum(len(words.findall(text)) for text in folded) for kind, words in _SPOKEN.items()}
    best = max(counts, key=lambda kind: counts[kind])
    return (best, counts[best]) if counts[best] else (ProjectKind.OTHER, 0)


def with_kind(discovery: Discovery) -> Discovery:
    """The same, with the questions of its kind once it is settled which kind that is."""
    asked = discovery.get(KIND_QUESTION)
    if discovery.kind is not ProjectKind.OTHER or asked is None or asked.is_open:
        return discovery
    kind, _ = kind_named([asked.answer.replace("_", " ")])
    if kind is ProjectKind.OTHER and re.search(r"\bapi\b", asked.answer.casefold()):
        kind = ProjectKind.API
    module = bank().kinds.get(kind)
    if module is None:
        return discovery
    changed = [
        replace(item, default=module.defaults[item.id], rationale="")
        for item in discovery.questions
        if item.id in module.defaults and item.is_open and not item.recorded
    ]
    new = [item.asked() for item in module.questions if discovery.get(item.id) is None]
    return replace(discovery, kind=kind).with_changed([*changed, *new])
