"""A client of one MCP server: introduced once, its tools listed within bounds, its calls made one at a time."""

from collections.abc import Mapping
from typing import Any, Protocol

from minion.errors import McpFailed

VERSION = "2025-06-18"
"""Of the protocol, as it is asked for. What is used of it is the same in every other."""
MOST_PAGES = 20


class Transport(Protocol):
    """How messages reach a server."""

    def exchange(self, message: Mapping[str, Any], *, timeout_s: float) -> Mapping[str, Any] | None:
        """Send one message and return its answer; None to a notification. Raises McpFailed."""

    def close(self) -> None:
        """Let go of the server."""


class McpClient:
    """Asks one server. Not for use by two threads."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._number = 0

    def begin(self, *, timeout_s: float) -> None:
        """Introduce ourselves. Raises McpFailed."""
        about = {"name": "overlord-minion", "version": "1"}
        asked = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": about}
        self._ask("initialize", asked, timeout_s)
        self._transport.exchange(
            {"jsonrpc": "2.0", "method": "notifications/initialized"}, timeout_s=timeout_s
        )

    def tools(self, most: int, *, timeout_s: float) -> list[Mapping[str, Any]]:
        """The first tools it has, as it describes them. Raises McpFailed."""
        found: list[Mapping[str, Any]] = []
        cursor: object = None
        for _ in range(MOST_PAGES):
            page = self._ask("tools/list", {"cursor": cursor} if cursor else {}, timeout_s)
            tools, cursor = page.get("tools"), page.get("nextCursor")
            found += (tool for tool in tools if isinstance(tool, dict)) if isinstance(tools, list) else ()
            if not isinstance(cursor, str) or not cursor or len(found) >= most:
                break
        return found[:most]

    def call(self, name: str, arguments: Mapping[str, Any], *, timeout_s: float) -> Mapping[str, Any]:
        """The result of a tool. Raises McpFailed."""
        return self._ask("tools/call", {"name": name, "arguments": arguments}, timeout_s)

    def close(self) -> None:
        self._transport.close()

    def _ask(self, method: str, params: Mapping[str, Any], timeout_s: float) -> Mapping[str, Any]:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        answer = self._transport.exchange(message, timeout_s=timeout_s) or {}
        if isinstance(error := answer.get("error"), dict):
            raise McpFailed(f"it refused: {str(error.get('message'))[:2_000]}")
        if not isinstance(result := answer.get("result"), dict):
            raise McpFailed(f"its answer to {method} has no result")
        return result
