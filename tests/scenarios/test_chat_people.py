"""Who may give commands in the chat: approvers of a space or of everything, by id, by group, by workspace. Everybody else is told
kindly and in private, nothing changes, and it is written down that somebody tried."""

import json
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import pytest

from overlord.domain.decision import Subject
from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.embedded.chat.record import Message
from overlord.embedded.chat.workspace import STRANGERS
from overlord.embedded.play import edit, run, submit
from overlord.engine.runtime.chat_output import KNOWN_FOR_S
from overlord.store import ledger
from overlord.store.spaces import pauses
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.pressing import stuck
from tests.world import FIX, REPO

PAUSE = f"pause {REPO}"
RESUME = f"resume {REPO}"
NARROW = {REPO: {"scope": ["calc.py"]}}


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with made_memory_talk() as talk:
        yield talk


async def begin(talk: Talk, *approvers: str) -> None:
    """The Overlord starts, with settings that name these."""
    talk.world.overrides["slack"] = talk.world.overrides["slack"] | {"approvers": list(approvers)}
    await talk.world.start()


async def refusals(talk: Talk) -> list[tuple[str, Mapping[str, Any]]]:
    """Who was refused, with what was written down about it."""
    rows = await talk.world.read(lambda c: list(ledger.entries(c)))
    return [(row.actor, json.loads(row.data)) for row in rows if row.name == EventName.CHAT_REFUSED]


async def is_paused(talk: Talk) -> bool:
    return bool(await talk.world.read(pauses.every))


async def heard(talk: Talk, user: str) -> bool:
    """Whether somebody's word counts for the space, tried with a pause that is ended again."""
    said = await talk.command(PAUSE, by=user)
    if not await is_paused(talk):
        assert user in said and "not among" in said
        return False
    assert said.startswith(f"Paused: {REPO}.")
    assert f"Going on: {REPO}" in await talk.command(RESUME, by=user)
    return True


# Who counts


async def test_an_approver_is_named_by_their_id(talk: Talk) -> None:
    bob = talk.chat.add_user("bob")
    await begin(talk, talk.alice)
    assert await heard(talk, talk.alice)
    assert not await heard(talk, bob)


async def test_an_approver_is_who_is_in_a_user_group_now(talk: Talk) -> None:
    bob, carol = talk.chat.add_user("bob"), talk.chat.add_user("carol")
    group = talk.chat.add_group("maintainers", [bob])
    await begin(talk, group)
    assert await heard(talk, bob)
    assert not await heard(talk, carol)
    assert not await heard(talk, talk.alice)
    talk.chat.set_members(group, [carol])
    talk.world.clock.move(KNOWN_FOR_S)
    assert not await heard(talk, bob), "who left the group is no approver any more"
    assert await heard(talk, carol)


async def test_the_group_is_asked_about_once_in_five_minutes(talk: Talk) -> None:
    bob = talk.chat.add_user("bob")
    await begin(talk, talk.chat.add_group("maintainers", [bob]))
    await talk.command(PAUSE, by=bob)
    await talk.command(RESUME, by=bob)
    assert len([seen for seen in talk.chat.requests if seen.method == "usergroups.users.list"]) == 1
    talk.world.clock.move(KNOWN_FOR_S)
    await talk.command(PAUSE, by=bob)
    assert len([seen for seen in talk.chat.requests if seen.method == "usergroups.users.list"]) == 2


async def test_a_group_that_is_gone_has_nobody_in_it(talk: Talk) -> None:
    await begin(talk, "S0NOBODY")
    assert not await heard(talk, talk.alice)


async def test_a_whole_workspace_may_be_named(talk: Talk) -> None:
    bob = talk.chat.add_user("bob")
    await begin(talk, talk.chat.team)
    assert await heard(talk, bob)
    stranger = talk.chat.add_stranger("eve")
    assert "guests and people of other workspaces" in await talk.command(PAUSE, by=stranger)
    assert not await is_paused(talk)


