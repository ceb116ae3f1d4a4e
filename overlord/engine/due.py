"""What a pass has to do: everything is read once, in one view, and only what can move is taken up.

What is left out here cannot move by itself: a pull request between polls, a question nobody has answered, a queued job
without room. Each pass reads the rows anew, so nothing has to be told that it is due.
"""

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from overlord.domain.job import Job, JobId, JobState
from overlord.domain.pause import EVERYTHING, Pause
from overlord.domain.session import Session
from overlord.domain.space_rotation import Waiting, in_turn
from overlord.engine.contracts import plan_gate
from overlord.engine.intake import poll
from overlord.engine.issues.projection import projection_key
from overlord.engine.portfolio import issue_steps
from overlord.engine.portfolio import steps as portfolio_steps
from overlord.engine.portfolio.issue_steps import IssueStep
from overlord.engine.proposals import raise_proposals
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.engine.sessions import capacity, untested
from overlord.queries import overview
from overlord.store import decisions, jobs, sessions
from overlord.store.bootstrap import issue_requests
from overlord.store.conversation import steering
from overlord.store.jobs import JobSummary
from overlord.store.portfolio import initiatives
from overlord.store.proposals import proposals
from overlord.store.skills import drafts
from overlord.store.spaces import pauses, spaces, work_requests
from overlord.store.spaces.spaces import Space

ALWAYS = frozenset({JobState.RUNNING, JobState.EVALUATING, JobState.DELIVERING})
"""States whose next fact comes from outside the database, or from a step that was cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """One pass's reading. `open_ids` are all open jobs, `steps` those that may move; `behind` are open and closed ones
    whose labels and comment are not known to stand at the forge."""

    open_ids: frozenset[JobId]
    steps: Sequence[Job]
    behind: Sequence[Job]
    remains: Sequence[Job]
    uncleared: Sequence[Session]
    polls: Sequence[str]
    next_poll_at: datetime | None
    """When the turn of the next repository comes that is not polled now; None where there is none."""
    questions_end: bool
    """Whether the time of some question is over."""
    live: Mapping[int, str]
    """The session of each job that has one."""
    is_news: bool
    """Whether something happened that may be a pattern, or the end of a proposal's work."""
    approved: Sequence[int]
    """Proposals that are to become issues."""
    drafts: Sequence[int]
    """Drafts of skills that wait for nobody."""
    read: Sequence[int]
    """Messages to jobs whose author is to be told, in a comment, what became of them."""
    requested: Sequence[int]
    """Issues that people asked for, and that are to be opened."""
    opened: Sequence[int]
    """Those whose author is to be told, in a comment, what became of them."""
    is_plan_due: bool = False
    """Whether a plan was edited while it waits for a person, or an approved one is to be written to its file."""
    portfolio: Sequence[str] = ()
    """Steps of the portfolio that have something to do."""
    issue_steps: Sequence[IssueStep] = ()
    """What the forge is to be told of tasks and initiatives."""


