"""Exchanges with the embedded forge, held against GitHub's description: what the adapter sends, what the forge answers.

Answers may hold more than is described, as GitHub's do; what GitHub always sends must be there. Requests may hold nothing
that GitHub does not know: it would take it, and do nothing with it.
"""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from overlord.embedded.forge.fault import ANSWERS
from overlord.embedded.server import serve
from tests.github_openapi.description import Described, Parameter, find

UNANSWERED = 0
UNCHANGED = 304
"""What any GET may be answered with when it has a condition; GitHub describes it here and there."""
BROKEN = bytes(ANSWERS["bad-json"](0).body)
"""An answer that was ordered to be wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its answer, as they were on the wire."""

    method: str
    path: str
    """With its escapes."""
    query: str = ""
    request: bytes = b""
    status: int = UNANSWERED
    response: bytes = b""


def violations(exchange: Exchange) -> list[str]:
    """What GitHub's description does not allow; nothing of what it does not describe."""
    operation = find(exchange.method, exchange.path)
    if operation is None:
        return []
    found = [*_of_address(operation, exchange), *_of_request(operation, exchange)]
    found += _of_response(operation, exchange)
    return [f"{operation.name}: {what}" for what in dict.fromkeys(found)]


def _of_address(operation: Described, exchange: Exchange) -> Iterator[str]:
    matched = operation.path.fullmatch(exchange.path)
    assert matched is not None
    given = {("path", name): unquote(value) for name, value in matched.groupdict().items()}
    given |= {("query", name): value for name, value in parse_qsl(exchange.query, keep_blank_values=True)}
    for (place, name), value in given.items():
        known = operation.parameters.get(name)
        if known is None or known.place != place:
            yield f"{place} parameter {name!r} is unknown"
        else:
            faults = known.schema.faults(_typed(known, value))
            yield from (f"{place} parameter {name!r} {fault}" for fault in faults)
    for known in operation.parameters.values():
        if known.required and (known.place, known.name) not in given:
            yield f"{known.place} parameter {known.name!r} is missing"


def _typed(parameter: Parameter, text: str) -> Any:
    """A parameter's text as what it stands for, if it does."""
    if parameter.schema.kind in ("integer", "boolean"):
        value = _json(text.encode())
        return text if value is None else value
    return text


def _of_request(operation: Described, exchange: Exchange) -> Iterator[str]:
    if not exchange.request:
        if operation.needs_request:
            yield "request has no body"
    elif operation.request is None:
        yield "request has a body"
    else:
        faults = operation.request.faults(_json(exchange.request))
        yield from (f"request {fault}" for fault in faults)


def _of_response(operation: Described, exchange: Exchange) -> Iterator[str]:
    status, body = exchange.status, exchange.response
    if status == UNANSWERED or body == BROKEN:
        return
    if status not in operation.responses:
        if status < 400 and (status != UNCHANGED or exchange.method != "GET"):
            yield f"response {status} is not among {', '.join(map(str, operation.responses))}"
        return
    schema = operation.responses[status]
    if schema is not None:
        yield from (f"response {status} {fault}" for fault in schema.faults(_json(body)))
    elif status < 400 and body:
        yield f"response {status} has a body"


def _json(text: bytes) -> Any:
    """What the text says; None, which fits nothing that is checked here, where it is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


class Recorder:
    """An ASGI application that keeps what another one is asked and answers, where GitHub has a description of it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._exchanges: dict[Exchange, None] = {}

    @property
    def exchanges(self) -> Iterable[Exchange]:
        """Each one that is not like an earlier one."""
        return self._exchanges.keys()

    def violations(self) -> list[str]:
        found = (what for exchange in self.exchanges for what in violations(exchange))
        return list(dict.fromkeys(found))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["raw_path"].decode() if scope["type"] == "http" else ""
        if not path or find(scope["method"], path) is None:
            await self._app(scope, receive, send)
            return
        given = await _read(receive)
        statuses, answer = [UNANSWERED], bytearray()

        async def seeing(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            answer.extend(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, _replaying(given, receive), seeing)
        finally:
            if given[-1]["type"] == "http.request":  # else whoever asked was cut off in the middle of it
                exchange = Exchange(
                    method=scope["method"],
                    path=path,
                    query=scope["query_string"].decode(),
                    request=b"".join(message.get("body", b"") for message in given),
                    status=statuses[-1],
                    response=bytes(answer),
                )
                self._exchanges[exchange] = None


async def _read(receive: Receive) -> list[Message]:
    """A request as it comes, to its end."""
    given = [await receive()]
    while given[-1].get("more_body", False):
        given.append(await receive())
    return given


def _replaying(given: Sequence[Message], receive: Receive) -> Receive:
    """A request that was read already, once more; then whatever comes."""
    waiting = list(given)

    async def replayed() -> Message:
        return waiting.pop(0) if waiting else await receive()

    return replayed


@asynccontextmanager
async def served(forge: ASGIApp) -> AsyncIterator[str]:
    """Serve a forge as its own `serve` does; a block that ends well fails on what GitHub would not have said, or taken."""
    recorder = Recorder(forge)
    async with serve(recorder) as url:
        yield url
    found = recorder.violations()
    assert not found, "against GitHub's description of its API:\n" + "\n".join(found)
