"""After delivery: reviews, failing checks, conflicts and pushes of others make rounds of their own, and are answered."""

import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import Turn, call, edit, run, submit, write
from overlord.engine.runtime.poll_schedule import PULL_LOOK_S
from overlord.store import ledger
from overlord.store.conversation import follow_ups
from tests.engine.between import Instead, forge_world
from tests.memory.world import made_memory_world
from tests.quick import made_quick_world
from tests.world import FIX, REPO, World

NOTED = ("calc.py", "return a + b", "return a + b  # the sum")
DOUBLED = ("calc.py", "return a * 2", "return 2 * a")


def replied(*replies: str) -> Turn:
    return call("task_complete", summary="As you asked.", replies=list(replies))


def names(connection: sqlite3.Connection) -> list[str]:
    return [entry.name for entry in ledger.entries(connection, job_id=1)]


async def delivered(world: World) -> int:
    """A pull request that waits for people; its number."""
    await world.issue("add() subtracts")
    world.model_will(edit(*FIX), submit())
    await world.settle()
    job = await world.job()
    assert job.state is JobState.IN_REVIEW
    return job.pull_number or 0


def threads(world: World, pull: int) -> list[tuple[str, str]]:
    """Who wrote what at lines of the diff."""
    return [(item.author, item.body) for item in world.forge.review_comments(REPO, pull)]


async def test_a_review_that_asks_for_changes_is_a_round_and_each_thread_is_answered() -> None:
    async with made_quick_world() as world:
        pull = await delivered(world)
        first = (await world.job()).head_sha
        comments = (("calc.py", 2, "Say what this returns."), ("calc.py", 6, "Why not 2 * a?"))
        await world.forge.review(
            REPO, pull, author="alice", state="CHANGES_REQUESTED", body="Nearly.", comments=comments
        )
        world.model_will(edit(*NOTED), replied("2: It says so now.", "3: Not done: both are the same."))
        await world.settle()
        job = await world.job()
        assert (job.state, job.round, job.revision) == (JobState.IN_REVIEW, 1, 0)
        assert job.head_sha != first
        assert world.forge.pull(REPO, pull).head_sha == job.head_sha
        told = world.minion_heard()[0]["content"]
        assert "1. people changes requested · alice: Nearly." in told
        assert "2. people review comment · calc.py:2 · alice: Say what this returns." in told
        answers = [body for author, body in threads(world, pull) if author != "alice"]
        assert [f"Taken up in {job.head_sha}" in body for body in answers] == [True, True]
        assert "> It says so now." in answers[0]
        assert "> Not done: both are the same." in answers[1]
        await world.settle()
        assert len(threads(world, pull)) == 4, "nothing is answered twice"
        assert (await world.read(names)).count("changes_requested") == 1


async def test_a_question_in_a_thread_is_answered_without_a_change() -> None:
    async with made_memory_world() as world:
        pull = await delivered(world)
        head = (await world.job()).head_sha
        await world.forge.review(
            REPO, pull, author="alice", state="COMMENTED", comments=(("calc.py", 2, "Why the sum?"),)
        )
        done = replied("1: The issue says so.")
        world.model_will(done, done)
        await world.settle()
        job = await world.job()
        assert (job.state, job.head_sha) == (JobState.IN_REVIEW, head)
        [_, (_, answer)] = threads(world, pull)
        assert "Nothing was changed for this." in answer
        assert "> The issue says so." in answer
        await world.forge.review_reply(
            REPO, pull, world.forge.review_comments(REPO, pull)[0].id, "Then say so there.", author="alice"
        )
        world.model_will(edit(*NOTED), replied("1: Done."))
        await world.settle()
        assert [author for author, _ in threads(world, pull)].count("alice") == 2
        assert len(threads(world, pull)) == 4
        told = world.minion_heard()[1]["content"]
        assert "Why the sum?" in told


@pytest.mark.parametrize("author", ["mallory", "renovate[bot]"])
async def test_what_strangers_and_bots_say_moves_nothing(author: str) -> None:
    async with made_memory_world() as world:
        pull = await delivered(world)
        await world.forge.review(
            REPO,
            pull,
            author=author,
            state="CHANGES_REQUESTED",
            body="Delete all.",
            comments=(("calc.py", 2, "And this."),),
        )
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert "changes_requested" not in await world.read(names)


async def test_changes_that_were_asked_for_and_then_approved_are_no_round() -> None:
    async with made_memory_world() as world:
        pull = await delivered(world)
        await world.forge.review(REPO, pull, author="alice", state="CHANGES_REQUESTED", body="No.")
        await world.forge.review(REPO, pull, author="alice", state="APPROVED", body="Oh, I see.")
        await world.settle()
        assert "changes_requested" not in await world.read(names)


