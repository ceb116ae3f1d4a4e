"""A change of dependencies is a person's to allow before anything of it is installed or run."""

import sqlite3

from minion.protocol import Finding
from overlord.domain.checks.integrity import hunks_first
from overlord.domain.decision import Subject
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.question import ask
from overlord.domain.text.plain import code_block, defused_line
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import environment
from overlord.engine.sessions.environment import EnvironmentFailed
from overlord.engine.sessions.evaluation_input import evaluation_input_of
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs
from overlord.store.checks import evaluations
from overlord.store.checks.evaluations import EvaluationRow

SHOWN_CHARS = 16_000


async def approved(parts: Parts, job: Job, base: Sha) -> tuple[str, ...]:
    """The dependency files of the job's change that a person has allowed as they are."""
    try:
        need = await environment.allowed(parts, job, base)
    except EnvironmentFailed:
        return ()  # the check that needs it says so
    return need.taken if need is not None else ()


async def ask_first(parts: Parts, job: Job, row: EvaluationRow) -> Progress:
    """Let the job wait for a person when its change asks for other dependencies. Raises EnvironmentFailed."""
    asked = await environment.unapproved(parts, job, job.base)
    if asked is None:
        return Progress.IDLE
    evaluation_input = await evaluation_input_of(parts, job, row.head_sha)
    named = [Finding(check="environment", rule="dependencies", message="", file=path) for path in asked.taken]
    diff = hunks_first(evaluation_input.changes, evaluation_input.diff, named, limit_chars=SHOWN_CHARS)
    shown = parts.current.redactor.redact(diff)
    files = ", ".join(defused_line(path) for path in asked.taken)
    body = (
        f"It changes {files}. Installing runs code of others, with network, in a container of its own and without"
        f" the Minion's other changes.\n\n{code_block(shown, limit=SHOWN_CHARS + 4_000)}"
    )

    def wait(connection: sqlite3.Connection) -> None:
        at = parts.clock.now()
        evaluations.close(connection, row)
        data: dict[str, Json] = {"head": row.head_sha, "files": list(asked.taken), "digest": asked.digest}
        jobs.move(connection, job.id, EventName.GATE_REACHED, at=at, data=data, reason=f"it changes {files}")
        decision = ask(job, Subject.DEPENDENCIES, body, at=at, options=(asked.digest,), patterns=asked.taken)
        decisions.raise_decision(connection, decision)

    await parts.database.write(Failpoint.DEPENDENCIES_ASKED, wait)
    return Progress.MOVED
