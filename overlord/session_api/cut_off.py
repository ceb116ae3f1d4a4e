"""A call that is cut off because its listener closes is no fault, and nothing of it is logged.

Without this, uvicorn writes a traceback for each session that waits for an answer when the daemon is told to stop.
"""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from overlord.http_server import CONNECTION
from overlord.session_api import wire


async def answer_or_abort(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Call `app`. When it is cancelled, its client is told to try again; one whose answer has begun loses its connection, so
    that it does not take a part for the whole."""
    has_begun = False

    async def noted(message: Message) -> None:
        nonlocal has_begun
        has_begun = True
        await send(message)

    try:
        await app(scope, receive, noted)
    except asyncio.CancelledError:
        if not has_begun:
            await wire.error_response(503, "closing", "try again", scope["path"])(scope, receive, send)
            return
        scope["state"][CONNECTION].transport.abort()
        while (await receive())["type"] != "http.disconnect":
            continue
