"""A job in the chat: one message that is edited as it moves, the story in its thread, buttons that fit."""

import re
from collections.abc import AsyncIterator

import pytest
from inline_snapshot import snapshot

from overlord.domain.job import JobState
from overlord.embedded.play import blocked, edit, read, submit
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.world import FIX, REPO


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with made_memory_talk() as talk:
        yield talk


async def delivered(talk: Talk) -> None:
    """An issue is labelled, and its pull request is ready."""
    await talk.world.issue("add() subtracts")
    talk.world.model_will(read("calc.py"), edit(*FIX), submit())
    await talk.world.settle()


async def test_a_job_is_one_message_that_moves_and_its_story_is_in_the_thread(talk: Talk) -> None:
    await delivered(talk)
    [card] = talk.cards()
    assert card.plain.splitlines()[:2] == ["👀 add() subtracts", "acme/calc#1  In review"]
    assert talk.buttons(card) == ["Open PR", "Show evidence"]
    thread = "\n".join(message.plain for message in talk.chat.messages(thread=card.ts))
    assert "opened draft pull request #2" in thread
    assert thread.index("claimed acme/calc#1") < thread.index("is in review")
    await talk.world.forge.merge(REPO, 2)
    await talk.world.settle()
    [card] = talk.cards()
    assert card.plain.startswith("✅ add() subtracts\nacme/calc#1  Merged")
    assert talk.buttons(card) == ["Open PR", "Show evidence"]


async def test_it_shows_what_its_minion_is_at_while_it_works(talk: Talk) -> None:
    await talk.world.issue("add() subtracts")
    talk.world.model_will(talk.world.hold(), edit(*FIX), submit())
    await talk.world.until_holding()
    await talk.world.until(lambda: "turn 1" in talk.cards()[0].plain)
    assert talk.card("🛠️").plain.splitlines()[2].startswith("turn 1: ")
    talk.world.let_go()
    await talk.world.settle()
    assert talk.card("👀")


async def test_stop_ends_the_job_and_takes_the_buttons_away(talk: Talk) -> None:
    await talk.world.issue("add() subtracts")
    talk.world.model_will(talk.world.hold(), submit())
    await talk.world.until_holding()
    await talk.world.until(lambda: talk.cards("🛠️"))
    await talk.press(talk.card("🛠️"), "Stop")
    assert (await talk.world.job()).state is JobState.CANCELLED
    assert talk.buttons(talk.card("⏹️")) == []
    [stopped] = [name for name in await talk.world.events() if name == "stopped"]
    assert stopped


async def test_evidence_is_shown_to_who_asks_for_it(talk: Talk) -> None:
    await delivered(talk)
    pressed = await talk.chat.click(talk.alice, talk.card("👀").ts, "Show evidence")
    await talk.world.settle()
    assert "Evidence of job 1: acme/calc#1" in pressed.plain
    assert "tests" in pressed.plain
    assert "/overlord why 1" in pressed.plain


async def test_retry_stands_on_a_job_that_waits_and_goes_on_with_it(talk: Talk) -> None:
    await talk.world.issue("add() subtracts")
    talk.world.model_will(blocked("I need the database's password"))
    await talk.world.settle()
    card = talk.card("✋")
    assert "Retry" in talk.buttons(card)
    talk.world.model_will(edit(*FIX), submit())
    await talk.press(card, "Retry")
    assert (await talk.world.job()).state is JobState.IN_REVIEW


async def test_nothing_is_said_twice_over_a_restart(talk: Talk) -> None:
    await delivered(talk)
    before = talk.chat.transcript()
    await talk.world.stop()
    await talk.world.settle()
    await talk.world.settle()
    assert talk.chat.transcript() == before


async def test_a_message_that_was_deleted_is_posted_anew(talk: Talk) -> None:
    await delivered(talk)
    talk.chat.delete_message(talk.card("👀").ts)
    await talk.world.forge.merge(REPO, 2)
    await talk.world.settle()
    assert talk.card("✅")


async def test_in_another_channel_what_is_open_is_said_anew(talk: Talk) -> None:
    await talk.world.issue("add() subtracts")
    talk.world.model_will(blocked("I cannot"))
    await talk.world.settle()
    other = talk.chat.add_channel("other", has_bot=True)
    await talk.world.stop()
    talk.world.overrides["slack"]["channel"] = other
    await talk.world.settle()
    [job, asked] = sorted(message.plain for message in talk.chat.messages(other))
    assert job.startswith("Blocker 1") and asked.startswith("✋ add() subtracts")
    assert len(talk.cards()) == 2


async def test_a_card_is_read_at_a_glance(talk: Talk) -> None:
    await delivered(talk)
    assert re.sub(r"[0-9.,]+ (s|tokens)\b", r"N \1", talk.card("👀").plain) == snapshot(
        """\
👀 add() subtracts
acme/calc#1  In review
• ✅ scope  1 file, all inside
• ✅ integrity  1 file, nothing tampered with
• ✅ tests  2 passed, 0 new, 1 fixed, 0 broken in N s
• ✅ lint  1 file linted with ruff, nothing new
• ✅ review  1 part reviewed, 0 findings
job 1 · revision 0/2 · N tokens · pull request #2
[Open PR] [Show evidence]\
"""
    )
