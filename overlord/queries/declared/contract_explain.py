"""Which roles may write a path under a contract, in which phase, and why or why not.

It is said of the contract alone. What the settings say of a repository narrows it, and what a person granted a job widens it: what a
job's sessions may write is another look, that of its scope.
"""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.chat.lines import words
from overlord.domain.contracts.explanation import Answer, Explanation, explain
from overlord.domain.conversation.contract_argument import (
    ContractTextArgument,
    JobOptionArgument,
    PathArgument,
    RepositoryPlaceArgument,
)
from overlord.domain.conversation.look_argument import NamedArgument
from overlord.domain.interface import Interface
from overlord.domain.text.reference import Target
from overlord.domain.view.span import Bold, Code, Span
from overlord.domain.view.view import Heading, Note, Paragraph, Part, Table, View
from overlord.queries.contract_choice import choose
from overlord.queries.contract_view import read_at
from overlord.queries.declared.contract import BUILT_IN, CHAT
from overlord.queries.look import Look
from overlord.queries.query import Query

_REASON = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class OfPath:
    """A path, and a contract."""

    path: Annotated[str, PathArgument()]
    job: Annotated[Target | None, JobOptionArgument()] = None
    built_in: Annotated[str, NamedArgument(name="built-in", help=BUILT_IN)] = ""
    file: Annotated[str, ContractTextArgument()] = ""
    repository: Annotated[str, RepositoryPlaceArgument()] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteReason:
    """Whether a role may write the path in a phase, and why."""

    role: str
    phase: str
    may: bool
    ground: str
    pattern: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PathExplained:
    """What a contract says of a path."""

    path: str
    contract: str
    source: str
    space: str
    writers: tuple[str, ...]
    answers: tuple[WriteReason, ...]
    idle: tuple[str, ...]
    """Roles that work in no phase."""


def _read(look: Look, arguments: OfPath) -> PathExplained:
    found = choose(
        look,
        repository=arguments.repository,
        job=arguments.job,
        built_in=arguments.built_in,
        text=arguments.file,
    )
    said: Explanation = explain(found.contract, arguments.path)
    return PathExplained(
        path=said.path,
        contract=said.contract,
        source=found.source,
        space=found.space,
        writers=said.writers,
        answers=tuple(map(_reason, said.answers)),
        idle=said.idle,
    )


def _reason(answer: Answer) -> WriteReason:
    return WriteReason(
        role=answer.role,
        phase=answer.phase,
        may=answer.may,
        ground=answer.ground,
        pattern=answer.pattern,
        reason=answer.reason,
    )


def _view(_look: Look, found: PathExplained) -> View:
    text = f"{found.path} under contract {found.contract}"
    parts: list[Part] = [Heading(text), Paragraph((*_who(found), " ", *read_at(found.source)))]
    rows = tuple(
        ((item.role,), (item.phase,), ("yes" if item.may else "no",), (words(item.reason, _REASON),))
        for item in found.answers
    )
    parts.append(Table(("role", "phase", "may", "why"), rows))
    if found.idle:
        parts.append(Note(f"Works in no phase, and writes nothing: {', '.join(found.idle)}."))
    return View(summary=text, parts=tuple(parts))


def _who(found: PathExplained) -> tuple[Span, ...]:
    path = Code(found.path)
    if not found.writers:
        return ("No role may write ", path, ".")
    return ("May write ", path, ": ", Bold(", ".join(found.writers)), ".")


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfPath,
    usage="contract-explain src/app.py owner/repo",
    means="which roles of a contract may write a path, and why",
    position=31,
    terminal="contract explain",
    needs_state=False,
    has_runs=False,
    gaps={Interface.CHAT: CHAT},
)
