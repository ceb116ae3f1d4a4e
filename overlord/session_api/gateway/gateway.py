"""The model gateway: holds the keys, checks budgets before a call, meters after it. A session never sees an endpoint.

An endpoint that is busy, silent or cut off before it said anything is asked again, then the next of the list. A reply that
has begun is never asked for twice. All of it is the same for every wire; `client_request` says how a request gets to an endpoint.
"""

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from minion.protocol import SessionKind
from overlord.domain.model_fault import FaultKind, ModelFault, error_of, read_refusal
from overlord.domain.session import Account, Session
from overlord.domain.wires.chat_reply import as_stream
from overlord.domain.wires.wire import Wire, WireError
from overlord.errors import ModelUnavailable
from overlord.ports.model import NO_HEADERS, ModelResponse
from overlord.session_api import wire as http
from overlord.session_api.gateway.client_request import ClientRequest, EndpointRequest, model_of, parsed
from overlord.session_api.gateway.meter import Meter
from overlord.session_api.gateway.relay import EVENT_STREAM, MAX_REPLY_BYTES, OutgoingStream, Relay
from overlord.session_api.parts import SessionApiParts
from overlord.settings.load import Settings
from overlord.settings.model import Candidate

MAX_REQUEST_BYTES = 16 * 1024 * 1024
LONG_BODY_BYTES = 128 * 1024
"""A request that is read and written in some milliseconds."""
MAX_ERROR_BYTES = 64 * 1024
LONGEST_REST_S = 86_400.0
PASSED_ON = frozenset({400, 401, 403, 404})
"""Refusals whose status means the same to a session; of others, 402 is its own budget's and 429 would be waited out."""
GIVEN_UP = 424
"""The status a session gets that is not to try again, whatever the endpoint's own status is."""
WAITED_OUT = frozenset({429, 500, 502, 503, 504})
"""Statuses clients try again by themselves; other passing troubles are told as 503."""

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failed:
    """An attempt without a reply: what the session gets if it was the last one, why, and how long the endpoint wants to rest."""

    response: Response
    fault: ModelFault
    retry_after_s: float = 0.0


def account_of(request: Request, session: Session) -> Account:
    """The books of the session that a request is of, which may ask a model."""
    if session.kind is not SessionKind.WORK:
        raise HTTPException(403, "a check session has no model")
    return session.account(request.scope["overlord.space"])


async def ask(
    request: Request,
    parts: SessionApiParts,
    session: Session,
    wire: Wire,
    *,
    model: str = "",
    stream: bool = False,
    headers: Mapping[str, str] = NO_HEADERS,
) -> Response:
    """A session's request: 400 for what is not passed on, 402 when a budget is spent, 502 when no endpoint replied."""
    account = account_of(request, session)
    raw = await http.read_bytes(request, limit=MAX_REQUEST_BYTES)
    read = partial(ClientRequest.read, parts.settings, account, wire=wire, model=model)
    asked = await _made(parts, account, len(raw), lambda: read(parsed(raw), stream=stream, headers=headers))
    return await answer(parts, account, asked, size=len(raw))


async def _made(parts: SessionApiParts, account: Account, size: int, make: Callable[[], Made]) -> Made:
    """What is made of a body: off the loop where that is long, for the streams of the others go on meanwhile."""
    return await parts.beside(account.id, make) if size > LONG_BODY_BYTES else make()


async def answer(
    parts: SessionApiParts, account: Account, asked: ClientRequest, *, size: int = 0
) -> Response:
    """One reply on an account, along the endpoints of the one model it may use: those that can be asked this. `size` is how long the
    client's body is."""
    settings = parts.settings
    candidates = settings.models[model_of(settings, account)]
    failed: _Failed | None = None
    problem = ""
    for index, candidate in enumerate(candidates, start=1):
        try:
            sent = await _made(parts, account, size, partial(asked.for_endpoint, settings, candidate))
        except WireError as error:
            problem = str(error)
            continue
        is_last = partial(_none_fits, settings, asked, candidates[index:])
        reply = await _persistently(parts, account, sent, is_last=is_last)
        if not isinstance(reply, _Failed):
            return reply
        failed = reply
    if failed is None:
        raise HTTPException(400, problem)
    return failed.response


def _none_fits(settings: Settings, asked: ClientRequest, rest: Sequence[Candidate]) -> bool:
    """Whether nobody is left who can be asked this."""
    return not any(asked.fits(settings, candidate) for candidate in rest)


async def _persistently(
    parts: SessionApiParts, account: Account, sent: EndpointRequest, *, is_last: Callable[[], bool]
) -> Response | _Failed:
    """Ask one endpoint as often as the settings say; one that wants a long rest is left for the next."""
    retries = parts.settings.retries
    for attempt in range(1, retries.attempts + 1):
        reply = await _once(parts, account, sent)
        if not isinstance(reply, _Failed):
            break
        is_tried = attempt < retries.attempts
        wants_long = reply.retry_after_s > retries.longest_wait_s
        backoff = retries.first_wait_s * 2.0 ** (attempt - 1) * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load
        wait_s = min(retries.longest_wait_s, max(backoff, reply.retry_after_s)) if is_tried else 0.0
        if is_last() and (
            over := await parts.outages.failed(account, sent.model, reply.fault, wait_s=wait_s)
        ):
            return sent.client.refusal(GIVEN_UP, "model_unavailable", over)
        if not is_tried or (wants_long and not is_last()):
            break
        await parts.pause(wait_s)
    return reply


