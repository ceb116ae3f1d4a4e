"""How every session comes about: it is described, its row is prepared, and once its session API is open it is started.

Work, check and setup sessions take this one path, and the books of a model's review its first half: they run nowhere. What differs is
what each kind's own step says: what else the session is told, what has to be so, what is written with it. Each part may be
repeated: what was made before is found.
"""

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from minion.protocol import Brief, Limits, Scope, SessionKind
from overlord.domain.identifiers import SessionId, Sha
from overlord.domain.job import Job
from overlord.domain.launch import AgentProgram, Launch
from overlord.domain.session import Session, session_id
from overlord.domain.text.plain import defused_line
from overlord.engine.runtime.parts import Parts
from overlord.engine.sessions import agent_choice
from overlord.engine.sessions.environment import EnvironmentFailed
from overlord.errors import Unobtainable
from overlord.failpoints import Failpoint
from overlord.store import environments, sessions
from overlord.store.spaces import spaces


def described(
    job: Job,
    kind: SessionKind,
    ordinal: int,
    *,
    role: str,
    base: Sha,
    head: Sha,
    scope: Scope,
    limits: Limits,
) -> Brief:
    """What a session of any kind is told: `replace` it with what its kind is told besides."""
    return Brief(
        session_id=session_id(job.id, kind, ordinal),
        kind=kind,
        role=role,
        repository=job.space,
        base_branch=job.base_branch,
        base_sha=base,
        branch=job.branch,
        head_sha=head,
        issue=job.issue,
        scope=scope,
        limits=limits,
    )


async def prepare(
    parts: Parts,
    job: Job,
    session: Session,
    point: Failpoint,
    *,
    may: Callable[[sqlite3.Connection], bool] = lambda _: True,
    note: Callable[[sqlite3.Connection], None] = lambda _: None,
    agent_by: str = "",
) -> bool:
    """Write a session's row down, with what its kind notes and who chose its agent, if it `may` be prepared now; whether it was. All
    in one transaction."""

    def write(connection: sqlite3.Connection) -> bool:
        if not may(connection):
            return False
        sessions.prepare(connection, session, agent_by=agent_by)
        environments.mark(connection, session.layer, used_at=session.prepared_at)
        if session.kind in {SessionKind.WORK, SessionKind.SETUP}:
            spaces.note_begun(connection, job.space, at=session.prepared_at)
        note(connection)
        return True

    return await parts.database.write(point, write)


async def start(
    parts: Parts,
    job: Job,
    session: Session,
    point: Failpoint,
    *,
    note: Callable[[sqlite3.Connection], None] = lambda _: None,
) -> bool:
    """Start a prepared session once its session API is open, and write that down with what its kind notes; whether it runs now.

    Raises RunnerRefused, and EnvironmentFailed when what its base names beside itself cannot be had.
    """
    if session.door_opened_at is None:
        return False
    await launch(parts, job, session)
    at = parts.clock.now()

    def write(connection: sqlite3.Connection) -> None:
        sessions.start(connection, session, at=at)
        note(connection)

    await parts.database.write(point, write)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Equipment:
    """What a session's kind gives its program."""

    references: Mapping[str, Sha]
    """The branches of its repository."""
    writable: str | None = None
    """The one it may push."""
    environment: Mapping[str, str]
    memory_mb: int
    ready: Path | None = None
    makes_layer: bool = False
    agent: AgentProgram | None = None


async def launch(parts: Parts, job: Job, session: Session) -> None:
    """Give a prepared session its repository and start its program. May be repeated. Raises as `start` does."""
    identifier = SessionId(session.id)
    own = await (_for_setup if session.kind is SessionKind.SETUP else _for_work)(parts, job, session)
    await parts.git.prepare_session(job.space, identifier, own.references, own.writable)
    await parts.runner.start(
        Launch(
            session=identifier,
            job=str(job.id),
            environment={"MINION_ID": session.id, **own.environment},
            session_api=parts.home.session_api(session.id),
            access=parts.access.session(session.id),
            copy_access=None if own.ready is None else parts.access.copy(job.space, own.ready.name),
            memory_mb=own.memory_mb,
            cpus=parts.settings.space(job.space).sessions.cpus,
            space=job.space,
            layer=session.layer,
            makes_layer=own.makes_layer,
            ready=own.ready,
            agent=own.agent,
        )
    )


async def _for_work(parts: Parts, job: Job, session: Session) -> _Equipment:
    """Of a session that works on the job or checks it."""
    try:
        ready = await parts.git.ready_copy(job.space, job.base, partial(parts.forge.remote, job.space))
    except Unobtainable as error:
        raise EnvironmentFailed(defused_line(str(error))) from None
    return _Equipment(
        references={job.base_branch: job.base, session.branch: job.head_sha or job.base},
        writable=session.branch if session.kind is SessionKind.WORK else None,
        environment={"MINION_SCOPE": session.scope},
        memory_mb=parts.settings.space(job.space).sessions.memory_mb,
        ready=ready,
        agent=agent_choice.program(parts.settings, session) if session.kind is SessionKind.WORK else None,
    )


async def _for_setup(parts: Parts, job: Job, session: Session) -> _Equipment:
    """Of a session that makes an environment, on ground that is laid once."""
    made = await parts.database.read(lambda c: environments.get(c, session.layer))
    if made is not None and await parts.runner.find(SessionId(session.id)) is None:
        await parts.runner.prepare_layer(made.id, image=made.image, packages=made.packages, space=job.space)
    settings = parts.settings.environments
    return _Equipment(
        # The job's own commits come along only when a person allowed files of them to be taken.
        references={job.base_branch: job.base, session.branch: Sha(json.loads(session.brief)["head_sha"])},
        environment={"MINION_VARIABLES": json.dumps(settings.plain())},
        memory_mb=settings.memory_mb,
        makes_layer=True,
    )
