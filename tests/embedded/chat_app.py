"""An app beside the embedded chat, over Slack's own client; and a clock that moves when it is moved."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from overlord.embedded.chat.chat import EmbeddedChat

Answer = Callable[[SocketModeRequest], Awaitable[dict[str, Any] | None]]


async def nothing(_request: SocketModeRequest) -> None:
    """An acknowledgement without a word."""


class App:
    """An app that acknowledges what it hears, over Slack's own client."""

    def __init__(self, chat: EmbeddedChat, session: aiohttp.ClientSession) -> None:
        url = f"{chat.base_url}/api/"
        self.web = AsyncWebClient(chat.bot_token, base_url=url, session=session, retry_handlers=[])
        opening = AsyncWebClient(base_url=url, session=session, retry_handlers=[])
        self.client = SocketModeClient(chat.app_token, web_client=opening, ping_interval=0.2)
        self.client.socket_mode_request_listeners.append(self._take_in)
        self.heard: list[SocketModeRequest] = []
        self.answer: Answer = nothing
        self.is_deaf = False

    async def _take_in(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        self.heard.append(request)
        if self.is_deaf:
            return
        payload = await self.answer(request)
        await client.send_socket_mode_response(SocketModeResponse(request.envelope_id, payload))

    async def hears(self, count: int) -> None:
        """Wait until so many envelopes have come, and no more."""
        while len(self.heard) < count:
            await asyncio.sleep(0)
        assert len(self.heard) == count

    def events(self) -> list[dict[str, Any]]:
        return [request.payload["event"] for request in self.heard if request.type == "events_api"]


@asynccontextmanager
async def connected(chat: EmbeddedChat) -> AsyncIterator[App]:
    async with aiohttp.ClientSession() as session:
        app = App(chat, session)
        await app.client.connect_to_new_endpoint()
        await chat.until(lambda: chat.links)
        try:
            yield app
        finally:
            await app.client.close()  # type: ignore[no-untyped-call]
            await app.client.aiohttp_client_session.close()


class Hands:
    """A clock that moves when it is moved."""

    def __init__(self) -> None:
        self.at = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def move(self, **by: float) -> None:
        self.at += timedelta(**by)


def stop_button(**more: Any) -> list[dict[str, Any]]:
    text = {"type": "plain_text", "text": "Stop"}
    return [
        {
            "type": "actions",
            "elements": [{"type": "button", "text": text, "action_id": "stop", "value": "nonce", **more}],
        }
    ]


async def post_stop(chat: EmbeddedChat, app: App) -> str:
    posted = await app.web.chat_postMessage(channel=chat.channel, text="Job 7", blocks=stop_button())
    return str(posted["ts"])
