"""A session says that its task is done: `record_completion`. Code checks first, then the operator's programs; what both let pass is
written down. Done is the task once its work is merged as well."""

import sqlite3
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from minion.protocol import Completion, CompletionVerdict, PortfolioTool, encode
from overlord.domain.hooks import Hook, HookCall
from overlord.domain.portfolio.checklist import completion_reasons
from overlord.domain.portfolio.task import AddressedCriterion, Task
from overlord.domain.session import Session
from overlord.domain.text.plain import visible
from overlord.failpoints import Failpoint
from overlord.session_api import wire
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.portfolio.caller import Caller, caller, check_at_work, received
from overlord.session_api.portfolio.operator import refusals
from overlord.store.portfolio import tasks

COMPLETION = wire.strict(Completion)
MOST_COMPLETION_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What is written down."""

    notes: str
    addressed: tuple[AddressedCriterion, ...]


async def record(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /session/completion`: notes, and what was done for each acceptance criterion."""
    called = await caller(parts, session, PortfolioTool.RECORD_COMPLETION)
    given = await received(request, parts, COMPLETION, limit=MOST_COMPLETION_BYTES)
    addressed = tuple(
        AddressedCriterion(number=item.number, evidence=visible(item.evidence)) for item in given.addressed
    )
    said = _Said(notes=visible(given.notes), addressed=addressed)
    task = await parts.database.read(lambda c: _task(c, session, called))
    reasons = completion_reasons(task, said.notes, said.addressed)
    if not reasons:
        reasons = await refusals(parts, session, _call(session, task, said))
    if not reasons:
        reasons = await parts.database.write(
            Failpoint.COMPLETION_RECORDED, lambda c: _keep(c, parts, session, called, said)
        )
        parts.wakeup.notify()
    verdict = CompletionVerdict(accepted=not reasons, reasons=tuple(map(parts.redactor.redact, reasons)))
    return Response(encode(verdict), media_type="application/json")


def _task(connection: sqlite3.Connection, session: Session, called: Caller) -> Task:
    """The task the session works on. Raises HTTPException 409 where there is none, or it has ended."""
    check_at_work(connection, session)
    task = tasks.of_job(connection, called.job.id)
    if task is None:
        raise HTTPException(409, "this session works on no task: there is nothing to complete")
    if task.has_ended:
        raise HTTPException(409, f"task {task.ref} is {task.state} already")
    return task


def _call(session: Session, task: Task, said: _Said) -> HookCall:
    return HookCall(
        hook=Hook.TASK_COMPLETED,
        space=task.space,
        job=session.job_id,
        session=session.id,
        initiative=f"i{task.initiative_id}",
        task=task.ref,
        data={
            "subject": task.subject,
            "acceptance_criteria": list(task.acceptance_criteria),
            "notes": said.notes,
            "addressed": [{"number": item.number, "evidence": item.evidence} for item in said.addressed],
        },
    )


def _keep(
    connection: sqlite3.Connection, parts: SessionApiParts, session: Session, called: Caller, said: _Said
) -> tuple[str, ...]:
    """Write it down, if the task is still the one that was asked about; why not, where its criteria were changed meanwhile."""
    task = _task(connection, session, called)
    if reasons := completion_reasons(task, said.notes, said.addressed):
        return reasons
    tasks.change(
        connection,
        task.id,
        at=parts.clock.now(),
        actor=f"session:{session.id}",
        reason="its session says what was done",
        completion_notes=said.notes,
        addressed=said.addressed,
    )
    return ()
