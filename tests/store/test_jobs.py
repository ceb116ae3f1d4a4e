"""Jobs in rows: one live job for each task, moved only by the table, each move with its fact."""

import json
import sqlite3
from datetime import timedelta

import pytest

from minion.protocol import Comment, SessionKind
from overlord.domain.event import OVERLORD, EventName
from overlord.domain.job import JobState
from overlord.errors import IllegalMove, NotFound
from overlord.store import evidence, final_states, jobs, ledger, sessions
from overlord.store.database import Database
from overlord.store.evidence import EvidenceFile
from overlord.store.rows import update
from tests.records import HEAD, NOW, REPO, an_issue, contract, later
from tests.stored import claim, prepare


async def test_a_claimed_job_is_read_back_as_it_was_written(database: Database) -> None:
    comments = (Comment(author="bob", association="OWNER", body="[1] {brackets} – ü"),)
    job = await database.write(
        "by hand", lambda c: claim(c, title='{"not": "json"}', labels=("bug",), comments=comments)
    )
    assert job.issue == an_issue(title='{"not": "json"}', labels=("bug",), comments=comments)
    assert (job.state, job.branch, job.phase) == (JobState.QUEUED, "minion/issue-7", "implement")
    assert job.expires_at - job.created_at == timedelta(hours=336)
    assert await database.read(lambda c: jobs.get(c, job.id)) == job


async def test_an_edited_text_waits_beside_the_one_that_counts(database: Database) -> None:
    job = await database.write("by hand", claim)
    assert (job.edited_issue, job.issue_looked_at, job.issue_missing_at) == (None, None, None)
    text = an_issue(
        body="[1] {brackets} – ü", comments=(Comment(author="bob", association="NONE", body="Hm."),)
    )
    noted = await database.write(
        "by hand",
        lambda c: jobs.note(
            c, job.id, EventName.ISSUE_EDITED, at=NOW, edited_issue=text, issue_missing_at=later(5)
        ),
    )
    assert (noted.issue, noted.edited_issue, noted.issue_missing_at) == (job.issue, text, later(5))
    cleared = await database.write("by hand", lambda c: jobs.repair(c, job.id, edited_issue=None))
    assert cleared.edited_issue is None


async def test_a_task_has_one_live_job_ever(database: Database) -> None:
    def again(connection: sqlite3.Connection) -> object:
        return jobs.claim(
            connection, space=REPO, issue=an_issue(), base_branch="main", contract=contract(), at=NOW
        )

    first = await database.write("by hand", claim)
    assert await database.write("by hand", again) is None
    await database.write("by hand", lambda c: jobs.move(c, first.id, EventName.STOPPED, at=NOW))
    second = await database.write("by hand", claim)
    assert second.branch == "minion/issue-7-2"
    assert await database.write("by hand", again) is None


async def test_the_database_itself_refuses_a_second_live_job(database: Database) -> None:
    first = await database.write("by hand", claim)
    await database.write("by hand", lambda c: jobs.move(c, first.id, EventName.STOPPED, at=NOW))
    await database.write("by hand", claim)
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        await database.write("by hand", lambda c: update(c, "jobs", first.id, {"is_open": True}))


async def test_a_move_changes_state_and_columns_and_says_who(database: Database) -> None:
    job = await database.write("by hand", prepare)
    moved = await database.write(
        "by hand",
        lambda c: jobs.move(
            c,
            job.job_id,
            EventName.DROPPED,
            at=later(5),
            actor="cli:alice",
            data={"decision": 1},
            head_sha=HEAD,
        ),
    )
    assert (moved.state, moved.head_sha, moved.updated_at) == (JobState.CANCELLED, HEAD, later(5))
    *_, entry = await database.read(lambda c: list(ledger.entries(c, job_id=job.job_id)))
    assert (entry.name, entry.actor, json.loads(entry.data)) == ("dropped", "cli:alice", {"decision": 1})


