"""A session wants to stop: the six checks of code over what is on record, then the operator's programs. Nothing is written: what keeps
a session is seen anew each time it asks, and how often it is kept its own program counts."""

import sqlite3

from starlette.requests import Request
from starlette.responses import Response

from minion.protocol import Outcome, PortfolioTool, StopRequest, StopVerdict, encode
from overlord.domain.hooks import Hook, HookCall
from overlord.domain.portfolio.checklist import IdleFacts, idle_reasons
from overlord.domain.portfolio.escalation import EscalationState
from overlord.domain.session import Session
from overlord.session_api import wire
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.portfolio.caller import Caller, member, received
from overlord.session_api.portfolio.operator import refusals
from overlord.store.knowledge import learning
from overlord.store.portfolio import escalations, facts, tasks

STOP = wire.strict(StopRequest)
MOST_STOP_BYTES = 128 * 1024


async def ask(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /session/idle`: whether the session may end with this report."""
    called = await member(parts, session)
    said = await received(request, parts, STOP, limit=MOST_STOP_BYTES)
    known = await parts.database.read(lambda c: _facts(c, session, called, said))
    reasons = idle_reasons(known)
    if not reasons:
        reasons = await refusals(parts, session, _call(session, called, said, known))
    verdict = StopVerdict(allowed=not reasons, reasons=tuple(map(parts.redactor.redact, reasons)))
    return Response(encode(verdict), media_type="application/json")


def _facts(connection: sqlite3.Connection, session: Session, called: Caller, said: StopRequest) -> IdleFacts:
    job, tools = called.job, called.portfolio.tools
    raised = escalations.of_job(connection, job.id)
    return IdleFacts(
        is_blocked=said.outcome != Outcome.COMPLETE,
        summary=said.summary,
        follow_ups=said.follow_ups,
        learnings=said.learnings,
        task=tasks.of_job(connection, job.id),
        is_lead=PortfolioTool.PROPOSE_PLAN in tools,
        plan_is_said=facts.has_plan_draft(connection, job.id),
        tasks_added=facts.tasks_added(connection, job.id),
        notes_kept=learning.count_of_session(connection, session.id),
        says_nothing_learned=bool(learning.why_nothing(connection, job.id)),
        escalations=sum(item.state is not EscalationState.WITHDRAWN for item in raised),
        may_add_tasks=PortfolioTool.ADD_TASK in tools,
        may_note=PortfolioTool.NOTE_KNOWLEDGE in tools,
        may_escalate=PortfolioTool.ESCALATE in tools,
        may_complete=PortfolioTool.RECORD_COMPLETION in tools,
    )


def _call(session: Session, called: Caller, said: StopRequest, known: IdleFacts) -> HookCall:
    task = known.task
    return HookCall(
        hook=Hook.IDLE,
        space=called.job.space,
        job=session.job_id,
        session=session.id,
        initiative=f"i{task.initiative_id}" if task is not None else "",
        task=task.ref if task is not None else "",
        data={
            "outcome": said.outcome,
            "summary": said.summary,
            "learnings": list(said.learnings),
            "follow_ups": list(said.follow_ups),
        },
    )
