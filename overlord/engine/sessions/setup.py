"""The setup of an environment: one session makes it, everybody who needs the same waits for that one.

A setup runs base's own code with network, and gets no model, no agent's code and no more than its secrets. What cannot
be set up is a person's question with the telling part of the log, never a loop.
"""

import json
import sqlite3
from dataclasses import replace

from minion.protocol import (
    SETUP_FINISHED,
    Brief,
    CheckReport,
    Scope,
    SessionKind,
    StepOutcome,
    StepResult,
)
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.domain.session import MAX_LOSSES, EndKind, Session, SessionState, prepared, session_id
from overlord.domain.text.plain import code_block, defused_line
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import capacity
from overlord.engine.sessions import ending as endings
from overlord.engine.sessions.environment import EnvironmentFailed, Need
from overlord.errors import RunnerRefused
from overlord.failpoints import Failpoint
from overlord.ports import Launch, SessionId, Sha
from overlord.store import environments, jobs, sessions
from overlord.store.environments import Environment, EnvironmentState
from overlord.store.spaces import spaces

TOLD_LINES = 40
"""As much of a failed command's output as a person is shown."""
TOLD_CHARS = 300
"""As much of the command itself."""
REPORT_S = 60
"""How long after its own time a setup may take to say what it did."""


async def ensure(parts: Parts, job: Job, need: Need | None) -> str | None:
    """The key of what a session may run in now ("" for the bare ground), or None while it is being made.

    Prepares the setup session when nobody makes it yet and there is room for one. Raises EnvironmentFailed.
    """
    if need is None:
        return ""
    known = await parts.database.read(lambda c: environments.get(c, need.key))
    if known is not None and known.state is EnvironmentState.FAILED:
        raise EnvironmentFailed(known.trouble)
    if known is not None and known.state is EnvironmentState.READY and await parts.runner.has_layer(need.key):
        return need.key
    if await is_being_made(parts, need):
        return None
    if await parts.database.write(Failpoint.SETUP_PREPARED, lambda c: _prepare(c, parts, job, need)):
        parts.notify()
    return None


async def is_being_made(parts: Parts, need: Need) -> bool:
    """Whether a setup session is at work on it."""
    return await parts.database.read(lambda c: _is_being_made(c, need.key))


def _is_being_made(connection: sqlite3.Connection, key: str) -> bool:
    known = environments.get(connection, key)
    if known is None or known.state is not EnvironmentState.MAKING:
        return False
    return sessions.get(connection, known.session_id).state is not SessionState.ENDED


def _prepare(connection: sqlite3.Connection, parts: Parts, job: Job, need: Need) -> bool:
    """The row of the setup session and of what it makes; False when another job was first or there is no room now."""
    if _is_being_made(connection, need.key):
        return False
    if jobs.get(connection, job.id).state is not job.state or not capacity.for_one_more(
        connection, parts, job
    ):
        return False
    at = parts.clock.now()
    ordinal = sessions.count(connection, job.id, SessionKind.SETUP) + 1
    session = _session(parts, job, need, session_id(job.id, SessionKind.SETUP, ordinal))
    sessions.prepare(connection, session)
    spaces.note_begun(connection, job.space, at=at)
    made = Environment(
        id=need.key,
        space=job.space,
        state=EnvironmentState.MAKING,
        image=need.recipe.image,
        packages=need.recipe.packages,
        session_id=session.id,
        at=at,
        used_at=at,
    )
    environments.put(connection, made)
    told: dict[str, Json] = {
        "session": session.id,
        "environment": need.key,
        "what": list(need.recipe.what),
        "commands": list(need.recipe.plan.commands),
    }
    jobs.note(
        connection, job.id, EventName.SETUP_STARTED, at=at, data=told, reason="its environment is set up"
    )
    return True


def _session(parts: Parts, job: Job, need: Need, identifier: str) -> Session:
    """A setup session's row, with what it is told."""
    time_s = parts.settings.environments.time_s
    brief = Brief(
        session_id=identifier,
        kind=SessionKind.SETUP,
        role="setup",
        repository=job.space,
        base_branch=job.base_branch,
        base_sha=need.base,
        branch=job.branch,
        head_sha=need.head,
        issue=job.issue,
        scope=Scope.unrestricted(),
        limits=capacity.limits_of(parts, job.space, time_s=time_s),
        setup=replace(need.recipe.plan, taken=need.taken),
    )
    return prepared(brief, job.id, at=parts.clock.now(), layer=need.key, time_limit_s=time_s + REPORT_S)


async def advance(parts: Parts, job: Job, session: Session) -> Progress:
    """Start a job's setup session, or take in what it made. Raises EnvironmentFailed once that is written down."""
    if session.state is SessionState.PREPARED:
        return Progress.of(session.door_opened_at is not None and await _start(parts, job, session))
    over = await endings.over(parts, session)
    if over is None:
        return Progress.IDLE
    trouble, is_lost = _trouble(parts, over), over.session.report is None
    if trouble is None:
        try:
            size = await parts.runner.keep_layer(SessionId(session.id), session.layer)
        except RunnerRefused as error:
            trouble = f"What the setup made cannot be kept: {error}"
            is_lost = over.ending.kind is EndKind.LOST
        else:
            await parts.database.write(
                Failpoint.SETUP_COMPLETED, lambda c: _finish(c, parts, job, over, size)
            )
            return Progress.MOVED
    if is_lost and await _is_worth_another(parts, over):
        await parts.database.write(Failpoint.SETUP_LOST, lambda c: _lose(c, parts, job, over))
        return Progress.MOVED
    await _give_up(parts, job, over, trouble)
    raise EnvironmentFailed(trouble)


