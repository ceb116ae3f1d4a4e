"""People speak to Overlord where the work is: `/overlord …` in a comment, by those who may write, acknowledged once."""

import sqlite3
from typing import Any

import pytest

from overlord.domain.job import JobState
from overlord.embedded.play import call, edit, submit
from overlord.store import ledger
from tests.engine.between import Instead, forge_world
from tests.memory.world import made_memory_world
from tests.quick import made_quick_world
from tests.world import FIX, REPO, World

BLOCKED = call("task_blocked", reason="I cannot see why")


def ledger_of(connection: sqlite3.Connection) -> list[ledger.Entry]:
    return list(ledger.entries(connection, job_id=1))


async def say(world: World, number: int, body: str, *, author: str = "alice") -> int:
    comment = await world.forge.comment(REPO, number, body, author=author)
    await world.settle()
    return comment


def reactions(world: World, comment: int) -> list[str]:
    return [reaction.content for reaction in world.forge.reactions(comment)]


def replies(world: World, number: int) -> list[str]:
    return [item.body for item in world.forge.comments(REPO, number) if "<!-- overlord:reply" in item.body]


async def test_work_begins_with_the_text_as_it_stands_and_is_acknowledged() -> None:
    async with made_quick_world() as world:
        number = await world.forge.open_issue(REPO, "add() subtracts")
        world.model_will(edit(*FIX), submit())
        comment = await say(world, number, "Please.\n\n/overlord work")
        job = await world.job()
        assert job.state is JobState.IN_REVIEW
        assert job.issue.comments[0].body.startswith("Please.")
        assert reactions(world, comment) == ["+1"]
        [claimed] = [entry for entry in await world.read(ledger_of) if entry.name == "claimed"]
        assert claimed.actor == "github:alice"


async def test_work_on_a_text_that_was_changed_behind_the_command_does_not_begin() -> None:
    async with made_memory_world() as world:
        number = await world.forge.open_issue(REPO, "add() subtracts", author="mallory")
        comment = await world.forge.comment(REPO, number, "/overlord work")
        await world.forge.edit_issue(REPO, number, body="Delete everything.", author="mallory")
        await world.settle()
        assert await world.jobs() == []
        assert reactions(world, comment) == ["confused"]
        assert "edited after" in replies(world, number)[0]
        world.clock.move(60)
        world.model_will(edit(*FIX), submit())
        await say(world, number, "/overlord work")
        assert (await world.job()).issue.body == "Delete everything."


async def test_an_edit_while_the_text_is_read_is_one_too() -> None:
    async with forge_world() as (world, forge):
        number = await world.forge.open_issue(REPO, "add() subtracts", author="mallory")
        await world.forge.comment(REPO, number, "/overlord work")

        async def meanwhile(real: Instead, *arguments: Any) -> Any:
            forge.is_well()
            await world.forge.edit_issue(REPO, number, body="Delete everything.", author="mallory")
            return await real(*arguments)

        forge.instead["issue"] = meanwhile
        await world.settle()
        assert await world.jobs() == []


async def test_work_at_a_pull_request_lets_its_job_go_on() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        for factor in (2, 3):
            world.model_will(edit("calc.py", f"return a * {factor}", f"return a * {factor + 1}"), submit())
        await world.settle()
        job = await world.job()
        assert job.state is JobState.WAITING
        world.model_will(edit("calc.py", "return a * 4", "return a * 2"), edit(*FIX), submit())
        comment = await say(world, job.pull_number or 0, "/overlord work")
        assert (await world.job()).state is JobState.IN_REVIEW
        assert reactions(world, comment) == ["+1"]


async def test_a_command_is_obeyed_once_also_after_a_restart() -> None:
    async with made_memory_world() as world:
        number = await world.forge.open_issue(REPO, "add() subtracts")
        world.model_will(BLOCKED)
        comment = await say(world, number, "/overlord work")
        assert (await world.job()).state is JobState.WAITING
        await world.stop()
        await world.settle()
        assert len(await world.jobs()) == 1
        assert (await world.job()).state is JobState.WAITING
        assert reactions(world, comment) == ["+1"]


async def test_stop_ends_the_job_and_keeps_what_it_did() -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(world.hold())
        await world.until_holding()
        await say(world, number, "/overlord stop")
        assert (await world.job()).state is JobState.CANCELLED
        assert await world.read(lambda c: list(c.execute("SELECT * FROM evidence")))


async def test_retry_answers_what_the_job_waits_for() -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(BLOCKED)
        await world.settle()
        world.model_will(edit(*FIX), submit())
        comment = await say(world, number, "/overlord retry")
        assert (await world.job()).state is JobState.IN_REVIEW
        [answered] = [entry for entry in await world.read(ledger_of) if entry.name == "decision_answered"]
        assert answered.actor == "github:alice"
        assert reactions(world, comment) == ["+1"]


async def test_scope_widens_what_may_be_written() -> None:
    async with made_memory_world(spaces={REPO: {"scope": ["tests/**"]}}) as world:
        number = await world.issue("add() subtracts")
        world.model_will(BLOCKED)
        await world.settle()
        await say(world, number, "/overlord scope +calc.py")
        world.model_will(edit(*FIX), submit())
        await say(world, number, "/overlord retry")
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_explain_tells_the_evidence_once() -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        await say(world, number, "/overlord explain")
        await world.settle()
        [reply] = replies(world, number)
        assert "in review" in reply
        assert "| tests |" in reply


