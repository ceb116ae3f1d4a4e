"""Whoever calls: what they may and see, what their looks read from, and how what is refused is told without naming what is not theirs."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import structlog

from overlord.command_ref import CommandRef
from overlord.domain.conversation.argument import CommandError
from overlord.domain.interface import Interface
from overlord.entrypoints.mcp.backend import Backend
from overlord.entrypoints.mcp.listing import Schema, ToolResult
from overlord.entrypoints.mirror_commits import MirrorCommits
from overlord.entrypoints.web.visitor import UNSEEN, Visitor
from overlord.errors import NotFound, OverlordError, StoreError
from overlord.home import Home
from overlord.queries import registry as queries
from overlord.queries.look import Look
from overlord.settings.load import Settings
from overlord.verbs import registry as verbs
from overlord.verbs.argument_json import MisreadArgument
from overlord.verbs.right import OF_TOKEN
from overlord.verbs.typed_words import typed_words

MOST_TEXT = 100_000
"""Characters of one text that is answered; what is longer is cut, and says so."""
_NOWHERE = "nowhere"
"""Stands for the repositories of a caller who has none: no repository is called that, and no name at all would mean all of them."""
_REFERENCE = re.compile(r"([\w.-]+/[\w.-]+)#[0-9]+")
TOLD = (CommandError, OverlordError, sqlite3.Error)
"""What a caller is told in a sentence."""

log = structlog.get_logger()


def now() -> datetime:
    return datetime.now(UTC)


def spaces_of(backend: Backend) -> tuple[str, ...]:
    """The repositories that the caller may see; empty for all."""
    if backend.reaches(""):
        return ()
    return tuple(filter(backend.reaches, backend.settings.repositories)) or (_NOWHERE,)


def visitor_of(backend: Backend) -> Visitor:
    """The caller, as the checks of the page and of the API know them."""
    return Visitor(actor=backend.actor, right=OF_TOKEN[backend.right], spaces=spaces_of(backend), secret="")


def settings_of(backend: Backend) -> Settings:
    """The settings with the repositories that the caller may see, and no others: what names one finds it among these."""
    if backend.reaches(""):
        return backend.settings
    seen = tuple(filter(backend.reaches, backend.settings.repositories))
    return backend.settings.model_copy(update={"repositories": seen})


def look_of(backend: Backend, connection: sqlite3.Connection) -> Look:
    """What a query reads from."""
    settings = settings_of(backend)
    return Look(
        connection=connection,
        current_settings=lambda: settings,
        at=now(),
        commits=MirrorCommits(home=Home(settings.home), extent=settings.extent),
        spaces=spaces_of(backend),
    )


def check_given(name: str, schema: Schema, arguments: Mapping[str, object]) -> None:
    """Raises CommandError that names what is missing."""
    needed: Sequence[str] = schema.get("required", ())
    missing = [item for item in needed if arguments.get(item) in (None, "")]
    if missing:
        raise CommandError(f"{name} needs {' and '.join(missing)}.")


def refusal(backend: Backend, error: Exception) -> ToolResult:
    """What is told of an error: what it says, unless that would tell of a repository that is not the caller's to see."""
    kind, more = "refused", dict[str, Any]()
    match error:
        case CommandError():
            kind, text = "not-understood", _misread(error)
            if isinstance(error, MisreadArgument):
                more["field"] = error.field
        case StoreError() | sqlite3.Error():
            log.warning("mcp_unread", trouble=str(error))
            kind, text = "unavailable", "The database is busy; ask again."
        case OverlordError():
            kind = "not-found" if isinstance(error, NotFound) else kind
            text = sentence(error.worded(word))
        case _:
            raise error
    if _tells_of_others(backend, error, text):
        kind, text = "not-found", sentence(UNSEEN)
    return ToolResult(text=text, structured={"error": {"kind": kind, "message": text, **more}}, is_error=True)


def _misread(error: CommandError) -> str:
    named = f"{error.field}: " if isinstance(error, MisreadArgument) else ""
    return f"{named}{error}"


def _tells_of_others(backend: Backend, error: Exception, text: str) -> bool:
    if backend.reaches(""):
        return False
    if isinstance(error, NotFound):
        return True
    names = {*backend.settings.repositories, *_REFERENCE.findall(text)}
    return any(not backend.reaches(name) and name.casefold() in text.casefold() for name in names)


def sentence(text: str) -> str:
    """As a sentence: errors of ours begin small."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def word(ref: CommandRef) -> str:
    """A command as a caller gives it, a tool with its arguments; one that MCP leaves out as a person types it."""
    if (name := tool_name(ref.name)) is None:
        return typed_words(ref)
    return " ".join((name, *ref.arguments))


def tool_name(name: str) -> str | None:
    """What the tool of a verb or a query is called; None for what is no tool."""
    if name in verbs.names():
        verb = verbs.find(name)
        return None if verb.gap(Interface.MCP) else (verb.mcp or name).replace("-", "_")
    if name in queries.names():
        return None if queries.find(name).gap(Interface.MCP) else name.replace("-", "_")
    return None


def cut(text: str, most: int = MOST_TEXT) -> str:
    """As much of a text as is answered."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n\n[cut: the whole has {len(text):,} characters, and {most:,} are shown]"