async def _give_up(parts: Parts, job: Job, over: endings.Over, trouble: str) -> None:
    """Write down that there will be no environment, and free what was made of it; prune takes what stays behind."""
    await parts.database.write(Failpoint.SETUP_FAILED, lambda c: _fail(c, parts, job, over, trouble))
    await endings.clear(parts, over.session)
    await parts.runner.remove_layer(over.session.layer)


async def _start(parts: Parts, job: Job, session: Session) -> Progress:
    made = await parts.database.read(lambda c: environments.get(c, session.layer))
    identifier = SessionId(session.id)
    try:
        if made is not None and await parts.runner.find(identifier) is None:
            await parts.runner.prepare_layer(
                made.id, image=made.image, packages=made.packages, space=job.space
            )
        base = job.base
        # The job's own commits come along only when a person allowed files of them to be taken.
        references = {job.base_branch: base, session.branch: Sha(json.loads(session.brief)["head_sha"])}
        await parts.git.prepare_session(job.space, identifier, references, None)
        await parts.runner.start(
            Launch(
                session=identifier,
                job=str(job.id),
                environment={
                    "MINION_ID": session.id,
                    "MINION_VARIABLES": json.dumps(parts.settings.environments.plain()),
                },
                session_api=parts.home.session_api(session.id),
                memory_mb=parts.settings.environments.memory_mb,
                cpus=parts.settings.space(job.space).sessions.cpus,
                space=job.space,
                layer=session.layer,
                makes_layer=True,
            )
        )
    except RunnerRefused as error:
        trouble = str(error)
        refused = endings.Over(session=session, ending=endings.never_started(trouble))
        await _give_up(parts, job, refused, trouble)
        raise EnvironmentFailed(trouble) from None
    at = parts.clock.now()
    await parts.database.write(Failpoint.SETUP_STARTED, lambda c: sessions.start(c, session, at=at))
    return Progress.MOVED


def _trouble(parts: Parts, over: endings.Over) -> str | None:
    """What went wrong in a setup, in words for a person; None when nothing did."""
    report, starved = over.session.report, ""
    if over.ending.kind is EndKind.OUT_OF_MEMORY:
        starved = f"its {parts.settings.environments.memory_mb} MB of memory were used up"
    if not isinstance(report, CheckReport):
        told = starved or f"{over.ending.kind.replace('_', ' ')} {over.ending.detail}".strip()
        if over.session.stop_reason is not None:
            told = (
                f"stopped after {over.session.time_limit_s} s: {over.session.stop_reason.replace('_', ' ')}"
            )
        return f"The setup ended without a report ({told})."
    failed = next(
        (step for step in report.steps if step.outcome is not StepOutcome.RAN or step.exit_code != 0), None
    )
    if failed is not None:
        return _failure(parts, failed, starved)
    if starved:
        # Something of it was ended for that, whatever the commands made of it.
        return f"The setup cannot be trusted: {starved}."
    if report.steps and report.steps[-1].name == SETUP_FINISHED:
        return None
    return "The setup did not come to its end."


def _failure(parts: Parts, failed: StepResult, starved: str) -> str:
    """A failed command with the end of its output."""
    redactor = parts.held.redactor
    command = defused_line(redactor.redact(failed.command[-1] if failed.command else failed.name))
    command = command.replace("`", "'")[:TOLD_CHARS]
    how = (
        f"exit code {failed.exit_code}"
        if failed.outcome is StepOutcome.RAN
        else failed.outcome.replace("_", " ")
    )
    how = f"{how}; {starved}" if starved else how
    lines = redactor.redact(failed.output).splitlines()[-TOLD_LINES:]
    return f"`{command}` failed ({how}).\n\n{code_block(chr(10).join(lines))}"


async def _is_worth_another(parts: Parts, over: endings.Over) -> bool:
    """Whether a setup without a result was lost to infrastructure, and not too often."""
    by_itself = over.ending.kind in (EndKind.EXITED, EndKind.KILLED, EndKind.LOST)
    if over.session.stop_reason is not None or not by_itself:
        return False
    past = await parts.database.read(lambda c: sessions.of_job(c, over.session.job_id))
    tried = [
        session
        for session in past
        if session.layer == over.session.layer and session.kind is SessionKind.SETUP
    ]
    return len(tried) <= MAX_LOSSES


def _finish(connection: sqlite3.Connection, parts: Parts, job: Job, over: endings.Over, size: int) -> None:
    at = parts.clock.now()
    endings.close(connection, parts, over)
    environments.mark(connection, over.session.layer, state=EnvironmentState.READY, size=size, used_at=at)
    data: dict[str, Json] = {"session": over.session.id, "environment": over.session.layer, "size": size}
    jobs.note(connection, job.id, EventName.ENVIRONMENT_COMPLETED, at=at, data=data, reason="")


def _lose(connection: sqlite3.Connection, parts: Parts, job: Job, over: endings.Over) -> None:
    endings.close(connection, parts, over)
    environments.remove(connection, over.session.layer)
    data: dict[str, Json] = {"session": over.session.id, "ending": over.ending.kind}
    jobs.note(connection, job.id, EventName.SETUP_LOST, at=parts.clock.now(), data=data)


def _fail(connection: sqlite3.Connection, parts: Parts, job: Job, over: endings.Over, trouble: str) -> None:
    endings.close(connection, parts, over)
    environments.mark(connection, over.session.layer, state=EnvironmentState.FAILED, trouble=trouble)
    data: dict[str, Json] = {"session": over.session.id, "trouble": trouble.splitlines()[0]}
    jobs.note(connection, job.id, EventName.SETUP_FAILED, at=parts.clock.now(), data=data)
