"""What a cycle reads beside the rows of the portfolio: jobs of its issues, what they cost, what people answered about it."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import datetime

from minion.protocol import Scope, ScopeError, ScopeMode
from overlord.domain.budgets.budget import Cost
from overlord.domain.decision import Decision
from overlord.domain.event import EventName
from overlord.domain.job import TERMINAL, TRANSITIONS, JobId, JobState
from overlord.domain.portfolio.view import JobView
from overlord.store import ledger
from overlord.store.rows import select

E = EventName
_RESTS = frozenset({*TERMINAL, JobState.WAITING})
WAKING = (
    *sorted({event for (_, event), state in TRANSITIONS.items() if state in _RESTS}),
    *(E.DELIVERED, E.CLAIMED),
    *(E.DECISION_ANSWERED, E.ESCALATION_RAISED, E.ESCALATION_CLEARED, E.ESCALATION_WITHDRAWN),
    *(E.INITIATIVE_PROPOSED, E.INITIATIVE_OPENED, E.INITIATIVE_CHANGED, E.INITIATIVE_PLANNED),
    *(E.INITIATIVE_COMPLETED, E.INITIATIVE_CANCELLED, E.TASK_ADDED, E.TASK_CHANGED, E.TASK_RETURNED),
    *(E.TASK_COMPLETED, E.TASK_CANCELLED, E.COMPLETION_RECORDED, E.REQUESTED_ISSUE_OPENED),
    *(
        E.NOTE_ACCEPTED,
        E.NOTE_CHANGED,
        E.NOTE_WITHDRAWN,
        E.PAUSED,
        E.RESUMED,
        E.SETTINGS_CHANGED,
        E.SPACE_ADDED,
        E.SPACE_REMOVED,
    ),
    *(E.RULE_ADDED, E.RULE_REVOKED, E.DISK_RECOVERED),
)
"""Facts after which a cycle may decide something else: a job that ended or waits has freed its place."""


NOTED = (E.NOTE_ACCEPTED, E.NOTE_CHANGED)


def has_news(connection: sqlite3.Connection, *, after: int) -> bool:
    """Whether something happened since a fact that a cycle may decide by."""
    return bool(ledger.named(connection, WAKING, after=after, limit=1))


def has_noted(connection: sqlite3.Connection, *, after: int) -> bool:
    """Whether a note came to count, or was changed, since a fact."""
    return bool(ledger.named(connection, NOTED, after=after, limit=1))


def has_work(connection: sqlite3.Connection) -> bool:
    """Whether there is an initiative that has not ended, a task that is worked on, or a file that could have goals."""
    query = """SELECT EXISTS (SELECT 1 FROM initiatives WHERE state NOT IN ('done', 'cancelled'))
               OR EXISTS (SELECT 1 FROM tasks WHERE state = 'in_progress')
               OR EXISTS (SELECT 1 FROM portfolio_files)"""
    return bool(connection.execute(query).fetchone()[0])


def jobs_of_issues(connection: sqlite3.Connection) -> Mapping[tuple[str, int], JobView]:
    """The last job of each issue that was opened for an unfinished task or an unfinished initiative, but for those whose end was taken
    note of."""
    query = f"""WITH wanted AS (
                    SELECT space, issue_number FROM tasks WHERE state IN ('in_progress', 'pending') AND issue_number IS NOT NULL
                    UNION SELECT space, issue_number FROM initiatives
                    WHERE state IN ('planning', 'active') AND issue_number IS NOT NULL),
                newest AS (SELECT max(jobs.id) AS id FROM wanted JOIN jobs USING (space, issue_number)
                    GROUP BY jobs.space, jobs.issue_number)
                SELECT jobs.id, jobs.space, jobs.issue_number, {_COLUMNS} FROM newest JOIN jobs USING (id)
                LEFT JOIN job_portfolio ON job_portfolio.job_id = jobs.id
                WHERE NOT coalesce(job_portfolio.is_processed, 0)"""  # noqa: S608 - constants
    return {(row["space"], row["issue_number"]): _job(row) for row in connection.execute(query)}


def other_open_jobs(connection: sqlite3.Connection) -> list[tuple[str, JobView]]:
    """Open jobs that are of no task, with their repositories."""
    query = f"""SELECT jobs.id, jobs.space, {_COLUMNS} FROM jobs WHERE is_open AND issue_number >= 0 AND NOT EXISTS (
                    SELECT 1 FROM tasks WHERE tasks.space = jobs.space AND tasks.issue_number = jobs.issue_number)
                ORDER BY jobs.id"""  # noqa: S608 - constants
    return [(row["space"], _job(row)) for row in connection.execute(query)]


_LAST = "FROM sessions WHERE sessions.job_id = jobs.id AND kind = 'work'"
_COLUMNS = f"""jobs.state, (SELECT ending FROM job_outcomes WHERE job_outcomes.job_id = jobs.id) AS ending,
    (SELECT scope {_LAST} ORDER BY rowid DESC LIMIT 1) AS scope,
    (SELECT report {_LAST} AND report IS NOT NULL ORDER BY rowid DESC LIMIT 1) AS report"""  # noqa: S608 - constants


def _job(row: sqlite3.Row) -> JobView:
    state = JobState(row["state"])
    return JobView(
        id=JobId(row["id"]),
        state=state,
        ending=row["ending"] or "",
        summary=_summary(row["report"]),
        scope=_scope(row["scope"]),
        waits_for_person=state is JobState.WAITING,
    )


def _summary(report: str | None) -> str:
    if not report:
        return ""
    found = json.loads(report)
    return str(found.get("summary", "")) if isinstance(found, dict) else ""


def _scope(text: str | None) -> Scope | None:
    """What a session could write, where that was narrowed."""
    if not text:
        return None
    try:
        scope = Scope.parse(text)
    except ScopeError:
        return None
    return None if scope.mode is ScopeMode.UNRESTRICTED else scope


def costs(connection: sqlite3.Connection) -> Mapping[int, Cost]:
    """By unfinished initiative, what all its jobs cost: those of its tasks, and those that planned it."""
    query = """WITH issues AS (
                   SELECT tasks.initiative_id AS id, tasks.space, tasks.issue_number FROM tasks
                   JOIN initiatives ON initiatives.id = tasks.initiative_id
                   WHERE initiatives.state NOT IN ('done', 'cancelled') AND tasks.issue_number IS NOT NULL
                   UNION SELECT id, space, issue_number FROM initiatives
                   WHERE state NOT IN ('done', 'cancelled') AND issue_number IS NOT NULL)
               SELECT issues.id, sum(tokens) AS tokens, sum(nusd) AS nusd FROM issues
               JOIN jobs USING (space, issue_number) JOIN job_outcomes ON job_outcomes.job_id = jobs.id
               GROUP BY issues.id"""
    return {row["id"]: Cost(tokens=row["tokens"], nusd=row["nusd"]) for row in connection.execute(query)}


def cost_of(connection: sqlite3.Connection, initiative_id: int) -> list[tuple[JobId, Cost]]:
    """What each job of an initiative cost, ended or not; oldest first."""
    query = """WITH issues AS (
                   SELECT space, issue_number FROM tasks WHERE initiative_id = :id AND issue_number IS NOT NULL
                   UNION SELECT space, issue_number FROM initiatives WHERE id = :id AND issue_number IS NOT NULL)
               SELECT jobs.id, tokens, nusd FROM issues JOIN jobs USING (space, issue_number)
               JOIN job_outcomes ON job_outcomes.job_id = jobs.id ORDER BY jobs.id"""
    rows = connection.execute(query, {"id": initiative_id})
    return [(JobId(row["id"]), Cost(tokens=row["tokens"], nusd=row["nusd"])) for row in rows]


def answered(connection: sqlite3.Connection) -> list[Decision]:
    """Decisions about the portfolio that were answered, and not carried out yet; oldest first."""
    query = "SELECT * FROM decisions WHERE about <> '' AND state = 'answered' AND NOT applied ORDER BY id"
    return select(connection, Decision, query)


def asked(connection: sqlite3.Connection) -> frozenset[tuple[str, str]]:
    """Open decisions about the portfolio: subject, and what each is about."""
    query = "SELECT subject, about FROM decisions WHERE about <> '' AND state = 'open'"
    return frozenset((row["subject"], row["about"]) for row in connection.execute(query))


def open_about(connection: sqlite3.Connection, about: str) -> list[Decision]:
    """What a person is asked about one thing of the portfolio."""
    query = "SELECT * FROM decisions WHERE about = ? AND state = 'open' ORDER BY id"
    return select(connection, Decision, query, about)


def raised(connection: sqlite3.Connection) -> frozenset[str]:
    """What conflicts and stale tasks were ever asked about."""
    query = "SELECT about, options FROM decisions WHERE about <> '' AND subject IN ('conflict', 'stale_task')"
    found = set[str]()
    for row in connection.execute(query):
        found |= {row["about"], *json.loads(row["options"])}
    return frozenset(found)


def keys(connection: sqlite3.Connection) -> frozenset[str]:
    """Of all initiatives there ever were."""
    return frozenset(row["key"] for row in connection.execute("SELECT key FROM initiatives"))


def awaited(connection: sqlite3.Connection) -> frozenset[int]:
    """Rows of tasks that have ended and that an unfinished one waits for."""
    query = """SELECT DISTINCT blocker_id FROM task_links JOIN tasks ON tasks.id = blocker_id
               WHERE tasks.state IN ('done', 'cancelled')"""
    return frozenset(row["blocker_id"] for row in connection.execute(query))


def last_served(connection: sqlite3.Connection) -> Mapping[str, datetime]:
    """When a task of a repository was asked for as an issue last."""
    query = "SELECT space, max(requested_at) AS at FROM issue_requests WHERE kind = 'task' GROUP BY space"
    return {row["space"]: datetime.fromisoformat(row["at"]) for row in connection.execute(query)}


def notes_counting(connection: sqlite3.Connection) -> Mapping[str, int]:
    """How many notes of its own each repository has that count."""
    query = "SELECT space, count(*) AS many FROM notes WHERE state = 'active' GROUP BY space"
    return {row["space"]: row["many"] for row in connection.execute(query)}


def merged_spaces(connection: sqlite3.Connection) -> frozenset[str]:
    """Repositories of which a job was ever merged."""
    query = "SELECT DISTINCT space FROM job_outcomes WHERE ended_on IS NOT NULL AND ending = 'merged'"
    return frozenset(row["space"] for row in connection.execute(query))


def red_at_base(connection: sqlite3.Connection) -> Mapping[str, str]:
    """By repository, the tests that failed at base, as the last job that ran them saw it; nothing where they passed."""
    query = """SELECT jobs.space, red_at_base FROM job_portfolio JOIN jobs ON jobs.id = job_id
               WHERE job_id IN (SELECT max(job_id) FROM job_portfolio JOIN jobs ON jobs.id = job_id
                                WHERE red_at_base <> '' GROUP BY jobs.space)"""
    found = {row["space"]: row["red_at_base"] for row in connection.execute(query)}
    return {space: text for space, text in found.items() if text != GREEN}


GREEN = "none"
"""What is noted of a base at which every test passed."""


def note_base(connection: sqlite3.Connection, job_id: int, red: Iterable[str]) -> None:
    """A job's check ran the tests at base, and these failed."""
    text = "\n".join(sorted(red)) or GREEN
    query = """INSERT INTO job_portfolio (job_id, red_at_base) VALUES (?, ?)
               ON CONFLICT (job_id) DO UPDATE SET red_at_base = excluded.red_at_base"""
    connection.execute(query, (job_id, text))


