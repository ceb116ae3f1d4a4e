"""Evaluations in rows: one under way for each job, each check made once, and kept with its verdict."""

import json
import sqlite3

import pytest

from overlord.domain.evaluation import CheckName, CheckScore, Verdict
from overlord.store import ledger
from overlord.store.checks import evaluations
from overlord.store.database import Database
from tests.records import HEAD, NOW, a_check, a_finding, later
from tests.stored import evaluating

SCOPE = a_check(CheckName.SCOPE, summary="1 file, all inside", evidence=("e" * 64,))
TESTS = a_check(
    CheckName.TESTS, CheckScore.NEEDS_REVISION, "1 failed", findings=(a_finding(file="a.py", line=3),)
)


async def test_an_evaluation_is_begun_once_and_collects_its_checks(database: Database) -> None:
    job = await database.write("by hand", evaluating)
    row = await database.write("by hand", lambda c: evaluations.current(c, job, at=NOW))
    assert (row.head_sha, row.revision, row.checks, row.closed) == (HEAD, 0, (), False)
    assert await database.write("by hand", lambda c: evaluations.current(c, job, at=later(9))) == row
    await database.write("by hand", lambda c: evaluations.add_check(c, row, SCOPE, at=NOW))
    await database.write("by hand", lambda c: evaluations.add_check(c, row, TESTS, at=NOW))
    row = await database.write("by hand", lambda c: evaluations.current(c, job, at=NOW))
    assert row.checks == (SCOPE, TESTS)
    assert row.made(CheckName.TESTS)
    assert not row.made(CheckName.LINT)


async def test_a_check_is_made_once_also_by_one_who_has_not_seen_it(database: Database) -> None:
    job = await database.write("by hand", evaluating)
    stale = await database.write("by hand", lambda c: evaluations.current(c, job, at=NOW))
    await database.write("by hand", lambda c: evaluations.add_check(c, stale, TESTS, at=NOW))
    await database.write(
        "by hand", lambda c: evaluations.add_check(c, stale, a_check(CheckName.TESTS), at=NOW)
    )
    row = await database.write("by hand", lambda c: evaluations.current(c, job, at=NOW))
    assert row.checks == (TESTS,)
    made = [
        entry
        for entry in await database.read(lambda c: list(ledger.entries(c)))
        if entry.name == "check_completed"
    ]
    assert [json.loads(entry.data) for entry in made] == [
        {"check": "tests", "score": "needs_revision", "summary": "1 failed", "head": HEAD, "evidence": []}
    ]


async def test_a_closed_evaluation_is_history_and_the_next_begins_anew(database: Database) -> None:
    job = await database.write("by hand", evaluating)
    row = await database.write("by hand", lambda c: evaluations.current(c, job, at=NOW))
    await database.write("by hand", lambda c: evaluations.add_check(c, row, TESTS, at=NOW))
    row = await database.write("by hand", lambda c: evaluations.current(c, job, at=NOW))
    await database.write("by hand", lambda c: evaluations.close(c, row))
    again = await database.write("by hand", lambda c: evaluations.current(c, job, at=later(60)))
    assert again.id != row.id
    assert again.checks == ()
    first, second = await database.read(lambda c: evaluations.history(c, job))
    assert (first.overall, first.findings, first.timestamp) == (Verdict.NEEDS_REVISION, TESTS.findings, NOW)
    assert (second.overall, second.timestamp) == (Verdict.UNAVAILABLE, later(60))
    stored = await database.read(
        lambda c: c.execute("SELECT overall FROM evaluations ORDER BY id").fetchall()
    )
    assert [item["overall"] for item in stored] == ["needs_revision", ""]


async def test_a_job_has_one_open_evaluation(database: Database) -> None:
    job = await database.write("by hand", evaluating)
    row = await database.write("by hand", lambda c: evaluations.current(c, job, at=NOW))
    await database.write("by hand", lambda c: evaluations.close(c, row))
    await database.write("by hand", lambda c: evaluations.current(c, job, at=NOW))
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        await database.write("by hand", lambda c: c.execute("UPDATE evaluations SET closed = 0"))
