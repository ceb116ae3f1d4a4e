"""What the forge is still to be told of tasks and initiatives: whose sub-issue an issue is, what waits for what, what is closed or opened
again. Each is looked up and done once; what a forge has no word for is left out."""

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from overlord.domain.conversation.issue_request import IssueRequest
from overlord.domain.conversation.requested_issue import issue_text
from overlord.domain.identifiers import RepositoryName
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.task import Task, TaskState
from overlord.domain.repositories.forge import ClosedAs
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import ForgeMissing, ForgeRefused, Refused
from overlord.failpoints import Failpoint
from overlord.store.bootstrap import issue_requests
from overlord.store.portfolio import initiatives, issue_work, tasks
from overlord.store.portfolio.issue_work import Link
from overlord.verbs.commands import work_on
from overlord.verbs.plan import plan_issue


class IssueStepKind(StrEnum):
    """What is to be said."""

    SUB_ISSUE = "sub_issue"
    BLOCKED_BY = "blocked_by"
    CLOSE_TASK = "close_task"
    CLOSE_INITIATIVE = "close_initiative"
    REOPEN = "reopen"
    UNBLOCK = "unblock"
    EDIT = "edit"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueStep:
    """One thing that is to be said."""

    kind: IssueStepKind
    row: int
    """Of the task or the initiative."""
    blocker: int = 0

    @property
    def key(self) -> str:
        """Of the step."""
        return f"portfolio {self.kind} {self.row} {self.blocker}"


def due(connection: sqlite3.Connection) -> Sequence[IssueStep]:
    """Everything that is to be said now."""
    kind = IssueStepKind
    steps = [IssueStep(kind=kind.SUB_ISSUE, row=row) for row in issue_work.unlinked(connection)]
    steps += [
        IssueStep(kind=kind.BLOCKED_BY, row=link.blocked_id, blocker=link.blocker_id)
        for link in issue_work.unsaid_links(connection)
    ]
    steps += [
        IssueStep(kind=kind.UNBLOCK, row=link.blocked_id, blocker=link.blocker_id)
        for link in issue_work.unsaid_unlinked(connection)
    ]
    steps += [IssueStep(kind=kind.EDIT, row=row) for row in issue_work.initiatives_to_edit(connection)]
    steps += [IssueStep(kind=kind.CLOSE_TASK, row=row) for row in issue_work.tasks_to_close(connection)]
    steps += [
        IssueStep(kind=kind.CLOSE_INITIATIVE, row=row) for row in issue_work.initiatives_to_close(connection)
    ]
    return [*steps, *(IssueStep(kind=kind.REOPEN, row=row) for row in issue_work.to_reopen(connection))]


async def step(parts: Parts, wanted: IssueStep) -> Progress:
    """Say it. Raises ForgeUnavailable."""
    act = {
        IssueStepKind.SUB_ISSUE: _link_issue,
        IssueStepKind.BLOCKED_BY: _link_blocker,
        IssueStepKind.CLOSE_TASK: _close_task,
        IssueStepKind.CLOSE_INITIATIVE: _close_initiative,
        IssueStepKind.REOPEN: _reopen,
        IssueStepKind.UNBLOCK: _unlink_blocker,
        IssueStepKind.EDIT: _edit,
    }[wanted.kind]
    await act(parts, wanted)
    return Progress.MOVED


def _are_ours(parts: Parts, *spaces: str) -> bool:
    """Whether Overlord manages these repositories: at others nothing is written."""
    return all(space in parts.settings.repositories for space in spaces)


async def _link_issue(parts: Parts, wanted: IssueStep) -> None:
    task = await parts.database.read(lambda c: tasks.get(c, wanted.row))
    initiative = await parts.database.read(lambda c: initiatives.get(c, task.initiative_id))
    is_ours = _are_ours(parts, initiative.space, task.space)
    if is_ours and initiative.issue_number is not None and task.issue_number is not None:
        child = RepositoryName(task.space) if task.space != initiative.space else None
        # It may have none, or the issue another parent: the issue's text names the initiative.
        with contextlib.suppress(ForgeRefused):
            await parts.forge.add_sub_issue(
                RepositoryName(initiative.space), initiative.issue_number, task.issue_number, child_name=child
            )
    await parts.database.write(Failpoint.ISSUE_LINKED, lambda c: issue_work.mark_linked(c, wanted.row))


async def _link_blocker(parts: Parts, wanted: IssueStep) -> None:
    task, blocker = await parts.database.read(
        lambda c: (tasks.get(c, wanted.row), tasks.get(c, wanted.blocker))
    )
    is_ours = _are_ours(parts, task.space, blocker.space)
    if is_ours and task.issue_number is not None and blocker.issue_number is not None:
        with contextlib.suppress(ForgeRefused):  # it may have no dependencies, or too many
            await parts.forge.add_blocked_by(
                RepositoryName(task.space),
                task.issue_number,
                RepositoryName(blocker.space),
                blocker.issue_number,
            )
    link = Link(blocker_id=wanted.blocker, blocked_id=wanted.row)
    await parts.database.write(Failpoint.ISSUE_LINKED, lambda c: issue_work.mark_said(c, link))