def pulls_taken(connection: sqlite3.Connection) -> Mapping[str, int]:
    """By repository, the open jobs that have a pull request or are on their way to one."""
    query = """SELECT space, count(*) AS many FROM jobs WHERE is_open AND issue_number >= 0 AND (
                   pull_number IS NOT NULL OR state IN ('running', 'evaluating', 'delivering')
                   OR EXISTS (SELECT 1 FROM sessions WHERE job_id = jobs.id AND sessions.state != 'ended'))
               AND NOT EXISTS (SELECT 1 FROM initiatives
                   WHERE initiatives.space = jobs.space AND initiatives.issue_number = jobs.issue_number)
               GROUP BY space"""
    return {row["space"]: row["many"] for row in connection.execute(query)}


def mark_processed(connection: sqlite3.Connection, space: str, issue_number: int | None) -> None:
    """What became of the last job of an issue was taken note of, if that has ended."""
    query = """INSERT INTO job_portfolio (job_id, is_processed)
               SELECT id, 1 FROM jobs WHERE space = ? AND issue_number = ? AND NOT is_open ORDER BY id DESC LIMIT 1
               ON CONFLICT (job_id) DO UPDATE SET is_processed = 1"""
    connection.execute(query, (space, issue_number))


def is_merged(connection: sqlite3.Connection, space: str, issue_number: int | None) -> bool:
    """Whether the last job of an issue was merged."""
    query = "SELECT state FROM jobs WHERE space = ? AND issue_number = ? ORDER BY id DESC LIMIT 1"
    row = connection.execute(query, (space, issue_number)).fetchone()
    return row is not None and row["state"] == JobState.COMPLETED


