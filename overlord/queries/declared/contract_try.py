"""What a contract would have done with the jobs that ended last.

Which gates would have asked, which files no role could have written, what its budgets would have stopped, and what the jobs cost. It
reads what this machine remembers: jobs, sessions, and the diffs of its mirrors. No model is asked.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from minion.protocol import SessionKind
from overlord.domain.budgets.budget import Cost, cost_text
from overlord.domain.chat.lines import words
from overlord.domain.contracts.replay import PastJob, PastSession, Replay, replay
from overlord.domain.conversation.contract_argument import (
    ContractTextArgument,
    LastArgument,
    RepositoryPlaceArgument,
)
from overlord.domain.conversation.look_argument import NamedArgument
from overlord.domain.interface import Interface
from overlord.domain.job import Job
from overlord.domain.scope.check import Change
from overlord.domain.session import Session
from overlord.domain.text.plain import count
from overlord.domain.view.view import Heading, Note, Paragraph, Part, Table, View
from overlord.queries.contract_choice import choose
from overlord.queries.contract_view import read_at
from overlord.queries.declared.contract import BUILT_IN, CHAT
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store import job_history, sessions
from overlord.store.budgets import costs

_CELL, _FILES = 300, 5
_HOW = (
    "A session whose role the contract does not have is held against the largest budget of any role, a file against all roles together. "
    "Limits that the contract leaves to the settings are not counted."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfJobs:
    """A contract, and how many jobs."""

    last: Annotated[int, LastArgument()]
    built_in: Annotated[str, NamedArgument(name="built-in", help=BUILT_IN)] = ""
    file: Annotated[str, ContractTextArgument()] = ""
    repository: Annotated[str, RepositoryPlaceArgument()] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractTried:
    """What a contract would have done."""

    contract: str
    source: str
    space: str
    """Of which repository the jobs are; empty for all."""
    jobs: tuple[Replay, ...]
    questions: int
    """How often a gate would have asked, once on each job's way."""
    refused: int
    """Files that would have been refused."""
    stopped: int
    """Jobs that a budget or the lifetime would have stopped."""
    without_diff: int
    """Jobs whose diff is not there any more."""
    cost: Cost
    """What all of them cost."""


def _read(look: Look, arguments: OfJobs) -> ContractTried:
    space = look.space(arguments.repository) if arguments.repository else ""
    of = "" if arguments.built_in or arguments.file else arguments.repository
    found = choose(look, repository=of, built_in=arguments.built_in, text=arguments.file)
    ended = job_history.last_ended(look.connection, space=space, limit=arguments.last)
    done = tuple(replay(found.contract, _past(look, job)) for job in ended)
    return ContractTried(
        contract=found.contract.name,
        source=found.source,
        space=space,
        jobs=done,
        questions=sum(len(item.gates) for item in done),
        refused=sum(len(item.refused) for item in done),
        stopped=sum(bool(item.stopped) for item in done),
        without_diff=sum(item.files is None for item in done),
        cost=_sum(done),
    )


def _sum(done: tuple[Replay, ...]) -> Cost:
    """Without a price where one of them has none."""
    prices = [item.cost.nusd for item in done if item.cost.tokens]
    known = [price for price in prices if price is not None]
    whole = sum(known) if known and len(known) == len(prices) else None
    return Cost(tokens=sum(item.cost.tokens for item in done), nusd=whole)


def _past(look: Look, job: Job) -> PastJob:
    spent = dict(costs.by_session(look.connection, job.id))
    ended = job_history.ended_at(look.connection, job)
    return PastJob(
        job=job.id,
        space=job.space,
        issue=job.issue.number,
        hours=(ended - job.created_at).total_seconds() / 3600,
        cost=costs.of_job(look.connection, job.id),
        sessions=tuple(
            _session(item, spent.get(item.id, Cost(tokens=0)), ended)
            for item in sessions.of_job(look.connection, job.id)
            if item.kind is SessionKind.WORK
        ),
        changes=_changes(look, job),
    )


def _session(session: Session, cost: Cost, ended: datetime) -> PastSession:
    began = session.started_at or session.prepared_at
    return PastSession(
        id=session.id,
        role=str(json.loads(session.brief).get("role", "")),
        turns=session.turn,
        seconds=max(0.0, ((session.ended_at or ended) - began).total_seconds()),
        cost=cost,
    )


def _changes(look: Look, job: Job) -> tuple[Change, ...] | None:
    if not job.head_sha or not job.base_sha or job.head_sha == job.base_sha:
        return ()
    return look.commits.changes(job.space, job.base_sha, job.head_sha)


def _view(_look: Look, found: ContractTried) -> View:
    whose = f" of {found.space}" if found.space else ""
    text = f"Contract {found.contract} held over {count(len(found.jobs), 'job')}{whose}"
    parts: list[Part] = [Heading(text), Paragraph(read_at(found.source))]
    if not found.jobs:
        parts.append(Paragraph(("No job has ended yet.",)))
        return View(summary=text, parts=tuple(parts))
    columns = ("job", "gates", "refused", "stopped", "cost")
    parts.append(Table(columns, tuple(tuple((cell,) for cell in _row(item)) for item in found.jobs)))
    parts += [Paragraph((f"Together: {', '.join(_totals(found))}.",)), Note(_HOW)]
    return View(summary=text, parts=tuple(parts))


def _row(item: Replay) -> tuple[str, ...]:
    return (
        str(item.job),
        words(", ".join(item.gates) or "none", _CELL),
        words(_refused(item), _CELL),
        words("; ".join(item.stopped) or "nothing", _CELL),
        cost_text(item.cost),
    )


def _refused(item: Replay) -> str:
    if item.files is None:
        return "its diff is not there any more"
    shown = [f"{file.path} ({file.why})" for file in item.refused[:_FILES]]
    more = len(item.refused) - len(shown)
    return "; ".join([*shown, *([f"and {count(more, 'file')} more"] if more else [])]) or "nothing"


def _totals(found: ContractTried) -> Iterator[str]:
    yield f"gates would have asked {count(found.questions, 'time')}"
    yield f"{count(found.refused, 'file')} refused"
    yield f"{count(found.stopped, 'job')} stopped"
    if found.without_diff:
        yield f"{count(found.without_diff, 'job')} without a diff"
    yield f"{cost_text(found.cost)} spent"


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfJobs,
    usage="contract-try owner/repo",
    means="what a contract would have done with the jobs that ended last",
    position=33,
    terminal="contract try",
    has_runs=False,
    gaps={
        Interface.CHAT: CHAT,
        Interface.MCP: "a contract is changed by people",
    },
)
