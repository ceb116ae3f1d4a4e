"""Slack's own framework talks to the embedded chat as to Slack, over a connection and at a signed address."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.adapter.starlette.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.server import serve

WORDS: dict[str, Any] = {"type": "plain_text", "text": "Answer"}
BUTTON: dict[str, Any] = {"type": "button", "text": WORDS, "action_id": "answer", "value": "nonce"}
FIELD: dict[str, Any] = {
    "type": "input",
    "block_id": "words",
    "label": WORDS,
    "element": {"type": "plain_text_input", "action_id": "words"},
}
VIEW = {"type": "modal", "callback_id": "answer", "title": WORDS, "submit": WORDS, "blocks": [FIELD]}


def made_app(chat: EmbeddedChat, session: aiohttp.ClientSession, heard: list[str]) -> AsyncApp:
    web = AsyncWebClient(chat.bot_token, base_url=f"{chat.base_url}/api/", session=session)
    app = AsyncApp(client=web, signing_secret=chat.signing_secret)

    @app.command("/overlord")
    async def command(ack: Any, respond: Any, command: Any, client: Any) -> None:
        await ack(f"working on {command['text']}")
        await respond(text="done")
        blocks = [{"type": "actions", "elements": [BUTTON]}]
        await client.chat_postMessage(channel=command["channel_id"], text="asked", blocks=blocks)

    @app.action("answer")
    async def action(ack: Any, body: Any, client: Any) -> None:
        await client.views_open(trigger_id=body["trigger_id"], view=VIEW)
        await ack()

    @app.view("answer")
    async def view(ack: Any, view: Any) -> None:
        words = view["state"]["values"]["words"]["words"]["value"]
        heard.append(words)
        if len(words) < 3:
            await ack(response_action="errors", errors={"words": "more, please"})
        else:
            await ack()

    @app.event("app_mention")
    async def mention(ack: Any, event: Any, say: Any) -> None:
        await say(text=f"<@{event['user']}> yes?", thread_ts=event["ts"])

    @app.event("message")
    async def message(event: Any) -> None:
        heard.append(event["text"])

    return app


@pytest.fixture(params=["a connection", "an address"])
async def chat(request: pytest.FixtureRequest, heard: list[str]) -> AsyncIterator[EmbeddedChat]:
    chat = EmbeddedChat()
    chat.add_user("alice")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(chat.serve())
        session = await stack.enter_async_context(aiohttp.ClientSession())
        app = made_app(chat, session, heard)
        if request.param == "a connection":
            handler = AsyncSocketModeHandler(app, chat.app_token)
            stack.push_async_callback(handler.close_async)
            await handler.connect_async()  # type: ignore[no-untyped-call]
        else:
            requests = AsyncSlackRequestHandler(app)

            async def listen(scope: Scope, receive: Receive, send: Send) -> None:
                response = await requests.handle(Request(scope, receive))
                await response(scope, receive, send)

            await chat.deliver_to(await stack.enter_async_context(serve(listen)))
        yield chat


@pytest.fixture
def heard() -> list[str]:
    return []


async def test_a_conversation_in_all_its_forms(chat: EmbeddedChat, heard: list[str]) -> None:
    asked = await chat.command("alice", "#42")
    await chat.until(chat.messages)
    assert asked.plain == "working on #42\ndone"
    [card] = chat.messages()
    assert (await chat.click("alice", card.ts, "Answer")).acked
    [view] = chat.open_views("alice")
    await chat.submit(view, {"Answer": "no"}, "alice")
    [view] = chat.open_views("alice")
    assert view.errors == {"words": "more, please"}
    await chat.submit(view, {"Answer": "the cache"}, "alice")
    assert (chat.open_views("alice"), heard) == ([], ["no", "the cache"])
    spoken = await chat.mention("alice", "are you there")
    await chat.until(lambda: chat.messages(thread=spoken.ts))
    await chat.arrived()
    assert heard[2:] == [f"<@{chat.bot_user}> are you there"]
