"""Decisions and questions in the chat: asked where people see them, answered by button, by words, by reply; and the briefing."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from overlord.domain.decision import DecisionState, Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import blocked, call, edit, submit, write
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.pressing import UNREADABLE, blocker, decision
from tests.world import FIX, REPO

NOBODYS_WORDS = (
    "message_changed",
    "message_deleted",
    "bot_message",
    "channel_join",
    "message_replied",
    "new",
)
"""What Slack also sends as messages, in its threads too."""


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with made_memory_talk() as talk:
        yield talk


async def test_a_blocker_is_a_card_of_its_own_with_the_minions_words_as_a_quote(talk: Talk) -> None:
    await talk.world.issue("add() subtracts")
    talk.world.model_will(blocked("The *database* is down <!channel>"))
    await talk.world.settle()
    card = talk.card("Blocker 1: acme/calc#1")
    assert "The *database* is down <!channel>" in card.plain
    assert talk.buttons(card) == ["Try again", "In words …", "Take over", "Drop it"]
    await talk.press(card, "Take over")
    assert (await talk.world.job()).state is JobState.CANCELLED
    card = talk.card("Blocker 1")
    assert talk.buttons(card) == []
    assert f"Take over · @{talk.alice}" in card.plain


async def test_a_question_is_asked_in_the_jobs_thread_and_a_reply_there_answers_it(talk: Talk) -> None:
    await talk.world.issue("add() subtracts")
    question = call("ask_question", question="Shall <it> add & multiply?", kind="question")
    talk.world.model_will(question, edit(*FIX), submit())
    await talk.world.make_due()
    await talk.world.until(lambda: asked_in_thread(talk))
    [card] = talk.cards()
    await talk.chat.say(talk.alice, "just talking to bob", channel=talk.chat.channel)
    await talk.chat.say(talk.alice, "No, only add & that", thread=card.ts)
    await talk.world.settle()
    heard = str(talk.world.minion_heard())
    assert "No, only add & that" in heard
    asked = asked_in_thread(talk)
    assert asked is not None and "Reply" in asked and f"@{talk.alice}" in asked
    assert (await talk.world.job()).state is JobState.IN_REVIEW


@pytest.mark.parametrize("where", ["Blocker 1", "✋"], ids=["its card", "its job"])
async def test_a_blocker_is_answered_in_words_in_its_thread(talk: Talk, where: str) -> None:
    await talk.world.issue("add() subtracts")
    talk.world.model_will(blocked("Which port?"))
    await talk.world.settle()
    card = talk.card(where)
    await talk.chat.say(talk.alice, "drop the second one", thread=card.ts)
    await talk.world.settle()
    [told] = talk.chat.ephemerals(talk.alice)
    assert "`/overlord answer 1 drop` alone" in told.plain and len(await talk.world.decisions()) == 1
    talk.world.model_will(edit(*FIX), submit())
    await talk.chat.say(talk.alice, "8080, and <say> so", thread=card.ts)
    await talk.world.settle()
    assert (await talk.world.job()).state is JobState.IN_REVIEW
    assert "8080, and <say> so" in str(talk.world.minion_heard(-1)[1]["content"])
    assert f"Reply · @{talk.alice}" in talk.card("Blocker 1").plain


async def test_talk_where_words_are_no_answer_is_told_what_is() -> None:
    async with made_memory_talk(UNREADABLE) as talk:
        card = await blocker(talk)
        await talk.chat.say(talk.alice, "Hm, why?", thread=card.ts)
        await talk.world.settle()
        [told] = talk.chat.ephemerals(talk.alice)
        assert "takes another answer; say `/overlord answer 1 retry`" in told.plain
        assert (await decision(talk)).state is DecisionState.OPEN


@pytest.mark.parametrize(
    "how", [{"is_broadcast": True}, {"files": ["screen.png"]}], ids=["broadcast", "file"]
)
async def test_a_reply_counts_that_is_also_sent_to_the_channel_or_has_a_file(how: dict[str, Any]) -> None:
    async with made_memory_talk(UNREADABLE) as talk:
        card = await blocker(talk)
        await talk.chat.say(talk.alice, "Drop it", thread=card.ts, **how)
        await talk.chat.arrived()
        await talk.world.settle()
        answered = await decision(talk)
        assert (answered.state, answered.answered_by) == (DecisionState.ANSWERED, f"slack:{talk.alice}")


async def test_what_is_said_with_a_file_alone_is_told_to_be_unreadable_and_other_events_are_no_answers() -> (
    None
):
    async with made_memory_talk(UNREADABLE) as talk:
        card = await blocker(talk)
        for subtype in NOBODYS_WORDS:
            event = {"type": "message", "subtype": subtype, "user": talk.alice, "text": "Drop it"}
            event |= {"ts": talk.chat.workspace.next_ts(), "thread_ts": card.ts, "channel": card.channel}
            talk.chat.people.deliver(event)
        await talk.chat.arrived()
        await talk.world.settle()
        assert talk.chat.ephemerals(talk.alice) == []
        await talk.chat.say(talk.alice, "", thread=card.ts, files=["screen.png"])
        await talk.chat.arrived()
        await talk.world.settle()
        [told] = talk.chat.ephemerals(talk.alice)
        assert "Overlord cannot read files" in told.plain
        assert (await decision(talk)).state is DecisionState.OPEN


def asked_in_thread(talk: Talk) -> str | None:
    """What the question's card says, once it stands in the thread of the job's message."""
    for root in talk.cards():
        for message in talk.chat.messages(thread=root.ts):
            if message.plain.startswith("Question"):
                return message.plain
    return None


async def test_offered_answers_are_buttons(talk: Talk) -> None:
    await talk.world.issue("add() subtracts")
    options = ["the first", "the second"]
    question = call("ask_question", question="Which one?", kind="question", options=options)
    talk.world.model_will(question, edit(*FIX), submit())
    await talk.world.make_due()
    await talk.world.until(lambda: asked_in_thread(talk))
    [root] = talk.cards()
    [card] = [item for item in talk.chat.messages(thread=root.ts) if item.plain.startswith("Question")]
    assert talk.buttons(card) == ["the first", "the second", "In words …"]
    await talk.chat.click(talk.alice, card.ts, "the second")
    await talk.world.settle()
    assert "the second" in str(talk.world.minion_heard())


async def test_a_decision_answered_on_the_command_line_says_so_in_its_card(talk: Talk) -> None:
    await talk.world.issue("add() subtracts")
    talk.world.model_will(blocked("I cannot"))
    await talk.world.settle()
    [decision] = await talk.world.decisions()
    await talk.world.answer(decision, Verb.DROP)
    await talk.world.settle()
    card = talk.card("Blocker 1")
    assert "Drop it · cli:alice" in card.plain
    assert talk.buttons(card) == []


async def test_approve_reject_and_answer_are_words_too(talk: Talk) -> None:
    await talk.world.issue("add() subtracts")
    talk.world.model_will(blocked("I cannot"))
    await talk.world.settle()
    assert "Blocker 1" in str([card.plain for card in talk.cards()])
    assert "cannot go on" in await talk.command("why #1")
    talk.world.model_will(edit(*FIX), submit())
    assert "Decision 1: Try again." in await talk.command("approve 1")
    assert (await talk.world.job()).state is JobState.IN_REVIEW
    assert "was answered before" in await talk.command("reject 1")
    assert "there is no decision 7" in (await talk.command("answer 7 drop")).casefold()


@pytest.mark.parametrize("verb", ["Allow once", "Allow for this job"])
async def test_more_scope_is_granted_by_button_and_holds_at_once(talk: Talk, verb: str) -> None:
    talk.world.overrides["spaces"] = {REPO: {"scope": ["calc.py"]}}
    await talk.world.issue("add() subtracts")
    asks = call("ask_question", question="May I?", kind="scope", patterns=["docs/**"])
    talk.world.model_will(asks, write("docs/a.md", "# A\n"), edit(*FIX), submit())
    await talk.world.make_due()
    await talk.world.until(lambda: scope_asked(talk))
    [root] = talk.cards()
    [card] = [item for item in talk.chat.messages(thread=root.ts) if "docs/**" in item.plain]
    assert talk.buttons(card) == ["Allow once", "Allow for this job", "Refuse"]
    assert "The Minion of j1-work-1 asks to write: docs/**" in card.plain
    assert "• Allow for this job: sessions of this job may write these paths, for 14 days" in card.plain
    await talk.chat.click(talk.alice, card.ts, verb)
    await talk.world.settle()
    job = await talk.world.job()
    assert job.state is JobState.IN_REVIEW
    assert await talk.world.git_show(job.branch, "docs/a.md") == "# A\n"


def scope_asked(talk: Talk) -> bool:
    return any(
        "docs/**" in item.plain for root in talk.cards() for item in talk.chat.messages(thread=root.ts)
    )


async def test_a_spent_budget_takes_an_amount_by_button_or_by_form() -> None:
    async with made_memory_talk(budget={"session_tokens": 2000}) as talk:
        await talk.world.issue("add() subtracts")
        talk.world.model_will(edit(*FIX), submit())
        await talk.world.settle()
        [decision] = await talk.world.decisions()
        assert decision.subject is Subject.BUDGET
        card = talk.card("Decision 1")
        [suggested, other, *_] = talk.buttons(card)
        assert suggested.startswith("+ ") and other == "Other amount …"
        await talk.chat.click(talk.alice, card.ts, other)
        await talk.chat.until(lambda: talk.chat.open_views(talk.alice))
        [view] = talk.chat.open_views(talk.alice)
        await talk.chat.submit(view, {"How much to add": "2m"}, talk.alice)
        await talk.world.settle()
        assert "Add budget" in talk.card("Decision 1").plain
        assert "2m" in talk.card("Decision 1").plain


async def test_the_briefing_comes_in_the_morning_once_and_only_with_news(talk: Talk) -> None:
    await talk.world.settle()
    await talk.world.issue("add() subtracts")
    talk.world.model_will(blocked("I cannot"))
    await talk.world.settle()
    assert talk.cards("Briefing") == []
    talk.world.clock.move(23 * 3600)  # past eight on the next morning
    await talk.world.settle()
    briefing = talk.card("Briefing")
    assert "BLOCKERS (1)" in briefing.plain
    assert talk.buttons(briefing) == ["1: Try again"]
    talk.world.clock.move(24 * 3600)
    await talk.world.settle()
    assert len(talk.cards("Briefing")) == 1
    talk.world.model_will(edit(*FIX), submit())
    await talk.press(briefing, "1: Try again")
    assert (await talk.world.job()).state is JobState.IN_REVIEW


async def test_a_clock_that_jumps_over_the_briefing_and_back_costs_no_day(talk: Talk) -> None:
    await talk.world.settle()
    await talk.world.issue("add() subtracts")
    talk.world.model_will(blocked("I cannot"))
    await talk.world.settle()
    talk.world.clock.jump(5 * 86_400)
    await talk.world.settle()
    assert len(talk.cards("Briefing")) == 1
    talk.world.clock.jump(-5 * 86_400)
    await talk.world.issue("sub() adds")
    talk.world.model_will(blocked("I cannot either"))
    await talk.world.settle()
    assert len(talk.cards("Briefing")) == 1
    talk.world.clock.move(86_400)
    await talk.world.settle()
    [_, briefing] = talk.cards("Briefing")
    assert "BLOCKERS (2)" in briefing.plain
    talk.world.clock.jump(-3600)
    await talk.world.settle()
    talk.world.clock.move(3600)
    await talk.world.settle()
    assert len(talk.cards("Briefing")) == 2
