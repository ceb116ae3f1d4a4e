"""What the forge does not know yet of tasks and initiatives that have issues."""

import sqlite3
from dataclasses import dataclass

MOST = 20
"""Of each kind at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One task waits for another, and both have issues."""

    blocker_id: int
    blocked_id: int


def unlinked(connection: sqlite3.Connection) -> list[int]:
    """Tasks whose issue is not known to be a sub-issue of the initiative's."""
    query = "SELECT id FROM tasks WHERE issue_number IS NOT NULL AND NOT is_linked ORDER BY id LIMIT ?"
    return [row["id"] for row in connection.execute(query, (MOST,))]


def mark_linked(connection: sqlite3.Connection, row: int) -> None:
    """It is, or cannot be."""
    connection.execute("UPDATE tasks SET is_linked = 1 WHERE id = ?", (row,))


def unsaid_links(connection: sqlite3.Connection) -> list[Link]:
    """What waits for what, of tasks that both have issues and of which the one that waits is worked on."""
    query = """SELECT blocker_id, blocked_id FROM tasks AS blocked INDEXED BY tasks_at_forge CROSS JOIN task_links ON blocked_id = blocked.id
               JOIN tasks AS blocker ON blocker.id = blocker_id
               WHERE blocked.state = 'in_progress' AND blocked.issue_number IS NOT NULL
               AND NOT is_at_forge AND blocker.issue_number IS NOT NULL
               ORDER BY blocker_id, blocked_id LIMIT ?"""
    return [
        Link(blocker_id=row["blocker_id"], blocked_id=row["blocked_id"])
        for row in connection.execute(query, (MOST,))
    ]


def mark_said(connection: sqlite3.Connection, link: Link) -> None:
    """The forge knows it, or cannot."""
    query = "UPDATE task_links SET is_at_forge = 1 WHERE blocker_id = ? AND blocked_id = ?"
    connection.execute(query, (link.blocker_id, link.blocked_id))


def unsaid_unlinked(connection: sqlite3.Connection) -> list[Link]:
    """What waited for what and does so no longer, where the forge still says it."""
    query = "SELECT blocker_id, blocked_id FROM unlinked_tasks ORDER BY blocker_id, blocked_id LIMIT ?"
    return [
        Link(blocker_id=row["blocker_id"], blocked_id=row["blocked_id"])
        for row in connection.execute(query, (MOST,))
    ]


def mark_unlinked(connection: sqlite3.Connection, link: Link) -> None:
    """The forge says it no longer."""
    query = "DELETE FROM unlinked_tasks WHERE blocker_id = ? AND blocked_id = ?"
    connection.execute(query, (link.blocker_id, link.blocked_id))


def is_linked(connection: sqlite3.Connection, link: Link) -> bool:
    """Whether one waits for the other now."""
    query = "SELECT 1 FROM task_links WHERE blocker_id = ? AND blocked_id = ?"
    return connection.execute(query, (link.blocker_id, link.blocked_id)).fetchone() is not None


def initiatives_to_edit(connection: sqlite3.Connection) -> list[int]:
    """Initiatives whose issue says what they said before. While a job plans one, its issue is left as it is."""
    query = """SELECT id FROM initiatives WHERE is_issue_behind AND issue_number IS NOT NULL AND NOT is_issue_closed
               AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.space = initiatives.space
                               AND jobs.issue_number = initiatives.issue_number AND is_open) ORDER BY id LIMIT ?"""
    return [row["id"] for row in connection.execute(query, (MOST,))]


def mark_edited(connection: sqlite3.Connection, initiative_id: int) -> None:
    """Its issue says what it says."""
    connection.execute("UPDATE initiatives SET is_issue_behind = 0 WHERE id = ?", (initiative_id,))


def tasks_to_close(connection: sqlite3.Connection) -> list[int]:
    """Tasks that have ended, and whose issue was not seen closed. One that a job still works on is closed with that."""
    query = """SELECT id FROM tasks INDEXED BY tasks_to_close WHERE issue_number IS NOT NULL AND NOT is_issue_closed
               AND state IN ('done', 'cancelled')
               AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.space = tasks.space
                               AND jobs.issue_number = tasks.issue_number AND is_open) ORDER BY id LIMIT ?"""
    return [row["id"] for row in connection.execute(query, (MOST,))]


def initiatives_to_close(connection: sqlite3.Connection) -> list[int]:
    """The same of initiatives."""
    query = """SELECT id FROM initiatives WHERE issue_number IS NOT NULL AND NOT is_issue_closed
               AND state IN ('done', 'cancelled')
               AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.space = initiatives.space
                               AND jobs.issue_number = initiatives.issue_number AND is_open) ORDER BY id LIMIT ?"""
    return [row["id"] for row in connection.execute(query, (MOST,))]


def to_reopen(connection: sqlite3.Connection) -> list[int]:
    """Tasks that were assigned anew, and whose issue is closed. One whose job has just ended is not among them: its end is looked at
    first."""
    query = """SELECT id FROM tasks INDEXED BY tasks_to_reopen
               WHERE state = 'in_progress' AND issue_number IS NOT NULL AND is_issue_closed
               AND NOT EXISTS (SELECT 1 FROM jobs LEFT JOIN job_portfolio ON job_portfolio.job_id = jobs.id
                               WHERE jobs.id = (SELECT max(id) FROM jobs AS last WHERE last.space = tasks.space
                                                AND last.issue_number = tasks.issue_number)
                               AND (jobs.is_open OR NOT coalesce(is_processed, 0))) ORDER BY id LIMIT ?"""
    return [row["id"] for row in connection.execute(query, (MOST,))]