async def test_another_workspace_that_is_named_is_none_of_ours_all_the_same(talk: Talk) -> None:
    await begin(talk, STRANGERS)
    stranger = talk.chat.add_stranger("eve")
    assert "guests and people of other workspaces" in await talk.command(PAUSE, by=stranger)
    assert not await heard(talk, talk.alice)
    assert not await is_paused(talk)


async def test_a_space_may_have_approvers_of_its_own(talk: Talk) -> None:
    bob = talk.chat.add_user("bob")
    talk.world.overrides["spaces"] = {REPO: {"approvers": [bob]}}
    await begin(talk, talk.alice)
    assert await heard(talk, bob)
    assert f"spaces.{REPO}.approvers" in await talk.command(PAUSE)
    assert not await is_paused(talk)
    assert "slack.approvers" in await talk.command("pause everything", by=bob), "that is more than his space"
    assert not await is_paused(talk)
    assert "Paused: everything" in await talk.command("pause everything")


async def test_without_approvers_nobody_counts_and_it_is_said_what_to_set(talk: Talk) -> None:
    await begin(talk)
    card = await stuck(talk)
    await talk.press(card, "Drop it")
    [told] = talk.chat.ephemerals(talk.alice)
    assert "Only approvers decide that" in told.plain and "slack.approvers" in told.plain
    assert (await talk.world.job()).state is JobState.WAITING
    assert "slack.approvers" in await talk.command(PAUSE)
    assert not await is_paused(talk)


# Who does not


async def test_outsiders_are_told_in_private_and_nothing_changes(talk: Talk) -> None:
    chat = talk.chat
    told = {
        chat.add_stranger("eve"): "guests and people of other workspaces",
        chat.add_user("gus", is_guest=True): "guests and people of other workspaces",
        chat.add_user("robot", is_bot=True): "I take no orders from bots.",
        chat.add_user("ghost", is_gone=True): "Your account is deactivated.",
        chat.add_user("bob"): "not among them",
    }
    await begin(talk, talk.alice, *list(told)[:-1])  # somebody named them all the same
    card = await stuck(talk)
    before = [message.plain for message in chat.messages()]
    for user, why in told.items():
        delivered = await chat.click(user, card.ts, "Drop it")
        assert delivered.acked
        await talk.world.settle()
        assert why in delivered.plain, user
        assert why in chat.ephemerals(user)[-1].plain
        assert why in await talk.command("stop #1", by=user)
    assert (await talk.world.job()).state is JobState.WAITING
    assert [decision.id for decision in await talk.world.decisions()] == [1]
    assert [message.plain for message in chat.messages()] == before, "nobody else is bothered"
    assert [actor for actor, _ in await refusals(talk)] == [f"slack:{user}" for user in told for _ in "12"]
    assert all(data["reason"] and data["user"] in told for _, data in await refusals(talk))


async def test_outsiders_learn_nothing_and_members_may_look(talk: Talk) -> None:
    stranger, bob = talk.chat.add_stranger("eve"), talk.chat.add_user("bob")
    card = await stuck(talk)
    for asked in ("status", "why #1", "cost", "decisions", "briefing", "history", "help"):
        assert "add() subtracts" not in await talk.command(asked, by=stranger)
    shown = await talk.chat.click(stranger, talk.card("✋").ts, "Retry")
    await talk.world.settle()
    assert "guests and people of other workspaces" in shown.plain
    assert "add() subtracts" in await talk.command("why #1", by=bob)
    assert "the Minion says it cannot go on" in await talk.command("decisions", by=bob)
    assert (await talk.chat.click(bob, card.ts, "Drop it")).acked
    await talk.world.settle()
    assert (await talk.world.job()).state is JobState.WAITING, "looking is all they may"
    assert [actor for actor, _ in await refusals(talk)] == [f"slack:{stranger}"] * 8 + [f"slack:{bob}"]


