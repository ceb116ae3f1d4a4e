"""What passes between a session and an MCP server that Overlord asks for it: messages read strictly, tools by an allow-list.

Overlord is the server's only client. A session lists tools and calls them; anything else of the protocol ends here, so that a
server can ask the session nothing, and the session can reach nothing that was not offered.
"""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

Message = Mapping[str, Any]

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Of the protocol, the newest first."""
PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
UNAVAILABLE = -32000
"""The server gave no answer that can be passed on."""
MOST_MESSAGE_CHARS = 2_000
MOST_INSTRUCTION_CHARS = 4_000
_OF_A_TOOL = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_OF_A_RESULT = ("content", "structuredContent", "isError")


class McpError(Exception):
    """A message that is answered with an error of JSON-RPC."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class McpRequest:
    """A message of a session. One without an id is answered with nothing."""

    method: str
    id: str | int | None = None
    params: Message = field(default_factory=dict)


def read_request(body: bytes) -> McpRequest:
    """What a session sent. Raises McpError, with what is wrong."""
    try:
        value = read_json(body)
    except (ValueError, RecursionError):
        raise McpError(PARSE_ERROR, "the body is not JSON") from None
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise McpError(INVALID_REQUEST, "the body is no JSON-RPC message: send one at a time, of version 2.0")
    request_id, method, params = value.get("id"), value.get("method"), value.get("params", {})
    if "id" in value and (not isinstance(request_id, str | int) or isinstance(request_id, bool)):
        raise McpError(INVALID_REQUEST, "the id must be a string or an integer")
    if not isinstance(method, str) or not isinstance(params, dict):
        raise McpError(INVALID_REQUEST, "the method must be a string, and the params an object")
    return McpRequest(method=method, id=request_id, params=params)


def read_json(data: bytes) -> object:
    """What the data holds. Raises ValueError, also for a number that cannot be written again, and RecursionError."""
    return json.loads(data.decode(), parse_constant=_refuse, parse_float=_finite)


def _refuse(name: str) -> object:
    raise ValueError(name)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def forwarded_params(request: McpRequest, allowed: Collection[str], *, server: str) -> dict[str, Any]:
    """What of a request's parameters the server is sent. Raises McpError for a method or a tool that is not offered."""
    if request.method == "ping":
        return {}
    if request.method == "tools/list":
        cursor = request.params.get("cursor")
        return {"cursor": cursor} if isinstance(cursor, str) else {}
    if request.method != "tools/call":
        raise McpError(
            UNKNOWN_METHOD,
            f"{request.method[:100]} is not passed on: sessions list the tools of {server}, and call them",
        )
    name, arguments = request.params.get("name"), request.params.get("arguments", {})
    if not isinstance(name, str) or name not in allowed:
        offered = ", ".join(sorted(allowed)) or "none"
        raise McpError(
            INVALID_PARAMS,
            f"the tool {str(name)[:100]} of {server} is not offered to this session; offered: {offered}",
        )
    if not isinstance(arguments, dict):
        raise McpError(INVALID_PARAMS, "the arguments must be an object")
    return {"name": name, "arguments": arguments}


def returned_result(method: str, result: Message, allowed: Collection[str], *, server: str) -> dict[str, Any]:
    """What of a server's result the session gets. Raises McpError for one that is none of the protocol's."""
    if method == "ping":
        return {}
    if method == "tools/list":
        tools, cursor = result.get("tools"), result.get("nextCursor")
        if not isinstance(tools, list):
            raise McpError(UNAVAILABLE, f"the MCP server {server} gave no list of tools")
        offered = [
            {key: tool[key] for key in _OF_A_TOOL if key in tool}
            for tool in tools
            if isinstance(tool, dict) and isinstance(name := tool.get("name"), str) and name in allowed
        ]
        return {"tools": offered, **({"nextCursor": cursor} if isinstance(cursor, str) else {})}
    if not isinstance(result.get("content"), list):
        raise McpError(UNAVAILABLE, f"the MCP server {server} gave no result of a tool")
    return {key: result[key] for key in _OF_A_RESULT if key in result}


def introduction(asked: Message, server: str, said: Message) -> dict[str, Any]:
    """The answer to a session's `initialize`, from what the server said of itself."""
    version, words = asked.get("protocolVersion"), said.get("instructions")
    instructions = (
        {"instructions": words[:MOST_INSTRUCTION_CHARS]} if isinstance(words, str) and words else {}
    )
    return {
        "protocolVersion": version if version in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": server, "version": "1"},
        **instructions,
    }


def error_of(answer: Message, *, server: str) -> McpError | None:
    """The error that a server answered with; None where it answered with a result, whatever that holds."""
    error = answer.get("error")
    if not isinstance(error, dict):
        return None
    code, message = error.get("code"), error.get("message")
    words = message[:MOST_MESSAGE_CHARS] if isinstance(message, str) else "it does not say why"
    is_code = isinstance(code, int) and not isinstance(code, bool) and abs(code) < 1_000_000
    return McpError(
        code if isinstance(code, int) and is_code else UNAVAILABLE,
        f"the MCP server {server} refused: {words}",
    )
