"""A sentence becomes an issue that runs its repository's contract: from the chat, and from a comment."""

import json
import sqlite3
from collections.abc import AsyncIterator
from typing import Any

import pytest

from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.job import JobState
from overlord.domain.question import ask
from overlord.embedded.forge.forge import AGENT
from overlord.embedded.play import blocked, edit, submit, write
from overlord.store import decisions, ledger
from overlord.store.bootstrap import issue_requests
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.memory.world import made_memory_world
from tests.world import FIX, REPO, World

REQUIREMENT = "add() subtracts\nAsk @alice why, and keep `@pytest` as it is.<!-- no -->"
PLAN = "# Plan\n\n## Approach\n\nAdd.\n\n## Acceptance\n\n- add(2, 2) is 4.\n\n## Risks\n\nNone.\n"
OTHER = "acme/other"


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with made_memory_talk() as talk:
        await talk.world.settle()
        yield talk


async def facts(world: World, name: str) -> list[dict[str, Any]]:
    entries = await world.read(lambda c: list(ledger.entries(c)))
    return [{"actor": entry.actor, **json.loads(entry.data)} for entry in entries if entry.name == name]


async def say(world: World, number: int, body: str, *, author: str = "alice") -> int:
    comment = await world.forge.comment(REPO, number, body, author=author)
    await world.settle()
    return comment


def ours(world: World, number: int) -> list[str]:
    """What Overlord wrote at an issue."""
    return [item.body for item in world.forge.comments(REPO, number) if "<!-- overlord:" in item.body]


async def test_a_sentence_in_the_chat_becomes_a_pull_request(talk: Talk) -> None:
    talk.world.model_will(edit(*FIX), submit())
    said = await talk.command(f'build {REPO} "{REQUIREMENT}"')
    assert said.splitlines() == [
        f"I open an issue for that in {REPO}.",
        f"{REPO}#1 is open for it. Job 1 takes up {REPO}#1.",
    ]
    assert (await talk.world.job()).state is JobState.IN_REVIEW
    issue = talk.world.forge.issue(REPO, 1)
    [asked] = await talk.world.read(lambda c: [issue_requests.get(c, 1)])
    assert issue.title == "add() subtracts"
    assert issue.body == (
        "add() subtracts\nAsk `@alice` why, and keep `@pytest` as it is.[hidden: no]\n\n"
        f"Asked for by {talk.alice} (slack) · Overlord's request {asked.key}"
    )
    opened = {"actor": asked.actor, "request": 1, "issue": f"{REPO}#1", "kind": "build"}
    assert await facts(talk.world, "requested_issue_opened") == [opened]
    [claimed] = await facts(talk.world, "claimed")
    assert claimed["actor"] == f"slack:{talk.alice}"


async def test_its_contract_is_followed_and_the_gate_is_answered_in_a_thread(talk: Talk) -> None:
    talk.world.overrides["contract"] = "plan-first"
    await talk.world.stop()
    await talk.world.settle()
    talk.world.model_will(write("plan/plan.md", PLAN), submit("planned"))
    said = await talk.chat.mention(talk.alice, "build add() has to add")
    await talk.world.settle()
    answers = [message.plain for message in talk.chat.messages(thread=said.ts)]
    assert answers == [
        f"I open an issue for that in {REPO}.",
        f"{REPO}#1 is open for it. Job 1 takes up {REPO}#1.",
    ]
    gate = talk.card("Approval 1")
    assert "add(2, 2) is 4." in gate.plain
    talk.world.model_will(edit(*FIX), submit("carried out"))
    await talk.chat.say(talk.alice, "approve", thread=gate.ts)
    await talk.world.settle()
    job = await talk.world.job()
    assert (job.state, job.phase) == (JobState.IN_REVIEW, "implement")


