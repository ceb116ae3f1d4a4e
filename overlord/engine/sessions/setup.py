"""The setup of an environment: one session makes it, everybody who needs the same waits for that one.

A setup runs base's own code with network, and gets no model, no agent's code and no more than its secrets. What cannot
be set up is a person's question with the telling part of the log, never a loop.
"""

import sqlite3
from dataclasses import replace

from minion.protocol import (
    SETUP_FINISHED,
    CheckReport,
    Scope,
    SessionKind,
    StepOutcome,
    StepResult,
)
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import SessionId
from overlord.domain.job import Job
from overlord.domain.session import MAX_LOSSES, EndKind, Session, SessionState, prepared
from overlord.domain.text.plain import code_block, defused_line
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import capacity, launcher
from overlord.engine.sessions import ending as endings
from overlord.engine.sessions.environment import EnvironmentFailed, Need
from overlord.errors import RunnerRefused
from overlord.failpoints import Failpoint
from overlord.store import environments, jobs, sessions
from overlord.store.environments import Environment, EnvironmentState

SHOWN_LINES = 40
"""As much of a failed command's output as a person is shown."""
SHOWN_CHARS = 300
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
    if await _prepare(parts, job, need):
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


async def _prepare(parts: Parts, job: Job, need: Need) -> bool:
    """Prepare the setup session, with the row of what it makes; False when another job was first or there is no room now."""
    session = await _session(parts, job, need)

    def may(connection: sqlite3.Connection) -> bool:
        is_as_read = jobs.get(connection, job.id).state is job.state
        is_free = is_as_read and capacity.for_one_more(connection, parts, job)
        return is_free and not _is_being_made(connection, need.key)

    def note(connection: sqlite3.Connection) -> None:
        at = session.prepared_at
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
        data: dict[str, Json] = {
            "session": session.id,
            "environment": need.key,
            "what": list(need.recipe.what),
            "commands": list(need.recipe.plan.commands),
        }
        reason = "its environment is set up"
        jobs.note(connection, job.id, EventName.SETUP_STARTED, at=at, data=data, reason=reason)

    return await launcher.prepare(parts, job, session, Failpoint.SETUP_PREPARED, may=may, note=note)


async def _session(parts: Parts, job: Job, need: Need) -> Session:
    """A setup session's row, with what it is told."""
    ordinal = await parts.database.read(lambda c: sessions.count(c, job.id, SessionKind.SETUP)) + 1
    time_s = parts.settings.environments.time_s
    brief = replace(
        launcher.described(
            job,
            SessionKind.SETUP,
            ordinal,
            role="setup",
            base=need.base,
            head=need.head,
            scope=Scope.unrestricted(),
            limits=capacity.limits_of(parts, job.space, time_s=time_s),
        ),
        setup=replace(need.recipe.plan, taken=need.taken),
    )
    return prepared(brief, job.id, at=parts.clock.now(), layer=need.key, time_limit_s=time_s + REPORT_S)


async def advance(parts: Parts, job: Job, session: Session) -> Progress:
    """Start a job's setup session, or take in what it made. Raises EnvironmentFailed once that is written down."""
    if session.state is SessionState.PREPARED:
        return await _start(parts, job, session)
    over = await endings.over(parts, session)
    if over is None:
        return Progress.IDLE
    trouble, is_lost = _setup_error(parts, over), over.session.report is None
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
    try:
        return Progress.of(await launcher.start(parts, job, session, Failpoint.SETUP_STARTED))
    except RunnerRefused as error:
        trouble = str(error)
        refused = endings.Over(session=session, ending=endings.never_started(trouble))
        await _give_up(parts, job, refused, trouble)
        raise EnvironmentFailed(trouble) from None


def _setup_error(parts: Parts, over: endings.Over) -> str | None:
    """What went wrong in a setup, in words for a person; None when nothing did."""
    report, starved = over.session.report, ""
    if over.ending.kind is EndKind.OUT_OF_MEMORY:
        starved = f"its {parts.settings.environments.memory_mb} MB of memory were used up"
    if not isinstance(report, CheckReport):
        text = starved or f"{over.ending.kind.replace('_', ' ')} {over.ending.detail}".strip()
        if over.session.stop_reason is not None:
            text = (
                f"stopped after {over.session.time_limit_s} s: {over.session.stop_reason.replace('_', ' ')}"
            )
        return f"The setup ended without a report ({text})."
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
    redactor = parts.current.redactor
    command = defused_line(redactor.redact(failed.command[-1] if failed.command else failed.name))
    command = command.replace("`", "'")[:SHOWN_CHARS]
    how = (
        f"exit code {failed.exit_code}"
        if failed.outcome is StepOutcome.RAN
        else failed.outcome.replace("_", " ")
    )
    how = f"{how}; {starved}" if starved else how
    lines = redactor.redact(failed.output).splitlines()[-SHOWN_LINES:]
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
