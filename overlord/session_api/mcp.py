"""`POST /session/mcp/{name}`: the MCP servers that a repository's settings offer, asked for the session by Overlord.

A session names a server of its brief, and no address. What the server is asked with is Overlord's: its headers, its conversation's
id, its own introduction. What comes back has no secret of Overlord's in it. Calls are in the session's transcript as its model's
own, so each is a line in the log here and no fact of the ledger.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import structlog
from starlette.requests import Request
from starlette.responses import Response

from overlord.domain.mcp import (
    INVALID_REQUEST,
    UNAVAILABLE,
    VERSIONS,
    McpError,
    McpRequest,
    error_of,
    forwarded_params,
    introduction,
    read_request,
    returned_result,
)
from overlord.domain.session import Session
from overlord.domain.text.redaction import Redactor
from overlord.errors import McpUnavailable
from overlord.ports.mcp import McpPlace, McpReply
from overlord.session_api import wire
from overlord.session_api.mcp_conversations import MOST_CALLS, Conversation
from overlord.session_api.parts import SessionApiParts
from overlord.store import jobs

log = structlog.get_logger()

MOST_REQUEST_BYTES = 1024 * 1024
_INTRODUCED = {
    "protocolVersion": VERSIONS[0],
    "capabilities": {},
    "clientInfo": {"name": "overlord", "version": "1"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offer:
    """A server as this session may ask it."""

    place: McpPlace
    tools: frozenset[str]
    conversation: Conversation


async def mcp(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """One message to a server, and the answer. What goes wrong is an error of JSON-RPC with a sentence."""
    body = await wire.read_bytes(request, limit=MOST_REQUEST_BYTES)
    name = str(request.path_params["name"])
    try:
        asked = read_request(body)
    except McpError as error:
        return _error(None, error.code, str(error), status=400)
    if asked.id is None:
        return Response(status_code=202)  # Overlord tells servers itself what they have to know
    try:
        offer = await _offer(parts, session, name)
        result = await _result(parts, offer, asked)
        return _response({"jsonrpc": "2.0", "id": asked.id, "result": result})
    except McpError as error:
        return _error(asked.id, error.code, str(error))
    except RecursionError:
        return _error(asked.id, UNAVAILABLE, f"a message to or from {name} is nested too deep")
    except McpUnavailable as error:
        log.warning("mcp_server_failed", server=name, method=asked.method, trouble=str(error))
        return _error(asked.id, UNAVAILABLE, str(error))


async def _offer(parts: SessionApiParts, session: Session, name: str) -> _Offer:
    """The server of this name, if the session's brief has it and the settings still do. Raises McpError."""
    brief: Mapping[str, Any] = json.loads(session.brief)
    offered = next(
        (item for item in brief.get("mcp", ()) if item["name"] == name and not item["command"]), None
    )
    job = await parts.database.read(lambda c: jobs.get(c, session.job_id))
    server = parts.settings.space(job.space).mcp.get(name)
    if offered is None or server is None or not server.url:
        raise McpError(INVALID_REQUEST, f"no MCP server called {name[:100]} is offered to this session")
    headers = {key: value.get_secret_value() for key, value in server.headers.items()}
    return _Offer(
        place=McpPlace(name=name, url=server.url, headers=headers, timeout_s=server.timeout_s),
        tools=frozenset(offered["tools"]) & frozenset(server.tools),
        conversation=parts.mcp_conversations.of(session.id, name),
    )


