"""Where a job begins that mends an earlier one: at the phase that failed, on what the phases before it had brought.

Only under the very contract that the earlier job went by, and only while its commits are there: else it begins at the contract's start,
and the ledger says why. What people approved on the way stays approved, since the gates before that phase are not passed again.
"""

import sqlite3
from dataclasses import dataclass

from overlord.domain.contracts.contract import Contract
from overlord.domain.conversation.issue_request import RequestKind
from overlord.domain.event import Json
from overlord.domain.job import Job, JobChanges
from overlord.engine.runtime.parts import Parts
from overlord.errors import GitFailed, NotFound
from overlord.store import jobs
from overlord.store.bootstrap import issue_requests
from overlord.store.contracts import job_contracts, plan_files


@dataclass(frozen=True, slots=True, kw_only=True)
class FixStart:
    """What an earlier job leaves to the one that mends it."""

    failed: Job
    why_not: str = ""
    """Why its phase cannot be gone on with; "" where it can."""

    @property
    def data(self) -> dict[str, Json]:
        """For the ledger."""
        return {"mends": self.failed.id, "afresh": self.why_not}


async def find(parts: Parts, job: Job, contract: Contract) -> FixStart | None:
    """What a job mends; None where it mends nothing, or has begun already."""
    failed = await parts.database.read(lambda c: _mended(c, job))
    if failed is None or job.base_sha is not None:
        return None
    row = await parts.database.read(lambda c: job_contracts.get(c, failed.id))
    why_not = ""
    if row is None or row.digest != job_contracts.digest_of(contract):
        why_not = f"the contract is another one than that of job {failed.id}"
    elif failed.phase not in contract.phases or failed.base_sha is None:
        why_not = f"job {failed.id} had not begun"
    elif not await _is_kept(parts, failed):
        why_not = f"the commits of job {failed.id} are not kept any more"
    return FixStart(failed=failed, why_not=why_not)


def _mended(connection: sqlite3.Connection, job: Job) -> Job | None:
    request = issue_requests.of_issue(connection, job.space, job.issue.number)
    if request is None or request.kind is not RequestKind.FIX or request.options.from_job is None:
        return None
    try:
        failed = jobs.get(connection, request.options.from_job)
    except NotFound:
        return None
    return failed if failed.space == job.space and failed.id != job.id else None


async def _is_kept(parts: Parts, failed: Job) -> bool:
    try:
        for commit in filter(None, (failed.base_sha, failed.phase_sha)):
            await parts.git.tree_of(failed.space, commit)
    except GitFailed:
        return False
    return True


def carry_over(connection: sqlite3.Connection, parts: Parts, job: Job, start: FixStart) -> JobChanges:
    """Give the new job the plan of the earlier one, inside the transaction in which it takes its contract; returns what of its row
    says that it begins there."""
    if start.why_not:
        return {}
    failed = start.failed
    plan_files.copy(connection, failed.id, job.id, at=parts.clock.now())
    return {
        "phase": failed.phase,
        "base_sha": failed.base_sha,
        "head_sha": failed.phase_sha,
        "phase_sha": failed.phase_sha,
    }