async def _once(parts: SessionApiParts, account: Account, sent: EndpointRequest) -> Response | _Failed:
    meter = await Meter.reserve(parts, account, sent)
    if isinstance(meter, Response):
        return meter
    wire, stream = sent.dialect.wire, sent.request.stream
    async with AsyncExitStack() as owned:
        await owned.enter_async_context(meter)
        try:
            asked = parts.endpoint(sent.endpoint).complete(
                sent.body, wire, model=sent.model, stream=stream, headers=sent.headers
            )
            reply = await owned.enter_async_context(asked)
            if reply.status >= 300:
                meter.status, meter.is_free = reply.status, True
                return await _refused_reply(parts, account, reply, sent, meter)
            await parts.outages.answered(account, sent.model)
            if stream and reply.headers.get("content-type", "").startswith("text/event-stream"):
                return await _streamed(reply, sent, meter, owned)
            return await _whole(reply, sent, meter)
        except ModelUnavailable as error:
            meter.status, meter.trouble, meter.is_free = 502, str(error), not error.reached
            fault = ModelFault(kind=FaultKind.UNREACHABLE, detail=error.why)
            return _Failed(response=sent.client.refusal(502, "model_unavailable", str(error)), fault=fault)


async def _whole(reply: ModelResponse, sent: EndpointRequest, meter: Meter) -> Response:
    data = await _read_reply(reply, MAX_REPLY_BYTES + 1)
    meter.content = sent.dialect.read_whole(data)
    if len(data) > MAX_REPLY_BYTES:
        meter.status = 422
        return sent.client.refusal(
            422, "reply_too_large", f"the reply is larger than {MAX_REPLY_BYTES} bytes"
        )
    meter.status = reply.status
    if not sent.is_translated:
        return Response(data, reply.status, media_type=reply.headers.get("content-type", "application/json"))
    try:
        return _translated(data, sent)
    except WireError as error:
        meter.status, meter.trouble = 502, str(error)
        return sent.client.refusal(502, "model_unavailable", str(error))


def _translated(data: bytes, sent: EndpointRequest) -> Response:
    """A whole completion in the client's wire; as a stream for who asked for one, though the endpoint has none."""
    client = sent.client
    if not sent.request.stream:
        reply = client.dialect.reply_of_chat(client.request, data, model=sent.model)
        return Response(reply, 200, media_type="application/json")
    events = as_stream(data)
    translator = client.dialect.translator(client.request, model=sent.model)
    return Response(translator.feed(events) + translator.end(), 200, media_type=EVENT_STREAM)


async def _streamed(
    reply: ModelResponse, sent: EndpointRequest, meter: Meter, owned: AsyncExitStack
) -> Response:
    """Wait for the first event, so that a stream cut before it can be asked for again, and hand everything over."""
    meter.reader = sent.dialect.reader(sent.request)
    stream, chunks = OutgoingStream(sent, meter.reader), reply.chunks()
    first = await _first(chunks, stream)
    meter.status = reply.status
    return Relay(first, chunks, stream, meter=meter, owned=owned.pop_all())


async def _first(chunks: AsyncIterator[bytes], stream: OutgoingStream) -> bytes:
    async for chunk in chunks:
        ready = stream.feed(chunk)
        if stream.has_begun or stream.reader.size > MAX_REPLY_BYTES:
            return ready  # one without end that holds no event is broken off where it is passed on
    return b""


async def _refused_reply(
    parts: SessionApiParts, account: Account, reply: ModelResponse, sent: EndpointRequest, meter: Meter
) -> Response | _Failed:
    """The provider's own words, without what is nobody's business; ours where they are about more than this request."""
    data = await _read_reply(reply, MAX_ERROR_BYTES)
    text = parts.redactor.redact(data.decode("utf-8", "replace"))
    meter.trouble = text[:1000]
    fault = read_refusal(reply.status, text, sent.model)
    if fault is None:
        await parts.outages.answered(account, sent.model)
        return _passed_on(reply, sent, text, reply.status)
    if not fault.passes:
        why = await parts.outages.failed(account, sent.model, fault)
        status = reply.status if reply.status in PASSED_ON else GIVEN_UP
        return sent.client.refusal(status, f"model_{fault.kind}", why)
    status = reply.status if reply.status in WAITED_OUT else 503
    response = _passed_on(reply, sent, text, status)
    retry_after_s = _seconds(reply.headers.get("retry-after", ""), parts.clock.now())
    if retry_after_s:
        response.headers["retry-after"] = str(int(retry_after_s))
    return _Failed(response=response, fault=fault, retry_after_s=retry_after_s)


def _passed_on(reply: ModelResponse, sent: EndpointRequest, text: str, status: int) -> Response:
    """An endpoint's refusal, as it is or in the client's wire."""
    if not sent.is_translated:
        return Response(text, status, media_type=reply.headers.get("content-type", "application/json"))
    code, words = error_of(text)
    return sent.client.refusal(
        status, code or f"http_{reply.status}", words or f"the model answers {reply.status}"
    )


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