async def _result(parts: SessionApiParts, offer: _Offer, asked: McpRequest) -> dict[str, Any]:
    """What the session is answered. Raises McpError and McpUnavailable."""
    conversation, server = offer.conversation, offer.place.name
    if asked.method == "initialize":
        if not conversation.version:
            await _begin(parts, offer, after=conversation.begun)
        return introduction(asked.params, server, conversation.said)
    params = forwarded_params(asked, offer.tools, server=server)
    conversation.calls += 1
    if conversation.calls > MOST_CALLS:
        raise McpError(UNAVAILABLE, f"this session has asked {server} {MOST_CALLS} times, which is the most")
    began = parts.clock.monotonic()
    async with conversation.turns:
        result = await _asked(parts, offer, asked.method, params)
    if asked.method == "tools/call":
        took_s = round(parts.clock.monotonic() - began, 3)
        log.info("mcp_called", server=server, tool=params["name"], duration_s=took_s)
    return returned_result(asked.method, result, offer.tools, server=server)


async def _asked(
    parts: SessionApiParts, offer: _Offer, method: str, params: Mapping[str, Any]
) -> Mapping[str, Any]:
    """A server's result, in a conversation that is begun where there is none, and once more where the server forgot it."""
    conversation = offer.conversation
    if not conversation.version:
        await _begin(parts, offer, after=conversation.begun)
    for _ in range(2):
        begun = conversation.begun
        found = await _sent(parts, offer, method, params)
        if found is not None:
            return found
        await _begin(parts, offer, after=begun)
    raise McpUnavailable(f"the MCP server {offer.place.name} forgets the conversation again and again")


async def _begin(parts: SessionApiParts, offer: _Offer, *, after: int) -> None:
    """Begin the conversation, unless another call has done so after that one."""
    conversation = offer.conversation
    async with conversation.beginning:
        if conversation.begun > after:
            return
        conversation.id = conversation.version = ""
        said = await _sent(parts, offer, "initialize", _INTRODUCED)
        version = None if said is None else said.get("protocolVersion")
        if said is None or version not in VERSIONS:
            raise McpUnavailable(
                f"the MCP server {offer.place.name} speaks version {str(version)[:40]}, and Overlord {', '.join(VERSIONS)}"
            )
        conversation.said, conversation.version = said, version
        conversation.begun += 1
        await _post(parts, offer, {"jsonrpc": "2.0", "method": "notifications/initialized"})


async def _sent(
    parts: SessionApiParts, offer: _Offer, method: str, params: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """The result of one request; None where the server knows the conversation no more. Raises McpError for its refusal."""
    offer.conversation.number += 1
    number = offer.conversation.number
    reply = await _post(parts, offer, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    if method == "initialize":
        offer.conversation.id = reply.conversation
    if reply.message is None:
        return None
    answer = await asyncio.to_thread(_without_secrets, parts.redactor, offer.place, reply.message)
    if (error := error_of(answer, server=offer.place.name)) is not None:
        raise error
    result: Mapping[str, Any] = answer["result"]
    return result


async def _post(parts: SessionApiParts, offer: _Offer, message: Mapping[str, Any]) -> McpReply:
    conversation = offer.conversation
    return await parts.mcp.post(
        offer.place, message, conversation=conversation.id, version=conversation.version
    )


def _without_secrets(redactor: Redactor, place: McpPlace, message: Mapping[str, Any]) -> Mapping[str, Any]:
    """An answer without what Overlord holds and what it was asked with. Written anew first: a secret could be spelt in escapes."""
    text = json.dumps(message)
    clean = _redactor_of(tuple(place.headers.values())).without_values(redactor.without_values(text))
    cleaned: Mapping[str, Any] = message if clean == text else json.loads(clean)
    return cleaned


@lru_cache(maxsize=64)
def _redactor_of(headers: tuple[str, ...]) -> Redactor:
    """Of headers' values, and of what comes after a word such as Bearer."""
    return Redactor(part for value in headers for part in (value, *value.split()[-1:]))


def _error(request_id: str | int | None, code: int, message: str, *, status: int = 200) -> Response:
    said = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
    return _response(said, status=status)


def _response(message: Mapping[str, Any], *, status: int = 200) -> Response:
    """In ASCII: whatever others sent, half a character included, can be written so."""
    return Response(json.dumps(message), status_code=status, media_type="application/json")
