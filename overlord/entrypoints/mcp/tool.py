"""A tool of the MCP server: what it is called, what it takes and answers, and the act. Nothing here knows the protocol's library."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from overlord.domain.access import AccessRight
from overlord.domain.disciplines.call import Call
from overlord.domain.disciplines.catalog import Argument
from overlord.domain.event import Json
from overlord.domain.text.json_text import json_text
from overlord.entrypoints.mcp.backend import Backend

Schema = Mapping[str, Json]
"""A JSON Schema, 2020-12."""
Progress = Callable[[str], Awaitable[None]]
"""Tells the client what goes on, in a few words."""
Begin = Callable[[Callable[[], Awaitable[Call]]], Awaitable[Call]]
"""Requests a call, and remembers it: whoever withdraws the request cancels the call."""


async def _unheard(_words: str) -> None:
    """Nobody asked for it."""


async def _begun(request: Callable[[], Awaitable[Call]]) -> Call:
    return await request()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request for a tool."""

    backend: Backend
    arguments: Mapping[str, Json]
    """As they were checked: each known and of its kind, those left out missing."""
    progress: Progress = _unheard
    begin: Begin = _begun

    def text(self, name: str) -> str:
        """An argument that is a text; empty where it was left out."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool answers."""

    data: Mapping[str, Json]
    """As its output schema says."""
    text: str = ""
    """The same for a model to read; empty for the JSON of `data`."""

    @property
    def words(self) -> str:
        return self.text or json_text(self.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One of them."""

    name: str
    title: str
    """For people."""
    meaning: str
    """For whoever calls: a sentence or a few."""
    arguments: tuple[Argument, ...]
    output: Schema
    act: Callable[[Asked], Awaitable[Answer]] = field(repr=False)
    """Raises OverlordError, ArgumentError: sentences for whoever calls."""
    right: AccessRight = AccessRight.READ
    """What a caller needs."""
    is_read_only: bool = False
    """Whether nothing of the caller's is changed by it."""
    is_idempotent: bool = False
    """Whether asking again changes nothing more."""