async def test_a_strangers_mention_is_answered_in_its_thread_and_does_nothing(talk: Talk) -> None:
    await talk.world.settle()
    stranger = talk.chat.add_stranger("eve")
    mention = await talk.chat.mention(stranger, PAUSE)
    await talk.chat.arrived()
    await talk.world.settle()
    [answer] = talk.chat.messages(thread=mention.ts)
    assert "guests and people of other workspaces" in answer.plain
    assert not await is_paused(talk)
    assert [actor for actor, _ in await refusals(talk)] == [f"slack:{stranger}"]


async def test_who_was_an_approver_is_deactivated_and_counts_no_more(talk: Talk) -> None:
    card = await stuck(talk)
    talk.chat.deactivate(talk.alice)
    await talk.press(card, "Drop it")
    assert (await talk.world.job()).state is JobState.WAITING
    assert [data["reason"] for _, data in await refusals(talk)] == ["Your account is deactivated."]


async def test_a_form_opens_for_nobody_whose_word_does_not_count() -> None:
    async with made_memory_talk(budget={"session_tokens": 2000}) as talk:
        bob, stranger = talk.chat.add_user("bob"), talk.chat.add_stranger("eve")
        await talk.world.issue("add() subtracts")
        talk.world.model_will(edit(*FIX), submit())
        await talk.world.settle()
        card = talk.card("Decision 1")
        for user, why in ((bob, "not among them"), (stranger, "guests and people of other workspaces")):
            pressed = await talk.chat.click(user, card.ts, "Other amount …")
            assert pressed.acked
            await talk.chat.until(partial(talk.chat.ephemerals, user))
            assert why in talk.chat.ephemerals(user)[-1].plain
            assert talk.chat.open_views(user) == []
        assert (await talk.world.job()).state is JobState.WAITING
        assert [actor for actor, _ in await refusals(talk)] == [f"slack:{bob}", f"slack:{stranger}"]


# Four eyes


async def asked_for_approval(talk: Talk) -> Message:
    """Alice asks for work, which goes outside its scope; the card that asks whether it may."""
    await talk.world.issue("add() subtracts", label="")
    outside = run("for name in a b c; do echo x > $name.txt; done")
    talk.world.model_will(edit(*FIX), outside, submit(), submit())
    assert "#1" in await talk.command("work on #1")
    [decision] = await talk.world.decisions()
    assert decision.subject is Subject.SCOPE
    return talk.card("Approval 1")


async def test_who_asked_for_the_work_does_not_approve_it_where_four_eyes_are_asked() -> None:
    async with made_memory_talk(slack={"four_eyes": True}, spaces=NARROW) as talk:
        bob = talk.chat.add_user("bob")
        await begin(talk, talk.alice, bob)
        card = await asked_for_approval(talk)
        pressed = await talk.chat.click(talk.alice, card.ts, "Allow for this job")
        await talk.world.settle()
        assert "somebody else is to approve it" in pressed.plain
        assert "somebody else is to approve it" in await talk.command("approve 1")
        assert "somebody else is to approve it" in await talk.command("answer 1 grant")
        assert (await talk.world.job()).state is JobState.WAITING
        assert [actor for actor, _ in await refusals(talk)] == [f"slack:{talk.alice}"] * 3
        await talk.press(card, "Allow for this job", by=bob)
        assert (await talk.world.job()).state is JobState.IN_REVIEW
        assert f"Allow for this job · @{bob}" in talk.card("Approval 1").plain


async def test_without_four_eyes_who_asked_for_the_work_may_approve_it() -> None:
    async with made_memory_talk(spaces=NARROW) as talk:
        await begin(talk, talk.alice)
        card = await asked_for_approval(talk)
        await talk.press(card, "Allow for this job")
        assert (await talk.world.job()).state is JobState.IN_REVIEW