async def _unlink_blocker(parts: Parts, wanted: IssueStep) -> None:
    task, blocker = await parts.database.read(
        lambda c: (tasks.get(c, wanted.row), tasks.get(c, wanted.blocker))
    )
    link = Link(blocker_id=wanted.blocker, blocked_id=wanted.row)
    is_back = await parts.database.read(lambda c: issue_work.is_linked(c, link))
    is_ours = _are_ours(parts, task.space, blocker.space)
    if is_ours and not is_back and task.issue_number is not None and blocker.issue_number is not None:
        with contextlib.suppress(ForgeRefused):  # it may have no dependencies, or one of the issues is gone
            await parts.forge.remove_blocked_by(
                RepositoryName(task.space),
                task.issue_number,
                RepositoryName(blocker.space),
                blocker.issue_number,
            )
    await parts.database.write(Failpoint.ISSUE_LINKED, lambda c: issue_work.mark_unlinked(c, link))


async def _edit(parts: Parts, wanted: IssueStep) -> None:
    """An initiative's title or goal was changed: its issue says so too."""
    found, asked = await parts.database.read(lambda c: _edited(c, wanted.row))
    if asked is not None and found.issue_number is not None and found.space in parts.settings.repositories:
        with contextlib.suppress(ForgeRefused):  # it is gone, or may not be written to: people have their own
            await parts.forge.edit_issue(
                RepositoryName(found.space), found.issue_number, title=asked.title, body=issue_text(asked)
            )
    await parts.database.write(Failpoint.ISSUE_STATE_NOTED, lambda c: issue_work.mark_edited(c, found.id))


def _edited(connection: sqlite3.Connection, number: int) -> tuple[Initiative, IssueRequest | None]:
    """An initiative, and the request its issue was opened for, in its words of now."""
    found = initiatives.get(connection, number)
    if found.issue_request_id is None:
        return found, None
    title, body = plan_issue(found)
    return found, replace(issue_requests.get(connection, found.issue_request_id), title=title, body=body)


async def _close_task(parts: Parts, wanted: IssueStep) -> None:
    task = await parts.database.read(lambda c: tasks.get(c, wanted.row))
    if not task.has_ended:
        return  # it was taken up again since the pass began
    await _close(parts, task.space, task.issue_number, is_done=task.state is TaskState.DONE)
    at = parts.clock.now()
    await parts.database.write(
        Failpoint.ISSUE_STATE_NOTED, lambda c: tasks.change(c, task.id, at=at, is_issue_closed=True)
    )


async def _close_initiative(parts: Parts, wanted: IssueStep) -> None:
    found = await parts.database.read(lambda c: initiatives.get(c, wanted.row))
    if not found.has_ended:
        return
    await _close(parts, found.space, found.issue_number, is_done=found.state == "done")
    at = parts.clock.now()
    await parts.database.write(
        Failpoint.ISSUE_STATE_NOTED, lambda c: initiatives.change(c, found.id, at=at, is_issue_closed=True)
    )


async def _close(parts: Parts, space: str, number: int | None, *, is_done: bool) -> None:
    """Close an issue that is open. One that is gone, or that Overlord may not close, is left to people."""
    if number is None or space not in parts.settings.repositories:
        return
    try:
        if (await parts.forge.issue(RepositoryName(space), number)).open:
            reason: ClosedAs = "completed" if is_done else "not_planned"
            await parts.forge.close_issue(RepositoryName(space), number, reason=reason)
    except (ForgeRefused, ForgeMissing):
        return


async def _reopen(parts: Parts, wanted: IssueStep) -> None:
    """A task is worked on again whose issue is closed. What was wanted when the pass began may be over by now."""
    task, is_wanted = await parts.database.read(
        lambda c: (tasks.get(c, wanted.row), wanted.row in issue_work.to_reopen(c))
    )
    if not is_wanted:
        return
    trouble = ""
    if task.issue_number is not None:
        try:
            await parts.forge.reopen_issue(RepositoryName(task.space), task.issue_number)
        except (ForgeRefused, ForgeMissing):
            trouble = "its issue is closed and cannot be opened again"
    at = parts.clock.now()
    await parts.database.write(Failpoint.ISSUE_STATE_NOTED, lambda c: _reopened(c, task, trouble, at=at))
    parts.notify()


def _reopened(connection: sqlite3.Connection, task: Task, trouble: str, *, at: datetime) -> None:
    now = tasks.change(connection, task.id, at=at, is_issue_closed=False)
    if now.state is not TaskState.IN_PROGRESS:
        return  # somebody ended it meanwhile: its issue is closed again for that
    if trouble or task.issue_number is None:
        tasks.change(connection, task.id, at=at, reason=trouble, state=TaskState.PENDING)
        return
    try:
        work_on(connection, task.space, task.issue_number, actor="overlord", at=at)
    except Refused as error:
        tasks.change(connection, task.id, at=at, reason=str(error), state=TaskState.PENDING)
