"""A contract that has a person say what may be written where nothing else does: asked once, answered anywhere, bound to the text."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from overlord.domain.decision import Decision, DecisionKind, Subject, Verb
from overlord.domain.interface import Interface
from overlord.domain.job import JobState
from overlord.domain.session import Session
from overlord.embedded.play import blocked, edit, run, submit
from overlord.errors import Refused
from overlord.store import sessions
from overlord.verbs import commands
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.memory.world import made_memory_world
from tests.world import FIX, REPO, World

VAGUE = "It is wrong"
STRAY = run("sed -i s/Adds/Doubles/ README.md")
CALC_ALONE = ["calc.py", "tests/**"]


@asynccontextmanager
async def asking(**overrides: Any) -> AsyncIterator[World]:
    async with made_memory_world(contract="approve-scope", **overrides) as world:
        yield world


async def asked(world: World) -> Decision:
    await world.settle()
    [decision] = await world.decisions()
    assert (await world.job()).state is JobState.WAITING
    return decision


async def scopes(world: World) -> list[object]:
    found: list[Session] = await world.read(sessions.of_job, 1)
    return [json.loads(session.scope) for session in found if session.kind == "work"]


async def test_where_nothing_says_it_a_person_does_before_the_first_session() -> None:
    async with asking() as world:
        await world.issue(VAGUE)
        world.model_will(edit(*FIX), STRAY, submit())
        world.model_will(submit())
        decision = await asked(world)
        assert (decision.kind, decision.subject) == (DecisionKind.APPROVAL, Subject.SCOPE_UNKNOWN)
        assert decision.verbs == (Verb.LIMIT, Verb.UNRESTRICTED, Verb.DROP)
        assert "nothing in the issue or its labels says which files" in decision.body
        assert decision.suggested == ("tests/** calc.py",)
        assert await scopes(world) == []
        await world.answer(decision, Verb.LIMIT, "calc.py, +tests/**")
        await world.settle()
        assert (await scopes(world))[0] == CALC_ALONE
        assert (await world.job()).state is JobState.IN_REVIEW
        [pull] = world.forge.pulls(REPO)
        assert "calc.py: limited to this by cli:alice" in pull.body
        assert await world.git_show((await world.job()).branch, "README.md") == "# calc\n\nAdds numbers.\n"
        assert (await world.events()).count("decision_raised") == 1


async def test_a_person_may_let_it_write_any_file_and_is_not_asked_again() -> None:
    async with asking() as world:
        issue = await world.issue(VAGUE)
        world.model_will(edit(*FIX), STRAY, submit())
        await world.answer(await asked(world), Verb.UNRESTRICTED)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        await world.forge.review(REPO, 2, author="alice", state="CHANGES_REQUESTED", body="Again, please.")
        world.model_will(run("echo more >> README.md"), submit())
        await world.settle()
        assert await scopes(world) == [{"mode": "unrestricted", "patterns": []}] * 2
        assert (await world.events()).count("decision_raised") == 1
        assert issue == 1


async def test_an_edit_that_says_it_takes_the_question_away() -> None:
    async with asking() as world:
        issue = await world.issue(VAGUE)
        world.model_will(edit(*FIX), submit())
        await asked(world)
        await world.forge.edit_issue(REPO, issue, body="`add` in calc.py subtracts.")
        decision = await asked(world)
        assert decision.subject is Subject.ISSUE_EDITED
        await world.answer(decision, Verb.ADOPT)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert "calc.py" in str((await scopes(world))[0])


async def test_patterns_with_blanks_are_no_answer_that_opens_others() -> None:
    async with asking() as world:
        await world.issue(VAGUE)
        world.model_will(edit(*FIX), submit())
        decision = await asked(world)
        at = world.clock.now()
        with pytest.raises(Refused, match="with a blank or a comma"):
            await world.overlord.parts.database.write(
                "by hand",
                lambda c: commands.widen_scope(
                    c, 1, ("Old **",), actor="cli:alice", interface=Interface.TERMINAL, at=at
                ),
            )
        assert await world.decisions() == [decision]


async def test_an_issue_that_says_it_asks_nobody() -> None:
    async with asking() as world:
        await world.issue("add() in calc.py subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert "decision_raised" not in await world.events()


async def test_without_inference_every_issue_is_a_persons_unless_the_settings_say_it() -> None:
    async with asking(infer_scope=False, spaces={REPO: {"issue_scopes": {2: ["calc.py"]}}}) as world:
        await world.issue("add() in calc.py subtracts")
        await world.issue("add() in calc.py subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        [decision] = await world.decisions()
        assert (decision.job_id, decision.subject) == (1, Subject.SCOPE_UNKNOWN)
        assert "`infer_scope` is off" in decision.body
        assert (await world.job(2)).state is JobState.IN_REVIEW


async def test_what_is_no_pattern_is_refused_and_the_question_stands() -> None:
    async with asking() as world:
        await world.issue(VAGUE)
        decision = await asked(world)
        for words in ("", "../up"):
            with pytest.raises(Refused, match=r"pattern|say which files"):
                await world.answer(decision, Verb.LIMIT, words)
        assert await world.decisions() == [decision]


async def test_another_text_is_asked_about_anew() -> None:
    async with asking() as world:
        issue = await world.issue(VAGUE)
        world.model_will(blocked("I need the password"))
        await world.answer(await asked(world), Verb.LIMIT, "calc.py tests/**")
        await world.settle()
        [stopped] = await world.decisions()
        assert stopped.subject is Subject.BLOCKED
        await world.forge.edit_issue(REPO, issue, body="Very wrong.")
        await world.answer(stopped, Verb.RETRY)
        await world.settle()
        [edited] = await world.decisions()
        await world.answer(edited, Verb.ADOPT)
        again = await asked(world)
        assert again.subject is Subject.SCOPE_UNKNOWN
        world.model_will(edit(*FIX), submit())
        await world.answer(again, Verb.UNRESTRICTED)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_a_comment_answers_it_too() -> None:
    async with asking() as world:
        issue = await world.issue(VAGUE)
        world.model_will(edit(*FIX), submit())
        await asked(world)
        told = [item.body for item in world.forge.comments(REPO, issue)]
        assert "`/overlord scope +src/** +tests/**`" in told[-1]
        await world.forge.comment(REPO, issue, "/overlord scope +calc.py +tests/**", author="alice")
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert await scopes(world) == [CALC_ALONE]


async def test_dropping_it_ends_the_job() -> None:
    async with asking() as world:
        await world.issue(VAGUE)
        await world.answer(await asked(world), Verb.DROP)
        await world.settle()
        assert (await world.job()).state is JobState.CANCELLED


# In the chat

FILES = "Files that may be written"


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with made_memory_talk(contract="approve-scope") as talk:
        await talk.world.issue(VAGUE)
        talk.world.model_will(edit(*FIX), submit())
        await talk.world.settle()
        yield talk


async def test_a_button_takes_what_is_suggested(talk: Talk) -> None:
    card = talk.card("Approval 1")
    assert talk.buttons(card) == ["Only tests/** calc.py", "Only these files …", "Any file", "Drop it"]
    assert "nothing in the issue or its labels says which files" in card.plain
    await talk.press(card, "Only tests/** calc.py")
    assert (await talk.world.job()).state is JobState.IN_REVIEW
    assert await scopes(talk.world) == [["tests/**", "calc.py"]]
    card = talk.card("Approval 1")
    assert f"Only these files · @{talk.alice}" in card.plain and talk.buttons(card) == []


async def test_a_form_takes_other_files_and_says_what_is_none(talk: Talk) -> None:
    for words, waits in (("../up", True), ("calc.py", False)):
        pressed = await talk.chat.click(talk.alice, talk.card("Approval 1").ts, "Only these files …")
        assert pressed.acked
        await talk.chat.until(lambda: talk.chat.open_views(talk.alice))
        [view] = talk.chat.open_views(talk.alice)
        await talk.chat.submit(view, {FILES: words}, talk.alice)
        await talk.world.settle()
        assert ((await talk.world.job()).state is JobState.WAITING) is waits
    assert "/overlord answer 1 limit" in talk.chat.ephemerals(talk.alice)[-1].plain
    assert await scopes(talk.world) == [["calc.py"]]


async def test_whoever_asked_for_the_work_does_not_say_what_it_may_write_where_four_eyes_are_wanted() -> None:
    async with made_memory_talk(contract="approve-scope", slack={"four_eyes": True}) as talk:
        issue = await talk.world.issue(VAGUE, label="")
        await talk.world.settle()
        await talk.command(f"work on {REPO}#{issue}")
        await talk.world.settle()
        for label in ("Only tests/** calc.py", "Any file"):
            await talk.press(talk.card("Approval 1"), label)
            assert "somebody else is to approve it" in talk.chat.ephemerals(talk.alice)[-1].plain
        assert (await talk.world.job()).state is JobState.WAITING


@pytest.mark.parametrize("typed", ["/overlord scope +calc.py", "/overlord answer 1 limit calc.py"])
async def test_nor_in_a_comment(typed: str) -> None:
    async with asking(slack={"four_eyes": True}) as world:
        world.forge.add_user("bob", association="COLLABORATOR")
        issue = await world.issue(VAGUE, label="")
        world.model_will(edit(*FIX), submit())
        await world.forge.comment(REPO, issue, "/overlord work", author="alice")
        await asked(world)
        mine = await world.forge.comment(REPO, issue, typed, author="alice")
        await world.settle()
        assert [reaction.content for reaction in world.forge.reactions(mine)] == ["confused"]
        assert (await world.job()).state is JobState.WAITING
        await world.forge.comment(REPO, issue, typed, author="bob")
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert await scopes(world) == [["calc.py"]]
