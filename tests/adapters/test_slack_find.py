"""Looking for what we posted: before anything is said again, and whatever else stands in the channel."""

from datetime import timedelta

import pytest
from starlette.responses import JSONResponse, Response

from overlord.adapters.slack.chat import EVENT_TYPE, SlackChat
from overlord.domain.identifiers import ChannelId, MessageTs
from overlord.embedded.chat.chat import EmbeddedChat
from overlord.errors import ChatMissing, ChatUnavailable
from tests.adapters.slack_calls import STARTED_AT, Clock, connect, far_end, saying


async def test_a_message_is_found_by_its_key(
    people: EmbeddedChat, chat: SlackChat, channel: ChannelId
) -> None:
    first = await chat.post(channel, saying("one"), key="job-7")
    await chat.post(channel, saying("two"), key="job-8")
    assert await chat.find(channel, "job-7", since=STARTED_AT - timedelta(minutes=1)) == first.ts
    assert await chat.find(channel, "job-9", since=STARTED_AT - timedelta(minutes=1)) is None
    newest = await chat.post(channel, saying("three"), key="job-7")
    assert await chat.find(channel, "job-7", since=STARTED_AT - timedelta(minutes=1)) == newest.ts


async def test_only_what_was_posted_since_then_is_found(
    people: EmbeddedChat, chat: SlackChat, channel: ChannelId, clock: Clock
) -> None:
    await chat.post(channel, saying("one"), key="job-7")
    clock.move(minutes=5)
    assert await chat.find(channel, "job-7", since=clock()) is None


async def test_a_reply_is_found_in_its_thread_and_nowhere_else(
    people: EmbeddedChat, chat: SlackChat, channel: ChannelId
) -> None:
    posted = await chat.post(channel, saying("card"), key="card")
    reply = await chat.post(channel, saying("story"), key="story", thread=posted.ts)
    since = STARTED_AT - timedelta(minutes=1)
    assert await chat.find(channel, "story", since=since, thread=posted.ts) == reply.ts
    assert await chat.find(channel, "story", since=since) is None
    with pytest.raises(ChatMissing):
        await chat.find(channel, "story", since=since, thread=MessageTs("1700000000.000100"))


async def test_nobody_elses_message_is_taken_for_ours(
    people: EmbeddedChat, chat: SlackChat, channel: ChannelId
) -> None:
    metadata = {"event_type": EVENT_TYPE, "event_payload": {"key": "job-7"}}
    other = people.add_user("other app", is_bot=True)
    people.workspace.post(channel, other, "forged", metadata=metadata, bot_id="B0OTHER")
    ours = people.bot_user
    people.workspace.post(channel, ours, "another kind", metadata={**metadata, "event_type": "other"})
    assert await chat.find(channel, "job-7", since=STARTED_AT - timedelta(minutes=1)) is None


async def test_a_busy_channel_is_read_to_its_end(
    people: EmbeddedChat, chat: SlackChat, channel: ChannelId
) -> None:
    posted = await chat.post(channel, saying("card"), key="job-7")
    reply = await chat.post(channel, saying("story"), key="story", thread=posted.ts)
    ada = people.add_user("ada")
    for number in range(450):
        people.workspace.put(channel, ada, f"chatter {number}")
        people.workspace.put(channel, ada, f"chatter {number}", thread=posted.ts)
    last = await chat.post(channel, saying("story"), key="story", thread=posted.ts)
    since = STARTED_AT - timedelta(minutes=1)
    assert await chat.find(channel, "job-7", since=since) == posted.ts
    assert await chat.find(channel, "story", since=since, thread=posted.ts) == last.ts != reply.ts
    pages = [seen.method for seen in people.requests if seen.method.startswith("conversations.")]
    assert pages == ["conversations.history"] * 3 + ["conversations.replies"] * 3


async def test_a_message_of_a_strange_shape_hides_no_other(clock: Clock) -> None:
    metadata = {"event_type": EVENT_TYPE, "event_payload": {"key": "k"}}
    good = {"ts": "1700000000.000100", "user": "U0", "metadata": metadata}
    bad = [{}, {"ts": "never"}, {"ts": "1700000000.000200", "user": None, "metadata": []}]

    def answer(_: object) -> Response:
        return JSONResponse({"ok": True, "team_id": "T1", "user_id": "U0", "messages": [*bad, good, *bad]})

    async with far_end(answer) as end:
        chat = connect(end.base_url, "xoxb-1", clock)
        assert await chat.find(ChannelId("C1"), "k", since=STARTED_AT) == good["ts"]
        await chat.close()


async def test_pages_that_never_end_are_given_up(clock: Clock) -> None:
    page = {"messages": [], "response_metadata": {"next_cursor": "again"}}

    def answer(_: object) -> Response:
        return JSONResponse({"ok": True, "team_id": "T1", "user_id": "U0", **page})

    async with far_end(answer) as end:
        chat = connect(end.base_url, "xoxb-1", clock)
        with pytest.raises(ChatUnavailable, match="no end"):
            await chat.find(ChannelId("C1"), "k", since=STARTED_AT)
        await chat.close()
