"""What a server of MCP lists and answers, in records of our own: the server turns them into the SDK's, which takes long to load."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolListing:
    """A tool as it is listed. All four hints are always sent: what a client does not hear it takes for the worst."""

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema | None = None
    is_read_only: bool
    is_destructive: bool = False
    is_idempotent: bool = True
    is_open_world: bool = False
    """Whether it reaches beyond this Overlord and its forge: the web, other services."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answers."""

    text: str
    """For a person and a model, as Markdown."""
    structured: Mapping[str, Any] | None = None
    """The same for a program."""
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceListing:
    """A resource as it is listed, or a template of resources, whose `uri` has its variables in braces."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceText:
    """A resource that was read."""

    uri: str
    mime_type: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """One argument of a prompt."""

    name: str
    description: str
    is_required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptListing:
    """A prompt as it is listed."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptText:
    """A prompt that was asked for: one message of the user's."""

    description: str
    text: str
