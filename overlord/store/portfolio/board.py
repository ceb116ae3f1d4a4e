"""What people are shown of the portfolio, read at once for all of it: how far each initiative is, what it cost, what is told of it."""

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.budgets.budget import Cost
from overlord.domain.job import JobState
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import TaskState
from overlord.store.ledger import Entry
from overlord.store.rows import select


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An initiative in the few columns that say where on a board it stands."""

    id: int
    space: str
    state: InitiativeState
    priority: Priority
    updated_at: datetime

    @property
    def ref(self) -> str:
        return f"i{self.id}"


def standing(connection: sqlite3.Connection) -> list[Standing]:
    """All of them, oldest first."""
    return select(
        connection, Standing, "SELECT id, space, state, priority, updated_at FROM initiatives ORDER BY id"
    )


def of_ids(connection: sqlite3.Connection, ids: Collection[int]) -> list[Initiative]:
    """These, oldest first."""
    marks = ", ".join("?" * len(ids))
    query = f"SELECT * FROM initiatives WHERE id IN ({marks}) ORDER BY id"  # noqa: S608 - marks
    return select(connection, Initiative, query, *ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedJob:
    """A job that worked on an initiative: it planned it, or did a task of it."""

    job_id: int
    initiative_id: int
    task_number: int | None
    """None for one that planned it."""
    state: JobState
    pull_number: int | None
    tokens: int
    nusd: int | None

    @property
    def cost(self) -> Cost:
        return Cost(tokens=self.tokens, nusd=self.nusd)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """Something of the portfolio that a person is asked."""

    decision_id: int
    about: str
    title: str


def progress(connection: sqlite3.Connection) -> Mapping[int, Mapping[TaskState, int]]:
    """By initiative, how many tasks are in each state."""
    found = dict[int, dict[TaskState, int]]()
    query = "SELECT initiative_id, state, count(*) FROM tasks GROUP BY state, initiative_id"
    for initiative, state, many in connection.execute(query):
        found.setdefault(initiative, {})[TaskState(state)] = many
    return found


_WORKED = """SELECT jobs.id AS job_id, issues.initiative_id, issues.task_number, jobs.state, jobs.pull_number, job_outcomes.tokens,
    job_outcomes.nusd
    FROM (SELECT id AS initiative_id, NULL AS task_number, space, issue_number FROM initiatives
          WHERE id IN ({marks}) AND issue_number IS NOT NULL
          UNION ALL SELECT initiative_id, number, space, issue_number FROM tasks
          WHERE initiative_id IN ({marks}) AND issue_number IS NOT NULL) AS issues
    CROSS JOIN jobs ON jobs.space = issues.space AND jobs.issue_number = issues.issue_number
    JOIN job_outcomes ON job_outcomes.job_id = jobs.id"""


def worked(connection: sqlite3.Connection, initiatives: Collection[int]) -> list[WorkedJob]:
    """Every job that worked on one of these, the oldest first."""
    marks = ", ".join("?" * len(initiatives))
    query = f"{_WORKED.format(marks=marks)} ORDER BY jobs.id"
    return select(connection, WorkedJob, query, *initiatives, *initiatives)


def spent(connection: sqlite3.Connection, initiatives: Collection[int]) -> dict[int, Cost]:
    """By initiative, what all its jobs cost; none for those no job worked on."""
    marks = ", ".join("?" * len(initiatives))
    query = f"""SELECT initiative_id, sum(tokens), sum(nusd) FROM ({_WORKED.format(marks=marks)})
                GROUP BY initiative_id"""  # noqa: S608 - marks and constants
    found = connection.execute(query, (*initiatives, *initiatives))
    return {initiative: Cost(tokens=tokens, nusd=nusd) for initiative, tokens, nusd in found}


_ASKED = """SELECT id AS decision_id, about, title FROM decisions WHERE state = 'open' AND about <> ''
    UNION ALL SELECT decisions.id, 'i' || initiatives.id, decisions.title
    FROM decisions JOIN initiatives ON initiatives.job_id = decisions.job_id WHERE decisions.state = 'open'
    UNION ALL SELECT decisions.id, 'i' || tasks.initiative_id || '.' || tasks.number, decisions.title
    FROM decisions JOIN tasks ON tasks.job_id = decisions.job_id WHERE decisions.state = 'open'
    ORDER BY 1"""


def asked(connection: sqlite3.Connection) -> dict[str, list[OpenQuestion]]:
    """What people are asked of the portfolio now, by what it is about, the oldest first: what a job of an initiative or a task waits
    for, too."""
    found = dict[str, list[OpenQuestion]]()
    for item in select(connection, OpenQuestion, _ASKED):
        found.setdefault(item.about, []).append(item)
    return found


def proposed_plan(connection: sqlite3.Connection, initiative_id: int) -> str:
    """The plan that nobody has approved yet; empty where there is none."""
    query = (
        """SELECT text, approved_at FROM plan_drafts WHERE initiative_id = ? ORDER BY job_id DESC LIMIT 1"""
    )
    row = connection.execute(query, (initiative_id,)).fetchone()
    return str(row["text"]) if row is not None and row["approved_at"] is None else ""


def told(connection: sqlite3.Connection, about: Collection[str], *, tasks_of: str = "") -> Iterator[Entry]:
    """The facts about these, as `i3` or `n12`, in order; with `tasks_of` those about any task of that initiative too."""
    marks = ", ".join("?" * len(about))
    tasks = " OR about >= ? AND about < ?" if tasks_of else ""
    query = f"""SELECT * FROM ledger WHERE seq IN (SELECT seq FROM ledger_about WHERE about IN ({marks}){tasks})
                ORDER BY seq"""  # noqa: S608 - marks and constants
    bounds = (f"{tasks_of}.", f"{tasks_of}/") if tasks_of else ()  # `/` follows `.`
    for row in connection.execute(query, (*about, *bounds)):
        yield Entry(**dict(row))


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedTask:
    """A task that others wait for or that waits for others, in a few columns."""

    id: int
    initiative_id: int
    number: int
    space: str
    state: TaskState

    @property
    def ref(self) -> str:
        return f"i{self.initiative_id}.{self.number}"


def links_at(connection: sqlite3.Connection, initiative_id: int) -> list[tuple[LinkedTask, LinkedTask]]:
    """Pairs of a task and one that waits for it, of which at least one is of an initiative."""
    query = """SELECT blocker_id, blocked_id FROM task_links JOIN tasks ON tasks.id = blocked_id WHERE initiative_id = :id
               UNION SELECT blocker_id, blocked_id FROM task_links JOIN tasks ON tasks.id = blocker_id WHERE initiative_id = :id
               ORDER BY 1, 2"""
    pairs = [tuple(row) for row in connection.execute(query, {"id": initiative_id})]
    ids = sorted({row for pair in pairs for row in pair})
    marks = ", ".join("?" * len(ids))
    known = {
        item.id: item
        for item in select(
            connection,
            LinkedTask,
            f"SELECT id, initiative_id, number, space, state FROM tasks WHERE id IN ({marks})",  # noqa: S608 - marks
            *ids,
        )
    }
    return [(known[blocker], known[blocked]) for blocker, blocked in pairs]
