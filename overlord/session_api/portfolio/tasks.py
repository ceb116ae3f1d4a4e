"""Work that a session came upon and that is not its own: it becomes a task of the same initiative, at once or once a person says so."""

import sqlite3
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from minion.protocol import NewTask, PlannedTask, PortfolioTool, TaskKept, encode
from overlord.domain.portfolio.discovered import question
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.plan_task import Bounds, folded, of_new, outside_of, problems_of
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import Task, TaskState
from overlord.domain.session import Session
from overlord.errors import NotFound, Refused
from overlord.failpoints import Failpoint
from overlord.session_api import wire
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.portfolio.caller import caller, check_at_work
from overlord.session_api.portfolio.plan import without_secrets
from overlord.store import decisions
from overlord.store.portfolio import initiatives, tasks

MAX_TASK_BYTES = 200_000


async def add_task(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /session/tasks`: a task. Refused with every problem, in sentences that a model can act on."""
    sent = await wire.read(request, wire.NEW_TASK, limit=MAX_TASK_BYTES)
    await caller(parts, session, PortfolioTool.ADD_TASK)
    new = without_secrets(sent, wire.NEW_TASK, parts.redactor)
    if new != sent:
        raise HTTPException(400, "the task holds something that is secret here: leave that out")
    planned = of_new(new)
    problems = await parts.beside(
        session.id, lambda: [f"The task {what}." for what in problems_of(planned, Bounds())]
    )
    if problems:
        raise HTTPException(400, parts.redactor.redact(" ".join(problems)))
    paths = await parts.database.read(lambda c: _initiative(c, session).paths)
    is_within = await parts.beside(session.id, lambda: _is_within(planned, paths))
    found = _Found(new=new, planned=planned, is_within=is_within)
    try:
        kept = await parts.database.write(
            Failpoint.TASK_DISCOVERED, lambda c: _keep(c, parts, session, found)
        )
    except (Refused, NotFound) as error:
        raise HTTPException(400, str(error)) from None
    parts.wakeup.notify()
    return Response(encode(TaskKept(ref=kept.ref, state=kept.state)), media_type="application/json")


def _initiative(connection: sqlite3.Connection, session: Session) -> Initiative:
    """The one that the session works for. Raises HTTPException 403."""
    own = tasks.of_job(connection, session.job_id)
    found = initiatives.get(connection, own.initiative_id) if own else None
    if found is None:
        raise HTTPException(403, "this session works on no task of an initiative")
    return found


def _is_within(planned: PlannedTask, paths: tuple[str, ...]) -> bool:
    """Whether it writes what its initiative is about, as far as that was said."""
    return not paths or (bool(planned.paths) and not outside_of(planned.paths, paths))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A task that was read and found sound."""

    new: NewTask
    planned: PlannedTask
    is_within: bool


def _keep(connection: sqlite3.Connection, parts: SessionApiParts, session: Session, found: _Found) -> Task:
    """The task, new or as it was kept before."""
    planned = found.planned
    check_at_work(connection, session)
    initiative, by = _initiative(connection, session), f"session:{session.id}"
    present = tasks.of_initiative(connection, initiative.id)
    own = [item for item in present if item.created_by == by]
    if known := _same(present, planned):
        if known in own:
            return known  # it asks again because the answer was lost
        raise HTTPException(409, f"task {known.ref} has that subject already, and is {known.state}")
    settings = parts.settings.space(initiative.space)
    _check_room(initiative, present, own, settings.portfolio.session_tasks, settings.portfolio.most_tasks)
    is_pending = settings.autonomy != "cautious" and found.is_within
    at = parts.clock.now()
    task = Task(
        id=0,
        initiative_id=initiative.id,
        number=0,
        space=initiative.space,
        subject=planned.subject,
        description=planned.description,
        acceptance_criteria=planned.acceptance_criteria,
        state=TaskState.PENDING if is_pending else TaskState.PROPOSED,
        priority=Priority(planned.priority),
        created_by=by,
        created_at=at,
        updated_at=at,
        labels=planned.labels,
        paths=planned.paths,
    )
    made = tasks.add(connection, task, job_id=session.job_id)
    blockers = [tasks.named(connection, name, initiative_id=initiative.id) for name in found.new.blocked_by]
    if any(item.initiative_id != initiative.id for item in blockers):
        raise HTTPException(400, f"blocked_by names tasks of {initiative.ref} alone")
    tasks.link(connection, made, blockers, at=at)
    if not is_pending:
        decisions.raise_decision(connection, question(initiative, made, is_within=found.is_within, at=at))
    return made


def _same(present: list[Task], planned: PlannedTask) -> Task | None:
    subject = folded(planned.subject)
    live = (item for item in present if item.state is not TaskState.CANCELLED)
    return next((item for item in live if folded(item.subject) == subject), None)


def _check_room(
    initiative: Initiative, present: list[Task], own: list[Task], most_of_session: int, most: int
) -> None:
    if initiative.has_ended:
        raise HTTPException(409, f"{initiative.ref} is {initiative.state}: no task is added to it any more")
    if len(own) >= most_of_session:
        raise HTTPException(
            429,
            f"this session has added {len(own)} tasks, and may add {most_of_session}: say in your report what else there is",
        )
    if sum(item.state is not TaskState.CANCELLED for item in present) >= most:
        raise HTTPException(
            409,
            f"{initiative.ref} has {most} tasks, which is the most: say in your report what else there is",
        )
