"""What a session cannot decide: written down, answered at once from what is known, else put to whoever can decide it.

The session does not wait. What it says is a model's words: read within limits, without secrets, and quoted where people see it.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from minion.protocol import EscalationKept, PortfolioTool, encode
from overlord.domain.job import Job
from overlord.domain.portfolio.escalation import TIERS, Escalation, EscalationState, Tier
from overlord.domain.portfolio.escalation_call import (
    DECIDE_IT,
    MOST_OF_JOB,
    MOST_OF_SESSION,
    Asked,
    Blocks,
    read_escalation,
)
from overlord.domain.session import Session
from overlord.errors import NotFound, Refused
from overlord.failpoints import Failpoint
from overlord.session_api import wire
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.portfolio.caller import caller, check_at_work, received
from overlord.store.portfolio import escalations, initiatives, known, tasks


async def escalate(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /session/escalations`. The answer has its number, and the resolution where a rule or a note has one."""
    who = await caller(parts, session, PortfolioTool.ESCALATE)
    said = await received(request, parts, wire.NEW_ESCALATION)
    try:
        asked = read_escalation(said)
    except Refused as error:
        raise HTTPException(400, str(error)) from None
    if TIERS[asked.kind] is Tier.SESSION:
        decided = EscalationKept(ref="", state=EscalationState.RESOLVED, resolution=DECIDE_IT)
        return Response(encode(decided), media_type="application/json")
    kept = await parts.database.write(
        Failpoint.ESCALATION_DRAFTED, lambda c: _keep(c, parts, session, who.job, asked)
    )
    parts.wakeup.notify()
    told = EscalationKept(ref=kept.ref, state=kept.state, resolution=kept.resolution, cites=kept.cites)
    return Response(encode(told), media_type="application/json")


def _keep(
    connection: sqlite3.Connection, parts: SessionApiParts, session: Session, job: Job, asked: Asked
) -> Escalation:
    """The row, once however often the sessions of a job send it; resolved where what is known answers it."""
    check_at_work(connection, session)
    of_job = escalations.of_job(connection, job.id)
    written = [item for item in of_job if item.session_id == session.id]
    lasting = [item for item in of_job if item in written or item.state is not EscalationState.WITHDRAWN]
    same = next((item for item in lasting if item.question == asked.question), None)
    if same is not None:
        return same
    _check_room(of_job, written)
    at = parts.clock.now()
    blocked = _blocked(connection, job, asked.blocks)
    made = escalations.draft(
        connection,
        Escalation(
            id=0,
            type=asked.type,
            kind=asked.kind,
            space=job.space,
            question=asked.question,
            context=asked.context,
            suggested=asked.suggested,
            escalated_by=f"session:{session.id}",
            path=(session.id,),
            priority=asked.priority,
            state=EscalationState.DRAFT,
            created_at=at,
            initiative_id=blocked.initiative_id,
            task_id=blocked.task_id,
            job_id=job.id,
            session_id=session.id,
            blocks_initiative=blocked.is_whole,
        ),
    )
    found = known.answer_of(connection, made, at=at)
    if found is None:
        return made
    known.note_used(connection, found, at=at)
    resolved = escalations.resolve(connection, made.id, found.answer, by="overlord", cites=found.cites, at=at)
    escalations.mark_delivered(connection, made.id)
    return resolved


def _check_room(of_job: Sequence[Escalation], of_session: Sequence[Escalation]) -> None:
    """Raises HTTPException 429 for a job or a session that has written enough."""
    for written, most, who in (
        (of_job, MOST_OF_JOB, "the sessions of this job have"),
        (of_session, MOST_OF_SESSION, "this session has"),
    ):
        if len(written) >= most:
            raise HTTPException(
                429, f"{who} written {most} escalations, which is the most: go on, or end blocked"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blocked:
    """What waits for an answer."""

    initiative_id: int | None
    task_id: int | None = None
    is_whole: bool = False


def _blocked(connection: sqlite3.Connection, job: Job, said: str) -> _Blocked:
    """Raises HTTPException 400 for what is none of the session's own initiative."""
    own = tasks.of_job(connection, job.id)
    lead = initiatives.of_job(connection, job.id)
    number = own.initiative_id if own is not None else lead.id if lead is not None else None
    if said == Blocks.NOTHING or (said == Blocks.TASK and number is None):
        return _Blocked(initiative_id=number)
    if number is None:
        raise HTTPException(400, "this session is of no initiative: `blocks` must be `nothing` or `task`")
    if said == Blocks.INITIATIVE or (said == Blocks.TASK and own is None):
        return _Blocked(initiative_id=number, is_whole=True)
    if said == Blocks.TASK and own is not None:
        return _Blocked(initiative_id=number, task_id=own.id)
    try:
        named = tasks.named(connection, said, initiative_id=number)
    except NotFound as error:
        raise HTTPException(
            400, f"`blocks` must be nothing, task, initiative or a task of yours as i{number}.1: {error}"
        ) from None
    if named.initiative_id != number:
        raise HTTPException(400, f"{named.ref} is of another initiative: `blocks` names a task of i{number}")
    return _Blocked(initiative_id=number, task_id=named.id)
