"""What is read for a review of a repository's contract: the facts of its last jobs, in the order in which they happened.

A scope that was granted by an answer has its patterns in the decision and not in the ledger, so they are added to that fact. The jobs
that propose contracts are left out: they go by a contract of ours.
"""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from overlord.domain.conversation.issue_request import RequestKind
from overlord.domain.event import EventName, Json

MOST_JOBS = 200
_READ = (
    *(EventName.CONTRACT_TAKEN, EventName.PHASE_STARTED, EventName.PHASE_COMPLETED, EventName.ROLE_COMPLETED),
    *(
        EventName.SESSION_PREPARED,
        EventName.CHECK_COMPLETED,
        EventName.REVISION_ORDERED,
        EventName.ATTEMPTS_SPENT,
    ),
    *(EventName.BUDGET_SPENT, EventName.ESCALATED, EventName.ESCALATION_RESOLVED, EventName.SCOPE_WIDENED),
    *(EventName.GATE_REACHED, EventName.GATE_APPROVED, EventName.GATE_REJECTED, EventName.GATE_REUSED),
    *(EventName.DECISION_ANSWERED, EventName.PASSED, EventName.MERGED, EventName.STOPPED, EventName.DROPPED),
    *(EventName.TAKEN_OVER, EventName.ISSUE_CLOSED, EventName.UNLABELLED, EventName.PR_CLOSED),
    *(EventName.LIFETIME_EXCEEDED, EventName.TERMINATED, EventName.CLAIMED),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceFact:
    """A fact of one job."""

    name: str
    job_id: int | None
    data: Mapping[str, Json] = field(default_factory=dict)


def of_space(
    connection: sqlite3.Connection, space: str, *, most_jobs: int = MOST_JOBS
) -> list[ExperienceFact]:
    """The facts of the last jobs of a repository, without calls and those that proposed a contract."""
    marks = ", ".join("?" * len(_READ))
    query = f"""SELECT ledger.name, ledger.job_id, ledger.data, decisions.patterns FROM ledger
        LEFT JOIN decisions ON ledger.name = ? AND decisions.id = json_extract(ledger.data, '$.decision')
        WHERE ledger.job_id IN (
            SELECT id FROM jobs WHERE lower(space) = lower(?) AND issue_number >= 0 AND NOT EXISTS (
                SELECT 1 FROM issue_requests
                WHERE issue_requests.space = jobs.space AND issue_requests.issue_number = jobs.issue_number AND kind = ?)
            ORDER BY id DESC LIMIT ?)
        AND ledger.name IN ({marks}) ORDER BY ledger.seq"""  # noqa: S608 - marks alone
    values = (EventName.DECISION_ANSWERED, space, RequestKind.INIT, most_jobs, *_READ)
    return [_fact(row) for row in connection.execute(query, values)]


def _fact(row: sqlite3.Row) -> ExperienceFact:
    data: dict[str, Json] = json.loads(row["data"])
    if row["patterns"] is not None:
        data["patterns"] = json.loads(row["patterns"])
    return ExperienceFact(name=row["name"], job_id=row["job_id"], data=data)
