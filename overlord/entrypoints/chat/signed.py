"""`POST /slack/events`: Slack's requests, each signed and good for five minutes and once. Whatever is wrong with one, a stranger
is told the same: 401. What is signed and makes no sense is answered 400 and logged in one line."""

import hashlib
import hmac
import re
import time
from collections.abc import Callable
from typing import Annotated

import structlog
from pydantic import BaseModel, Field, ValidationError
from slack_bolt.adapter.starlette.async_handler import to_async_bolt_request, to_starlette_response
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

log = structlog.get_logger()

MAX_BYTES = 1 << 20
GOOD_FOR_S = 300.0
KEPT_S = 600.0
REMEMBERED = 8192
TIMESTAMP = re.compile(r"[0-9]{1,12}")
SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")
UNSIGNED = "this is not signed with the app's signing secret"
ODD = "this makes no sense as a request of Slack's"
UNHANDLED = 404
"""What Bolt answers to what it has no listener for."""


class _Event(BaseModel):
    type: str


class _Action(BaseModel):
    type: str
    action_id: str
    block_id: str = ""


class _View(BaseModel):
    type: str
    callback_id: str = ""


class _Shape(BaseModel):
    """What Bolt chooses a listener by, without a look at its type. What is not there is not checked."""

    type: str = ""
    command: str = ""
    callback_id: str = ""
    action_id: str = ""
    challenge: str = ""
    event: _Event = _Event(type="")
    actions: Annotated[list[_Action], Field(min_length=1, default_factory=list)]
    view: _View = _View(type="")


class SignedRequests:
    """An ASGI application for one path."""

    def __init__(
        self, app: AsyncApp, secret: str, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._secret = secret.encode()
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
        response = await self._handled(request, body)
        if response.status_code >= 500:
            self._seen.pop(seal, None)  # nobody took it, and it is sent again as it was
        return response

    async def _handled(self, request: Request, body: bytes) -> Response:
        """What our listeners answer. Bolt reads a body without checks, and hands what a listener raises to one of ours: an
        exception that comes out of it is the body's."""
        try:
            read = to_async_bolt_request(request, body)
            _Shape.model_validate(read.body)
            answer = await self._app.async_dispatch(read)
        except ValidationError as error:
            log.warning("request_not_understood", fields=[str(item["loc"]) for item in error.errors()])
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            log.warning("request_not_understood", reason=type(error).__name__)
        else:
            return _unknown(read) if answer.status == UNHANDLED else to_starlette_response(answer)
        return JSONResponse({"error": ODD}, 400)

    def _is_signed(self, body: bytes, timestamp: str, signature: str) -> bool:
        """Over the bytes as they came, whatever they are."""
        if abs(time.time() - int(timestamp)) > GOOD_FOR_S:
            return False
        signed = b":".join([b"v0", timestamp.encode(), body])
        expected = f"v0={hmac.new(self._secret, signed, hashlib.sha256).hexdigest()}"
        return hmac.compare_digest(expected, signature)

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


def _unknown(read: AsyncBoltRequest) -> Response:
    """What nobody listens to: an event is let go, for Slack would send it again; anything else is refused."""
    if read.content_type == "application/json" and read.body.get("type"):
        log.info("event_unknown", type=str(read.body["type"])[:80])
        return Response(status_code=200)
    log.warning("request_not_understood", reason="nothing is known of this kind")
    return JSONResponse({"error": ODD}, 400)


def _only(request: Request, name: str) -> str:
    """A header that is there once."""
    values = request.headers.getlist(name)
    return values[0] if len(values) == 1 else ""


def _unsigned() -> Response:
    return JSONResponse({"error": UNSIGNED}, 401)
