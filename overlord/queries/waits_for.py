"""What a job waits for, in one line, and the command that lets it go on: an answer, its turn, its session, a merge."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from overlord.command_ref import CommandRef
from overlord.domain.conversation.decision_words import answer_ref
from overlord.domain.decision import Decision, Subject
from overlord.domain.job import Job, JobState
from overlord.domain.session import Session
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.store import decisions

_SESSION = {
    JobState.EVALUATING: "its checks",
    JobState.RUNNING: "its session",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited:
    """What it waits for. `command` is what lets it go on, where a person can give it."""

    text: str
    command: CommandRef | None = None


def awaited(
    look: Look, job: Job, *, queued: Mapping[int, str], asked: Decision | None, session: Session | None
) -> Awaited:
    """What one job waits for. `queued`: why each queued job has not been begun; `asked`: its oldest open decision."""
    if not job.is_open:
        return Awaited(text="")
    if asked is not None:
        is_gate = asked.subject is Subject.GATE and job.reason
        question = job.reason if is_gate else asked.title.removeprefix(f"{job.issue_ref}: ")
        return Awaited(text=f"an answer: {question}", command=answer_ref(asked, asked.verbs[0]))
    match job.state:
        case JobState.QUEUED:
            return Awaited(text=queued.get(job.id) or job.reason or "its turn")
        case JobState.WAITING if decisions.unapplied(look.connection, job.id):
            return Awaited(text="its answer to be carried out")
        case JobState.WAITING:
            return Awaited(text=job.reason)
        case JobState.DELIVERING:
            return Awaited(text="its branch to be made" if look.is_local else "its pull request to be opened")
        case JobState.IN_REVIEW if look.is_local:
            return Awaited(text=f"you to merge {job.branch}")
        case JobState.IN_REVIEW:
            return Awaited(text=f"pull request {job.pull_number} to be merged")
    doing = session.last_action if session is not None else ""
    return Awaited(text=f"{_SESSION[job.state]}: {doing}" if doing else _SESSION[job.state])


def queue_reasons(look: Look) -> dict[int, str]:
    """Why each queued job has not been begun."""
    found = overview.queue(look.connection, look.settings, at=look.at)
    return {item.job.id: item.why for item in found.jobs}


def first_open(connection: sqlite3.Connection, job_id: int) -> Decision | None:
    """The oldest decision of a job that waits for a person."""
    return next(iter(decisions.waiting(connection, job_id)), None)
