"""What a person can see of the sessions of a job: which there were, what was said in them, and the commits they left."""

import sqlite3
from dataclasses import dataclass

from overlord.command_ref import CommandRef, hint
from overlord.domain.budgets.budget import Cost
from overlord.domain.disciplines.call import Call
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job, JobState
from overlord.domain.session import Session
from overlord.domain.text.plain import plain_line
from overlord.errors import NotFound
from overlord.home import Home
from overlord.store import evidence, jobs, sessions
from overlord.store.budgets import costs
from overlord.store.disciplines import calls
from overlord.store.evidence import EvidenceFile, EvidenceStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a job or one of its sessions changed: two commits of the repository's mirror."""

    base: Sha
    head: Sha
    session: str
    """Whose work it is; empty for the job's newest."""


def sessions_of(connection: sqlite3.Connection, job_id: int, session: str = "") -> list[Session]:
    """The sessions of a job in the order they began, or the one that is named. Raises NotFound."""
    jobs.get(connection, job_id)
    ran = sessions.of_job(connection, job_id)
    if session and session not in {item.id for item in ran}:
        known = ", ".join(item.id for item in ran) or "none"
        raise NotFound(f"job {job_id} has no session {session}; it has {known}")
    return [item for item in ran if not session or item.id == session]


def spent_by_session(connection: sqlite3.Connection, job_id: int) -> list[tuple[Session, Cost]]:
    """The sessions of a job that called a model, each with what it cost, in the order they began."""
    known = {item.id: item for item in sessions.of_job(connection, job_id)}
    return [(known[name], cost) for name, cost in costs.by_session(connection, job_id) if name in known]


def evidence_of(connection: sqlite3.Connection, job_id: int, session: str, kind: str) -> EvidenceFile | None:
    """A session's evidence of a kind, or the job's newest where none is named; None while there is none.
    Raises NotFound for one that was removed."""
    found = [
        item
        for item in evidence.exhibits(connection, job_id)
        if item.kind == kind and session in {"", item.session_id}
    ]
    if not found:
        return None
    if (removed_at := found[-1].removed_at) is not None:
        raise NotFound(
            f"the {kind} of {found[-1].session_id or f'job {job_id}'} was removed on {removed_at:%Y-%m-%d}: `keep` in the settings says how long they stay"
        )
    return found[-1]


def transcript(home: Home, session: str, evidence_file: EvidenceFile | None, *, offset: int = 0) -> bytes:
    """What a session and its model said to each other, from this byte on: its evidence, or what a live session has so far.
    Raises StoreError for evidence that is gone or was changed."""
    if evidence_file is not None:
        return EvidenceStore(home.evidence).get(evidence_file.sha256)[offset:]
    try:
        with home.transcript(session).open("rb") as file:
            file.seek(offset)
            return file.read()
    except FileNotFoundError:
        return b""


def is_at_rest(job: Job, live: Session | None) -> bool:
    """Whether nothing more comes of a job by itself: it is over, or its pull request waits for reviewers."""
    return not job.is_open or (job.state is JobState.IN_REVIEW and live is None)


def change_of(connection: sqlite3.Connection, job_id: int, session: str = "") -> Change:
    """What a job has come to, or what it was after a session; also what did not pass. Raises NotFound where nothing was changed, and
    for a call of a discipline that hands nothing back: what is kept from whoever called is not to be had here either."""
    job = jobs.get(connection, job_id)
    ran = sessions_of(connection, job_id, session)
    heads = [item.taken_sha for item in ran if item.taken_sha] if session else [job.head_sha]
    head = next(iter(heads), "")
    whose = session or f"job {job_id}"
    if not head or not job.base_sha or head == job.base_sha:
        shows = hint(CommandRef("job transcript", (str(job_id),)), " shows what it did")
        raise NotFound(f"{whose} has changed nothing", hint=shows)
    if (call := calls.of_job(connection, job)) is not None and not call.patch:
        raise NotFound(_held_back(connection, call))
    return Change(base=job.base_sha, head=Sha(head), session=session)


def _held_back(connection: sqlite3.Connection, call: Call) -> str:
    if call.result is not None:
        return f"the change of call {call.ref} is kept back. {plain_line(call.result.why, limit=300)}".rstrip(
            "."
        )
    ending = calls.ending_of(connection, call) or "has not ended"
    return f"call {call.ref} {ending}: its change is handed back with its result"
