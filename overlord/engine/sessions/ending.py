"""How a session is brought to its end: what the runner says, what is overdue, and the evidence it leaves."""

import asyncio
import sqlite3
from dataclasses import dataclass, replace

from minion.protocol import encode
from overlord.domain.decision import DecisionState
from overlord.domain.identifiers import SessionId
from overlord.domain.retention_item import TRANSCRIPT
from overlord.domain.search import SpokenText
from overlord.domain.session import Ending, EndKind, Session, StopReason
from overlord.domain.text.redacting import redacting_all, redacting_json
from overlord.domain.transcript_text import spoken
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.settings.work import Sessions
from overlord.store import decisions, jobs, sessions
from overlord.store.contracts import job_contracts
from overlord.store.conversation import steering
from overlord.store.evidence import EvidenceFile, record

LOG_BYTES = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """A session that has ended, as last read, with the evidence it left."""

    session: Session
    ending: Ending
    exhibits: tuple[EvidenceFile, ...] = ()
    spoken: tuple[SpokenText, ...] = ()
    """What is found in its transcript from now on."""
    redact: tuple[str, ...] = ()
    """The patterns of what its job's contract takes out of evidence."""


def never_started(why: str) -> Ending:
    """The end of a session that the runner would not start."""
    return Ending(kind=EndKind.LOST, detail=why)


async def over(parts: Parts, session: Session) -> Over | None:
    """A started session's end with its evidence stored; None while it still runs."""
    ending = await look(parts, session)
    return None if ending is None else await _gather(parts, session, ending)


async def end_now(parts: Parts, session: Session) -> Over:
    """The end of a session its job does not need any more, stopping it if it still runs."""
    ending = await look(parts, session)
    if ending is None:
        await stop(parts, session, StopReason.JOB_CLOSED)
        ending = Ending(kind=EndKind.STOPPED, detail="its job was closed")
    return await _gather(parts, session, ending)


async def _gather(parts: Parts, session: Session, ending: Ending) -> Over:
    fresh, redact = await parts.database.read(  # its report may have come since
        lambda c: (sessions.get(c, session.id), job_contracts.redactions(c, session.job_id))
    )
    log = await parts.runner.logs(SessionId(fresh.id), limit_bytes=LOG_BYTES)
    ended = Over(session=fresh, ending=ending, redact=redact)
    return await asyncio.to_thread(_with_evidence, parts, ended, log)  # it waits for the disk


async def look(parts: Parts, session: Session) -> Ending | None:
    """How a started session ended; None while it still runs. One that is overdue is stopped now."""
    identifier = SessionId(session.id)
    running = await parts.runner.find(identifier)
    if running is None:
        return Ending(kind=EndKind.LOST, detail="the runner knows nothing of it")
    if running.ending is not None:
        return running.ending
    limits = await _limits(parts, session)
    reason = _reason_to_stop(parts, session, limits)
    if reason is None:
        return None
    await stop(parts, session, reason)
    stopped = await parts.runner.find(identifier)
    return stopped.ending if stopped is not None else Ending(kind=EndKind.STOPPED)


async def _limits(parts: Parts, session: Session) -> Sessions:
    """What is said of sessions in the space of this one."""
    job = await parts.database.read(lambda c: jobs.get(c, session.job_id))
    return parts.settings.space(job.space).sessions


def _reason_to_stop(parts: Parts, session: Session, limits: Sessions) -> StopReason | None:
    return parts.session_watchdog.reason_to_stop(
        session, parts.clock.monotonic(), silent_s=limits.silent_s, grace_s=limits.grace_s
    )


async def stop(parts: Parts, session: Session, reason: StopReason) -> None:
    """Write down why, then stop it: TERM, and KILL after the grace."""
    await parts.database.write(Failpoint.STOP_ORDERED, lambda c: sessions.stop_because(c, session.id, reason))
    grace_s = (await _limits(parts, session)).grace_s
    await parts.runner.stop(SessionId(session.id), grace_s=grace_s)


def _with_evidence(parts: Parts, over: Over, log: str) -> Over:
    """Store what a session printed, said and reported. The rows are written with the fact they belong to."""
    session, redactor = over.session, parts.current.redactor
    [log] = redacting_all((redactor.redact(log),), over.redact)
    contents = {"log": log.encode(), "brief": session.brief.encode()}
    transcript = parts.home.transcript(session.id)
    if transcript.exists():
        said = transcript.read_bytes()  # redacted when it was written, but for what the contract names
        if over.redact:
            said = redacting_json(said.decode(errors="replace"), over.redact).encode()
        contents[TRANSCRIPT] = said
    if session.report is not None:
        contents["report"] = encode(session.report)
    exhibits = tuple(
        EvidenceFile(
            job_id=session.job_id,
            session_id=session.id,
            kind=kind,
            sha256=parts.evidence.put(content),
            size=len(content),
            at=parts.clock.now(),
        )
        for kind, content in contents.items()
    )
    return replace(over, exhibits=exhibits, spoken=spoken(contents.get(TRANSCRIPT, b"")))


def with_evidence(parts: Parts, over: Over, kind: str, text: str) -> Over:
    """The same with something more that is kept of the session."""
    [text] = redacting_all((parts.current.redactor.redact(text),), over.redact)
    content = text.encode()
    exhibit = EvidenceFile(
        job_id=over.session.job_id,
        session_id=over.session.id,
        kind=kind,
        sha256=parts.evidence.put(content),
        size=len(content),
        at=parts.clock.now(),
    )
    return replace(over, exhibits=(*over.exhibits, exhibit))


def close(connection: sqlite3.Connection, parts: Parts, over: Over) -> None:
    """Inside a transaction: the session has ended, and this is its evidence."""
    ending = over.ending
    described = f"{ending.kind}: {ending.detail}" if ending.detail else str(ending.kind)
    at = parts.clock.now()
    sessions.end(connection, over.session, at=at, ending=described)
    superseded = DecisionState.SUPERSEDED
    steering.defer(connection, over.session, at=at)
    decisions.close_waiting(connection, over.session.job_id, superseded, at=at, session_id=over.session.id)
    for evidence_file in over.exhibits:
        record(connection, evidence_file, over.spoken if evidence_file.kind == TRANSCRIPT else ())


async def clear(parts: Parts, session: Session) -> Progress:
    """Free what an ended session held: its container, its repository. May be repeated; nothing waits for it."""
    parts.session_watchdog.forget(session.id)
    await parts.runner.remove(SessionId(session.id))
    await parts.git.remove_session(SessionId(session.id))
    await parts.database.write(
        Failpoint.SESSION_CLEARED, lambda c: sessions.mark(c, session.id, cleared=True)
    )
    return Progress.MOVED
