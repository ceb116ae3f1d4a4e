"""Notes are held against the base, told to sessions they fit, and put to a person where two repositories noted the same."""

import sqlite3
from collections.abc import AsyncIterator

import pytest

from minion.protocol import PortfolioTool
from overlord.domain.decision import Audience, Subject, Verb
from overlord.domain.identifiers import Sha
from overlord.domain.interface import Interface
from overlord.domain.knowledge.checking import MOST_BYTES, why_not
from overlord.domain.knowledge.note import CheckKind, NoteCheck, NoteKind, NoteState
from overlord.domain.person import Person
from overlord.engine.knowledge import checks, promotion
from overlord.engine.knowledge.recall import MOST_CHARS, MOST_NOTES, recall, with_notes
from overlord.engine.portfolio.noted_conflicts import conflicts_in
from overlord.store import decisions
from overlord.store.knowledge import notes
from overlord.verbs.commands import answer_decision
from tests import stored
from tests.called_rows import open_call
from tests.engine.stage import NAME, Stage, made_stage
from tests.records import REPO


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with made_stage({"calc.py": "def add(a, b):\n    return a + b\n", "docs/a.md": "x\n"}) as made:
        yield made


@pytest.mark.parametrize(
    ("kind", "path", "text", "reason"),
    [
        (CheckKind.PATH_EXISTS, "calc.py", "", ""),
        (CheckKind.PATH_EXISTS, "docs", "", ""),
        (CheckKind.PATH_EXISTS, "src", "", "src is not there any more"),
        (CheckKind.PATH_MISSING, "calc.py", "", "calc.py is there now"),
        (CheckKind.PATH_MISSING, "src", "", ""),
        (CheckKind.TEXT_PRESENT, "calc.py", "def add", ""),
        (CheckKind.TEXT_PRESENT, "calc.py", "def sub", "calc.py has “def sub” no more"),
        (CheckKind.TEXT_PRESENT, "gone.py", "x", "gone.py is not there any more"),
        (CheckKind.TEXT_ABSENT, "calc.py", "def add", "calc.py has “def add” now"),
        (CheckKind.TEXT_ABSENT, "gone.py", "x", ""),
    ],
)
def test_what_a_note_rests_on_is_looked_at(kind: CheckKind, path: str, text: str, reason: str) -> None:
    check = NoteCheck(kind=kind, path=path, text=text)
    assert why_not(check, {"calc.py", "docs/a.md"}, {"calc.py": b"def add(a, b)"}) == reason


def test_a_file_too_large_to_be_read_is_held_against_no_note() -> None:
    check = NoteCheck(kind=CheckKind.TEXT_PRESENT, path="a", text="zzz")
    assert why_not(check, {"a"}, {"a": b"x" * MOST_BYTES}) == ""


async def base_of(stage: Stage) -> Sha:
    job = await stage.claimed()
    head = await stage.parts.git.branch_head(NAME, job.base_branch)
    assert head is not None
    return head


async def test_notes_are_held_against_no_branch_that_a_call_names(stage: Stage) -> None:
    job = await stage.claimed()

    def called(connection: sqlite3.Connection) -> dict[str, str]:
        stored.note(connection, "x", space=NAME, check=NoteCheck(kind=CheckKind.PATH_EXISTS, path="a"))
        open_call(connection, space=NAME)
        connection.execute("UPDATE jobs SET base_branch = 'feature' WHERE issue_number < 0")
        return notes.checked_spaces(connection)

    assert await stage.write(called) == {NAME: job.base_branch}


async def test_a_note_whose_check_does_not_hold_is_withdrawn_with_the_reason(stage: Stage) -> None:
    base = await base_of(stage)
    holds = NoteCheck(kind=CheckKind.TEXT_PRESENT, path="calc.py", text="def add")
    fails = NoteCheck(kind=CheckKind.PATH_EXISTS, path="src/app.py")
    await stage.write(stored.note, "Adding is in calc.py.", space=NAME, check=holds)
    await stage.write(stored.note, "The program is src/app.py.", space=NAME, check=fails)
    assert await checks.step(stage.parts)
    one, other = [await stage.read(notes.get, number) for number in (1, 2)]
    assert (one.state, one.checked_at) == (NoteState.ACTIVE, stage.parts.clock.now())
    assert other.state is NoteState.WITHDRAWN
    assert other.reason == f"its check does not hold at {base[:12]}: src/app.py is not there any more"
    assert not await checks.step(stage.parts), "the same base is looked at once"


async def test_a_note_of_work_that_was_just_merged_is_held_against_the_merge(stage: Stage) -> None:
    """What was merged may be newer than what the mirror saw last."""
    before = await base_of(stage)
    check = NoteCheck(kind=CheckKind.PATH_EXISTS, path="src/cache.py")
    await stage.write(stored.note, "The cache is src/cache.py.", space=NAME, check=check)
    await stage.world.forge.push_files(REPO, "main", {"src/cache.py": "x\n"}, "Merged")
    assert await stage.parts.git.branch_head(NAME, "main") == before
    assert not await checks.step(stage.parts)
    assert (await stage.read(notes.get, 1)).state is NoteState.ACTIVE


