"""Job: its story, what its sessions and their models said, what it changed, what was checked, what it cost."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from minion.protocol import CheckReport, Scope, SessionKind
from overlord.domain.conversation.pull_card import Story, evidence_parts, state_of
from overlord.domain.event_description import describe_event
from overlord.domain.inquiry import HistoryLine, JobCost
from overlord.domain.job import Job, JobId
from overlord.domain.session import Session, who_worked
from overlord.domain.transcript import Exchange, exchange_of
from overlord.domain.view.view import View
from overlord.errors import ContractError, NotFound, SettingsError
from overlord.home import Home
from overlord.queries import overview
from overlord.queries import session as session_query
from overlord.queries.job_story import story_of
from overlord.queries.look import Look
from overlord.settings.load import contract_for
from overlord.store import decisions, evidence, jobs, ledger, sessions
from overlord.store.budgets import exchanges
from overlord.store.contracts import job_contracts
from overlord.store.evidence import EvidenceFile, EvidenceStore

TURNS_A_PAGE = 50
_UNREADABLE = Exchange(trouble="what was kept of this turn cannot be read")
MOST_DIFF_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHead:
    """What stands above each of a job's pages."""

    job: Job
    state: str
    session: Session | None
    waiting: int
    """Decisions of its that wait."""
    turn: str = ""
    """Its contract, phase and role; empty where the contract has one of each."""
    worked_by: tuple[str, ...] = ()
    """The coding agents that worked and their models, where not the native one alone did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStory:
    """The first of its pages."""

    head: JobHead
    told: tuple[HistoryLine, ...]
    evidence: View
    files: tuple[EvidenceFile, ...]
    cost: JobCost
    events: int
    """How many of the ledger's are about it."""


def head(look: Look, number: int) -> JobHead:
    """Raises NotFound."""
    job = jobs.get(look.connection, JobId(number))
    return JobHead(
        job=job,
        state=state_of(job),
        session=sessions.live_of(look.connection, job.id),
        waiting=len(decisions.waiting(look.connection, job.id)),
        turn=_turn(look, job),
        worked_by=who_worked(
            sessions.of_job(look.connection, job.id), exchanges.models_by_session(look.connection, job.id)
        ),
    )


def _turn(look: Look, job: Job) -> str:
    """Whose turn it is, where a contract has more than one; nothing of a contract that cannot be read."""
    try:
        contract = job_contracts.of_job(
            look.connection, job.id, lambda: contract_for(look.settings, job.space)
        )
    except (ContractError, SettingsError):
        return ""
    if len(contract.phases) == len(contract.roles) == 1:
        return ""
    role = f", role {job.role}" if job.role else ""
    return f"contract {contract.name}, phase {job.phase}{role}"


def story(look: Look, number: int) -> JobStory:
    """Raises NotFound."""
    shown = head(look, number)
    contract = contract_for(look.settings, shown.job.space)
    return JobStory(
        head=shown,
        told=tuple(_told(look, number)),
        evidence=View(summary="", parts=evidence_parts(story_of(look.connection, shown.job, contract))),
        files=tuple(evidence.exhibits(look.connection, number)),
        cost=overview.job_cost(look.connection, look.settings, number, at=look.at),
        events=ledger.count_of(look.connection, number),
    )


def _told(look: Look, number: int) -> Iterator[HistoryLine]:
    for entry in ledger.entries(look.connection, job_id=number):
        if sentence := describe_event(entry.name, json.loads(entry.data)):
            yield HistoryLine(at=datetime.fromisoformat(entry.at), sentence=sentence, actor=entry.actor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One model call, with its number in its session."""

    number: int
    exchange: Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A page of what one session and its model said to each other."""

    head: JobHead
    sessions: tuple[Session, ...]
    session: Session | None
    turns: tuple[Turn, ...]
    first: int
    """How many turns come before."""
    total: int

    @property
    def before(self) -> int:
        return max(0, self.first - TURNS_A_PAGE)

    @property
    def after(self) -> int:
        return self.first + TURNS_A_PAGE


def transcript(look: Look, home: Home, number: int, session: str = "", first: int = -1) -> Transcript:
    """The turns from `first` on, or the last ones. Raises NotFound, StoreError."""
    shown, ran = head(look, number), session_query.sessions_of(look.connection, number)
    worked = [item for item in ran if item.kind is SessionKind.WORK] or ran
    chosen = session_query.sessions_of(look.connection, number, session) if session else worked
    one = chosen[-1] if chosen else None
    lines: list[str] = []
    if one is not None:
        kept = session_query.evidence_of(look.connection, number, one.id, "transcript")
        content = session_query.transcript(home, one.id, kept)
        lines = content[: content.rfind(b"\n") + 1].decode("utf-8", "replace").split("\n")[:-1]
    begin = max(0, (len(lines) - 1) // TURNS_A_PAGE * TURNS_A_PAGE) if first < 0 else min(first, len(lines))
    read = (exchange_of(line) or _UNREADABLE for line in lines[begin : begin + TURNS_A_PAGE])
    turns = tuple(
        Turn(number=begin + index, exchange=exchange) for index, exchange in enumerate(read, start=1)
    )
    return Transcript(
        head=shown, sessions=tuple(ran), session=one, turns=turns, first=begin, total=len(lines)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckLog:
    """What one step of a check session printed."""

    session: str
    name: str
    command: str
    outcome: str
    seconds: float
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What was checked, with the logs."""

    head: JobHead
    story: Story
    logs: tuple[CheckLog, ...]


def checks(look: Look, number: int) -> Checks:
    """Raises NotFound."""
    shown = head(look, number)
    told = story_of(look.connection, shown.job, contract_for(look.settings, shown.job.space))
    return Checks(head=shown, story=told, logs=tuple(_logs(told)))


def _logs(told: Story) -> Iterator[CheckLog]:
    for session in told.sessions:
        if not isinstance(session.report, CheckReport):
            continue
        for step in session.report.steps:
            yield CheckLog(
                session=session.id,
                name=step.name,
                command=" ".join(step.command),
                outcome=step.outcome,
                seconds=step.duration_s,
                output=step.output,
            )


def scope_of(ran: Iterable[Session]) -> Scope | None:
    """What the last session that worked could write."""
    worked = [one for one in ran if one.kind is SessionKind.WORK]
    return Scope.parse(worked[-1].scope) if worked else None


def file(look: Look, home: Home, number: int, digest: str) -> tuple[EvidenceFile, bytes]:
    """One evidence file of a job. Raises NotFound, StoreError."""
    jobs.get(look.connection, JobId(number))
    for item in evidence.exhibits(look.connection, number):
        if item.sha256 == digest and item.removed_at is None:
            return item, EvidenceStore(home.evidence).get(digest)
    raise NotFound("there is no such evidence file")
