"""MCP servers over httpx: one message to a POST, answered as JSON or as a stream of events, both within bounds.

A redirect is not followed: the headers are for the address in the settings and for no other. Nothing that leaves here as an
exception carries them.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx

from overlord.adapters.http import open_client
from overlord.adapters.model import reason_of
from overlord.domain.mcp import read_json
from overlord.errors import McpUnavailable
from overlord.ports.mcp import McpPlace, McpReply

CONNECT_TIMEOUT_S = 10.0
MOST_ANSWER_BYTES = 4 * 1024 * 1024
_LONGEST_CONVERSATION_ID = 1_000


class HttpMcp:
    """`ports.Mcp`."""

    def __init__(self) -> None:
        self._clients: dict[str, httpx.AsyncClient] = {}

    async def post(
        self, place: McpPlace, message: Mapping[str, Any], *, conversation: str = "", version: str = ""
    ) -> McpReply:
        """Send one message of JSON-RPC and wait for its answer. Raises McpUnavailable."""
        try:
            async with asyncio.timeout(place.timeout_s):
                return await self._post(place, message, conversation, version)
        except TimeoutError:
            raise McpUnavailable(
                f"the MCP server {place.name} did not answer within {place.timeout_s:.0f} s"
            ) from None
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, UnicodeError) as error:
            why = reason_of(error)
            raise McpUnavailable(f"the MCP server {place.name} cannot be reached ({why})") from None

    async def close(self) -> None:
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.aclose()

    async def _post(
        self, place: McpPlace, message: Mapping[str, Any], conversation: str, version: str
    ) -> McpReply:
        client, body = self._client(place.url), json.dumps(message).encode()
        headers = _headers(place, conversation, version)
        async with client.stream("POST", place.url, content=body, headers=headers) as response:
            if response.status_code == 404 and conversation:
                return McpReply(is_forgotten=True)
            _check_status(place, response)
            given = response.headers.get("mcp-session-id", "")[:_LONGEST_CONVERSATION_ID]
            if "id" not in message:
                return McpReply(conversation=given)
            answer = await _answer(place, response, message["id"])
            return McpReply(message=answer, conversation=given)

    def _client(self, url: str) -> httpx.AsyncClient:
        """One for each address: an address on this machine is asked without a proxy."""
        if url not in self._clients:
            self._clients[url] = open_client(url, httpx.Timeout(None, connect=CONNECT_TIMEOUT_S))
        return self._clients[url]


def _headers(place: McpPlace, conversation: str, version: str) -> dict[str, str]:
    ours = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "accept-encoding": "identity",
        **({"mcp-session-id": conversation} if conversation else {}),
        **({"mcp-protocol-version": version} if version else {}),
    }
    return {**{name.lower(): value for name, value in place.headers.items()}, **ours}


def _check_status(place: McpPlace, response: httpx.Response) -> None:
    status = response.status_code
    if status in (401, 403):
        raise McpUnavailable(
            f"the MCP server {place.name} refuses Overlord ({status}): its headers may be wrong"
        )
    if 300 <= status < 400:
        raise McpUnavailable(
            f"the MCP server {place.name} answers with a redirect ({status}), which is not followed"
        )
    if status >= 400:
        raise McpUnavailable(f"the MCP server {place.name} answers with an error ({status})")
    if response.headers.get("content-encoding", "identity") != "identity":
        raise McpUnavailable(f"the MCP server {place.name} packs its answers, and was asked not to")


async def _answer(place: McpPlace, response: httpx.Response, request_id: object) -> Mapping[str, Any]:
    """The one message that answers the request; what else a stream brings is passed over."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        async for data in _events(_bounded(place, response)):
            if (found := _message_in(data, request_id)) is not None:
                return found
    elif kind == "application/json":
        data = b"".join([chunk async for chunk in _bounded(place, response)])
        found = await asyncio.to_thread(_message_in, data, request_id)
        if found is not None:
            return found
    raise McpUnavailable(
        f"the MCP server {place.name} gives no answer of the protocol (it sends {kind[:80] or 'nothing'})"
    )


async def _bounded(place: McpPlace, response: httpx.Response) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in response.aiter_raw():
        size += len(chunk)
        if size > MOST_ANSWER_BYTES:
            raise McpUnavailable(
                f"the MCP server {place.name} answers with more than {MOST_ANSWER_BYTES // 1024**2} MiB"
            )
        yield chunk


async def _events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each server-sent event."""
    rest, data = b"", []
    async for chunk in chunks:
        *lines, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line.strip() and data:
                yield b"\n".join(data)
                data = []
    if data:
        yield b"\n".join(data)


def _message_in(data: bytes, request_id: object) -> Mapping[str, Any] | None:
    """The answer to a request, if that is what the data holds."""
    try:
        value = read_json(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("id") != request_id:
        return None
    return value if isinstance(value.get("result"), dict) or isinstance(value.get("error"), dict) else None