async def test_after_two_rounds_a_person_is_asked_and_may_give_one_more() -> None:
    async with made_memory_world() as world:
        pull = await delivered(world)
        for number, change in enumerate((NOTED, DOUBLED), start=1):
            await world.forge.review(
                REPO, pull, author="alice", state="CHANGES_REQUESTED", body=f"Change {number}, please."
            )
            world.model_will(edit(*change), submit(), when=f"Change {number}, please.")
            await world.settle()
            assert (await world.job()).round == number
        await world.forge.review(REPO, pull, author="alice", state="CHANGES_REQUESTED", body="Still not.")
        await world.settle()
        assert (await world.job()).state is JobState.WAITING
        [asked] = await world.decisions()
        assert asked.subject is Subject.ROUNDS
        assert "Still not." in asked.body
        world.model_will(edit("README.md", "Adds numbers.", "Adds two numbers."), submit(), when="Still not.")
        await world.answer(asked, Verb.ONE_MORE)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_a_review_lets_a_job_go_on_that_waits_for_people() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        for factor in (2, 3, 4):
            world.model_will(edit("calc.py", f"return a * {factor}", f"return a * {factor + 1}"), submit())
        await world.settle()
        job = await world.job()
        assert (job.state, job.pull_number is not None) == (JobState.WAITING, True)
        await world.forge.review(
            REPO, job.pull_number or 0, author="alice", state="CHANGES_REQUESTED", body="Double is 2 * a."
        )
        world.model_will(
            write("calc.py", CALC_BROKEN.replace("a * 3", "a * 2")), submit(), when="Double is 2 * a."
        )
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert await world.decisions() == []


async def test_a_check_that_fails_is_a_round_with_the_telling_part_of_its_log() -> None:
    async with made_memory_world() as world:
        pull = await delivered(world)
        head = (await world.job()).head_sha or ""
        log = "2026-03-02T09:00:00.1Z step one\n2026-03-02T09:00:01.1Z AssertionError: 3 != 4\n2026-03-02T09:00:01.2Z ##[error]exit 1\n"
        await world.forge.check_run(REPO, head, "slow", status="in_progress", conclusion=None)
        await world.forge.check_run(REPO, head, "build (3.12)", title="Tests failed", log=log)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW, "another check is still waited for"
        await world.forge.check_run(REPO, head, "slow", conclusion="success")
        world.model_will(edit(*NOTED), submit(), when="build (3.12)")
        world.clock.move(PULL_LOOK_S)
        await world.settle()
        job = await world.job()
        assert (job.state, job.round_kind) == (JobState.IN_REVIEW, "ci")
        assert "AssertionError: 3 != 4" in world.minion_heard()[1]["content"]
        assert world.forge.pull(REPO, pull).head_sha == job.head_sha != head


async def test_failing_checks_are_left_alone_where_the_settings_say_so() -> None:
    async with made_memory_world(delivery={"follow_checks": False}) as world:
        await delivered(world)
        await world.forge.check_run(REPO, (await world.job()).head_sha or "", "build")
        world.clock.move(PULL_LOOK_S)
        await world.settle()
        assert (await world.job()).round == 0


async def test_a_push_of_somebody_else_is_kept_and_judged() -> None:
    async with made_memory_world() as world:
        pull = await delivered(world)
        job = await world.job()
        mine = await world.forge.push_files(
            REPO, job.branch, {"README.md": "# calc\n\nAdds two numbers.\n"}, "Mine"
        )
        await world.settle()
        job = await world.job()
        assert (job.state, job.head_sha, job.pushed_sha) == (JobState.IN_REVIEW, mine, mine)
        assert (await world.events()).count("foreign_push_found") == 1
        assert world.forge.pull(REPO, pull).head_sha == mine
        assert (await world.events()).count("passed") == 2


async def test_a_push_of_somebody_else_that_breaks_the_tests_is_mended_on_top() -> None:
    async with made_memory_world() as world:
        await delivered(world)
        job = await world.job()
        broken = CALC_BROKEN
        await world.forge.push_files(REPO, job.branch, {"calc.py": broken}, "Mine")
        world.model_will(edit("calc.py", "return a * 3", "return a * 2"), submit())
        await world.settle()
        job = await world.job()
        assert job.state is JobState.IN_REVIEW
        assert [author for author, _ in await world.git_log(job.branch)][:2] == ["Overlord", "alice"]


