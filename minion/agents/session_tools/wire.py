"""MCP as the session's tools server speaks it: one JSON-RPC message to a request, read strictly, and the replies to it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Of the protocol, the newest first: what is offered to a client that asks for another one."""
PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602

Id = str | int | None


class Malformed(Exception):
    """A body that is no message. `code` is JSON-RPC's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A message of a client. One without an id is answered with nothing."""

    method: str
    id: Id = None
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_notification(self) -> bool:
        return self.id is None


def read_request(body: bytes) -> Request:
    """What a client sent. Raises Malformed, with a sentence that says what is wrong."""
    value = _parsed(body)
    if isinstance(value, list):
        raise Malformed(INVALID_REQUEST, "Batches are not taken: send one message in a request.")
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise Malformed(INVALID_REQUEST, 'The body is no JSON-RPC message: it has no "jsonrpc": "2.0".')
    request_id, method, params = value.get("id"), value.get("method"), value.get("params", {})
    if "id" in value and (not isinstance(request_id, str | int) or isinstance(request_id, bool)):
        raise Malformed(INVALID_REQUEST, "The id must be a string or an integer.")
    if method is None and ("result" in value or "error" in value):
        return Request(method="", id=None)  # an answer to a question that was never asked
    if not isinstance(method, str) or not method:
        raise Malformed(INVALID_REQUEST, "The method must be a string.")
    if not isinstance(params, dict):
        raise Malformed(INVALID_REQUEST, "The params must be an object.")
    return Request(method=method, id=request_id, params=params)


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Malformed(PARSE_ERROR, f"The body is not JSON: {str(error)[:200]}") from None


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def result(request_id: Id, value: Mapping[str, Any]) -> bytes:
    """The reply that carries a method's result."""
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": value}).encode()


def error(request_id: Id, code: int, message: str) -> bytes:
    """The reply that says why there is no result."""
    said = {"code": code, "message": message}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": said}).encode()


def agreed_version(asked: object) -> str:
    """The protocol's version for a client that asks for one."""
    return asked if isinstance(asked, str) and asked in VERSIONS else VERSIONS[0]


def tool_text(text: str, *, is_error: bool = False) -> dict[str, Any]:
    """What a tool said, as the result of a call."""
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
