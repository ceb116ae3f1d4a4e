"""Proposals as rows: one open at a time for a pattern, decided once by a person, and sightings that count once."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from overlord.domain.person import Person
from overlord.domain.proposals.proposal import EnhancementProposal, Pattern, ProposalStatus, Trigger
from overlord.errors import IllegalMove, NotFound, Refused
from overlord.store.proposals import patterns, proposals
from overlord.store.proposals.patterns import Sighting
from tests.records import NOW, REPO
from tests.stored import claim, opened, propose

ALICE = Person.of("cli:alice")


def sighting(
    source: str, *, job: int = 1, issue: int = 7, answer: str = "", kind: Trigger = Trigger.FAILURE
) -> Sighting:
    pattern = Pattern(space=REPO, fingerprint="f" * 16, trigger=kind, label="lint/F401", sample=source)
    return Sighting(pattern=pattern, source=source, job_id=job, issue_number=issue, at=NOW, answer=answer)


async def test_a_sighting_counts_once_and_the_first_words_stay(tmp_path: Path) -> None:
    def act(connection: sqlite3.Connection) -> None:
        claim(connection, 7), claim(connection, 8)
        seen = [
            sighting("evaluation 1"),
            sighting("evaluation 1"),
            sighting("evaluation 2"),
            sighting("evaluation 3", job=2, issue=8),
        ]
        assert [patterns.see(connection, item) for item in seen] == [True, False, True, True]
        pattern = patterns.get(connection, REPO, "f" * 16)
        found = patterns.evidence(connection, pattern)
        assert pattern.sample == "evaluation 1"
        assert (found.weight, found.times, found.jobs, found.issues) == (2, 3, (1, 2), (7, 8))

    async with opened(tmp_path / "x.db") as database:
        await database.write("by hand", act)


async def test_of_answers_the_last_that_are_alike_count(tmp_path: Path) -> None:
    def act(connection: sqlite3.Connection) -> None:
        claim(connection, 7)
        for number, answer in enumerate(("plus", "plus", "minus", "plus", "plus", "plus")):
            patterns.see(connection, sighting(f"answer {number}", answer=answer, kind=Trigger.QUESTION))
        found = patterns.evidence(connection, patterns.get(connection, REPO, "f" * 16))
        assert (found.weight, found.times, found.answer) == (3, 3, "plus")

    async with opened(tmp_path / "x.db") as database:
        await database.write("by hand", act)


async def test_one_is_open_at_a_time_for_a_pattern(tmp_path: Path) -> None:
    def act(connection: sqlite3.Connection) -> None:
        first = propose(connection)
        with pytest.raises(sqlite3.IntegrityError):
            propose(connection)
        proposals.approve(connection, first, by=ALICE, reason="", at=NOW)
        with pytest.raises(sqlite3.IntegrityError):
            propose(connection)
        propose(connection, space="acme/other")
        proposals.implemented(connection, proposals.get(connection, first.id), issue="acme/calc#9", at=NOW)
        propose(connection)

    async with opened(tmp_path / "x.db") as database:
        await database.write("by hand", act)


async def test_it_is_decided_once_and_a_rejected_one_has_no_way_on(tmp_path: Path) -> None:
    def act(connection: sqlite3.Connection) -> EnhancementProposal:
        raised = propose(connection)
        rejected = proposals.reject(connection, raised, by=ALICE, reason="no", at=NOW)
        for again in (proposals.approve, proposals.reject):
            with pytest.raises(Refused, match="p1 was answered before, by cli:alice: Reject"):
                again(connection, rejected, by=ALICE, reason="", at=NOW)
        with pytest.raises(IllegalMove, match="proposal_implemented cannot happen"):
            proposals.implemented(connection, rejected, issue="acme/calc#9", at=NOW)
        with pytest.raises(NotFound, match="there is no proposal p9"):
            proposals.get(connection, 9)
        return rejected

    async with opened(tmp_path / "x.db") as database:
        rejected = await database.write("by hand", act)
    assert (rejected.status, rejected.reason) == (ProposalStatus.REJECTED, "no")
    assert rejected == replace(rejected, decided_by="cli:alice", decided_at=NOW)


async def test_the_table_itself_has_no_decision_without_a_person(tmp_path: Path) -> None:
    def act(connection: sqlite3.Connection) -> None:
        propose(connection)
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("UPDATE proposals SET status = 'approved'")

    async with opened(tmp_path / "x.db") as database:
        await database.write("by hand", act)


async def test_what_could_be_asked_for_is_what_nobody_was_asked_and_what_has_doubled_since(
    tmp_path: Path,
) -> None:
    def seen(connection: sqlite3.Connection, mark: str, *issues: int, is_systemic: bool = False) -> None:
        pattern = Pattern(space=REPO, fingerprint=mark, trigger=Trigger.FAILURE, label=mark, sample=mark)
        for issue in issues:
            found = replace(
                sighting(f"{mark} {issue}", issue=issue), pattern=pattern, is_systemic=is_systemic
            )
            patterns.see(connection, found)

    def unasked(connection: sqlite3.Connection) -> list[str]:
        return [pattern.label for pattern in patterns.unasked(connection, REPO)]

    def act(connection: sqlite3.Connection) -> None:
        claim(connection, 7)
        seen(connection, "once", 1)
        seen(connection, "twice", 1, 2)
        seen(connection, "systemic", 3, is_systemic=True)
        for mark in ("open", "rejected", "doubled"):
            seen(connection, mark, 4, 5, 6)
            asked = propose(connection, fingerprint=mark, weight=2)
            if mark != "open":
                proposals.reject(connection, asked, by=ALICE, reason="", at=NOW)
        seen(connection, "doubled", 7)
        assert unasked(connection) == ["systemic", "doubled", "twice", "once"]
        assert patterns.unasked(connection, "acme/other") == []
        seen(connection, "rejected", 7)  # at four issues now, of which it takes twice those it was asked with
        assert unasked(connection) == ["systemic", "rejected", "doubled", "twice", "once"]
        more = [f"more {number}" for number in range(100)]
        for mark in more:
            seen(connection, mark, 1)
        assert unasked(connection)[-100:] == more, "none is out of sight because others came first"

    async with opened(tmp_path / "x.db") as database:
        await database.write("by hand", act)