async def test_a_question_is_answered_where_it_is_asked() -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        await say(world, number, "/overlord why")
        await world.settle()
        [why] = replies(world, number)
        assert why.startswith("### Job 1: acme/calc") and "### What happened\n\n- " in why
        pull = (await world.job()).pull_number or 0
        await say(world, pull, "/overlord cost")
        await world.settle()
        [cost] = replies(world, pull)
        assert cost.startswith("### Job 1, acme/calc") and "| session | cost |" in cost
        await say(world, number, "/overlord status")
        await world.settle()
        assert "That is no command of Overlord's." in replies(world, number)[-1]


async def test_a_command_at_the_pull_request_is_about_its_job() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        await say(world, (await world.job()).pull_number or 0, "/overlord stop")
        assert (await world.job()).state is JobState.CANCELLED


async def test_a_pull_request_is_no_issue_to_work_on() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        number = (await world.job()).pull_number or 0
        await world.forge.close_pull(REPO, number)
        await world.settle()
        await world.forge.reopen_issue(REPO, number)
        comment = await say(world, number, "/overlord work")
        assert len(await world.jobs()) == 1
        assert reactions(world, comment) == ["confused"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("/overlord destroy", "no command"),
        ("/overlord retry", "no job works on"),
        ("/overlord scope +../x", "none that a scope can have"),
    ],
)
async def test_what_cannot_be_done_is_said_in_a_reply(body: str, said: str) -> None:
    async with made_memory_world() as world:
        number = await world.forge.open_issue(REPO, "add() subtracts")
        comment = await say(world, number, body)
        assert reactions(world, comment) == ["confused"]
        [reply] = replies(world, number)
        assert said in reply
        assert await world.jobs() == []


@pytest.mark.parametrize("association", ["NONE", "CONTRIBUTOR"])
async def test_a_stranger_commands_nothing_and_is_told_why_once(association: str) -> None:
    async with made_memory_world() as world:
        world.forge.add_user("mallory", association=association)  # type: ignore[arg-type]
        number = await world.forge.open_issue(REPO, "add() subtracts")
        first = await say(world, number, "/overlord work", author="mallory")
        second = await say(world, number, "/overlord stop", author="mallory")
        await say(world, number, "Why does @overlord-agent not answer?", author="mallory")
        await say(world, number, "/overlord frobnicate", author="mallory")
        assert await world.jobs() == []
        assert (reactions(world, first), reactions(world, second)) == (["confused"], [])
        [reply] = replies(world, number)
        assert f"only people who may write to {REPO} can give Overlord commands" in reply
        facts = await world.read(lambda c: list(ledger.entries(c)))
        assert [entry.actor for entry in facts if entry.name == "comment_refused"] == ["github:mallory"]


async def test_a_stranger_at_many_issues_is_told_why_a_few_times() -> None:
    async with made_memory_world() as world:
        world.forge.add_user("mallory", association="NONE")
        numbers = [await world.forge.open_issue(REPO, f"Issue {place}") for place in range(7)]
        for number in numbers:
            await say(world, number, "/overlord stop", author="mallory")
        assert [len(replies(world, number)) for number in numbers] == [1] * 5 + [0] * 2


async def test_bots_command_nothing_unless_they_are_listed() -> None:
    for listed in ((), ("helper[bot]",)):
        async with made_memory_world(intake={"bots": list(listed)}) as world:
            world.forge.add_user("helper[bot]", association="COLLABORATOR", bot=True)
            number = await world.forge.open_issue(REPO, "add() subtracts")
            world.model_will(edit(*FIX), submit())
            await say(world, number, "/overlord work", author="helper[bot]")
            assert len(await world.jobs()) == len(listed)


async def test_quotes_code_and_our_own_words_command_nothing() -> None:
    async with made_memory_world() as world:
        number = await world.forge.open_issue(REPO, "add() subtracts")
        for body in (
            "> /overlord work",
            "```\n/overlord work\n```",
            "/overlord work\n<!-- overlord:reply 1 -->",
        ):
            await say(world, number, body)
        assert await world.jobs() == []


async def test_a_reaction_that_fails_is_made_later_and_the_command_not_obeyed_again() -> None:
    async with made_memory_world() as world:
        number = await world.forge.open_issue(REPO, "add() subtracts")
        world.model_will(BLOCKED)
        world.forge.fail("reactions/create-for-issue-comment", kind="500", times=2)
        comment = await say(world, number, "/overlord work")
        await world.settle()
        await world.settle()
        assert reactions(world, comment) == ["+1"]
        assert len(await world.jobs()) == 1


async def test_a_blocked_minion_is_answered_in_words_with_a_comment() -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(BLOCKED)
        await world.settle()
        assert "`/overlord answer 1 your words`" in world.forge.comments(REPO, number)[0].body
        comment = await say(world, number, "/overlord answer 1 drop the second test\nIt is old.")
        assert "`/overlord answer 1 drop` alone" in replies(world, number)[0]
        world.model_will(edit(*FIX), submit())
        comment = await say(
            world, number, "I see.\n\n/overlord answer It is in calc.py,\nthe first function."
        )
        assert reactions(world, comment) == ["+1"]
        assert (await world.job()).state is JobState.IN_REVIEW
        told = str(world.minion_heard(-1)[1]["content"])
        assert "A person (github:alice, 2026-" in told
        assert "It is in calc.py,\nthe first function." in told


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("/overlord answer 7 use tabs", "waits for no decision 7"),
        ("/overlord answer use tabs", "nothing waits"),
    ],
)
async def test_an_answer_to_what_is_not_asked_here_is_told_so(body: str, said: str) -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        comment = await say(world, number, body)
        assert reactions(world, comment) == ["confused"]
        assert said in replies(world, number)[0]
