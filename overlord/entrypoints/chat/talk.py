"""How requests of people arrive: by a socket that it opens to Slack, or by signed requests to the operator's listener."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

import structlog
from starlette.types import ASGIApp

from overlord.app import Overlord

log = structlog.get_logger()
_socket_log = logging.getLogger("overlord.slack.socket")
_socket_log.setLevel(logging.CRITICAL)  # it tries again by itself, and says each time that it does
PING_S = 10.0


@contextlib.asynccontextmanager
async def talking(running: Overlord) -> AsyncIterator[ASGIApp | None]:
    """Take requests of people while the block runs, if there is a chat. Gives what answers Slack's signed requests, where it is by those."""
    chat_output, slack = running.parts.chat_output, running.parts.settings.slack
    if chat_output is None:
        yield None
        return
    from overlord.entrypoints.chat.bolt import (  # these libraries are large, and not everybody has a chat
        ChatListener,
        chat_app,
    )

    listener = ChatListener(running, chat_output)
    app = chat_app(slack, listener, chat_output)
    if not slack.by_socket:
        from overlord.entrypoints.chat.signed import SignedRequests

        yield SignedRequests(app, slack.signing_secret.get_secret_value())
        await listener.close()
        return
    from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler

    token = slack.app_token.get_secret_value()
    handler = AsyncSocketModeHandler(app, token, logger=_socket_log, ping_interval=PING_S)
    connecting = asyncio.create_task(handler.client.connect())  # type: ignore[no-untyped-call]  # it does not give up, and nothing waits for it
    chat_output.connected = handler.client.is_connected
    log.info("talking", channel=chat_output.channel, by="socket mode")
    try:
        yield None
    finally:
        handler.client.closed = True
        connecting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await connecting
        await listener.close()
        await handler.client.close()  # type: ignore[no-untyped-call]
