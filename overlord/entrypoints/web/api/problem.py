"""What goes wrong, as RFC 9457 has it: `application/problem+json`, with what can be done about it as data."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from starlette.responses import Response

from overlord.command_ref import CommandRef, Hint
from overlord.domain.conversation.argument import CommandError
from overlord.domain.text.json_text import json_text
from overlord.errors import ContractError, NotFound, OverlordError, Refused, StoreError
from overlord.verbs.argument_json import MisreadArgument
from overlord.verbs.right import NotAllowed

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:overlord:problem:"
"""What the `type` of each begins with; what follows says what kind it is."""
TITLES = {
    "not-understood": "Not understood",
    "not-signed-in": "No token",
    "not-allowed": "Not allowed",
    "not-found": "Not found",
    "refused": "Not done",
    "key-used": "Idempotency key used",
    "too-long": "Too long",
    "too-slow": "Too slow",
    "too-many-tries": "Too many tries",
    "unavailable": "Not now",
    "outside": "Something outside failed",
    "http": "Not done",
}

log = structlog.get_logger()


class Problem(Exception):
    """A request that is not done, and why. `kind` is one of TITLES."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        more: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.more, self.headers = dict(more or {}), dict(headers or {})

    def response(self) -> Response:
        """As it is sent."""
        body = {
            "type": f"{TYPE}{self.kind}",
            "title": TITLES[self.kind],
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }
        headers = {"cache-control": "no-store", **self.headers}
        return Response(json_text(body), self.status, headers, media_type=MEDIA_TYPE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemBody:
    """What is sent of a problem."""

    type: str
    """`urn:overlord:problem:` and its kind."""
    title: str
    status: int
    detail: str
    """What is wrong, as a sentence for a person."""
    field: str = ""
    """The argument that is not understood."""
    examples: tuple[str, ...] = ()
    """What may be said instead, as in the chat."""
    hint: tuple[Any, ...] = ()
    """What can be done about it: words, and commands as `{"command", "arguments"}`."""
    kept: str = ""
    """What was left as it was."""


def problem_of(error: Exception) -> Problem:
    """An error of ours, or of the database's, as a problem."""
    match error:
        case Problem():
            return error
        case NotAllowed():
            return _ours(403, "not-allowed", error)
        case NotFound():
            return _ours(404, "not-found", error)
        case Refused() | ContractError():
            return _ours(409, "refused", error)
        case CommandError():
            field = {"field": error.field} if isinstance(error, MisreadArgument) else {}
            return Problem(400, "not-understood", str(error), more={**field, "examples": error.examples})
        case StoreError() | sqlite3.Error():
            log.warning("page_unread", path="/api/v1", trouble=str(error))
            busy = "the database is busy; ask again"
            return Problem(503, "unavailable", busy, headers={"retry-after": "1"})
        case OverlordError():
            return _ours(502, "outside", error)
        case _:
            raise error


def _ours(status: int, kind: str, error: OverlordError) -> Problem:
    more: dict[str, Any] = {"hint": hint_json(error.hint)} if error.hint is not None else {}
    if error.kept:
        more["kept"] = error.kept
    return Problem(status, kind, str(error), more=more)


def hint_json(hint: Hint | None) -> list[Any]:
    """What can be done: words, and commands as data."""
    return [_part(part) for part in hint.parts] if hint is not None else []


def _part(part: str | CommandRef) -> Any:
    return part if isinstance(part, str) else {"command": part.name, "arguments": list(part.arguments)}