async def test_who_may_not_decide_has_no_issue_opened(talk: Talk) -> None:
    bob = talk.chat.add_user("bob")
    assert "Only approvers decide that" in await talk.command(f"build {REPO} add a docstring", by=bob)
    assert "Only approvers decide that" in await talk.command(f"init {REPO}", by=bob)
    assert talk.world.forge.issues(REPO) == []
    assert await facts(talk.world, "issue_requested") == []


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("build", "Say what is to be built."),
        (f"build {REPO}", "Say what is to be built."),
        ("build nobody/knows a page", f"No repository of that name is managed by Overlord; there is {REPO}."),
        (f"init {REPO} and quickly", "takes nothing after"),
    ],
)
async def test_what_cannot_be_asked_for_is_told(talk: Talk, typed: str, said: str) -> None:
    assert said in await talk.command(typed)
    assert talk.world.forge.issues(REPO) == []


async def test_which_repository_is_asked_where_there_are_several(talk: Talk) -> None:
    await talk.world.forge.create_repository(OTHER, files={"a.py": "\n"})
    talk.world.overrides["repositories"] = [REPO, OTHER]
    await talk.world.stop()
    await talk.world.settle()
    assert f"Say which repository, as in owner/repo; there is {REPO}, {OTHER}." in await talk.command(
        'build "client/server apart"'
    )


async def test_a_forge_that_refuses_is_told_once_and_nothing_is_tried_again(talk: Talk) -> None:
    talk.world.forge.fail("issues/create", kind="403", times=1)
    said = (await talk.command("build a page")).splitlines()
    assert said[0] == f"I open an issue for that in {REPO}."
    assert said[1].startswith("The issue was not opened: ") and len(said) == 2
    [row] = await talk.world.read(lambda c: [issue_requests.get(c, 1)])
    assert row.is_refused and row.issue_number is None
    await talk.world.settle()
    assert talk.world.forge.issues(REPO) == []


async def test_a_comment_has_another_issue_opened_and_is_told_its_number() -> None:
    async with made_memory_world() as world:
        number = await world.forge.open_issue(REPO, "Ideas")
        world.model_will(edit(*FIX), submit())
        comment = await say(world, number, "Go.\n\n/overlord build “add() adds\nand double() doubles”")
        assert [item.content for item in world.forge.reactions(comment)] == ["+1"]
        [told] = ours(world, number)
        assert told.startswith(f"#2 is open for it. Job 1 takes up {REPO}#")
        issue = world.forge.issue(REPO, 2)
        assert issue.title == "add() adds"
        assert issue.body.startswith(
            "add() adds\nand double() doubles\n\nAsked for by alice (github) at #1 · "
        )
        assert (await world.job()).state is JobState.IN_REVIEW
        await world.stop()
        await world.settle()
        assert len(ours(world, number)) == 1 and len(world.forge.issues(REPO)) == 2


async def test_a_stranger_and_another_repository_are_refused_in_a_comment() -> None:
    async with made_memory_world() as world:
        world.forge.add_user("mallory", association="NONE")
        number = await world.forge.open_issue(REPO, "Ideas")
        await say(world, number, "/overlord build a door", author="mallory")
        await say(world, number, f"/overlord build {OTHER} a door")
        assert len(world.forge.issues(REPO)) == 1
        stranger, elsewhere = ours(world, number)
        assert "only people who may write" in stranger
        assert f"a comment opens issues in its own repository, {REPO}" in elsewhere


async def test_a_contract_is_asked_for_once_at_a_time(talk: Talk) -> None:
    talk.world.model_will(talk.world.hold(), submit())
    said = await talk.chat.command(talk.alice, f"init {REPO} review skip-discovery")
    assert said.acked
    await talk.world.until_holding()
    issue = talk.world.forge.issue(REPO, 1)
    assert issue.title == f"Review the contract of {REPO}" and "asks no questions" in issue.body
    [asked] = await talk.world.read(lambda c: [issue_requests.of_issue(c, REPO, 1)])
    assert asked is not None and asked.kind == "init"
    assert (asked.options.mode, asked.options.discovers) == ("review", False)
    again = await talk.chat.command(talk.alice, f"init {REPO}")
    await talk.world.until(lambda: bool(again.plain))
    assert f"Job 1 works on the contract of {REPO} already" in again.plain
    talk.world.let_go()


