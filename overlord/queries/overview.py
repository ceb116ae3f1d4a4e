"""What a person can ask to see: one function each, for every interface. Each reads one consistent view, and changes nothing."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from minion.protocol import SessionKind
from overlord.domain.budgets.budget import Budget, Cost, Per
from overlord.domain.chat.briefing import Briefing, is_finished
from overlord.domain.checks.untested import UntestedPolicy
from overlord.domain.decision import Decision
from overlord.domain.event import EventName
from overlord.domain.event_description import describe_event
from overlord.domain.inquiry import (
    Cap,
    Costs,
    DayCost,
    EndedJob,
    History,
    HistoryLine,
    JobCost,
    JobView,
    ManagedRepository,
    OpenDecision,
    Queue,
    Queued,
    Share,
    SpaceError,
    SpaceValue,
    Status,
    Why,
    total,
)
from overlord.domain.job import Job, JobId, JobState
from overlord.domain.model_fault import ModelOutage
from overlord.domain.pause import name_of
from overlord.domain.session import Session
from overlord.domain.space_rotation import Lane, Waiting, in_turn
from overlord.domain.text.plain import count
from overlord.queries import portfolio_brief as portfolio
from overlord.settings.load import Settings, added_repositories, source_of
from overlord.settings.space import OVER_ALL, SECTIONS
from overlord.store import decisions, job_history, jobs, ledger, sessions
from overlord.store.budgets import costs, exchanges, grants, model_outages
from overlord.store.budgets.exchanges import BudgetBalance
from overlord.store.checks import evaluations
from overlord.store.conversation import steering
from overlord.store.proposals import proposals
from overlord.store.skills import drafts
from overlord.store.spaces import managed, pauses, settings_notes, spaces, untested_policies
from overlord.store.spaces.spaces import Space

MOST_LISTED = 8
MOST_PAST = 20
WEEK = 7
NOTHING_SPENT = Cost(tokens=0)
TEAM_ONLY = {EventName.MESSAGE_POSTED, EventName.MESSAGE_DELIVERED, EventName.MESSAGE_DEFERRED}
"""Events that quote what somebody said in the chat or the terminal."""


def status(connection: sqlite3.Connection, settings: Settings, *, at: datetime) -> Status:
    """What is going on: open jobs and what they do, what waits for people, what is paused or gives trouble, today's cost."""
    flags = (spaces.get(connection, name) for name in settings.repositories)
    poll_errors = (
        SpaceError(name=space.name, trouble=space.trouble, is_gone=space.paused)
        for space in flags
        if space.trouble or space.paused
    )
    note = settings_notes.get(connection)
    views = tuple(_open_views(connection, at=at))
    return Status(
        at=at,
        jobs=views,
        waiting=_waiting(connection, {view.job.id: view.job for view in views}),
        poll_errors=tuple(poll_errors),
        pauses=pauses.shown(connection),
        today=exchanges.day_cost(connection, at),
        outages=tuple(_outages(connection)),
        settings=note.lines if note is not None else (),
    )


def _open_views(connection: sqlite3.Connection, *, at: datetime) -> Iterator[JobView]:
    """As `view`, of every open job; read at once, as there may be hundreds."""
    live = {session.job_id: session for session in sessions.live(connection)}
    spent, unread = costs.of_open_jobs(connection), steering.unread_in_open_jobs(connection)
    for job in jobs.open_jobs(connection):
        session = live.get(job.id)
        yield JobView(
            job=job,
            session=session,
            cost=spent.get(job.id) or NOTHING_SPENT,
            trouble=_trouble(connection, session, at),
            unread=unread.get(job.id, 0),
        )


def _trouble(connection: sqlite3.Connection, session: Session | None, at: datetime) -> str:
    outage = model_outages.of_session(connection, session.id) if session is not None else None
    return outage.line(at, is_short=True) if outage is not None else ""


def _outages(connection: sqlite3.Connection) -> Iterator[ModelOutage]:
    """Models that give no replies; that they are tried again is said while somebody does."""
    known = model_outages.every(connection)
    asking = (
        model_outages.of_session(connection, session.id) for session in sessions.live(connection) if known
    )
    tried = {outage.model for outage in asking if outage is not None}
    for outage in known:
        yield outage if outage.model in tried else replace(outage, until=None)


