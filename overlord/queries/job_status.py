"""Where one job stands, in detail: its phase and roles, its session, its budgets, its artifacts, its gates and its last events."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from minion.protocol import Brief, ConsultationKind, Scope, ScopeError
from overlord.domain.budgets.budget import NANO, Cost, Unit
from overlord.domain.contracts.asked import read_asked
from overlord.domain.contracts.contract import ANY_FILE, ISSUE, Contract, is_plan
from overlord.domain.contracts.criteria.registry import files_of
from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.event import EventName
from overlord.domain.inquiry import HistoryLine
from overlord.domain.job import Job, JobId, JobState
from overlord.domain.session import Session
from overlord.errors import OverlordError
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.queries.waits_for import Awaited, awaited, first_open, queue_reasons
from overlord.settings.load import contract_for
from overlord.store import decisions, ledger, sessions
from overlord.store.budgets import costs, grants
from overlord.store.contracts import actors, job_contracts, plan_files
from overlord.store.rows import adapter

MOST_SHOWN = 50
"""Files of one list."""


class RoleState(StrEnum):
    """Where a role stands in its phase."""

    DONE = "done"
    AT_WORK = "at_work"
    TO_COME = "to_come"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleStatus:
    """One role of the job's phase."""

    name: str
    state: RoleState


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseStatus:
    """The phase a job is in: the `number`th of `total`, as the contract lists them."""

    name: str
    number: int
    total: int
    roles: tuple[RoleStatus, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentCount:
    """How many assignments of the plan's delegation are done, and how many are not to be worked on."""

    done: int
    total: int
    blocked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatus:
    """The session that runs now."""

    id: str
    kind: str
    role: str
    started_at: datetime | None
    turn: int
    last_action: str
    agent: str
    model: str
    """What it asks for; a spare endpoint may answer with another."""


class BudgetUnit(StrEnum):
    """What a budget counts."""

    HOURS = "hours"
    MINUTES = "minutes"
    SESSIONS = "sessions"
    TURNS = "turns"
    TOKENS = "tokens"
    USD = "usd"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUse:
    """One budget: of the job's `lifetime`, of the `role` in this phase, of the `session` that runs. No limit: None."""

    of: str
    unit: BudgetUnit
    used: float
    limit: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file of the plan, or one that the phase has to bring."""

    path: str
    size: int | None = None
    """Bytes of a file of the plan that is there."""
    is_there: bool | None = None
    """None where the commit cannot be looked into."""
    is_expected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStatus:
    """A gate that was put to a person."""

    name: str
    on: str
    decision: int
    verb: Verb | None
    """The answer; None while it waits for one."""
    by: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """Where one job stands."""

    at: datetime
    job: JobId
    repository: str
    issue: int | None
    """None for the job of a call, which has none."""
    call: str
    """The handle of the call it works on, as `c7`; empty for every other job."""
    title: str
    state: JobState
    reason: str
    branch: str
    contract: str
    created_at: datetime
    updated_at: datetime
    phase: PhaseStatus
    role: str
    assignments: AssignmentCount | None
    session: SessionStatus | None
    cost: Cost
    budgets: tuple[BudgetUse, ...]
    artifacts: tuple[Artifact, ...]
    gates: tuple[GateStatus, ...]
    events: tuple[HistoryLine, ...]
    """The last events, oldest first."""
    decisions: tuple[Decision, ...]
    waits_for: Awaited


def read(look: Look, job: Job) -> JobStatus:
    """Everything of one job, in one consistent view."""
    connection = look.connection
    contract = job_contracts.of_job(connection, job.id, lambda: contract_for(look.settings, job.space))
    session, asked = sessions.live_of(connection, job.id), tuple(decisions.waiting(connection, job.id))
    why = overview.why(connection, job.id, at=look.at, is_local=look.is_local)
    queued = queue_reasons(look) if job.state is JobState.QUEUED else {}
    phase = _phase(connection, contract, job)
    return JobStatus(
        at=look.at,
        job=job.id,
        repository=job.space,
        issue=job.issue_number,
        call=job.call_ref,
        title=job.issue.title,
        state=job.state,
        reason=job.reason,
        branch=job.branch,
        contract=contract.name,
        created_at=job.created_at,
        updated_at=job.updated_at,
        phase=phase,
        role=job.role,
        assignments=_assignments(connection, contract, job, phase),
        session=_session(session),
        cost=costs.of_job(connection, job.id),
        budgets=tuple(_budgets(look, contract, job, session)),
        artifacts=tuple(_artifacts(look, contract, job)),
        gates=tuple(_gates(connection, job)),
        events=why.told,
        decisions=asked,
        waits_for=awaited(look, job, queued=queued, asked=first_open(connection, job.id), session=session),
    )


def _phase(connection: sqlite3.Connection, contract: Contract, job: Job) -> PhaseStatus:
    names = list(contract.phases)
    if job.phase not in contract.phases:  # a job of an older version, whose contract is another one by now
        return PhaseStatus(name=job.phase, number=0, total=len(names), roles=())
    order = actors.in_order(connection, contract, job, job.phase)
    place = order.index(job.role) if job.role in order else 0
    place += len(order) if _is_over(connection, job) else 0
    states = (
        RoleState.DONE if number < place else RoleState.AT_WORK if number == place else RoleState.TO_COME
        for number in range(len(order))
    )
    roles = tuple(RoleStatus(name=name, state=state) for name, state in zip(order, states, strict=True))
    return PhaseStatus(name=job.phase, number=names.index(job.phase) + 1, total=len(names), roles=roles)


def _is_over(connection: sqlite3.Connection, job: Job) -> bool:
    """Whether every role of the phase has done its work: a gate is asked, or the work is on its way out."""
    if job.state in (JobState.DELIVERING, JobState.IN_REVIEW, JobState.COMPLETED):
        return True
    consulted = read_asked(job.consultation)
    if consulted is not None and consulted.kind is ConsultationKind.GATE:
        return True
    pending = (*decisions.waiting(connection, job.id), *decisions.unapplied(connection, job.id))
    return any(item.subject is Subject.GATE for item in pending)


def _assignments(
    connection: sqlite3.Connection, contract: Contract, job: Job, phase: PhaseStatus
) -> AssignmentCount | None:
    """None for a plan that delegates nothing. The phases that make the plan do none of its assignments."""
    delegation = actors.of_job(connection, job)
    if delegation is None:
        return None
    done = {item.name for item in phase.roles if item.state is RoleState.DONE}
    done = set() if _makes_plan(contract, job.phase) else done
    for name in _phases_done(connection, contract, job.id):
        if not _makes_plan(contract, name):
            done.update(actors.in_order(connection, contract, job, name))
    every = [(role, item) for role in delegation.order for item in actors.assignments(connection, job, role)]
    blocked = sum(bool(item.blocked) for _, item in every)
    finished = sum(role in done and not item.blocked for role, item in every)
    return AssignmentCount(done=finished, total=len(every), blocked=blocked)


def _makes_plan(contract: Contract, phase: str) -> bool:
    found = contract.phases.get(phase)
    return found is not None and any(is_plan(pattern) for pattern in found.outputs or ())


def _phases_done(connection: sqlite3.Connection, contract: Contract, job_id: int) -> set[str]:
    """The phases that are over; one that a gate sent the work back to is not, nor is any after it."""
    done = set[str]()
    for entry in ledger.entries(connection, job_id=job_id):
        if entry.name == EventName.PHASE_COMPLETED:
            done.add(str(json.loads(entry.data).get("phase", "")))
        elif entry.name == EventName.GATE_REJECTED:
            done -= _from(contract, str(json.loads(entry.data).get("next", "")))
    return done & contract.phases.keys()


def _from(contract: Contract, phase: str) -> set[str]:
    """A phase and all that can follow it."""
    reached, waiting = set[str](), [phase]
    while waiting:
        name = waiting.pop()
        if name in contract.phases and name not in reached:
            reached.add(name)
            waiting += contract.phases[name].next.values()
    return reached


def _session(session: Session | None) -> SessionStatus | None:
    if session is None:
        return None
    return SessionStatus(
        id=session.id,
        kind=session.kind,
        role=session.role,
        started_at=session.started_at,
        turn=session.turn,
        last_action=session.last_action,
        agent=session.agent,
        model=session.asks_model,
    )


def _budgets(look: Look, contract: Contract, job: Job, session: Session | None) -> Iterator[BudgetUse]:
    connection, spent = look.connection, costs.of_job(look.connection, job.id)
    end = look.at if job.is_open else job.updated_at
    hours = (end - job.created_at).total_seconds() / 3600
    limit_h = (job.expires_at - job.created_at).total_seconds() / 3600 or None
    yield BudgetUse(of="lifetime", unit=BudgetUnit.HOURS, used=round(hours, 3), limit=limit_h)
    lifetime = contract.lifetime
    if lifetime is not None and lifetime.usd is not None:
        usd = lifetime.usd + grants.added(connection, Unit.USD, job_id=job.id) / NANO
        yield BudgetUse(of="lifetime", unit=BudgetUnit.USD, used=(spent.nusd or 0) / NANO, limit=usd)
    role = contract.roles.get(job.role)
    if role is not None:
        is_begun = session is not None or job.state is not JobState.QUEUED
        limit = role.budget.iterations if role.budget is not None else None
        used = job.revision + int(is_begun)
        yield BudgetUse(of="role", unit=BudgetUnit.SESSIONS, used=used, limit=limit)
    if session is not None and session.token_budget:
        yield from _session_budgets(look, job, session)


def _session_budgets(look: Look, job: Job, session: Session) -> Iterator[BudgetUse]:
    """Of a session that has a model."""
    brief: Brief = adapter(Brief).validate_json(session.brief)
    spent = dict(costs.by_session(look.connection, job.id)).get(session.id) or Cost(tokens=0)
    began = session.started_at or look.at
    minutes = round((look.at - began).total_seconds() / 60, 2)
    yield BudgetUse(of="session", unit=BudgetUnit.TURNS, used=session.turn, limit=brief.limits.turns)
    yield BudgetUse(of="session", unit=BudgetUnit.MINUTES, used=minutes, limit=session.time_limit_s / 60)
    yield BudgetUse(of="session", unit=BudgetUnit.TOKENS, used=spent.tokens, limit=session.token_budget)
    if session.nusd_budget is not None:
        limit = session.nusd_budget / NANO
        yield BudgetUse(of="session", unit=BudgetUnit.USD, used=(spent.nusd or 0) / NANO, limit=limit)


def _artifacts(look: Look, contract: Contract, job: Job) -> Iterator[Artifact]:
    """The plan's files, then what the phase has to bring and is not among them."""
    plan = plan_files.of_job(look.connection, job.id)
    wanted = _wanted(contract, job)
    for path, text in plan.items():
        yield Artifact(
            path=path,
            size=len(text.encode()),
            is_there=True,
            is_expected=any(_matches(pattern, [path]) for pattern in wanted),
        )
    rest = [pattern for pattern in wanted if not _matches(pattern, plan)]
    commit = job.head_sha or job.base_sha
    has_files = commit is not None and any(not is_plan(pattern) for pattern in rest)
    paths = _paths(look, job) if has_files else None
    for pattern in rest:
        is_there = False if is_plan(pattern) or commit is None else None
        if is_there is None and paths is not None:
            is_there = _matches(pattern, paths)
        yield Artifact(path=pattern, is_there=is_there, is_expected=True)


def _wanted(contract: Contract, job: Job) -> list[str]:
    """The patterns and files that the job's phase makes, each once."""
    phase, role = contract.phases.get(job.phase), contract.roles.get(job.role)
    if phase is None:
        return []
    criteria = (*phase.criteria, *(role.verification if role is not None else ()))
    found = dict.fromkeys((*(phase.outputs or ()), *files_of(criteria)))
    return [pattern for pattern in found if pattern not in (ISSUE, ANY_FILE)][:MOST_SHOWN]


def _paths(look: Look, job: Job) -> Sequence[str] | None:
    commit = job.head_sha or job.base_sha
    assert commit is not None
    try:
        return look.commits.paths(job.space, commit)
    except OverlordError:  # git itself cannot be asked: nothing is known, and all else still is
        return None


def _matches(pattern: str, paths: "Sequence[str] | dict[str, str]") -> bool:
    try:
        scope = Scope.parse(json.dumps([pattern]))
    except ScopeError:
        return pattern in paths
    return any(scope.allows(path) for path in paths)


def _gates(connection: sqlite3.Connection, job: Job) -> Iterator[GateStatus]:
    """Those that were put to people, oldest first."""
    for item in decisions.of_job(connection, job.id):
        if item.subject is Subject.GATE and item.state in (DecisionState.OPEN, DecisionState.ANSWERED):
            _, name, on = (*item.options, "", "", "")[:3]
            yield GateStatus(
                name=name,
                on=on,
                decision=item.id,
                verb=item.verb,
                by=item.answered_by,
                at=item.answered_at,
            )
