"""What people do to a contract that an architect proposes, beside confirming it."""

import sqlite3
from collections.abc import Collection
from datetime import datetime

from overlord.domain.bootstrap.proposal import review_text
from overlord.domain.decision import DecisionState, Subject
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job, JobId, JobState
from overlord.domain.text.secret_detection import redacted
from overlord.errors import ContractError, Refused
from overlord.store import decisions, jobs
from overlord.store.bootstrap import contract_drafts
from overlord.store.contracts import plan_files

DRAFT = "plan/contract.yaml"
_ABOUT_IT = (Subject.GATE, Subject.CONTRACT_INVALID)


def draft_of(connection: sqlite3.Connection, job_id: int) -> str:
    """The contract that was proposed, as it stands now. Raises Refused where none was."""
    text = plan_files.of_job(connection, job_id).get(DRAFT, "")
    if not text or contract_drafts.of_job(connection, job_id) is None:
        raise Refused(f"job {job_id} has no proposed contract")
    return text


def edit_contract(
    connection: sqlite3.Connection,
    job_id: JobId,
    text: str,
    *,
    existing: Collection[str] | None,
    actor: str,
    at: datetime,
) -> Job:
    """Put a person's text in place of the proposed contract; it is judged anew, and asked about as it is then. `existing`: the files
    at base, where they are known. Raises Refused where nothing waits for that, ContractError with every problem."""
    job = jobs.get(connection, job_id)
    waiting = [item for item in decisions.waiting(connection, job_id) if item.subject in _ABOUT_IT]
    if job.state is not JobState.WAITING or not waiting:
        raise Refused(f"no proposed contract of job {job_id} waits for a person now")
    if text == draft_of(connection, job_id):
        return job
    if redacted(text) != text:
        raise Refused("that text holds what looks like a secret; take it out, it was not kept")
    if problems := review_text(text, existing=existing).problems:
        raise ContractError("\n".join(problems))
    plan_files.put(connection, job_id, {DRAFT: text}, session_id=actor, at=at)
    contract_drafts.put(connection, job_id, text, (), at=at)
    decisions.close_waiting(connection, job_id, DecisionState.SUPERSEDED, at=at)
    data: dict[str, Json] = {"decision": waiting[0].id}
    return jobs.move(connection, job_id, EventName.CONTRACT_EDITED, at=at, actor=actor, data=data)