def troubles(connection: sqlite3.Connection) -> Mapping[int, str]:
    """By task that is in progress, why its issue was not opened or not taken up."""
    query = """SELECT tasks.id, issue_requests.trouble AS why FROM tasks
               JOIN issue_requests ON issue_requests.id = issue_request_id
               WHERE tasks.state = 'in_progress' AND trouble <> ''
               UNION ALL
               SELECT tasks.id, wishes.answer FROM tasks JOIN wishes ON wishes.id = (
                   SELECT max(id) FROM wishes AS last
                   WHERE last.space = tasks.space AND last.number = tasks.issue_number)
               WHERE tasks.state = 'in_progress' AND NOT tasks.is_issue_closed AND wishes.state = 'refused'
               AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.space = tasks.space
                               AND jobs.issue_number = tasks.issue_number AND is_open)"""
    return {row["id"]: row["why"] for row in connection.execute(query)}


def lead_troubles(connection: sqlite3.Connection) -> Mapping[int, str]:
    """By initiative that is being planned, why its issue was not opened or not taken up."""
    query = """SELECT initiatives.id, issue_requests.trouble AS why FROM initiatives
               JOIN issue_requests ON issue_requests.id = issue_request_id
               WHERE initiatives.state = 'planning' AND trouble <> ''
               UNION ALL
               SELECT initiatives.id, wishes.answer FROM initiatives JOIN wishes ON wishes.id = (
                   SELECT max(id) FROM wishes AS last
                   WHERE last.space = initiatives.space AND last.number = initiatives.issue_number)
               WHERE initiatives.state = 'planning' AND wishes.state = 'refused'
               AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.space = initiatives.space
                               AND jobs.issue_number = initiatives.issue_number AND is_open)"""
    return {row["id"]: row["why"] for row in connection.execute(query)}


def has_plan_draft(connection: sqlite3.Connection, job_id: int) -> bool:
    """Whether a lead's job has proposed a plan that nothing is held against."""
    query = "SELECT 1 FROM plan_drafts WHERE job_id = ? AND problems = '[]'"
    return connection.execute(query, (job_id,)).fetchone() is not None


def tasks_added(connection: sqlite3.Connection, job_id: int) -> int:
    """How many tasks sessions of a job came upon."""
    query = "SELECT count(*) FROM tasks WHERE created_by IN (SELECT 'session:' || id FROM sessions WHERE job_id = ?)"
    return int(connection.execute(query, (job_id,)).fetchone()[0])