async def test_a_move_forgets_the_reason_of_the_state_before(database: Database) -> None:
    job = await database.write("by hand", claim)
    await database.write(
        "by hand",
        lambda c: jobs.note(
            c, job.id, EventName.STEP_FAILED, at=NOW, data={"trouble": "x"}, reason="waiting"
        ),
    )
    assert (await database.read(lambda c: jobs.get(c, job.id))).reason == "waiting"
    moved = await database.write("by hand", lambda c: jobs.move(c, job.id, EventName.SESSION_STARTED, at=NOW))
    assert moved.reason == ""


async def test_an_illegal_move_changes_nothing(database: Database) -> None:
    job = await database.write("by hand", claim)
    with pytest.raises(IllegalMove):
        await database.write(
            "by hand", lambda c: jobs.move(c, job.id, EventName.DELIVERED, at=NOW, head_sha=HEAD)
        )
    assert await database.read(lambda c: jobs.get(c, job.id)) == job
    assert len(await database.read(lambda c: list(ledger.entries(c)))) == 1


async def test_of_two_moves_at_once_one_is_lost(database: Database) -> None:
    job = await database.write("by hand", claim)
    await database.write("by hand", lambda c: jobs.move(c, job.id, EventName.STOPPED, at=NOW))
    with pytest.raises(IllegalMove, match="a cancelled job cannot take session_started"):
        await database.write("by hand", lambda c: jobs.move(c, job.id, EventName.SESSION_STARTED, at=NOW))


async def test_code_decides_as_overlord_and_repairs_leave_no_fact(database: Database) -> None:
    job = await database.write("by hand", claim)
    await database.write("by hand", lambda c: jobs.repair(c, job.id, projected="queued", comment_id=5))
    assert (await database.read(lambda c: jobs.get(c, job.id))).comment_id == 5
    [entry] = await database.read(lambda c: list(ledger.entries(c)))
    assert (entry.name, entry.actor) == ("claimed", OVERLORD)


async def test_jobs_are_found_by_what_they_are(database: Database) -> None:
    one, two, three = [await database.write("by hand", lambda c, n=n: claim(c, n)) for n in (1, 2, 3)]  # type: ignore[misc]
    await database.write("by hand", lambda c: prepare(c, two))
    await database.write("by hand", lambda c: jobs.move(c, two.id, EventName.STOPPED, at=NOW))
    await database.write("by hand", lambda c: jobs.move(c, three.id, EventName.STOPPED, at=NOW))
    await database.write("by hand", lambda c: jobs.repair(c, three.id, projected="cancelled"))

    def numbers(connection: sqlite3.Connection) -> dict[str, list[int]]:
        found = {
            "open": jobs.open_jobs(connection),
            "all": jobs.all_jobs(connection),
            "newest": jobs.all_jobs(connection, limit=1),
            "remains": jobs.with_remains(connection),
            "unprojected": jobs.unprojected_closed(connection),
        }
        return {name: [job.issue.number for job in items] for name, items in found.items()}

    assert await database.read(numbers) == {
        "open": [1],
        "all": [3, 2, 1],
        "newest": [3],
        "remains": [2, 3],
        "unprojected": [2],
    }
    assert await database.read(lambda c: jobs.live_for(c, REPO, 1)) == one
    assert await database.read(lambda c: jobs.live_for(c, REPO, 2)) is None
    session = await database.read(lambda c: sessions.live_of(c, two.id))
    assert session is not None
    await database.write("by hand", lambda c: sessions.end(c, session, at=NOW, ending="stopped"))
    assert [job.id for job in await database.read(jobs.with_remains)] == [two.id, three.id]
    for job in (two, two, three):
        final = EvidenceFile(job_id=job.id, session_id=None, kind="final", sha256="0" * 64, size=1, at=NOW)
        await database.write("by hand", lambda c, final=final: final_states.keep(c, final))  # type: ignore[misc]
    assert await database.read(jobs.with_remains) == []
    assert [item.job_id for item in await database.read(evidence.exhibits)] == [two.id, three.id]
    assert await database.read(lambda c: sessions.count(c, two.id, SessionKind.WORK)) == 1


async def test_an_unknown_job_is_named(database: Database) -> None:
    with pytest.raises(NotFound, match=r"there is no job 9$"):
        await database.read(lambda c: jobs.get(c, 9))
