"""`POST /slack/events`: Slack's requests, each signed and good for five minutes and once. Whatever is wrong with one, a stranger
is told the same: 401."""

import re
import time
from collections.abc import Callable

from slack_bolt.adapter.starlette.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.signature import SignatureVerifier
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

MAX_BYTES = 1 << 20
KEPT_S = 600.0
REMEMBERED = 8192
TIMESTAMP = re.compile(r"[0-9]{1,12}")
SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")
UNSIGNED = "this is not signed with the app's signing secret"


class SignedRequests:
    """An ASGI application for one path."""

    def __init__(
        self, app: AsyncApp, secret: str, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._handler = AsyncSlackRequestHandler(app)
        self._verifier = SignatureVerifier(secret)
        self._monotonic = monotonic
        self._seen: dict[str, float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._answer(request)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        timestamp, signature = (
            _only(request, "x-slack-request-timestamp"),
            _only(request, "x-slack-signature"),
        )
        if not (TIMESTAMP.fullmatch(timestamp) and SIGNATURE.fullmatch(signature)):
            return _unsigned()
        if int(_only(request, "content-length") or 0) > MAX_BYTES:
            return JSONResponse({"error": f"at most {MAX_BYTES} bytes"}, 413)
        body = await _body(request)
        if body is None:
            return JSONResponse({"error": f"at most {MAX_BYTES} bytes"}, 413)
        seal = f"{timestamp} {signature}"
        if not self._is_signed(body, timestamp, signature) or not self._is_new(seal):
            return _unsigned()
        response = await self._handler.handle(request)
        if response.status_code >= 500:
            self._seen.pop(seal, None)  # nobody heard it, and it is sent again as it was
        return response

    def _is_signed(self, body: bytes, timestamp: str, signature: str) -> bool:
        try:
            return self._verifier.is_valid(body, timestamp, signature)
        except ValueError:  # a body that is no UTF-8
            return False

    def _is_new(self, signature: str) -> bool:
        """Whether this very request was not here before; Slack signs each of its own anew."""
        now = self._monotonic()
        for old in [known for known, at in self._seen.items() if now - at > KEPT_S]:
            del self._seen[old]
        if signature in self._seen:
            return False
        while len(self._seen) >= REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._seen[signature] = now
        return True


async def _body(request: Request) -> bytes | None:
    """All of it, kept with the request; None when there is too much."""
    body = bytearray()
    async for chunk in request.stream():
        if len(body) + len(chunk) > MAX_BYTES:
            return None
        body += chunk
    request._body = bytes(body)  # what Starlette keeps there itself; Bolt asks for it again
    return request._body


def _only(request: Request, name: str) -> str:
    """A header that is there once."""
    values = request.headers.getlist(name)
    return values[0] if len(values) == 1 else ""


def _unsigned() -> Response:
    return JSONResponse({"error": UNSIGNED}, 401)
