"""The model gateway: holds the keys, checks budgets before a call, meters after it. A session never sees an endpoint.

An endpoint that is busy, silent or cut off before it said anything is asked again, then the next of the list. A reply that
has begun is never asked for twice.
"""

import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from minion.protocol import SessionKind
from overlord.domain.model_fault import FaultKind, ModelFault, read_refusal
from overlord.domain.session import Account, Session
from overlord.errors import ModelUnavailable
from overlord.ports.model import ModelResponse
from overlord.session_api import wire
from overlord.session_api.gateway.meter import Meter
from overlord.session_api.gateway.relay import MAX_REPLY_BYTES, Relay
from overlord.session_api.gateway.reply import StreamReader, read_whole
from overlord.session_api.gateway.request import ModelRequest, read_request
from overlord.session_api.parts import SessionApiParts
from overlord.settings.model import Candidate
from overlord.store import jobs

MAX_REQUEST_BYTES = 16 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
LONGEST_REST_S = 86_400.0
PASSED_ON = frozenset({400, 401, 403, 404})
"""Refusals whose status means the same to a session; of others, 402 is its own budget's and 429 would be waited out."""
GIVEN_UP = 424
"""The status a session gets that is not to try again, whatever the endpoint's own status is."""
WAITED_OUT = frozenset({429, 500, 502, 503, 504})
"""Statuses clients try again by themselves; other passing troubles are told as 503."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failed:
    """An attempt without a reply: what the session gets if it was the last one, why, and how long the endpoint wants to rest."""

    response: Response
    fault: ModelFault
    retry_after_s: float = 0.0


async def completions(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /v1/chat/completions`: 400 for what is not passed on, 402 when a budget is spent, 502 when no endpoint replied."""
    if session.kind is not SessionKind.WORK:
        raise HTTPException(403, "a check session has no model")
    raw = await wire.read_bytes(request, limit=MAX_REQUEST_BYTES)
    job = await parts.database.read(lambda c: jobs.get(c, session.job_id))
    return await answer(parts, session.account(job.space), raw)


async def answer(parts: SessionApiParts, account: Account, raw: bytes) -> Response:
    """One chat completion on an account, along the endpoints of the one model it may use."""
    own = parts.settings.space(account.space)
    model = own.model_for(account.kind)
    asked = read_request(raw, model=model, completion=own.budget.completion_tokens)
    candidates = parts.settings.models[model]
    for candidate in candidates[:-1]:
        reply = await _persistently(parts, account, asked, candidate, is_last=False)
        if not isinstance(reply, _Failed):
            return reply
    reply = await _persistently(parts, account, asked, candidates[-1], is_last=True)
    return reply.response if isinstance(reply, _Failed) else reply


async def _persistently(
    parts: SessionApiParts, account: Account, asked: ModelRequest, candidate: Candidate, *, is_last: bool
) -> Response | _Failed:
    """Ask one endpoint as often as the settings say; one that wants a long rest is left for the next."""
    retries = parts.settings.retries
    model = parts.settings.model_name(candidate)
    for attempt in range(1, retries.attempts + 1):
        reply = await _once(parts, account, asked, candidate)
        if not isinstance(reply, _Failed):
            break
        is_tried = attempt < retries.attempts
        wants_long = reply.retry_after_s > retries.longest_wait_s
        backoff = retries.first_wait_s * 2.0 ** (attempt - 1) * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load
        wait_s = min(retries.longest_wait_s, max(backoff, reply.retry_after_s)) if is_tried else 0.0
        if is_last and (over := await parts.outages.failed(account, model, reply.fault, wait_s=wait_s)):
            return wire.error_response(GIVEN_UP, "model_unavailable", over)
        if not is_tried or (wants_long and not is_last):
            break
        await parts.pause(wait_s)
    return reply


