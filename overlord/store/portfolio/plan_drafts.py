"""Plans that leads propose, and what becomes of an initiative's tasks once one is approved: each in the transaction of its fact."""

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from overlord.domain.event import EventName
from overlord.domain.portfolio.files import layout
from overlord.domain.portfolio.graph import Graph, graph_of
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.plan import PlanFound, PlanGround
from overlord.domain.portfolio.plan_draft import (
    KeptTask,
    PlanDraft,
    PlanLine,
    content_digest,
    digest_of,
    lines,
    to_do,
)
from overlord.domain.portfolio.plan_task import folded
from overlord.domain.portfolio.task import Task, TaskState
from overlord.store.portfolio import files, initiatives, planned_tasks, tasks
from overlord.store.rows import select, to_column


def of_job(connection: sqlite3.Connection, job_id: int) -> PlanDraft | None:
    """The plan that a job has proposed; None before it did."""
    query = "SELECT * FROM plan_drafts WHERE job_id = ?"
    return next(iter(select(connection, PlanDraft, query, job_id)), None)


def approved(connection: sqlite3.Connection, initiative_id: int) -> PlanDraft | None:
    """The plan that was approved last."""
    query = """SELECT * FROM plan_drafts WHERE initiative_id = ? AND approved_at IS NOT NULL
               ORDER BY approved_at DESC, job_id DESC LIMIT 1"""
    return next(iter(select(connection, PlanDraft, query, initiative_id)), None)


def unwritten(connection: sqlite3.Connection) -> list[PlanDraft]:
    """Plans whose plan.md is still to be written: those that were approved, and an initiative's first one, so that people can edit it
    before they approve it."""
    query = """SELECT plan_drafts.* FROM plan_drafts JOIN initiatives ON initiatives.id = initiative_id
               WHERE NOT is_written AND problems = '[]' AND (approved_at IS NOT NULL OR (
                   plan_digest = '' AND initiatives.state = 'planning' AND initiatives.job_id = plan_drafts.job_id))
               ORDER BY at"""
    return select(connection, PlanDraft, query)


def text_of(connection: sqlite3.Connection, initiative: Initiative) -> str:
    """The plan as it is: the file as people left it, or what was approved last."""
    last = approved(connection, initiative.id)
    if last is not None and not last.is_written:
        return last.text  # the file is still the one before
    return file_text(connection, initiative) or (last.text if last is not None else "")


def file_text(connection: sqlite3.Connection, initiative: Initiative) -> str:
    """What plan.md said when it was last read."""
    known = files.get(connection, layout.plan(initiative.space, initiative.slug))
    return known.text if known is not None else ""


def edited_text(connection: sqlite3.Connection, draft: PlanDraft) -> str:
    """The plan of a draft, or what people have made of it in plan.md, which has an initiative's first plan before it is approved. An
    approved plan stays in its file until another one is."""
    initiative = initiatives.get(connection, draft.initiative_id)
    known = files.get(connection, layout.plan(initiative.space, initiative.slug))
    if initiative.plan_digest or not draft.is_written or known is None or known.trouble:
        return draft.text
    is_theirs = known.text.strip() not in {"", draft.base_text.strip(), draft.text.strip()}
    return known.text if is_theirs else draft.text


def spaces(connection: sqlite3.Connection) -> set[str]:
    """The repositories of the portfolio: those with goals, and those with an initiative."""
    found = {row["space"] for row in connection.execute("SELECT DISTINCT space FROM initiatives")}
    query = "SELECT path FROM portfolio_files WHERE path LIKE 'spaces/%/%/OVERVIEW.md'"
    return found | {"/".join(row["path"].split("/")[1:3]) for row in connection.execute(query)}


def ground(
    connection: sqlite3.Connection, job_id: int, repositories: Collection[str], most_tasks: int
) -> PlanGround:
    """What a plan of this job is held against."""
    initiative = initiatives.of_job(connection, job_id)
    assert initiative is not None, "only a lead's job has a plan"
    own = {name.casefold() for name in spaces(connection)} | {initiative.space.casefold()}
    draft = of_job(connection, job_id)
    is_first = draft is None or not draft.holds
    return PlanGround(
        initiative=initiative,
        tasks=tuple(tasks.of_initiative(connection, initiative.id)),
        spaces=tuple(name for name in repositories if name.casefold() in own),
        most_tasks=most_tasks,
        text=text_of(connection, initiative) if draft is None or is_first else draft.text,
        drafted=frozenset(_of_draft(connection, draft)) if draft is not None else frozenset(),
    )