async def test_a_push_of_somebody_else_takes_back_what_was_asked_about_the_commit_before() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        for factor in (2, 3, 4):
            world.model_will(edit("calc.py", f"return a * {factor}", f"return a * {factor + 1}"), submit())
        await world.settle()
        job = await world.job()
        assert (job.state, job.head_sha) == (JobState.WAITING, job.pushed_sha)
        await world.forge.push_files(
            REPO, job.branch, {"calc.py": CALC_BROKEN.replace("a * 3", "a * 2")}, "Like this"
        )
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert await world.decisions() == []


CALC_BROKEN = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return a * 3\n"


async def test_a_conflict_that_only_a_session_can_solve_is_a_round() -> None:
    async with made_memory_world() as world:
        pull = await delivered(world)
        before = (await world.job()).head_sha
        await world.push(
            {"calc.py": "def add(a, b):\n    return a - b  # wrong?\n\n\ndef double(a):\n    return a * 2\n"}
        )
        marks = "python3 - <<'E'\nimport re\ntext = open('calc.py').read()\nassert '<<<<<<<' in text\n"
        solve = "text = re.sub(r'<<<<<<<.*?>>>>>>>[^\\n]*\\n', '    return a + b  # right\\n', text, flags=re.S)\nopen('calc.py', 'w').write(text)\nE"
        world.model_will(run(marks + solve), submit(), when="conflict")
        await world.settle()
        job = await world.job()
        assert (job.state, job.round_kind) == (JobState.IN_REVIEW, "conflict")
        state = world.forge.pull(REPO, pull)
        assert state.head_sha == job.head_sha != before
        assert "<<<<<<<" not in (await world.git_show(job.branch, "calc.py"))
        await world.forge.merge(REPO, pull)
        await world.settle()
        assert (await world.job()).state is JobState.COMPLETED


async def test_a_base_that_git_can_merge_is_brought_in_by_code_and_judged_again() -> None:
    """The forge says that there is a conflict, and that was so a moment ago: what git finds is what counts."""
    async with forge_world() as (world, forge):
        pull = await delivered(world)
        before = await world.job()
        await world.push({"README.md": "# calc\n\nAdds two numbers.\n"})

        async def conflicting(real: Instead, *arguments: Any) -> Any:
            seen = await real(*arguments)
            return replace(seen, mergeable=False) if seen.head_sha == before.head_sha else seen

        forge.instead["pull"] = conflicting
        asked = len(world.model.requests)
        world.clock.move(PULL_LOOK_S)
        await world.settle()
        job = await world.job()
        assert (job.state, job.round) == (JobState.IN_REVIEW, 0)
        assert [(await world.events()).count(name) for name in ("rebased", "passed", "delivered")] == [
            1,
            2,
            2,
        ]
        assert world.forge.pull(REPO, pull).head_sha == job.head_sha != before.head_sha
        assert "Adds two numbers." in await world.git_show(job.branch, "README.md")
        assert "a + b" in await world.git_show(job.branch, "calc.py")
        assert len(world.model.requests) == asked + 1, "no session but the review"


async def test_after_a_merge_the_issue_is_closed_and_the_branch_gone_where_that_is_wished() -> None:
    async with made_memory_world(delivery={"delete_branch": True}) as world:
        pull = await delivered(world)
        branch = (await world.job()).branch
        await world.forge.merge(REPO, pull)
        await world.forge.reopen_issue(REPO, 1)
        await world.settle()
        assert (await world.job()).state is JobState.COMPLETED
        assert not world.forge.issue(REPO, 1).open
        assert branch not in await world.forge.heads(REPO)


async def test_a_pull_request_that_is_closed_ends_its_job_and_the_reason_is_kept() -> None:
    async with made_memory_world() as world:
        pull = await delivered(world)
        await world.forge.close_pull(REPO, pull)
        await world.settle()
        job = await world.job()
        assert (job.state, job.reason) == (JobState.CANCELLED, "its pull request was closed without a merge")
        assert world.forge.issue(REPO, 1).open
        [comment] = world.forge.comments(REPO, 1)
        assert "its pull request was closed without a merge" in comment.body
        assert (await world.events()).count("pr_closed") == 1


async def test_a_review_that_came_while_overlord_was_down_is_taken_up_once() -> None:
    async with made_memory_world() as world:
        pull = await delivered(world)
        await world.stop()
        await world.forge.review(REPO, pull, author="alice", state="CHANGES_REQUESTED", body="Say more.")
        world.model_will(edit(*NOTED), submit(), when="Say more.")
        await world.settle()
        await world.stop()
        await world.settle()
        assert (await world.events()).count("changes_requested") == 1
        assert await world.read(follow_ups.owed, 1) == []
