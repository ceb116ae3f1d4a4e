"""Jobs found by words: of their issues, of what checks found, of what was said; and found no longer once it is removed."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import pytest

from minion.protocol import Finding
from overlord.domain.evaluation import CheckName, CheckScore
from overlord.domain.job import Job, JobId, JobState
from overlord.domain.search import Hit, HitKind, Piece, SpokenText
from overlord.domain.text.search_words import match_expression
from overlord.store import evidence, jobs, retention, search
from overlord.store.checks import evaluations
from overlord.store.evidence import EvidenceFile
from overlord.store.rows import insert, update
from overlord.store.schema.migrations import is_as_made, migrate
from overlord.store.schema.search import FIRST_FINDING, FIRST_TRANSCRIPT, LAST_TRANSCRIPT, OF_A_JOB
from overlord.store.search import Matches
from tests.records import HEAD, NOW, REPO, a_check, a_job, an_issue, contract
from tests.stored import evaluating


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        migrate(connection)
        yield connection
        connection.execute("INSERT INTO search_index (search_index, rank) VALUES ('integrity-check', 1)")


def claim(connection: sqlite3.Connection, number: int, title: str, *, space: str = REPO) -> int:
    issue = replace(an_issue(number=number, title=title), body="")
    job = jobs.claim(connection, space=space, issue=issue, base_branch="main", contract=contract(), at=NOW)
    assert job is not None
    return job.id


def of_before(connection: sqlite3.Connection, number: int = 7, title: str = "add() subtracts") -> Job:
    """A job as an earlier version wrote it down: without the columns that came later."""
    issue = replace(an_issue(number=number, title=title), body="")
    job = a_job(issue=issue, head_sha=HEAD)
    named = [row["name"] for row in connection.execute("PRAGMA table_info(jobs)")]
    values = {name: getattr(job, name) for name in named if hasattr(job, name) and name != "id"}
    identifier = insert(connection, "jobs", {**values, "issue_number": number, "is_open": True})
    return replace(job, id=JobId(identifier))


def find(
    connection: sqlite3.Connection,
    typed: str,
    *,
    spaces: Sequence[str] = (),
    state: JobState | None = None,
    before: int = 0,
    limit: int = 50,
) -> Matches:
    return search.find(
        connection, match_expression(typed), spaces=spaces, state=state, before=before, limit=limit
    )


def said(*texts: str) -> list[SpokenText]:
    return [SpokenText(turn=turn, text=text) for turn, text in enumerate(texts, start=1)]


def words(hit: Hit) -> str:
    return "".join(piece.text for piece in hit.pieces)


def test_issues_are_found_by_title_and_text(connection: sqlite3.Connection) -> None:
    job = evaluating(connection)
    assert list(find(connection, "subtracts").jobs) == [job.id]
    [hit] = find(connection, 'ADD "is 0"').jobs[job.id]
    assert (hit.kind, hit.source, hit.turn) == (HitKind.ISSUE, "", 0)
    assert [piece.text for piece in hit.pieces if piece.is_match] == ["add", "add", "is 0"]
    update(connection, "jobs", job.id, {"issue": an_issue(title="multiply() divides")})
    assert list(find(connection, "divides").jobs) == [job.id]
    assert find(connection, "subtracts").jobs == {}


def test_findings_are_found_once_for_each_check(connection: sqlite3.Connection) -> None:
    job = evaluating(connection)
    row = evaluations.current(connection, job, at=NOW)
    finding = Finding(
        check="lint", rule="E501", file="src/calc.py", line=3, message="line too long", suggestion="wrap it"
    )
    evaluations.add_check(connection, row, a_check(), at=NOW)
    lint = replace(
        a_check(), name=CheckName.LINT, score=CheckScore.FAIL, summary="1 new", findings=(finding,)
    )
    evaluations.add_check(connection, row, lint, at=NOW)
    evaluations.add_check(connection, row, lint, at=NOW)
    evaluations.close(connection, row)
    for typed in ("E501", "calc.py", '"too long"', "wrap", '"1 new"'):
        [hit] = find(connection, typed).jobs[job.id]
        assert (hit.kind, hit.source) == (HitKind.FINDING, "lint")
    [hit] = find(connection, '"2 passed"').jobs[job.id]
    assert hit.source == "tests"
    again = evaluations.current(connection, job, at=NOW)
    evaluations.add_check(connection, again, lint, at=NOW)
    assert len(find(connection, "E501").jobs[job.id]) == 2


def test_what_was_said_is_found_until_it_is_removed(connection: sqlite3.Connection) -> None:
    job = evaluating(connection)
    file = EvidenceFile(
        job_id=job.id, session_id="j1-work-1", kind="transcript", sha256="e" * 64, size=3, at=NOW
    )
    evidence.record(connection, file, said("I run the tests", "they are flaky"))
    [hit] = find(connection, "flaky").jobs[job.id]
    assert (hit.kind, hit.source, hit.turn) == (HitKind.TRANSCRIPT, "j1-work-1", 2)
    evidence.record(connection, replace(file, sha256="f" * 64), said("I run the tests", "they are green"))
    assert find(connection, "flaky").jobs == {}, "a transcript that went on is found as it is now"
    assert len(find(connection, "tests").jobs[job.id]) == 1
    log = replace(file, kind="log", sha256="a" * 64)
    evidence.record(connection, log)
    retention.forget_evidence(connection, job.id, ["a" * 64], size=3, actor="overlord", at=NOW)
    assert list(find(connection, "green").jobs) == [job.id]
    retention.forget_evidence(connection, job.id, ["f" * 64], size=3, actor="overlord", at=NOW)
    assert find(connection, "green").jobs == {}
    assert list(find(connection, "subtracts").jobs) == [job.id], "the issue is still there"


def test_the_issue_comes_first_then_checks_then_sessions(connection: sqlite3.Connection) -> None:
    job = evaluating(connection)
    search.add_spoken(connection, job.id, "s1", said("add one red", "add two red", "add three red"))
    row = evaluations.current(connection, job, at=NOW)
    evaluations.add_check(connection, row, replace(a_check(), summary="add is red"), at=NOW)

    def places(typed: str) -> list[tuple[HitKind, int]]:
        return [(hit.kind, hit.turn) for hit in find(connection, typed).jobs[job.id]]

    assert places("add") == [(HitKind.ISSUE, 0), (HitKind.FINDING, 0)]
    assert places("red") == [(HitKind.FINDING, 0), (HitKind.TRANSCRIPT, 3)]
    assert places("add -is") == [(HitKind.TRANSCRIPT, 3), (HitKind.TRANSCRIPT, 2)]


def test_the_newest_job_comes_first_and_a_page_goes_on_where_one_ended(
    connection: sqlite3.Connection,
) -> None:
    numbers = [claim(connection, number, f"same {number}") for number in range(1, 8)]
    search.add_spoken(connection, numbers[0], "s1", said("same, said last"))
    first = find(connection, "same", limit=3)
    assert (list(first.jobs), first.older) == ([7, 6, 5], 5)
    second = find(connection, "same", limit=3, before=first.older)
    assert (list(second.jobs), second.older) == ([4, 3, 2], 2)
    last = find(connection, "same", limit=3, before=second.older)
    assert (list(last.jobs), last.older, len(last.jobs[1])) == ([1], 0, 2)
    assert find(connection, "same", before=10**30, limit=1).jobs.keys() == {7}


def test_filters_leave_jobs_out(connection: sqlite3.Connection) -> None:
    for number, space in enumerate(("acme/a", "acme/b", "acme/a"), start=1):
        claim(connection, number, "same", space=space)
    update(connection, "jobs", 3, {"state": JobState.FAILED, "is_open": False})
    assert list(find(connection, "same", spaces=["acme/a"]).jobs) == [3, 1]
    assert list(find(connection, "same", spaces=["acme/a", "acme/b"], state=JobState.QUEUED).jobs) == [2, 1]
    assert list(find(connection, "same", spaces=["acme/none"]).jobs) == []


def test_a_search_that_filters_leave_nothing_of_is_bounded_and_goes_on(
    connection: sqlite3.Connection,
) -> None:
    wanted = claim(connection, 1, "same", space="acme/rare")
    for number in range(2, 7):
        job = claim(connection, number, "same")
        search.add_spoken(connection, job, "s1", said(*["same"] * (LAST_TRANSCRIPT - FIRST_TRANSCRIPT + 9)))
    found = find(connection, "same", spaces=["acme/rare"])
    assert found.jobs == {} and 1 < found.older < 6
    assert list(find(connection, "same", spaces=["acme/rare"], before=found.older).jobs) == [wanted]


def test_a_job_has_no_more_texts_than_it_has_numbers(connection: sqlite3.Connection) -> None:
    job = evaluating(connection)
    search.add_spoken(connection, job.id, "s1", said(*["same"] * 5000))
    search.add_spoken(connection, job.id, "s2", said("more"))
    row = evaluations.current(connection, job, at=NOW)
    last = job.id * OF_A_JOB + OF_A_JOB - 2
    connection.execute("INSERT INTO search_texts (id, kind, text) VALUES (?, 'finding', 'x')", (last,))
    evaluations.add_check(connection, row, a_check(), at=NOW)
    kept = [item[0] for item in connection.execute("SELECT id FROM search_texts ORDER BY id")]
    assert len(kept) == FIRST_FINDING + 2
    assert find(connection, "more").jobs == {} and find(connection, '"2 passed"').jobs == {}


def test_others_words_stay_words(connection: sqlite3.Connection) -> None:
    job = claim(connection, 1, "<b>bold</b> \x02x\x03 \u202ereversed\0 'quoted'")
    search.add_spoken(connection, job, "s1", said("<script>alert('bold')</script>\n\n\x02bold\x03"))
    issue, spoken = find(connection, "bold").jobs[job]
    assert issue.pieces[:3] == (
        Piece(text="<b>"),
        Piece(text="bold", is_match=True),
        Piece(text="</b> "),
    )
    assert words(spoken) == "<script>alert('bold')</script> bold"
    for hit in (issue, spoken):
        assert not {"\x02", "\x03", "\u202e", "\0"} & set(words(hit))


def test_a_database_of_before_is_searched_by_its_issues_and_findings() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as old:
        old.row_factory = sqlite3.Row
        migrate(old, target=4)
        job = of_before(old)
        for summary in ("3 passed", "4 passed"):
            row = evaluations.current(old, job, at=NOW)
            evaluations.add_check(old, row, replace(a_check(), summary=summary), at=NOW)
            lint = replace(a_check(), name=CheckName.LINT, summary="no E501")
            evaluations.add_check(old, row, lint, at=NOW)
            evaluations.close(old, row)
        other = of_before(old, 9, "x").id
        migrate(old)
        assert is_as_made(old)
        assert list(find(old, "subtracts").jobs) == [job.id]
        assert list(find(old, "x").jobs) == [other]
        assert len(find(old, "E501").jobs[job.id]) == 2
        [hit] = find(old, '"4 passed"').jobs[job.id]
        assert (hit.kind, hit.source) == (HitKind.FINDING, "tests")
        row = evaluations.current(old, job, at=NOW)
        evaluations.add_check(old, row, replace(a_check(), summary="5 passed"), at=NOW)
        assert [hit.source for hit in find(old, '"5 passed"').jobs[job.id]] == ["tests"]
        old.execute("INSERT INTO search_index (search_index, rank) VALUES ('integrity-check', 1)")


def test_a_restored_database_is_searched_though_nothing_of_its_schema_is_trusted() -> None:
    """A backup is looked at with `trusted_schema` off, and brought up to date so."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as restored:
        restored.row_factory = sqlite3.Row
        migrate(restored, target=4)
        job = of_before(restored)
        restored.execute("PRAGMA trusted_schema=OFF")
        migrate(restored)
        assert is_as_made(restored)
        assert list(find(restored, "subtracts").jobs) == [job.id]
        assert restored.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok"