@pytest.mark.parametrize("approvers", [(), ("U0123ABCD",)])
async def test_where_approvers_are_named_a_comment_has_no_contract_made(approvers: tuple[str, ...]) -> None:
    async with made_memory_world(spaces={REPO: {"approvers": list(approvers)}}) as world:
        number = await world.forge.open_issue(REPO, "Ideas")
        world.model_will(submit("nothing"))
        await say(world, number, "/overlord init")
        titles = [issue.title for issue in world.forge.issues(REPO)]
        assert titles == ["Ideas", *([] if approvers else [f"Propose a contract for {REPO}"])]
        assert len(await facts(world, "comment_refused")) == len(approvers)


QUESTIONS = "Question 2 of 5 is open.\n\n1. Where is it kept?\n2. Who may read it?"
IN_WORDS = "1: in SQLite\n2: everybody"


async def asked(world: World) -> Decision:
    """A job waits for answers to its architect's questions."""
    await world.issue("add() subtracts")
    world.model_will(blocked("I need the password"))
    await world.settle()
    question = ask(
        await world.job(), Subject.DISCOVERY, QUESTIONS, at=world.clock.now(), options=("store.kind", "who")
    )

    def raise_it(connection: sqlite3.Connection) -> Decision:
        decisions.close_waiting(connection, 1, DecisionState.SUPERSEDED, at=world.clock.now())
        return decisions.raise_decision(connection, question)

    raised: Decision = await world.overlord.parts.database.write("by hand", raise_it)
    world.overlord.wakeup.notify()
    await world.settle()
    return raised


async def answer_to(world: World, asked: Decision) -> tuple[Verb | None, str]:
    found: Decision = await world.read(decisions.get, asked.id)
    return found.verb, found.answer


async def test_an_architects_questions_are_asked_in_the_thread_of_its_job(talk: Talk) -> None:
    raised = await asked(talk.world)
    root = talk.card("✋")
    [card] = [item for item in talk.chat.messages(thread=root.ts) if item.plain.startswith("Question 2")]
    assert talk.buttons(card) == ["Accept what is proposed", "Answer …", "Drop it"]
    assert "1. Where is it kept?" in card.plain and "Answer: your words are the answers" in card.plain
    pressed = await talk.chat.click(talk.alice, card.ts, "Answer …")
    await talk.chat.until(lambda: talk.chat.open_views(talk.alice))
    [form] = talk.chat.open_views(talk.alice)
    assert pressed.acked and "One on each line, with its question's number: 1: …" in form.plain
    talk.world.model_will(edit(*FIX), submit())
    await talk.chat.say(talk.alice, IN_WORDS, thread=root.ts)
    await talk.world.settle()
    assert await answer_to(talk.world, raised) == (Verb.REPLY, IN_WORDS)
    [card] = [item for item in talk.chat.messages(thread=root.ts) if item.plain.startswith("Question 2")]
    assert talk.buttons(card) == [] and f"Answer · @{talk.alice}" in card.plain


@pytest.mark.parametrize("words", ["Accept what is proposed", "accept"])
async def test_what_an_architect_proposes_is_accepted_in_words(talk: Talk, words: str) -> None:
    raised = await asked(talk.world)
    talk.world.model_will(edit(*FIX), submit())
    await talk.chat.say(talk.alice, words, thread=talk.card("✋").ts)
    await talk.world.settle()
    assert (await answer_to(talk.world, raised))[0] is Verb.ACCEPT


@pytest.mark.parametrize("form", ["/overlord answer {words}", "/overlord answer 2 {words}"])
async def test_an_architects_questions_are_answered_in_a_comment(form: str) -> None:
    async with made_memory_world() as world:
        raised = await asked(world)
        world.model_will(edit(*FIX), submit())
        await say(world, 1, form.format(words=IN_WORDS))
        assert await answer_to(world, raised) == (Verb.REPLY, IN_WORDS)


async def test_words_to_our_account_answer_an_architect() -> None:
    async with made_memory_world() as world:
        raised = await asked(world)
        world.model_will(edit(*FIX), submit())
        await say(world, 1, f"@{AGENT} {IN_WORDS}")
        assert await answer_to(world, raised) == (Verb.REPLY, IN_WORDS)
