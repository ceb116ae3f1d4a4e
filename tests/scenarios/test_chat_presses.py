"""Presses: a button counts once, for what it was shown for, while it stands; whoever comes late, twice or with something else
is told so, and nothing happens."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Iterator

import pytest

from overlord.domain.decision import DecisionState, Verb
from overlord.domain.job import JobState
from overlord.embedded.chat.delivery import Delivered
from overlord.embedded.play import blocked
from overlord.errors import Refused
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.pressing import GONE, WORK, answers, asked, decision, questions, stuck
from tests.world import DEADLINE_S, REPO


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with made_memory_talk() as talk:
        yield talk


async def told(talk: Talk, delivered: Delivered) -> str:
    """What somebody is told of a press, once the world has settled."""
    assert delivered.acked, delivered
    await talk.world.settle()
    return delivered.plain


@contextlib.contextmanager
def hands_on(talk: Talk) -> Iterator[sqlite3.Connection]:
    """Somebody else has the database open."""
    path = talk.world.root / "home" / "overlord.db"
    assert path.exists()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


# A press counts


async def test_an_answer_by_button_carries_on_the_job_and_the_card_says_who_gave_it(talk: Talk) -> None:
    card = await stuck(talk)
    talk.world.model_will(*WORK)
    await talk.press(card, "Try again")
    assert (await talk.world.job()).state is JobState.IN_REVIEW
    card = talk.card("Blocker 1")
    assert f"Try again · @{talk.alice}" in card.plain
    assert talk.buttons(card) == []
    assert (await decision(talk)).answered_by == f"slack:{talk.alice}"
    assert talk.chat.ephemerals(talk.alice) == [], "the card says it to everybody"


async def test_a_click_counts_after_the_daemon_was_restarted(talk: Talk) -> None:
    card = await stuck(talk)
    await talk.world.stop()
    away = await talk.chat.click(talk.alice, card.ts, "Take over")
    assert (away.acked, away.error) == (False, "dispatch_failed")
    await talk.world.start()
    await talk.press(card, "Take over")
    assert (await talk.world.job()).state is JobState.CANCELLED
    assert talk.buttons(card) == []


async def test_what_was_pressed_before_a_restart_is_done_after_it(talk: Talk) -> None:
    card = await stuck(talk)
    pressed = await talk.chat.click(talk.alice, card.ts, "Take over")
    assert pressed.acked
    assert (await talk.world.job()).state is JobState.WAITING, "written down, and no more"
    await talk.world.stop()
    await talk.world.settle()
    assert (await talk.world.job()).state is JobState.CANCELLED
    assert await answers(talk) == 1


# Once


async def test_a_double_click_counts_once(talk: Talk) -> None:
    card = await stuck(talk)
    both = await asyncio.gather(*(talk.chat.click(talk.alice, card.ts, "Take over") for _ in "12"))
    assert all(delivered.acked for delivered in both)
    await talk.world.settle()
    assert await answers(talk) == 1
    [late] = [delivered.plain for delivered in both if delivered.plain]
    assert "answered before" in late and talk.alice in late


async def test_of_fifty_clicks_at_once_one_counts_and_the_others_hear_so() -> None:
    async with made_memory_talk() as talk:
        people = [talk.chat.add_user(f"p{number}") for number in range(50)]
        talk.world.overrides["slack"] = talk.world.overrides["slack"] | {"approvers": people}
        card = await stuck(talk)
        labels = ["Try again", "Take over", "Drop it"]
        clicks = [
            talk.chat.click(user, card.ts, labels[index % len(labels)]) for index, user in enumerate(people)
        ]
        talk.world.model_will(*WORK)
        presses = await asyncio.gather(*clicks)
        assert all(pressed.acked for pressed in presses)
        await talk.world.settle()
        winner = (await decision(talk)).answered_by.removeprefix("slack:")
        assert await answers(talk) == 1
        assert f"@{winner}" in talk.card("Blocker 1").plain
        for pressed in presses:
            assert ("answered before" in pressed.plain) is (pressed.user != winner), pressed.user


async def test_the_command_line_was_first_and_who_pressed_hears_so(talk: Talk) -> None:
    card = await stuck(talk)
    pressed = await talk.chat.click(talk.alice, card.ts, "Drop it")
    await talk.world.answer(await decision(talk), Verb.TAKE_OVER, by="cli:bob")
    assert "answered before, by cli:bob" in await told(talk, pressed)
    assert "Take over · cli:bob" in talk.card("Blocker 1").plain
    assert talk.buttons(card) == []
    assert await answers(talk) == 1


async def test_who_pressed_was_first_and_the_command_line_hears_so(talk: Talk) -> None:
    card = await stuck(talk)
    shown = await decision(talk)
    await talk.press(card, "Drop it")
    with pytest.raises(Refused, match=f"answered before, by slack:{talk.alice}"):
        await talk.world.answer(shown, Verb.TAKE_OVER, by="cli:bob")
    assert await answers(talk) == 1


async def test_answered_in_the_chat_and_by_command_line_at_once_exactly_one_counts(talk: Talk) -> None:
    card = await stuck(talk)
    shown = await decision(talk)
    pressed = await talk.chat.click(talk.alice, card.ts, "Drop it")
    by_hand, _ = await asyncio.gather(
        talk.world.answer(shown, Verb.TAKE_OVER, by="cli:bob"),
        talk.world.overlord.turn(),
        return_exceptions=True,
    )
    is_refused = isinstance(by_hand, Refused)
    assert ("answered before" in await told(talk, pressed)) is not is_refused
    assert await answers(talk) == 1
    assert (await decision(talk)).verb is (Verb.DROP if is_refused else Verb.TAKE_OVER)


# Only what stands there


async def test_a_button_of_a_card_as_it_was_before_changes_nothing(talk: Talk) -> None:
    card = await stuck(talk)
    [again, _, _, drop] = card.buttons
    talk.world.model_will(blocked("still no password"))
    await talk.press(card, "Try again")
    assert "answered before" in await told(talk, await talk.chat.click_stale(talk.alice, drop))
    assert "answered before" in await told(talk, await talk.chat.click_stale(talk.alice, again))
    assert (await talk.world.job()).state is JobState.WAITING
    assert [item.id for item in await talk.world.decisions()] == [2]


async def test_stop_on_an_older_card_of_a_job_that_has_ended_changes_nothing(talk: Talk) -> None:
    card = await stuck(talk)
    [stop] = [button for button in talk.card("✋").buttons if button.label == "Stop"]
    talk.world.model_will(*WORK)
    await talk.press(card, "Try again")
    await talk.world.forge.merge(REPO, 2)
    await talk.world.settle()
    assert "has ended already" in await told(talk, await talk.chat.click_stale(talk.alice, stop))
    assert (await talk.world.job()).state is JobState.COMPLETED


@pytest.mark.parametrize("value", ["", "drop", "1", "' OR 1=1 --", "\x00", "é" * 2000])
async def test_a_value_that_no_button_carries_means_nothing(talk: Talk, value: str) -> None:
    card = await stuck(talk)
    action = card.buttons[0].action_id
    assert GONE in await told(talk, await talk.chat.click_with(talk.alice, card.ts, action, value))
    assert (await decision(talk)).state is DecisionState.OPEN
    assert len(talk.buttons(card)) == 4


async def test_a_value_that_was_tampered_with_means_nothing(talk: Talk) -> None:
    card = await stuck(talk)
    button = card.buttons[2]
    for value in (button.value[:-1], f"{button.value}A", button.value.swapcase(), f" {button.value}"):
        pressed = await talk.chat.click_with(talk.alice, card.ts, button.action_id, value)
        assert GONE in await told(talk, pressed), value
    for action in ("open", "pressed", "drop", "", "fill"):
        pressed = await talk.chat.click_with(talk.alice, card.ts, action, "nonsense")
        assert pressed.acked
        await talk.world.settle()
    assert (await decision(talk)).state is DecisionState.OPEN


async def test_a_value_counts_in_its_own_message_alone(talk: Talk) -> None:
    first = await stuck(talk)
    second = await stuck(talk, "double() is wrong")
    drop = first.buttons[2]
    pressed = await talk.chat.click_with(talk.alice, second.ts, second.buttons[2].action_id, drop.value)
    assert GONE in await told(talk, pressed)
    root = talk.cards("✋")[0]
    pressed = await talk.chat.click_with(talk.alice, root.ts, root.buttons[0].action_id, drop.value)
    assert GONE in await told(talk, pressed)
    assert [item.state for item in await talk.world.decisions()] == [DecisionState.OPEN] * 2


async def test_the_same_payload_once_more_is_the_same_press(talk: Talk) -> None:
    card = await stuck(talk)
    pressed = await talk.chat.click(talk.alice, card.ts, "Try again")
    talk.world.model_will(blocked("still no password"))
    await talk.world.settle()
    assert (await talk.chat.replay(pressed)).acked
    await talk.world.stop()
    await talk.world.start()
    assert (await talk.chat.replay(pressed)).acked
    await talk.world.settle()
    assert await answers(talk) == 1
    assert [item.id for item in await talk.world.decisions()] == [2], (
        "the second blocker waits for its own answer"
    )
    assert talk.chat.ephemerals(talk.alice) == []


async def test_the_same_command_once_more_is_the_same_command(talk: Talk) -> None:
    await talk.world.settle()
    paused = await talk.chat.command(talk.alice, f"pause {REPO}")
    assert "Paused" in await told(talk, paused)
    assert "Going on" in await talk.command(f"resume {REPO}")
    assert (await talk.chat.replay(paused)).acked
    await talk.world.settle()
    assert "Paused" not in await talk.command("queue")


# While the database is away


async def test_a_press_that_cannot_be_written_down_is_not_acknowledged(talk: Talk) -> None:
    card = await stuck(talk)
    talk.chat.deliveries.ack_timeout_s = 0.3  # nothing is to come
    with hands_on(talk) as connection:
        connection.execute("ALTER TABLE requests RENAME TO away")
        pressed = await talk.chat.click(talk.alice, card.ts, "Drop it")
        said = await talk.chat.command(talk.alice, f"pause {REPO}")
        connection.execute("ALTER TABLE away RENAME TO requests")
    talk.chat.deliveries.ack_timeout_s = DEADLINE_S
    assert not pressed.acked and pressed.error
    assert not said.acked and said.error
    await talk.world.settle()
    assert (await talk.world.job()).state is JobState.WAITING
    await talk.press(card, "Drop it")
    assert (await talk.world.job()).state is JobState.CANCELLED
    assert await answers(talk) == 1


async def test_a_press_that_is_not_written_down_in_time_is_not_acknowledged_and_counts_at_most_once(
    talk: Talk,
) -> None:
    card = await stuck(talk)
    talk.chat.deliveries.ack_timeout_s = 0.3
    with hands_on(talk) as connection:
        connection.execute("BEGIN IMMEDIATE")
        pressed = await talk.chat.click(talk.alice, card.ts, "Drop it")
        assert (pressed.acked, pressed.error) == (False, "operation_timeout")
        assert connection.execute("SELECT state FROM decisions").fetchall() == [("open",)]
        connection.execute("ROLLBACK")
    talk.chat.deliveries.ack_timeout_s = DEADLINE_S
    await talk.chat.replay(pressed)
    await talk.world.settle()
    assert (await talk.world.job()).state is JobState.CANCELLED
    assert await answers(talk) == 1


# Over without an answer


async def test_a_question_that_expired_says_so_and_has_no_buttons() -> None:
    async with made_memory_talk(questions={"wait_s": 60}) as talk:
        card = await asked(talk)
        [plus, *_] = card.buttons
        assert talk.buttons(card) == ["plus", "minus", "In words …"]
        talk.world.clock.move(61)
        talk.world.overlord.wakeup.notify()
        await talk.world.settle()
        [card] = questions(talk)
        assert "It expired without an answer." in card.plain
        assert talk.buttons(card) == []
        assert "takes no answer any more" in await told(talk, await talk.chat.click_stale(talk.alice, plus))
        assert (await decision(talk)).state is DecisionState.EXPIRED
        assert (await talk.world.job()).state is JobState.IN_REVIEW


async def test_a_decision_whose_issue_was_closed_says_so_and_has_no_buttons(talk: Talk) -> None:
    card = await stuck(talk)
    await talk.world.forge.close_issue(REPO, 1)
    await talk.world.settle()
    after = talk.card("Blocker 1")
    assert "It needs no answer any more." in after.plain
    assert talk.buttons(after) == []
    pressed = await talk.chat.click_stale(talk.alice, card.buttons[0])
    assert "takes no answer any more" in await told(talk, pressed)
    assert (await talk.world.job()).state is JobState.CANCELLED
    assert (await decision(talk)).state is DecisionState.SUPERSEDED
