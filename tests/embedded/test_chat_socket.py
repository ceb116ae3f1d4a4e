"""Socket Mode of the embedded chat, through Slack's own client: acts reach the app once, in time, or the person is told."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.chat.link import LinkLost
from tests.embedded.chat_app import App, connected, post_stop


async def test_a_command_reaches_the_app_and_what_it_says_is_shown(chat: EmbeddedChat, app: App) -> None:
    async def answer(_request: SocketModeRequest) -> dict[str, Any]:
        return {"text": "On it."}

    app.answer = answer
    delivered = await chat.command("alice", "work on #42 & more")
    assert (delivered.acked, delivered.error, delivered.plain) == (True, "", "On it.")
    [request] = app.heard
    assert (request.type, request.accepts_response_payload) == ("slash_commands", True)
    assert request.payload["command"] == "/overlord"
    assert request.payload["text"] == "work on #42 &amp; more"
    assert request.payload["user_id"] == chat.workspace.person("alice").id
    assert [message.plain for message in chat.ephemerals("alice")] == ["On it."]
    assert chat.ephemerals("bob") == []


async def test_an_answer_for_the_channel_is_seen_by_all(chat: EmbeddedChat, app: App) -> None:
    async def answer(_request: SocketModeRequest) -> dict[str, Any]:
        return {"text": "Paused.", "response_type": "in_channel"}

    app.answer = answer
    delivered = await chat.command("alice", "pause")
    assert [message.plain for message in chat.messages()] == ["Paused."]
    assert delivered.shown == chat.messages()[0]


async def test_a_command_nobody_acknowledges_times_out_and_is_not_sent_again(
    chat: EmbeddedChat, app: App
) -> None:
    chat.deliveries.ack_timeout_s = 0.1
    app.is_deaf = True
    delivered = await chat.command("alice", "status")
    assert (delivered.acked, delivered.error) == (False, "operation_timeout")
    await app.hears(1)
    assert [message.plain for message in chat.ephemerals("alice")] == [
        '/overlord failed with the error "operation_timeout"'
    ]


async def test_a_late_acknowledgement_changes_nothing(chat: EmbeddedChat, app: App) -> None:
    chat.deliveries.ack_timeout_s = 0.1
    app.is_deaf = True
    delivered = await chat.command("alice", "status")
    await app.hears(1)
    late = SocketModeResponse(app.heard[0].envelope_id, {"text": "late"})
    await app.client.send_socket_mode_response(late)
    app.is_deaf = False
    chat.deliveries.ack_timeout_s = 30.0
    await chat.command("alice", "status")
    assert delivered.acked is False
    assert [message.plain for message in chat.ephemerals("alice") if "late" in message.plain] == []


async def test_without_the_app_a_command_fails_at_once(chat: EmbeddedChat) -> None:
    assert (await chat.command("alice", "status")).error == "dispatch_failed"


async def test_an_acknowledgement_slack_cannot_show_is_an_error(chat: EmbeddedChat, app: App) -> None:
    async def answer(_request: SocketModeRequest) -> dict[str, Any]:
        return {"text": "x", "blocks": [{"type": "header"}]}

    app.answer = answer
    assert (await chat.command("alice", "status")).error.startswith("invalid_blocks: [ERROR] missing")


async def test_a_mention_is_heard_as_a_mention_and_as_a_message(chat: EmbeddedChat, app: App) -> None:
    said = await chat.mention("alice", "see https://x.org/1 <!channel>")
    assert said.acked
    assert sorted(event["type"] for event in app.events()) == ["app_mention", "message"]
    for event in app.events():
        assert event["text"] == f"<@{chat.bot_user}> see <https://x.org/1> &lt;!channel&gt;"
        assert (event["ts"], event["channel"]) == (said.ts, chat.channel)
    reply = await chat.say("bob", "yes", thread=said.ts)
    assert (app.events()[-1]["thread_ts"], app.events()[-1]["ts"]) == (said.ts, reply.ts)


async def test_a_reply_that_is_sent_to_the_channel_too_says_so_and_stands_in_both(
    chat: EmbeddedChat, app: App
) -> None:
    root = await chat.say("alice", "plus or minus?")
    reply = await chat.say("bob", "plus", thread=root.ts, is_broadcast=True)
    [_, event] = app.events()
    assert (event["type"], event["subtype"]) == ("message", "thread_broadcast")
    assert (event["thread_ts"], event["ts"], event["text"]) == (root.ts, reply.ts, "plus")
    assert (event["root"]["ts"], event["root"]["text"]) == (root.ts, "plus or minus?")
    history = await app.web.conversations_history(channel=chat.channel)
    assert [message["ts"] for message in history["messages"]] == [reply.ts, root.ts]
    assert [message.ts for message in chat.messages(thread=root.ts)] == [reply.ts]
    with pytest.raises(ValueError, match="only a reply"):
        await chat.say("bob", "plus", is_broadcast=True)


async def test_a_message_with_a_file_names_the_file(chat: EmbeddedChat, app: App) -> None:
    root = await chat.say("alice", "plus or minus?")
    await chat.say("bob", "", thread=root.ts, files=("screen.png",))
    [_, event] = app.events()
    assert (event["type"], event["subtype"], event["upload"]) == ("message", "file_share", False)
    assert (event["thread_ts"], event["text"]) == (root.ts, "")
    assert [file["name"] for file in event["files"]] == ["screen.png"]


async def test_where_the_bot_is_not_it_hears_nothing(chat: EmbeddedChat, app: App) -> None:
    elsewhere = chat.add_channel("random")
    assert not (await chat.say("alice", "psst", channel=elsewhere)).acked
    assert app.events() == []


async def test_the_bot_hears_its_own_messages_marked_as_its_own(chat: EmbeddedChat, app: App) -> None:
    ts = await post_stop(chat, app)
    await app.web.chat_update(channel=chat.channel, ts=ts, text="Job 7: done", blocks=[])
    chat.delete_message(ts)
    await chat.arrived()
    kinds = {event.get("subtype", "posted"): event for event in app.events()}
    assert kinds.keys() == {"posted", "message_changed", "message_deleted"}
    assert kinds["posted"]["bot_id"] == chat.workspace.bot_id
    assert kinds["message_changed"]["message"]["text"] == "Job 7: done"


async def test_an_event_that_nobody_acknowledges_is_sent_three_times_more(
    chat: EmbeddedChat, app: App
) -> None:
    chat.deliveries.ack_timeout_s = 0.1
    app.is_deaf = True
    await chat.say("alice", "hello")
    await chat.arrived()
    await app.hears(4)
    assert [request.retry_attempt for request in app.heard] == [0, 1, 2, 3]
    assert [request.retry_reason for request in app.heard] == ["", "timeout", "timeout", "timeout"]
    assert len({request.envelope_id for request in app.heard}) == 4
    assert len({request.payload["event_id"] for request in app.heard}) == 1


async def test_events_wait_for_an_app_that_is_away(chat: EmbeddedChat) -> None:
    await chat.say("alice", "first")
    await chat.say("alice", "second")
    async with connected(chat) as app:
        await chat.arrived()
        assert sorted(event["text"] for event in app.events()) == ["first", "second"]


# Connections


async def test_each_envelope_goes_to_one_connection_and_ten_may_be_open(chat: EmbeddedChat) -> None:
    async with aiohttp.ClientSession() as session:
        web = AsyncWebClient(base_url=f"{chat.base_url}/api/", session=session)
        sockets = []
        for _ in range(11):
            opened = await web.apps_connections_open(app_token=chat.app_token)
            sockets.append(await session.ws_connect(str(opened["url"])))
        greetings = [json.loads((await socket.receive()).data) for socket in sockets]
        assert [hello["type"] for hello in greetings] == ["hello"] * 10 + ["disconnect"]
        assert greetings[9]["num_connections"] == 10
        assert greetings[10]["reason"] == "too_many_websockets"
        commands = [asyncio.create_task(chat.command("alice", str(number))) for number in range(10)]
        for socket in sockets[:10]:
            envelope = json.loads((await socket.receive()).data)
            await socket.send_json({"envelope_id": envelope["envelope_id"]})
        assert [delivered.acked for delivered in await asyncio.gather(*commands)] == [True] * 10


async def test_a_ticket_opens_one_connection(chat: EmbeddedChat) -> None:
    async with aiohttp.ClientSession() as session:
        web = AsyncWebClient(base_url=f"{chat.base_url}/api/", session=session)
        url = str((await web.apps_connections_open(app_token=chat.app_token))["url"])
        async with session.ws_connect(url):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(url)
            assert refused.value.status == 403
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(url.partition("?")[0])


async def test_an_app_that_is_asked_to_connects_anew(chat: EmbeddedChat, app: App) -> None:
    await chat.disconnect("warning")
    assert chat.links == 1
    [before] = chat.deliveries.links.open
    await chat.disconnect("refresh_requested")
    assert chat.links == 0
    await chat.until(lambda: chat.links == 1)
    assert before not in chat.deliveries.links.open
    assert (await chat.command("alice", "status")).acked


async def test_a_cut_connection_is_replaced_and_events_are_sent_again(chat: EmbeddedChat, app: App) -> None:
    app.is_deaf = True
    command = asyncio.create_task(chat.command("alice", "status"))
    event = asyncio.create_task(chat.say("alice", "hello"))
    await app.hears(2)
    app.is_deaf = False
    chat.drop_links()
    assert (await command).error == "operation_timeout"
    await event
    await chat.until(lambda: chat.links)
    await chat.arrived()
    assert [request.retry_attempt for request in app.heard if request.type == "events_api"] == [0, 1]
    assert len([request for request in app.heard if request.type == "slash_commands"]) == 1


async def test_what_is_no_acknowledgement_changes_nothing(chat: EmbeddedChat) -> None:
    async with aiohttp.ClientSession() as session:
        web = AsyncWebClient(base_url=f"{chat.base_url}/api/", session=session)
        opened = await web.apps_connections_open(app_token=chat.app_token)
        async with session.ws_connect(str(opened["url"])) as socket:
            await socket.receive()
            command = asyncio.create_task(chat.command("alice", "status"))
            envelope = json.loads((await socket.receive()).data)
            for noise in ("", "{", "[]", "[" * 50_000, '{"envelope_id": 7}', '{"envelope_id": "other"}'):
                await socket.send_str(noise)
            for _ in range(20):
                await socket.send_json({"envelope_id": envelope["envelope_id"], "payload": ["x"]})
            delivered = await command
            assert chat.links == 1
            assert (delivered.acked, delivered.answer) == (True, None)
            await socket.send_bytes(b"no text")
            await chat.until(lambda: not chat.links)
    with pytest.raises(ValueError, match="unknown reason"):
        await chat.disconnect("boredom")


async def test_a_connection_that_was_cut_is_asked_for_nothing(chat: EmbeddedChat, app: App) -> None:
    app.client.auto_reconnect_enabled = False
    [link] = chat.deliveries.links.open
    chat.drop_links()
    assert (await chat.command("alice", "status")).error == "dispatch_failed"
    with pytest.raises(LinkLost):
        while True:
            await link.send("events_api", {})
