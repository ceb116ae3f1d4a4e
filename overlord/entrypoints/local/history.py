"""What was run on a repository, newest first."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.budgets.budget import Cost, cost_text
from overlord.domain.contracts.contract import Contract
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.job import Job
from overlord.engine.evaluation import trial
from overlord.entrypoints.local import checkout
from overlord.entrypoints.local import record as records
from overlord.entrypoints.local.place import Place
from overlord.entrypoints.local.record import Record
from overlord.store import jobs, sessions
from overlord.store.budgets import exchanges
from overlord.store.contracts import job_contracts
from overlord.store.database import open_reader


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One attempt at one run. Without a job it was never taken up."""

    run: int
    job: int | None
    title: str
    state: str
    contract: str
    phase: str
    """Of its contract, where that has several."""
    cost: str
    work_s: float
    branch: str
    merged: bool
    """Whether HEAD's history has the result."""
    at: datetime | None


async def history(place: Place) -> Sequence[PastRun]:
    """Every attempt, newest first. Raises StoreError when nothing was ever run here."""
    known = {record.number: record for record in records.every(place)}
    with closing(open_reader(place.home.database)) as connection:
        worked = [job for job in jobs.all_jobs(connection) if job.issue.number > trial.ISSUE_NUMBER]
        lines = [
            (
                job,
                _phase(connection, job),
                _cost(connection, job),
                sessions.work_time_s(connection, job),
            )
            for job in worked
        ]
    found = [
        await _past(place, known.get(job.issue.number), job, phase=phase, cost=cost, work_s=work_s)
        for job, phase, cost, work_s in lines
    ]
    taken_up = {job.issue.number for job in worked}
    waiting = [record for number, record in known.items() if number not in taken_up]
    return [*(_not_begun(record) for record in reversed(waiting)), *found]


async def _past(
    place: Place, record: Record | None, job: Job, *, phase: str, cost: str, work_s: float
) -> PastRun:
    landed = record.result(job.head_sha) if record else None
    merged = bool(landed and place.checkout and await checkout.contains(place.checkout, landed.commit))
    return PastRun(
        run=job.issue.number,
        job=job.id,
        title=job.issue.title,
        state="merged" if merged else state_in_words(job.state),
        contract=job.contract,
        phase=phase,
        cost=cost,
        work_s=round(work_s, 1),
        branch=landed.branch if landed else "",
        merged=merged,
        at=job.created_at,
    )


def _not_begun(record: Record) -> PastRun:
    return PastRun(
        run=record.number,
        job=None,
        title=record.title,
        state="not begun",
        contract="",
        phase="",
        cost="",
        work_s=0,
        branch="",
        merged=False,
        at=None,
    )


def _phase(connection: sqlite3.Connection, job: Job) -> str:
    row = job_contracts.get(connection, job.id)
    is_long = row is not None and len(Contract.model_validate_json(row.text).phases) > 1
    return job.phase if is_long else ""


def _cost(connection: sqlite3.Connection, job: Job) -> str:
    usage, _ = exchanges.job_usage(connection, job.id)
    return cost_text(Cost(tokens=usage.total, nusd=exchanges.job_cost(connection, job.id)))
