"""What a person was shown of a plan, and what of it they approved."""

import sqlite3

from overlord.domain.portfolio.plan_draft import as_markdown
from overlord.domain.portfolio.task import Task
from overlord.store.contracts import plan_files
from overlord.store.portfolio import plan_drafts

TASKS_SHOWN = "plan/tasks.md"
"""The artifact that has the tasks of a plan."""


def is_as_shown(connection: sqlite3.Connection, job_id: int) -> bool:
    """Whether a job's plan and its tasks are what the artifacts of its gate say; so it is for a job that proposed none."""
    draft = plan_drafts.of_job(connection, job_id)
    if draft is None or not draft.holds:
        return True
    tasks_shown = plan_files.of_job(connection, job_id).get(TASKS_SHOWN)
    is_same_text = plan_drafts.edited_text(connection, draft) == draft.text
    return (
        draft.is_asked
        and is_same_text
        and as_markdown(plan_drafts.lines_of(connection, draft)) == tasks_shown
    )


def is_approved(connection: sqlite3.Connection, task: Task) -> bool:
    """Whether a task stands in a plan that a person approved."""
    query = """SELECT 1 FROM plan_drafts, json_each(plan_drafts.tasks) WHERE initiative_id = ? AND approved_at IS NOT NULL
               AND json_extract(json_each.value, '$.number') = ? LIMIT 1"""
    return connection.execute(query, (task.initiative_id, task.number)).fetchone() is not None