def _of_draft(connection: sqlite3.Connection, draft: PlanDraft) -> Mapping[int, Task]:
    """By number, the tasks that a draft proposed and that still are no more than that."""
    mine = {item.number for item in draft.tasks if item.is_new}
    found = tasks.of_initiative(connection, draft.initiative_id)
    return {item.number: item for item in found if item.number in mine and item.state is TaskState.PROPOSED}


def keep_problems(connection: sqlite3.Connection, job_id: int, found: PlanFound, *, at: datetime) -> None:
    """Keep a plan that does not hold, where none holds so far."""
    known, initiative = of_job(connection, job_id), initiatives.of_job(connection, job_id)
    if initiative is not None and (known is None or not known.holds):
        draft = PlanDraft(
            job_id=job_id, initiative_id=initiative.id, text=found.text, problems=found.problems, at=at
        )
        _put(connection, draft)


def keep(
    connection: sqlite3.Connection, job_id: int, found: PlanFound, *, session_id: str, at: datetime
) -> PlanDraft:
    """Keep a plan that holds: its new tasks become rows in place of those that the job proposed before. Raises Refused for links that
    make a circle with what is there."""
    initiative = initiatives.of_job(connection, job_id)
    assert initiative is not None, "only a lead's job has a plan"
    known = of_job(connection, job_id)
    before = _of_draft(connection, known) if known is not None else {}
    if found.still_holds and known is not None and known.holds and not known.still_holds:
        draft = _again(known, session_id, at)  # what it proposed before
    else:
        kept = _kept(connection, initiative, before, found, job_id=job_id, session_id=session_id, at=at)
        draft = PlanDraft(
            job_id=job_id,
            initiative_id=initiative.id,
            text=found.text,
            problems=(),
            at=at,
            tasks=kept,
            base_text=text_of(connection, initiative),
            session_id=session_id,
            still_holds=found.still_holds,
        )
        planned_tasks.link_new(connection, draft, at=at)
    _put(connection, draft)
    return draft


def _again(known: PlanDraft, session_id: str, at: datetime) -> PlanDraft:
    return PlanDraft(
        job_id=known.job_id,
        initiative_id=known.initiative_id,
        text=known.text,
        problems=(),
        at=at,
        tasks=known.tasks,
        base_text=known.base_text,
        session_id=session_id,
    )


def _kept(
    connection: sqlite3.Connection,
    initiative: Initiative,
    before: Mapping[int, Task],
    found: PlanFound,
    *,
    job_id: int,
    session_id: str,
    at: datetime,
) -> tuple[KeptTask, ...]:
    by_subject = {folded(item.subject): item for item in before.values()}
    present = {item.number: item for item in tasks.of_initiative(connection, initiative.id)}
    kept, used = list[KeptTask](), set[int]()
    for planned in found.tasks:
        there = present.get(planned.task) if planned.task else by_subject.get(folded(planned.subject))
        if there is not None and there.number not in before:
            kept.append(KeptTask(number=there.number, is_new=False, planned=planned))
            continue
        fields = planned_tasks.fields_of(planned, initiative.space)
        if there is not None and there.number not in used:
            row = tasks.change(connection, there.id, at=at, actor=f"session:{session_id}", **fields)
        else:
            row = _added(connection, initiative, fields, job_id=job_id, session_id=session_id, at=at)
        used.add(row.number)
        kept.append(KeptTask(number=row.number, is_new=True, planned=planned))
    for task in before.values():
        if task.number not in used:
            _forget(connection, task, at=at)
    waits = graph_of(
        (row.blocker_id, row.blocked_id) for row in tasks.links(connection, initiative.id)
    )  # as they are once nobody waits for what is forgotten
    return tuple(item if item.is_new else _on_base(item, present[item.number], waits) for item in kept)


def _on_base(item: KeptTask, task: Task, waits: Graph) -> KeptTask:
    return replace(item, base=content_digest(task, waits.get(task.id, ())))


