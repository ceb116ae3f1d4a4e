"""Jobs: claimed once, moved only along TRANSITIONS, each move with its ledger event in the same transaction."""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Unpack

from minion.protocol import Issue
from overlord.command_ref import CommandRef, hint
from overlord.domain.contracts.contract import Contract
from overlord.domain.decision import DecisionState
from overlord.domain.event import OVERLORD, EventName, Json, LedgerEvent
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import OPEN, Job, JobChanges, JobId, JobState, branch_name, next_state
from overlord.domain.text.reference import JobRef, Target
from overlord.errors import NotFound, Refused
from overlord.store import decisions, job_history, ledger
from overlord.store.rows import insert, select, update


def claim(
    connection: sqlite3.Connection,
    *,
    space: str,
    issue: Issue,
    base_branch: str,
    contract: Contract,
    at: datetime,
    actor: str = OVERLORD,
    is_urgent: bool = False,
) -> Job | None:
    """Make the one live job of a task; None when it has one already."""
    earlier = select(
        connection, Job, "SELECT * FROM jobs WHERE space = ? AND issue_number = ?", space, issue.number
    )
    if any(job.is_open for job in earlier):
        return None
    lifetime = timedelta(hours=contract.lifetime_h or 0)
    job = Job(
        id=JobId(0),
        space=RepositoryName(space),
        issue=issue,
        state=JobState.QUEUED,
        branch=branch_name(issue.number, taken=len(earlier)),
        base_branch=base_branch,
        contract=contract.name,
        phase=contract.start,
        created_at=at,
        updated_at=at,
        expires_at=at + lifetime,
        is_urgent=is_urgent,
    )
    columns = {name: getattr(job, name) for name in job.__dataclass_fields__ if name != "id"}
    number = insert(connection, "jobs", {**columns, "issue_number": issue.number, "is_open": True})
    job = replace(job, id=JobId(number))
    data: dict[str, Json] = {
        "issue": job.issue_ref,
        "title": issue.title,
        "branch": job.branch,
        "contract": contract.name,
    }
    event = LedgerEvent(name=EventName.CLAIMED, at=at, actor=actor, job_id=job.id, data=data)
    ledger.append(connection, event)
    return job


def get(connection: sqlite3.Connection, job_id: int) -> Job:
    """Raises NotFound."""
    found = select(connection, Job, "SELECT * FROM jobs WHERE id = ?", job_id)
    if not found:
        raise NotFound(
            f"there is no job {job_id}", hint=hint(CommandRef("history"), " shows those that ended")
        )
    return found[0]


def space_of(connection: sqlite3.Connection, job_id: int) -> str:
    """The repository that a job is of."""
    return str(connection.execute("SELECT space FROM jobs WHERE id = ?", (job_id,)).fetchone()["space"])


def move(
    connection: sqlite3.Connection,
    job_id: int,
    event: EventName,
    *,
    at: datetime,
    actor: str = OVERLORD,
    data: Mapping[str, Json] | None = None,
    **changes: Unpack[JobChanges],
) -> Job:
    """Take a job along TRANSITIONS and write the fact. Raises IllegalMove, and then nothing has changed.

    A job that is over asks nobody any more: what still waits for people is superseded.
    """
    job = get(connection, job_id)
    state = next_state(job.state, event)
    columns = {"reason": "", **changes, "state": state, "is_open": state in OPEN}
    moved = _write(connection, job_id, event, at=at, actor=actor, data=data, changes=columns)
    if not moved.is_open:
        decisions.close_waiting(connection, job_id, DecisionState.SUPERSEDED, at=at)
    return moved


def note(
    connection: sqlite3.Connection,
    job_id: int,
    event: EventName,
    *,
    at: datetime,
    actor: str = OVERLORD,
    data: Mapping[str, Json] | None = None,
    **changes: Unpack[JobChanges],
) -> Job:
    """Write a fact that moves nothing, with the columns it changes."""
    return _write(connection, job_id, event, at=at, actor=actor, data=data, changes=changes)


