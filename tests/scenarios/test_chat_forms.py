"""Answers that need words: a form opens for a moment, counts once, and says why where it does not."""

from collections.abc import AsyncIterator

import pytest

from overlord.domain.decision import Verb
from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.embedded.chat.record import Message, View
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.pressing import GONE, WORK, answers, asked, decision, questions

LATE = "That took too long. Press it again, please."
AMOUNT = "How much to add"


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with made_memory_talk() as talk:
        yield talk


@pytest.fixture
async def poor() -> AsyncIterator[Talk]:
    """A talk in a world whose budget is soon spent."""
    async with made_memory_talk(budget={"session_tokens": 2000}) as talk:
        await talk.world.issue("add() subtracts")
        talk.world.model_will(*WORK)
        await talk.world.settle()
        yield talk


async def form(talk: Talk, card: Message, label: str, *, by: str = "") -> View:
    """Somebody presses a button that opens a form."""
    user = by or talk.alice
    pressed = await talk.chat.click(user, card.ts, label)
    assert pressed.acked
    await talk.chat.until(lambda: talk.chat.open_views(user))
    [view] = talk.chat.open_views(user)
    return view


async def test_a_form_takes_another_amount_and_says_what_is_none(poor: Talk) -> None:
    card = poor.card("Decision 1")
    assert (
        await poor.chat.submit(await form(poor, card, "Other amount …"), {AMOUNT: "lots"}, poor.alice)
    ).acked
    await poor.world.settle()
    assert "how much to add" in poor.chat.ephemerals(poor.alice)[-1].plain
    assert (await poor.world.job()).state is JobState.WAITING
    poor.world.model.forget()
    poor.world.model_will(*WORK)
    assert (
        await poor.chat.submit(await form(poor, card, "Other amount …"), {AMOUNT: "2m"}, poor.alice)
    ).acked
    await poor.world.settle()
    assert EventName.WORK_SUBMITTED in await poor.world.events()
    card = poor.card("Decision 1")
    assert f"Add budget · @{poor.alice}" in card.plain and "> 2m" in card.plain
    assert poor.buttons(card) == []


async def test_a_form_takes_a_reply_in_words(talk: Talk) -> None:
    view = await form(talk, await asked(talk), "In words …")
    assert "Plus or minus?" in view.plain
    await talk.chat.submit(view, {"Your answer": "Plus.\nOf <course> & always *plus*"}, talk.alice)
    await talk.world.settle()
    [heard] = [m["content"] for m in talk.world.minion_heard() if m["role"] == "tool"][:1]
    assert heard == "A person answered: Plus.\nOf <course> & always *plus*"
    [card] = questions(talk)
    assert "> Of <course> & always *plus*" in card.plain
    assert talk.buttons(card) == []


async def test_a_form_that_is_sent_twice_counts_once(poor: Talk) -> None:
    view = await form(poor, poor.card("Decision 1"), "Other amount …")
    sent = await poor.chat.submit(view, {AMOUNT: "2m"}, poor.alice)
    assert (await poor.chat.replay(sent)).acked
    await poor.world.settle()
    assert (await poor.chat.replay(sent)).acked
    await poor.world.settle()
    assert await answers(poor) == 1
    assert (await poor.world.events()).count(EventName.BUDGET_ADDED) == 1
    assert poor.chat.ephemerals(poor.alice) == []


async def test_of_two_forms_for_one_decision_the_first_counts(poor: Talk) -> None:
    bob = poor.chat.add_user("bob")
    await poor.world.stop()
    poor.world.overrides["slack"] = poor.world.overrides["slack"] | {"approvers": [poor.alice, bob]}
    await poor.world.start()
    card = poor.card("Decision 1")
    hers, his = await form(poor, card, "Other amount …"), await form(poor, card, "Other amount …", by=bob)
    await poor.chat.submit(hers, {AMOUNT: "2m"}, poor.alice)
    await poor.chat.submit(his, {AMOUNT: "3m"}, bob)
    await poor.world.settle()
    assert await answers(poor) == 1
    assert "> 2m" in poor.card("Decision 1").plain
    assert "answered before" in poor.chat.ephemerals(bob)[-1].plain


async def test_a_form_for_what_was_answered_meanwhile_is_told_so(poor: Talk) -> None:
    card = poor.card("Decision 1")
    view = await form(poor, card, "Other amount …")
    await poor.world.answer(await decision(poor), Verb.DROP, by="cli:bob")
    sent = await poor.chat.submit(view, {AMOUNT: "2m"}, poor.alice)
    assert sent.acked
    await poor.world.settle()
    assert "answered before, by cli:bob" in poor.chat.ephemerals(poor.alice)[-1].plain
    assert (await poor.world.job()).state is JobState.CANCELLED
    [other] = [button for button in card.buttons if button.label == "Other amount …"]
    assert (await poor.chat.click_stale(poor.alice, other)).acked
    await poor.chat.until(lambda: len(poor.chat.ephemerals(poor.alice)) == 2)
    assert "answered before" in poor.chat.ephemerals(poor.alice)[-1].plain
    assert poor.chat.open_views(poor.alice) == []


async def test_a_press_whose_trigger_has_expired_opens_no_form_and_says_to_press_again(poor: Talk) -> None:
    card = poor.card("Decision 1")
    await poor.world.stop()
    missed = await poor.chat.click(poor.alice, card.ts, "Other amount …")
    assert not missed.acked
    await poor.world.start()
    poor.world.clock.move(4)
    assert (await poor.chat.replay(missed)).acked
    await poor.chat.until(lambda: poor.chat.ephemerals(poor.alice))
    assert [seen.error for seen in poor.chat.requests if seen.method == "views.open"] == [
        "expired_trigger_id"
    ]
    assert LATE in poor.chat.ephemerals(poor.alice)[-1].plain
    assert await form(poor, card, "Other amount …")


async def test_a_form_whose_value_was_tampered_with_opens_not(poor: Talk) -> None:
    card = poor.card("Decision 1")
    [other] = [button for button in card.buttons if button.label == "Other amount …"]
    pressed = await poor.chat.click_with(poor.alice, card.ts, other.action_id, f"{other.value}A")
    assert pressed.acked
    await poor.chat.until(lambda: poor.chat.ephemerals(poor.alice))
    assert GONE in poor.chat.ephemerals(poor.alice)[-1].plain
    assert poor.chat.open_views(poor.alice) == []
    assert (await poor.world.job()).state is JobState.WAITING
