"""What is remembered of each session's conversations with MCP servers. It is forgotten with the daemon: then they are begun anew."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

AT_ONCE = 4
"""Calls of one session that a server is sent at the same time; more wait."""
MOST_CALLS = 5_000
"""Of one session to one server."""


@dataclass(slots=True, eq=False)
class Conversation:
    """One session's conversation with one server."""

    id: str = ""
    """What the server calls it; empty where it gave no name."""
    version: str = ""
    """Of the protocol, as it was agreed; empty before that."""
    said: Mapping[str, Any] = field(default_factory=dict)
    """What the server said of itself."""
    calls: int = 0
    number: int = 0
    """Of the last message."""
    begun: int = 0
    """How often it was begun."""
    beginning: asyncio.Lock = field(default_factory=asyncio.Lock)
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))


class Conversations:
    """Those of all sessions."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Conversation]] = {}

    def of(self, session_id: str, server: str) -> Conversation:
        return self._known.setdefault(session_id, {}).setdefault(server, Conversation())

    def forget(self, session_id: str) -> None:
        """The session has ended."""
        self._known.pop(session_id, None)