def repair(connection: sqlite3.Connection, job_id: int, **changes: Unpack[JobChanges]) -> Job:
    """Remember what a projection was last seen at: columns that are no facts and leave no event."""
    update(connection, "jobs", job_id, changes)
    return get(connection, job_id)


def _write(
    connection: sqlite3.Connection,
    job_id: int,
    event: EventName,
    *,
    at: datetime,
    actor: str,
    data: Mapping[str, Json] | None,
    changes: Mapping[str, object],
) -> Job:
    update(connection, "jobs", job_id, {**changes, "updated_at": at})
    ledger.append(connection, LedgerEvent(name=event, at=at, actor=actor, job_id=job_id, data=data or {}))
    return get(connection, job_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSummary:
    """What an open job's row says of whether there is something to do: cheap to read for every one in every pass."""

    id: JobId
    space: str
    state: JobState
    reason: str
    pull_number: int | None
    projected: str
    expires_at: datetime
    is_urgent: bool
    is_call: bool
    """Whether it works on a discipline's call, which has no issue and brings no pull request."""


def summaries(connection: sqlite3.Connection) -> list[JobSummary]:
    """Every open job, oldest first."""
    query = """SELECT id, space, state, reason, pull_number, projected, expires_at, is_urgent, issue_number < 0
               FROM jobs WHERE is_open ORDER BY id"""
    return [
        JobSummary(
            id=JobId(number),
            space=space,
            state=JobState(state),
            reason=reason,
            pull_number=pull,
            projected=projected,
            expires_at=datetime.fromisoformat(expires_at),
            is_urgent=bool(is_urgent),
            is_call=bool(is_call),
        )
        for number, space, state, reason, pull, projected, expires_at, is_urgent, is_call in connection.execute(
            query
        )
    ]


def of_ids(connection: sqlite3.Connection, ids: Iterable[int]) -> list[Job]:
    """These jobs, in the order of the ids."""
    query = "SELECT * FROM jobs WHERE id = ?"
    return [job for number in ids for job in select(connection, Job, query, number)]


def with_pulls(connection: sqlite3.Connection, space: str) -> list[Job]:
    """A space's open jobs whose pull request has been opened, oldest first."""
    query = "SELECT * FROM jobs WHERE is_open AND space = ? AND pull_number IS NOT NULL ORDER BY id"
    return select(connection, Job, query, space)


def of_space(connection: sqlite3.Connection, space: str) -> list[Job]:
    """A space's open jobs, oldest first."""
    return select(connection, Job, "SELECT * FROM jobs WHERE is_open AND space = ? ORDER BY id", space)


def open_by_space(connection: sqlite3.Connection) -> dict[str, int]:
    """How many jobs are open in each space that has any."""
    query = "SELECT space, count(*) AS many FROM jobs WHERE is_open GROUP BY space"
    return {row["space"]: row["many"] for row in connection.execute(query)}


def ids_with_pulls(connection: sqlite3.Connection) -> list[JobId]:
    """The open jobs whose pull request has been opened, oldest first."""
    query = "SELECT id FROM jobs WHERE is_open AND pull_number IS NOT NULL ORDER BY id"
    return [JobId(row["id"]) for row in connection.execute(query)]


def pulls_taken(connection: sqlite3.Connection, space: str, *, without: int) -> int:
    """How many open jobs of a space, but for one, have a pull request or are on their way to it."""
    query = """SELECT count(*) FROM jobs WHERE space = ? AND is_open AND id != ? AND issue_number >= 0 AND (
                   pull_number IS NOT NULL
                   OR state IN ('running', 'evaluating', 'delivering')
                   OR EXISTS (SELECT 1 FROM sessions WHERE job_id = jobs.id AND sessions.state != 'ended'))
               AND NOT EXISTS (SELECT 1 FROM initiatives
                   WHERE initiatives.space = jobs.space AND initiatives.issue_number = jobs.issue_number)"""
    return int(connection.execute(query, (space, without)).fetchone()[0])


def open_jobs(connection: sqlite3.Connection) -> list[Job]:
    """Every open job, oldest first."""
    return select(connection, Job, "SELECT * FROM jobs WHERE is_open ORDER BY id")


def all_jobs(connection: sqlite3.Connection, *, limit: int = 1000) -> list[Job]:
    """Open and closed, newest first."""
    return select(connection, Job, "SELECT * FROM jobs ORDER BY id DESC LIMIT ?", limit)


def live_for(connection: sqlite3.Connection, space: str, issue_number: int) -> Job | None:
    """The open job of an issue."""
    query = "SELECT * FROM jobs WHERE space = ? AND issue_number = ? AND is_open"
    return next(iter(select(connection, Job, query, space, issue_number)), None)


def live_at(connection: sqlite3.Connection, space: str, number: int) -> Job | None:
    """The open job of an issue, or of the pull request of that number."""
    query = "SELECT * FROM jobs WHERE space = ? AND is_open AND (issue_number = ? OR pull_number = ?)"
    return next(iter(select(connection, Job, query, space, number, number)), None)


def oldest(connection: sqlite3.Connection, space: str) -> datetime | None:
    """When the oldest open job of a space was claimed."""
    query = "SELECT min(created_at) FROM jobs WHERE space = ? AND is_open"
    found = connection.execute(query, (space,)).fetchone()[0]
    return datetime.fromisoformat(found) if found else None


def last_for(connection: sqlite3.Connection, space: str, issue_number: int) -> Job | None:
    """The newest job of an issue, open or closed."""
    query = "SELECT * FROM jobs WHERE space = ? AND issue_number = ? ORDER BY id DESC LIMIT 1"
    return next(iter(select(connection, Job, query, space, issue_number)), None)


def is_succeeded(connection: sqlite3.Connection, job: Job) -> bool:
    """Whether the issue of a job has had another one since: what is shown at the issue is the other's to tell."""
    query = "SELECT 1 FROM jobs WHERE id > ? AND space = ? AND issue_number = ? LIMIT 1"
    return connection.execute(query, (job.id, job.space, job.issue.number)).fetchone() is not None


def with_remains(connection: sqlite3.Connection) -> list[Job]:
    """Closed jobs that still have a session which has not ended, or whose final state was not kept: the tick reaps these."""
    query = """SELECT * FROM jobs WHERE id IN (
                 SELECT jobs.id FROM jobs JOIN sessions ON sessions.job_id = jobs.id
                 WHERE NOT jobs.is_open AND sessions.state != 'ended'
                 UNION SELECT id FROM jobs WHERE NOT is_open AND NOT has_final) ORDER BY id"""
    return select(connection, Job, query)


def unprojected_closed(connection: sqlite3.Connection) -> list[Job]:
    """Closed jobs whose last labels and comment may not stand at the forge yet."""
    return select(
        connection,
        Job,
        "SELECT * FROM jobs WHERE NOT is_open AND projected != state AND issue_number >= 0 ORDER BY id",
    )


def meant(connection: sqlite3.Connection, target: Target) -> Job:
    """The job that is meant: by its number, or by its issue or pull request, where the open one counts before older ones.

    Raises NotFound, and Refused where several repositories have such an issue in work and none was named.
    """
    if isinstance(target, JobRef):
        return get(connection, target.number)
    found = job_history.at_number(connection, target.number, target.space)
    open_ones = [job for job in found if job.is_open]
    if len({job.space for job in open_ones or found}) > 1:
        raise Refused(
            f"say in which repository: {' or '.join(sorted({job.issue_ref for job in open_ones or found}))}"
        )
    if not found:
        raise NotFound(f"no job has ever worked on {target}")
    return (open_ones or found)[0]