def look(
    connection: sqlite3.Connection, parts: Parts, *, retried: Collection[JobId], delayed: Collection[JobId]
) -> Due:
    """Read what there is to do. `retried` jobs failed before and are tried again now, `delayed` ones later."""
    at = parts.clock.now()
    flags = spaces.noted(connection)
    summaries = jobs.summaries(connection)
    live = sessions.live_ids(connection)
    able = _Able.read(connection, parts, summaries, flags, delayed=delayed, live=live)
    steps = [summary.id for summary in summaries if summary.id in retried or able.is_due(summary, at)]
    behind = [
        summary.id
        for summary in summaries
        if not summary.is_call and summary.projected != projection_key(summary)
    ]
    return Due(
        open_ids=frozenset(summary.id for summary in summaries),
        steps=jobs.of_ids(connection, steps),
        behind=[*jobs.of_ids(connection, behind), *jobs.unprojected_closed(connection)],
        remains=jobs.with_remains(connection),
        uncleared=sessions.uncleared(connection),
        polls=tuple(_to_poll(connection, parts, flags, at)),
        next_poll_at=_next_poll_at(parts, flags, at),
        questions_end=bool(
            parts.session_watchdog.overdue(decisions.timed(connection), parts.clock.monotonic())
        ),
        live=live,
        is_news=raise_proposals.is_news(connection),
        approved=proposals.to_dispatch(connection),
        drafts=drafts.moving(connection),
        read=[message.id for message in steering.to_acknowledge(connection)],
        requested=[item.id for item in issue_requests.unopened(connection)],
        opened=[item.id for item in issue_requests.to_acknowledge(connection)],
        is_plan_due=plan_gate.is_due(connection),
        portfolio=portfolio_steps.due(connection, parts),
        issue_steps=issue_steps.due(connection),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Able:
    """The jobs that something else than their own row lets move."""

    answered: frozenset[int]
    dispatched: frozenset[int]

    @classmethod
    def read(
        cls,
        connection: sqlite3.Connection,
        parts: Parts,
        summaries: Sequence[JobSummary],
        flags: Mapping[str, Space],
        *,
        delayed: Collection[JobId],
        live: Collection[int],
    ) -> "_Able":
        paused = pauses.every(connection)
        return cls(
            answered=decisions.jobs_with_unapplied(connection),
            dispatched=frozenset(live)
            | frozenset(_next_in_line(connection, parts, summaries, live, flags, delayed, paused)),
        )

    def is_due(self, summary: JobSummary, at: datetime) -> bool:
        if at >= summary.expires_at:
            return True
        if summary.state is JobState.QUEUED:
            return summary.id in self.dispatched
        return summary.state in ALWAYS or (summary.state is JobState.WAITING and summary.id in self.answered)


def _next_in_line(  # noqa: PLR0917
    connection: sqlite3.Connection,
    parts: Parts,
    summaries: Sequence[JobSummary],
    live: Collection[int],
    flags: Mapping[str, Space],
    delayed: Collection[JobId],
    paused: Mapping[str, Pause],
) -> Iterator[JobId]:
    """The queued jobs to prepare sessions for: those whose turn it is, and those that wait for others' pull requests, the end of a
    pause or an answer and do not say so yet.
    """
    asking = untested.waiting_jobs(connection)
    without_pull = {*initiatives.planning_jobs(connection), *(item.id for item in summaries if item.is_call)}
    pulls = Counter(
        summary.space
        for summary in summaries
        if summary.id not in without_pull
        and (summary.pull_number is not None or summary.state in ALWAYS or summary.id in live)
    )
    waiting = []
    for summary in sorted(summaries, key=lambda item: not item.is_urgent):
        space = flags.get(summary.space)
        is_waiting = summary.state is JobState.QUEUED and summary.id not in live and summary.id not in delayed
        if not is_waiting or (space and space.paused):
            continue
        pause = paused.get(EVERYTHING) or paused.get(summary.space)
        if pause is not None:
            if summary.reason != pause.describe():
                yield summary.id
        elif waits := asking.get(summary.id):
            if summary.reason != waits:
                yield summary.id
        else:
            waiting.append(summary)
    line, beyond = _within_pulls(parts, waiting, pulls, without_pull)
    chosen = frozenset(_in_turn(connection, parts, line))
    yield from chosen
    taking = [item for item in waiting if item.id in chosen and item.id not in without_pull]
    pulls.update(summary.space for summary in taking if summary.pull_number is None)
    for name, waiting_there in _by_space(beyond):
        # Where no session may be started, its step would wait for that first and say nothing.
        if pulls[name] >= _most_pulls(parts, name) and capacity.is_left(connection, parts, name):
            reason = capacity.no_pull_left(parts, name)
            yield from (summary.id for summary in waiting_there if summary.reason != reason)


def _by_space(summaries: Sequence[JobSummary]) -> Iterable[tuple[str, Sequence[JobSummary]]]:
    found: dict[str, list[JobSummary]] = {}
    for summary in summaries:
        found.setdefault(summary.space, []).append(summary)
    return found.items()


def _most_pulls(parts: Parts, space: str) -> int:
    return parts.settings.space(space).delivery.open_pulls


def _within_pulls(
    parts: Parts, waiting: Sequence[JobSummary], pulls: Mapping[str, int], without_pull: Collection[int]
) -> tuple[list[Waiting], list[JobSummary]]:
    """The jobs for which a pull request may be open beside those there are, and the others."""
    line, beyond, taken = list[Waiting](), list[JobSummary](), Counter(pulls)
    for summary in waiting:
        takes = summary.pull_number is None and summary.id not in without_pull
        if takes and taken[summary.space] >= _most_pulls(parts, summary.space):
            beyond.append(summary)
        else:
            taken[summary.space] += takes
            line.append(Waiting(job=summary.id, space=summary.space, is_urgent=summary.is_urgent))
    return line, beyond


def _in_turn(connection: sqlite3.Connection, parts: Parts, waiting: Sequence[Waiting]) -> Iterator[JobId]:
    """Those whose turn it is; and of a space whose environment is being set up as many as there is room for beside them.
    Its jobs may all wait for that, which others do not need."""
    lanes = overview.lanes(connection, parts.settings, {item.space for item in waiting})
    left = parts.settings.sessions.concurrent - sessions.started_running(connection)
    apart = sessions.spaces_setting_up(connection)
    yield from in_turn([item for item in waiting if item.space not in apart], lanes, room=left)
    for space in sorted(apart):
        yield from in_turn([item for item in waiting if item.space == space], lanes, room=left)


def _to_poll(
    connection: sqlite3.Connection, parts: Parts, flags: Mapping[str, Space], at: datetime
) -> Iterator[str]:
    """The spaces whose turn it is, and those of issues that people want worked on."""
    wished = {work_request.space for work_request in work_requests.waiting(connection)}
    for name in parts.settings.repositories:
        hinted, space = parts.hints.is_due(name, parts.clock.monotonic()), flags.get(name, Space(name=name))
        if name in wished or poll.is_to_poll(space, at, interval_s(parts.settings), hinted=hinted):
            yield name
    yield from sorted(wished - set(parts.settings.repositories))


def _next_poll_at(parts: Parts, flags: Mapping[str, Space], at: datetime) -> datetime | None:
    """The first turn of a repository that is still to come."""
    between = timedelta(seconds=interval_s(parts.settings))
    known = (flags.get(name, Space(name=name)) for name in parts.settings.repositories)
    turns = (space.polled_at + between for space in known if space.polled_at and not space.paused)
    return min((turn for turn in turns if turn > at), default=None)
