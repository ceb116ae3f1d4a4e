"""Servers of tools that a repository's sessions are offered, asked over HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPlace:
    """Where a server is, what it is asked with, and how long an answer may take."""

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class McpReply:
    """What came back to one message."""

    message: Mapping[str, Any] | None = None
    """The answer; None to a notification."""
    conversation: str = ""
    """The `Mcp-Session-Id` that the server gave."""
    is_forgotten: bool = False
    """The server no longer knows the conversation that was named: it is begun anew."""


class Mcp(Protocol):
    """MCP servers over streamable HTTP."""

    async def post(
        self, place: McpPlace, message: Mapping[str, Any], *, conversation: str = "", version: str = ""
    ) -> McpReply:
        """Send one message of JSON-RPC and wait for its answer. `version` is the protocol's, once it is agreed. Raises McpUnavailable."""