def view(connection: sqlite3.Connection, job: Job, *, at: datetime) -> JobView:
    """One job, and what is done in it now."""
    session = sessions.live_of(connection, job.id)
    return JobView(
        job=job,
        session=session,
        cost=costs.of_job(connection, job.id),
        trouble=_trouble(connection, session, at),
        unread=len(steering.unread(connection, job.id)),
    )


def waiting(connection: sqlite3.Connection) -> tuple[OpenDecision, ...]:
    """Every decision that waits, oldest first."""
    return _waiting(connection, {})


def _waiting(connection: sqlite3.Connection, known: Mapping[JobId, Job]) -> tuple[OpenDecision, ...]:
    return tuple(_open_decision(connection, decision, known) for decision in decisions.waiting(connection))


def _open_decision(
    connection: sqlite3.Connection, decision: Decision, known: Mapping[JobId, Job]
) -> OpenDecision:
    if decision.job_id is None:
        return portfolio.open_decision(connection, decision)
    job = known.get(decision.job_id) or jobs.get(connection, decision.job_id)
    of = portfolio.initiative_of_job(connection, job)
    return OpenDecision(
        decision=decision, space=job.space, issue_number=job.issue_number, initiative=of.slug if of else ""
    )


def managed_repositories(connection: sqlite3.Connection, settings: Settings) -> tuple[ManagedRepository, ...]:
    """Every repository managed by Overlord, and what it is at."""
    words, flags = managed.current(connection), spaces.noted(connection)
    lane = lanes(connection, settings, settings.repositories)
    open_jobs, asked = jobs.open_by_space(connection), decisions.waiting(connection)
    return tuple(
        ManagedRepository(
            name=name,
            by=name_of(words[name].actor) if name in added_repositories(settings) else "settings",
            running=lane[name].running,
            most=lane[name].most,
            open_jobs=open_jobs.get(name, 0),
            state=_waiting_reason(connection, flags.get(name, Space(name=name)), asked),
        )
        for name in settings.repositories
    )


def _waiting_reason(connection: sqlite3.Connection, space: Space, waiting: Sequence[Decision]) -> str:
    asked = [item for item in waiting if item.job_id is None and item.space == space.name and not item.about]
    if asked:
        return f"paused: decision {asked[0].id} waits for a person"
    if space.paused:
        return "paused: it cannot be found"
    pause = pauses.over(connection, space.name)
    if pause is not None:
        return pause.describe()
    return f"gives trouble: {space.trouble}" if space.trouble else "goes on"


def space_values(settings: Settings, name: str) -> tuple[SpaceValue, ...]:
    """Everything a repository is worked on by, and where each value is said. Of MCP servers and hooks the names alone."""
    found = settings.space(name).model_dump(mode="json")
    found["mcp"] = sorted(found["mcp"])
    found["hooks"] = settings.space(name).hooks.names()
    flat = [
        (f"{key}.{inner}", value)
        for key in SECTIONS
        for inner, value in found[key].items()
        if f"{key}.{inner}" not in OVER_ALL
    ]
    flat += [(key, value) for key, value in found.items() if key not in SECTIONS]
    return tuple(
        SpaceValue(
            key=key, value=json.dumps(value, ensure_ascii=False), source=source_of(settings, name, key)
        )
        for key, value in flat
    )


def untested(connection: sqlite3.Connection, name: str) -> UntestedPolicy | None:
    """What a person said about missing tests in a repository."""
    return untested_policies.of(connection, name)


