"""The model gateway: holds the key, checks the budget before a call, meters after it. A session never sees an endpoint."""

import json
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from overlord.domain.budget import TokenUsage, estimate_tokens
from overlord.domain.session import Session
from overlord.door import wire
from overlord.door.parts import DoorParts
from overlord.errors import ModelUnavailable
from overlord.store import exchanges

MAX_REQUEST_BYTES = 16 * 1024 * 1024
MAX_REPLY_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    status: int
    body: bytes


async def completions(request: Request, parts: DoorParts, session: Session) -> Response:
    """`POST /v1/chat/completions`: 402 when the budget is spent, 502 when the endpoint gave no reply."""
    body = _checked(await wire.read_bytes(request, limit=MAX_REQUEST_BYTES), parts)
    wanted = int(body.get("max_completion_tokens") or body.get("max_tokens") or 0)
    completion = wanted if wanted > 0 else parts.settings.budget.completion_tokens
    raw = json.dumps(body).encode()
    prompt = estimate_tokens(len(raw))
    model = parts.settings.model.name
    exchange = await parts.database.write(
        lambda c: exchanges.reserve(c, session, tokens=prompt + completion, model=model, at=parts.clock.now())
    )
    if exchange is None:
        message = f"this session's budget of {session.token_budget:,} tokens is spent"
        return wire.error_response(402, "budget_exhausted", message)
    try:
        reply = await _forward(parts, raw)
    except ModelUnavailable as error:
        unknown = TokenUsage(prompt=prompt)
        await parts.database.write(lambda c: exchanges.settle(c, exchange, usage=unknown, status=502))
        return wire.error_response(502, "model_unavailable", str(error))
    usage = _usage(reply, prompt)
    await parts.database.write(lambda c: exchanges.settle(c, exchange, usage=usage, status=reply.status))
    return Response(reply.body, status_code=reply.status, media_type="application/json")


def _checked(raw: bytes, parts: DoorParts) -> dict[str, Any]:
    """The request as the endpoint gets it; raises HTTPException 400."""
    try:
        body = json.loads(raw)
    except ValueError:
        raise HTTPException(400, "the request is not JSON") from None
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        raise HTTPException(400, "a chat completion needs a list of messages")
    return {**body, "model": parts.settings.model.name, "stream": False}


async def _forward(parts: DoorParts, raw: bytes) -> _Reply:
    chunks, size = [], 0
    async with parts.model.complete(raw) as response:
        async for chunk in response.chunks():
            size += len(chunk)
            if size > MAX_REPLY_BYTES:
                raise ModelUnavailable(f"the reply is larger than {MAX_REPLY_BYTES} bytes")
            chunks.append(chunk)
        return _Reply(status=response.status, body=b"".join(chunks))


def _usage(reply: _Reply, prompt: int) -> TokenUsage:
    """What the endpoint says it used; for a reply that does not say, an estimate that errs on the dear side."""
    try:
        counted = json.loads(reply.body)["usage"]
        details = counted.get("prompt_tokens_details") or {}
        return TokenUsage(
            prompt=int(counted["prompt_tokens"]),
            cached=int(details.get("cached_tokens") or 0),
            completion=int(counted["completion_tokens"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        failed = reply.status >= 400
        return TokenUsage(
            prompt=0 if failed else prompt, completion=0 if failed else estimate_tokens(len(reply.body))
        )