async def test_a_note_that_does_not_hold_at_an_old_base_is_left_out_there_and_counts_on(stage: Stage) -> None:
    base = await base_of(stage)
    check = NoteCheck(kind=CheckKind.PATH_EXISTS, path="src/cache.py")
    await stage.write(stored.note, "The cache is src/cache.py.", space=NAME, check=check)
    told = await with_notes(stage.parts, await stage.job(), None, base=base, listing={"calc.py": ""})
    assert told.notes == ()
    assert (await stage.read(notes.get, 1)).state is NoteState.ACTIVE


async def test_a_session_is_told_what_fits_its_own_repositorys_conventions_first(stage: Stage) -> None:
    await base_of(stage)
    job = await stage.job()
    await stage.write(stored.note, "Everywhere: use Zod.", space="")
    await stage.write(stored.note, "Here: data and error.", space=NAME)
    await stage.write(stored.note, f"Why {job.issue.title} matters.", space=NAME, kind=NoteKind.DECISION)
    await stage.write(stored.note, "Elsewhere.", space="acme/other")
    await stage.write(stored.note, "A guess.", space=NAME, state=NoteState.DRAFT)
    told = await with_notes(stage.parts, job, None, base=job.base_sha or Sha(""), listing={"calc.py": ""})
    assert [note.ref for note in told.notes] == ["n2", "n1", "n3"]
    assert told.tools == (PortfolioTool.SEARCH_KNOWLEDGE, PortfolioTool.NOTE_KNOWLEDGE)


async def test_what_a_session_is_told_is_cut(stage: Stage) -> None:
    for number in range(20):
        await stage.write(stored.note, f"Convention {number}.", space=NAME)
    assert len(await stage.read(recall, NAME, ("add",))) == MOST_NOTES
    for number in range(5):
        await stage.write(stored.note, f"{number}" + "x" * 1_999, space=NAME)
    told = await stage.read(recall, NAME, ("add",))
    assert sum(len(note.text) for note in told) <= MOST_CHARS


SAME = "All endpoints return data and error."


async def promoted(stage: Stage, verb: Verb) -> None:
    decision = await stage.asked()
    person = Person.of("cli:alice")
    at = stage.parts.clock.now()
    await stage.write(
        lambda c: answer_decision(
            c, decision.id, verb, actor=person.actor, interface=Interface.TERMINAL, at=at, by=person
        )
    )
    await promotion.step(stage.parts)


async def test_what_two_repositories_noted_is_put_to_an_approver_once_and_counts_in_all(stage: Stage) -> None:
    await stage.write(stored.note, SAME, space=NAME)
    await stage.write(stored.note, "All endpoints return data, error.", space="acme/other")
    assert await promotion.step(stage.parts)
    asked = await stage.asked()
    assert (asked.subject, asked.about, asked.audience) == (Subject.NOTE_PROMOTION, "n1", Audience.APPROVER)
    assert not await promotion.step(stage.parts), "it is asked once"
    await promoted(stage, Verb.APPROVE)
    made = await stage.read(notes.get, 3)
    assert (made.space, made.promoted_from, made.actor, made.state) == ("", 1, "cli:alice", NoteState.ACTIVE)
    for number in (1, 2):
        assert (await stage.read(notes.get, number)).reason == "n3 says it for all repositories"
    assert not await promotion.step(stage.parts)


async def test_what_a_person_said_no_to_is_not_asked_again(stage: Stage) -> None:
    await stage.write(stored.note, SAME, space=NAME)
    await stage.write(stored.note, SAME, space="acme/other")
    await promotion.step(stage.parts)
    await promoted(stage, Verb.REJECT)
    assert await stage.read(decisions.waiting) == []
    assert (await stage.read(notes.counts)) == {"active": 2}


async def test_a_note_that_changed_before_the_answer_is_not_promoted(stage: Stage) -> None:
    await stage.write(stored.note, SAME, space=NAME)
    await stage.write(stored.note, SAME, space="acme/other")
    await promotion.step(stage.parts)
    decision = await stage.asked()
    at = stage.parts.clock.now()
    person = Person.of("cli:alice")
    await stage.write(
        lambda c: answer_decision(
            c, decision.id, Verb.APPROVE, actor=person.actor, interface=Interface.TERMINAL, at=at, by=person
        )
    )
    await stage.write(
        lambda c: notes.change(c, 1, at=at, actor="cli:bob", text="Something else entirely, by Bob.")
    )
    await promotion.step(stage.parts)
    assert (await stage.read(notes.counts)) == {"active": 2}


async def test_notes_that_answer_the_same_otherwise_are_a_conflict_for_people(stage: Stage) -> None:
    await stage.write(stored.note, "Redis.", question="Which cache for tokens?", space=REPO)
    await stage.write(stored.note, "Memcached.", question="Which cache for tokens?", space="")
    [found] = await stage.read(conflicts_in)
    assert (found.key, found.space) == ("n1 n2", "")
    assert "> Memcached." in found.text