def queue(
    connection: sqlite3.Connection,
    settings: Settings,
    *,
    at: datetime,
    open_jobs: Sequence[Job] | None = None,
) -> Queue:
    """The queued jobs in the order they are begun, and why each of them has not been yet. `open_jobs`: where they are known."""
    running, most = sessions.started_running(connection), settings.sessions.concurrent
    full = f"{running} of {most} sessions run" if running >= most else ""
    known_jobs = jobs.open_jobs(connection) if open_jobs is None else open_jobs
    queued = [job for job in known_jobs if job.state is JobState.QUEUED]
    known = {job.id: _why_queued(connection, job) for job in queued}
    live = sessions.live_ids(connection)
    begun = [job for job in queued if job.id in live]
    line = _line(connection, settings, [job for job in queued if job.id not in live and not known[job.id]])
    found = [Queued(job=job, why=known[job.id]) for job in begun]
    lane = lanes(connection, settings, {job.space for job in line})
    for place, job in enumerate(line):
        why = full or _why_full(lane[job.space], job.space) or _behind(place)
        found.append(Queued(job=job, why=why))
    moving = {job.id for job in (*begun, *line)}
    stuck = [job for job in queued if job.id not in moving]
    found += [Queued(job=job, why=known[job.id]) for job in sorted(stuck, key=lambda job: not job.is_urgent)]
    return Queue(at=at, jobs=tuple(found), running=running, most=most, pauses=pauses.shown(connection))


def lanes(connection: sqlite3.Connection, settings: Settings, names: Iterable[str]) -> dict[str, Lane]:
    """These spaces, as their turns are found by."""
    running, flags = sessions.running_by_space(connection), spaces.noted(connection)
    return {
        name: Lane(
            running=running.get(name, 0),
            most=settings.space(name).sessions.concurrent,
            begun_at=flags[name].begun_at if name in flags else None,
        )
        for name in names
    }


def _line(connection: sqlite3.Connection, settings: Settings, queued: Sequence[Job]) -> list[Job]:
    """Jobs in the order of their turns."""
    jobs_by_id = {job.id: job for job in queued}
    waiting = [Waiting(job=job.id, space=job.space, is_urgent=job.is_urgent) for job in queued]
    open_lanes = {
        name: replace(lane, most=lane.running + len(waiting))
        for name, lane in lanes(connection, settings, {item.space for item in waiting}).items()
    }
    return [jobs_by_id[number] for number in in_turn(waiting, open_lanes, room=len(waiting))]


def _why_full(lane: Lane, space: str) -> str:
    return f"{lane.running} of {lane.most} sessions of {space} run" if lane.running >= lane.most else ""


def _behind(place: int) -> str:
    return f"behind {count(place, 'other job')}" if place else "it is next"


def _why_queued(connection: sqlite3.Connection, job: Job) -> str:
    """What the store alone tells of why a queued job does not run; nothing when it only waits for its turn."""
    pause = pauses.over(connection, job.space)
    if pause is not None:
        return pause.describe()
    if job.reason:
        return job.reason
    if spaces.get(connection, job.space).paused:
        return "its repository cannot be found"
    session = sessions.live_of(connection, job.id)
    if session is None:
        return ""
    return (
        "its environment is being set up"
        if session.kind is SessionKind.SETUP
        else "its session is being started"
    )


def history(connection: sqlite3.Connection, *, at: datetime, limit: int = MOST_PAST) -> History:
    """The jobs that ended last: how, after how long, at what cost."""
    found = (
        EndedJob(
            job=job, ended_at=job_history.ended_at(connection, job), cost=costs.of_job(connection, job.id)
        )
        for job in job_history.newest(connection, limit=limit)
    )
    return History(at=at, jobs=tuple(found))


def why(
    connection: sqlite3.Connection,
    job_id: int,
    *,
    at: datetime,
    is_local: bool = False,
    is_public: bool = False,
) -> Why:
    """Where one job stands and how it came there; `is_local`: see `tell`. `is_public`: for readers of the repository, who are
    not shown what people of the team said to the Minion. Raises NotFound."""
    job = jobs.get(connection, job_id)
    entries = [
        entry
        for entry in ledger.entries(connection, job_id=job_id)
        if not (is_public and entry.name in TEAM_ONLY)
    ]
    judged = evaluations.history(connection, job)
    return Why(
        at=at,
        view=view(connection, job, at=at),
        told=tuple(_history_lines(entries[-MOST_LISTED:], is_local=is_local)),
        earlier=max(0, len(entries) - MOST_LISTED),
        decisions=tuple(decisions.waiting(connection, job_id)),
        unread=() if is_public else tuple(steering.unread(connection, job_id)),
        findings=judged[-1].findings if judged else (),
    )