def _added(
    connection: sqlite3.Connection,
    initiative: Initiative,
    fields: dict[str, Any],
    *,
    job_id: int,
    session_id: str,
    at: datetime,
) -> Task:
    task = Task(
        id=0,
        initiative_id=initiative.id,
        number=0,
        state=TaskState.PROPOSED,
        created_by=f"session:{session_id}",
        created_at=at,
        updated_at=at,
        **fields,
    )
    return tasks.add(connection, task, job_id=job_id)


def _forget(connection: sqlite3.Connection, task: Task, *, at: datetime) -> None:
    """A task of a plan that another one replaced: it was never more than proposed. Its number is not given again."""
    tasks.change(
        connection, task.id, at=at, reason="the lead proposed another plan", state=TaskState.CANCELLED
    )
    connection.execute(
        "DELETE FROM task_links WHERE blocker_id = :row OR blocked_id = :row", {"row": task.id}
    )
    query = "SELECT 1 FROM escalations WHERE task_id = ?"
    if connection.execute(query, (task.id,)).fetchone() is None:
        connection.execute("DELETE FROM tasks WHERE id = ?", (task.id,))


def _put(connection: sqlite3.Connection, draft: PlanDraft) -> None:
    columns = {name: to_column(getattr(draft, name)) for name in draft.__dataclass_fields__}
    marks = ", ".join("?" * len(columns))
    statement = f"INSERT OR REPLACE INTO plan_drafts ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608
    connection.execute(statement, list(columns.values()))


def lines_of(connection: sqlite3.Connection, draft: PlanDraft) -> tuple[PlanLine, ...]:
    """The tasks as they will be once it is approved."""
    found = tasks.of_initiative(connection, draft.initiative_id)
    return lines(draft, found, tasks.links(connection, draft.initiative_id))


def adopt_edit(connection: sqlite3.Connection, draft: PlanDraft, text: str) -> None:
    """A person changed the plan or its tasks while it waits for one."""
    connection.execute(
        "UPDATE plan_drafts SET text = ?, is_edited = 1, is_asked = 0 WHERE job_id = ?", (text, draft.job_id)
    )


def mark_asked(connection: sqlite3.Connection, job_id: int) -> None:
    """People are asked about it as it is now."""
    connection.execute("UPDATE plan_drafts SET is_asked = 1 WHERE job_id = ?", (job_id,))


def mark_written(connection: sqlite3.Connection, job_id: int) -> None:
    """plan.md has the plan's text."""
    connection.execute("UPDATE plan_drafts SET is_written = 1 WHERE job_id = ?", (job_id,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What an approved plan came to."""

    initiative: Initiative
    tasks: int


def accept(
    connection: sqlite3.Connection,
    draft: PlanDraft,
    *,
    actor: str,
    at: datetime,
    elsewhere: Collection[str] = (),
) -> Accepted:
    """Go by a plan from now on: what was proposed is pending, what it leaves out and nobody has begun is cancelled. What is of a
    repository of `elsewhere`, for which who approved it does not decide, is asked about there."""
    shown = lines_of(connection, draft)
    initiative = initiatives.get(connection, draft.initiative_id)
    digest, number = digest_of(draft.text, shown), to_do(shown)
    trouble = planned_tasks.accept(connection, draft, elsewhere, actor=actor, at=at)
    state = initiative.state
    if state is not InitiativeState.PAUSED:
        state = InitiativeState.ACTIVE
    changed = initiatives.change(
        connection,
        initiative.id,
        at=at,
        actor=actor,
        reason="its plan was approved",
        state=state,
        plan_digest=digest,
        replan=trouble,
        waits="",
        job_id=draft.job_id,
    )
    initiatives.note(connection, EventName.INITIATIVE_PLANNED, changed, {"tasks": number}, actor=actor, at=at)
    statement = "UPDATE plan_drafts SET approved_at = ?, is_written = 0 WHERE job_id = ?"
    connection.execute(statement, (to_column(at), draft.job_id))
    return Accepted(initiative=changed, tasks=number)


def edited(connection: sqlite3.Connection, known: Collection[Initiative]) -> frozenset[int]:
    """Those active initiatives whose plan.md says something else than the plan that was approved, and than what that was made of."""
    found = set[int]()
    for initiative in known:
        if initiative.state is InitiativeState.ACTIVE:
            last, text = approved(connection, initiative.id), file_text(connection, initiative).strip()
            if (
                last is not None
                and last.is_written
                and text not in {"", last.text.strip(), last.base_text.strip()}
            ):
                found.add(initiative.id)
    return frozenset(found)
