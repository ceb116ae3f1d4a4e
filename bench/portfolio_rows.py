"""A portfolio of a large team: initiatives in every state, each with tasks that wait for each other, escalations and notes."""

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import TaskState
from overlord.store.rows import to_column

INITIATIVES, TASKS_EACH, NOTES = 500, 20, 10_000
STATES = tuple(InitiativeState)
_WORDS = ("cache", "token", "queue", "index", "theme", "client", "report", "start")


def fill_portfolio(connection: sqlite3.Connection, spaces: Sequence[str], at: datetime) -> None:
    """Write it. Tasks that were begun have the issues of jobs that are there, so that they cost something."""
    issues = connection.execute("SELECT space, issue_number, id FROM jobs ORDER BY id").fetchall()
    rows = (_initiative(number, spaces, at) for number in range(1, INITIATIVES + 1))
    _insert(connection, "initiatives", rows)
    _insert(connection, "tasks", _tasks(spaces, issues, at))
    links = (
        (row - 1, row) for row in range(1, INITIATIVES * TASKS_EACH + 1) if row % TASKS_EACH not in (1, 2)
    )
    connection.executemany("INSERT INTO task_links (blocker_id, blocked_id) VALUES (?, ?)", links)
    _insert(connection, "notes", _notes(spaces, at))
    told = ((f"i{number}.{task}", seq) for number, task, seq in _told(connection))
    connection.executemany("INSERT OR IGNORE INTO ledger_about (about, seq) VALUES (?, ?)", told)


def _told(connection: sqlite3.Connection) -> Iterator[tuple[int, int, int]]:
    """Four events for each task: those that are in the ledger."""
    last = connection.execute("SELECT coalesce(max(seq), 0) FROM ledger").fetchone()[0]
    seq = 0
    for number in range(1, INITIATIVES + 1):
        for task in range(1, TASKS_EACH + 1):
            for _ in range(4):
                seq += 1
                if seq <= last:
                    yield number, task, seq


def _initiative(number: int, spaces: Sequence[str], at: datetime) -> dict[str, object]:
    began = at - timedelta(hours=number)
    word = _WORDS[number % len(_WORDS)]
    return {
        "id": number,
        "space": spaces[number % len(spaces)],
        "slug": f"{word}-{number}",
        "title": f"The {word} of part {number} is fast, and says what it waits for",
        "goal": f"People wait for the {word}. " * 20,
        "source": "overview",
        "key": f"bench {number}",
        "state": STATES[number % len(STATES)],
        "priority": list(Priority)[number % len(Priority)],
        "actor": "overlord",
        "created_at": began,
        "updated_at": began,
        "last_task": TASKS_EACH,
        "waits": "two initiatives of its repository are open" if number % 3 == 0 else "",
    }


def _tasks(spaces: Sequence[str], issues: Sequence[sqlite3.Row], at: datetime) -> Iterator[dict[str, object]]:
    states = list(TaskState)
    for row in range(INITIATIVES * TASKS_EACH):
        number = row // TASKS_EACH + 1
        job = issues[row] if row < len(issues) else None
        yield {
            "id": row + 1,
            "initiative_id": number,
            "number": row % TASKS_EACH + 1,
            "space": job["space"] if job is not None else spaces[number % len(spaces)],
            "subject": f"Make the {_WORDS[row % len(_WORDS)]} of step {row} say what it does",
            "description": "What is there now, and what should be there instead. " * 10,
            "acceptance_criteria": ("It says so", "All tests pass"),
            "state": states[row % len(states)],
            "priority": Priority.NORMAL,
            "created_by": "session:j1-work-1",
            "created_at": at,
            "updated_at": at,
            "issue_number": job["issue_number"] if job is not None else None,
            "job_id": job["id"] if job is not None else None,
        }


def _notes(spaces: Sequence[str], at: datetime) -> Iterator[dict[str, object]]:
    for number in range(1, NOTES + 1):
        word = _WORDS[number % len(_WORDS)]
        yield {
            "id": number,
            "space": spaces[number % len(spaces)] if number % 10 else "",
            "kind": ("convention", "preference", "decision", "pattern")[number % 4],
            "text": f"The {word} number {number} lives beside its test, and nowhere else.",
            "question": f"Where does the {word} live?",
            "state": "active" if number % 50 else "draft",
            "source": "{}",
            "actor": "overlord",
            "created_at": at,
            "updated_at": at,
        }


def _insert(connection: sqlite3.Connection, table: str, rows: Iterator[dict[str, object]]) -> None:
    for row in rows:
        marks = ", ".join("?" * len(row))
        statement = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"
        connection.execute(statement, [to_column(value) for value in row.values()])