def _history_lines(entries: Iterable[ledger.Entry], *, is_local: bool) -> Iterator[HistoryLine]:
    for entry in entries:
        sentence = describe_event(entry.name, json.loads(entry.data), is_local=is_local)
        if sentence:
            yield HistoryLine(at=datetime.fromisoformat(entry.at), sentence=sentence, actor=entry.actor)


def cost(connection: sqlite3.Connection, settings: Settings, *, at: datetime, days: int = 1) -> Costs:
    """What was spent today, or over the last days with today, by day and repository; and what today's caps leave."""
    today = at.date()
    dates = [(today - timedelta(days=back)).isoformat() for back in range(days)]
    spent = costs.by_day_and_space(connection, dates[-1], dates[0])
    found = []
    for day in dates:
        shares = tuple(Share(name=space, cost=cost) for date, space, cost in spent if date == day)
        found.append(DayCost(day=day, cost=total(share.cost for share in shares), spaces=shares))
    return Costs(
        at=at,
        days=tuple(found),
        total=total(day.cost for day in found),
        caps=tuple(_day_caps(connection, settings, dates[0])),
    )


def _day_caps(connection: sqlite3.Connection, settings: Settings, day: str) -> Iterator[Cap]:
    caps = [(name, cap) for name in settings.repositories for cap in _caps(settings, name, Per.SPACE_DAY)]
    for space, budget in (*caps, *(("", cap) for cap in settings.budget.shared() if cap.per is Per.DAY)):
        added = grants.added(connection, budget.unit, day=day, space=space or None)
        yield _cap(
            connection, budget, added, BudgetBalance(session="", job=0, space=space, day=day, budgets=())
        )


def _caps(settings: Settings, space: str, per: Per) -> list[Budget]:
    return [budget for budget in settings.space(space).budget.shared() if budget.per is per]


def job_cost(connection: sqlite3.Connection, settings: Settings, job_id: int, *, at: datetime) -> JobCost:
    """What one job has cost so far, and what its caps leave. Raises NotFound."""
    job = jobs.get(connection, job_id)
    shares = tuple(Share(name=name, cost=cost) for name, cost in costs.by_session(connection, job_id))
    balance = BudgetBalance(session="", job=job_id, space=job.space, day=at.date().isoformat(), budgets=())
    caps = (
        _cap(connection, budget, grants.added(connection, budget.unit, job_id=job_id), balance)
        for budget in _caps(settings, job.space, Per.JOB)
    )
    return JobCost(at=at, job=job, total=costs.of_job(connection, job_id), sessions=shares, caps=tuple(caps))


def _cap(connection: sqlite3.Connection, budget: Budget, added: int, balance: BudgetBalance) -> Cap:
    raised = replace(budget, limit=budget.limit + added)
    space = balance.space if budget.per is Per.SPACE_DAY else ""
    return Cap(budget=raised, spending=exchanges.spending(connection, balance, raised), space=space)


def brief(connection: sqlite3.Connection, *, since: datetime, at: datetime) -> Briefing:
    """What waits for people, and what ended and was spent since the last briefing."""
    ended = job_history.ended_since(connection, since)
    return Briefing(
        since=since,
        at=at,
        waiting=waiting(connection),
        finished=tuple(job for job in ended if is_finished(job)),
        failed=tuple(job for job in ended if not is_finished(job)),
        to_review=tuple(job for job in jobs.open_jobs(connection) if job.state is JobState.IN_REVIEW),
        spent=costs.since(connection, since),
        proposed=tuple(proposals.raised_since(connection, since)),
        drafts=tuple(drafts.waiting(connection)),
        done=portfolio.done_since(connection, since),
        resolved=portfolio.answered_since(connection, since),
        noted=portfolio.noted_since(connection, since),
        going_on=portfolio.going_on(connection),
    )
