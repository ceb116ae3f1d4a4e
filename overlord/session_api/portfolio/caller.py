"""Who calls: the job and the brief of a session that was given a tool. What a session may use is said by its own brief."""

import sqlite3
from dataclasses import dataclass

from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.requests import Request

from minion.protocol import Brief, PortfolioBrief, PortfolioTool, encode
from overlord.domain.job import Job
from overlord.domain.session import Session, SessionState
from overlord.session_api import wire
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.wire import Record
from overlord.store import jobs, sessions
from overlord.store.rows import adapter


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A session that may use the tool it uses."""

    job: Job
    brief: Brief
    portfolio: PortfolioBrief


async def caller(parts: SessionApiParts, session: Session, tool: PortfolioTool) -> Caller:
    """Raises HTTPException 403 for a session whose brief does not have the tool."""
    called = await member(parts, session, f"this session does not have the tool {tool}")
    if tool not in called.portfolio.tools:
        raise HTTPException(403, f"this session does not have the tool {tool}")
    return called


async def member(
    parts: SessionApiParts, session: Session, refusal: str = "this session is not of the portfolio"
) -> Caller:
    """A session of the portfolio, whatever tools it has. Raises HTTPException 403, with these words, for another."""
    brief: Brief = adapter(Brief).validate_json(session.brief)
    if brief.portfolio is None:
        raise HTTPException(403, refusal)
    job = await parts.database.read(lambda c: jobs.get(c, session.job_id))
    return Caller(job=job, brief=brief, portfolio=brief.portfolio)


def check_at_work(connection: sqlite3.Connection, session: Session) -> None:
    """Raises HTTPException 409 once a session has handed in its work: what it says then would change what is judged."""
    row = sessions.get(connection, session.id)
    if row.report is not None or row.state is SessionState.ENDED:
        raise HTTPException(409, "this session has handed in its work: nothing is recorded any more")


async def received(
    request: Request, parts: SessionApiParts, kind: TypeAdapter[Record], *, limit: int = wire.MAX_EVENT_BYTES
) -> Record:
    """What a session says, without what is secret here. Raises HTTPException 413 or 400.

    It is written anew before secrets are taken out: whoever knows one could have spelt it in escapes.
    """
    said = await wire.read(request, kind, limit=limit)
    text = encode(said).decode()
    clean = parts.redactor.redact(text)
    return said if clean == text else wire.record(clean, kind)
