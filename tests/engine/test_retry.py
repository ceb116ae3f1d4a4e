"""Waits after failures: doubled up to a limit, and what the chat asks for is kept."""

import sqlite3

import pytest

from overlord.domain.event import EventName, LedgerEvent
from overlord.domain.identifiers import ChannelId
from overlord.engine.runtime.retry import delay_s
from overlord.errors import ChatRefused, ChatUnavailable, ForgeUnavailable
from overlord.store import ledger
from overlord.store.chat import messages
from overlord.store.chat.messages import MessageKind
from tests.chatting import Talk, made_talk
from tests.faults.chat_invariants import key_of

ANSWERED, AWAY = ChatUnavailable("500"), ChatUnavailable("no answer", is_away=True)


@pytest.mark.parametrize(
    ("error", "waits"),
    [
        (ForgeUnavailable("502"), [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]),
        (OSError("no space left"), [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]),
        (ForgeUnavailable("429", retry_after_s=60), [60, 60, 60, 60, 60, 64, 128, 256, 300, 300]),
        (ANSWERED, [2, 4, 8, 8, 8, 8, 8, 8, 8, 8]),
        (ChatRefused("invalid_blocks"), [2, 4, 8, 8, 8, 8, 8, 8, 8, 8]),
        (AWAY, [2, 4, 8, 16, 30, 30, 30, 30, 30, 30]),
        (ChatUnavailable("429", retry_after_s=1.0), [1] * 10),
        (ChatUnavailable("429", retry_after_s=0.0), [1] * 10),
        (ChatUnavailable("429", retry_after_s=90.0), [90] * 10),
        (ChatUnavailable("429", retry_after_s=1e9), [3600] * 10),
    ],
    ids=repr,
)
def test_a_wait_doubles_up_to_its_limit_or_is_what_the_chat_asks_for(
    error: Exception, waits: list[float]
) -> None:
    assert [delay_s(error, failures) for failures in range(1, 11)] == waits
    assert delay_s(error, 10_000) == waits[-1]


async def notices(talk: Talk, count: int) -> None:
    """So many messages that the channel is to be told, each of an event."""

    def want(connection: sqlite3.Connection) -> None:
        for number in range(1, count + 1):
            event = LedgerEvent(
                name=EventName.SIDE_TASK_FAILED, at=talk.world.clock.now(), data={"task": "x"}
            )
            ledger.append(connection, event)
            messages.want(connection, MessageKind.NOTICE, number, channel=ChannelId(talk.chat.channel))

    await talk.world.start()
    await talk.world.overlord.parts.database.write("by hand", want)


async def test_seven_faults_in_a_row_do_not_silence_the_channel_for_a_minute() -> None:
    async with made_talk() as talk:
        await notices(talk, 1)
        talk.chat.fail("chat.postMessage", kind="500", times=7)
        began = talk.world.clock.monotonic()
        await talk.world.until(talk.chat.messages)
        assert talk.world.clock.monotonic() - began < 60
        assert [seen.status for seen in talk.chat.requests if seen.method == "chat.postMessage"] == [
            500
        ] * 7 + [200]


async def test_a_message_that_failed_lets_the_others_go_first_for_a_while() -> None:
    async with made_talk() as talk:
        await notices(talk, 3)
        talk.chat.fail("chat.postMessage", kind="500")
        await talk.world.until(lambda: len(talk.chat.messages()) == 3)
        assert posted(talk) == ["notice 2 0", "notice 3 0", "notice 1 0"]


async def test_a_limit_is_the_whole_channels_and_changes_no_order() -> None:
    async with made_talk() as talk:
        await notices(talk, 3)
        talk.chat.fail("chat.postMessage", kind="429")
        await talk.world.until(lambda: len(talk.chat.messages()) == 3)
        assert posted(talk) == ["notice 1 0", "notice 2 0", "notice 3 0"]


def posted(talk: Talk) -> list[str]:
    """What stands in the channel, by the messages' keys."""
    return [key_of(message) for message in talk.chat.messages()]