async def _once(
    parts: SessionApiParts, account: Account, asked: ModelRequest, candidate: Candidate
) -> Response | _Failed:
    endpoint, model = parts.settings.endpoint(candidate.endpoint), parts.settings.model_name(candidate)
    body = asked.written(model=model, limit_parameter=endpoint.limit_parameter)
    meter = await Meter.reserve(parts, account, asked, model=model, request_bytes=len(body))
    if isinstance(meter, Response):
        return meter
    async with AsyncExitStack() as owned:
        await owned.enter_async_context(meter)
        try:
            reply = await owned.enter_async_context(parts.endpoint(candidate.endpoint).complete(body))
            if reply.status >= 300:
                meter.status, meter.is_free = reply.status, True
                return await _refused_reply(parts, account, reply, meter, model)
            await parts.outages.answered(account, model)
            if asked.stream and reply.headers.get("content-type", "").startswith("text/event-stream"):
                return await _streamed(reply, asked, meter, owned)
            return await _whole(reply, meter)
        except ModelUnavailable as error:
            meter.status, meter.trouble, meter.is_free = 502, str(error), not error.reached
            fault = ModelFault(kind=FaultKind.UNREACHABLE, detail=error.why)
            return _Failed(response=wire.error_response(502, "model_unavailable", str(error)), fault=fault)


async def _whole(reply: ModelResponse, meter: Meter) -> Response:
    data = await _read_reply(reply, MAX_REPLY_BYTES + 1)
    meter.content = read_whole(data)
    if len(data) > MAX_REPLY_BYTES:
        meter.status = 422
        return wire.error_response(
            422, "reply_too_large", f"the reply is larger than {MAX_REPLY_BYTES} bytes"
        )
    meter.status = reply.status
    return Response(data, reply.status, media_type=reply.headers.get("content-type", "application/json"))


async def _streamed(
    reply: ModelResponse, asked: ModelRequest, meter: Meter, owned: AsyncExitStack
) -> Response:
    """Wait for the first event, so that a stream cut before it can be asked for again, and hand everything over."""
    meter.reader = StreamReader(hides_usage=not asked.wants_usage)
    chunks = reply.chunks()
    first = await _first(chunks, meter.reader)
    meter.status = reply.status
    return Relay(first, chunks, meter.reader, meter, owned.pop_all())


async def _first(chunks: AsyncIterator[bytes], reader: StreamReader) -> bytes:
    async for chunk in chunks:
        if ready := reader.feed(chunk):
            return ready
    return b""


async def _refused_reply(
    parts: SessionApiParts, account: Account, reply: ModelResponse, meter: Meter, model: str
) -> Response | _Failed:
    """The provider's own words, without what is nobody's business; ours where they are about more than this request."""
    data = await _read_reply(reply, MAX_ERROR_BYTES)
    text = parts.redactor.redact(data.decode("utf-8", "replace"))
    meter.trouble = text[:1000]
    fault = read_refusal(reply.status, text, model)
    if fault is None:
        await parts.outages.answered(account, model)
        kind = reply.headers.get("content-type", "application/json")
        return Response(text, reply.status, media_type=kind)
    if not fault.passes:
        why = await parts.outages.failed(account, model, fault)
        status = reply.status if reply.status in PASSED_ON else GIVEN_UP
        return wire.error_response(status, f"model_{fault.kind}", why)
    status = reply.status if reply.status in WAITED_OUT else 503
    response = Response(text, status, media_type=reply.headers.get("content-type", "application/json"))
    retry_after_s = _seconds(reply.headers.get("retry-after", ""), parts.clock.now())
    if retry_after_s:
        response.headers["retry-after"] = str(int(retry_after_s))
    return _Failed(response=response, fault=fault, retry_after_s=retry_after_s)


async def _read_reply(reply: ModelResponse, limit: int) -> bytes:
    """At most `limit` bytes of a reply."""
    chunks, size = [], 0
    async for chunk in reply.chunks():
        chunks.append(chunk[: limit - size])
        size += len(chunk)
        if size >= limit:
            break
    return b"".join(chunks)


def _seconds(retry_after: str, now: datetime) -> float:
    """A Retry-After, in seconds or as a date; 0 when there is none that can be read."""
    try:
        return min(max(0.0, float(retry_after)), LONGEST_REST_S)
    except ValueError:
        pass
    try:
        asked = (parsedate_to_datetime(retry_after) - now).total_seconds()
        return min(max(0.0, asked), LONGEST_REST_S)
    except (ValueError, TypeError, IndexError):
        return 0.0
