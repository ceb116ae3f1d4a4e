"""A session's request, and what becomes of it for one endpoint: passed on where that speaks the client's wire, translated to chat
completions where it speaks those, and neither where it speaks others alone.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from overlord.domain.session import Account
from overlord.domain.wires.chat_request import DEFAULT_MODEL, check_model
from overlord.domain.wires.registry import DIALECTS
from overlord.domain.wires.wire import Dialect, ModelRequest, Wire, WireError
from overlord.ports.model import NO_HEADERS
from overlord.settings.load import Settings
from overlord.settings.model import Candidate

CLAUDE = "claude-"
"""What the names of Anthropic's models begin with."""


def model_of(settings: Settings, account: Account) -> str:
    """The one name of `models` that an account is answered by."""
    own = settings.space(account.space)
    return account.model if account.model in settings.models else own.model_for(account.kind)


def names_of(settings: Settings, account: Account) -> Sequence[str]:
    """What a session may call its model: `default`, the settings' name, and what its endpoints call it."""
    name = model_of(settings, account)
    theirs = (settings.model_name(candidate) for candidate in settings.models[name])
    return tuple(dict.fromkeys(name for name in (DEFAULT_MODEL, name, *theirs) if name))


def _with_aliases(names: Sequence[str], asked: object, wire: Wire) -> frozenset[str]:
    """Claude Code replaces names of older models of its own: where the session's model is one of Claude's, each of their names is
    understood as that one."""
    is_claude = wire is Wire.MESSAGES and isinstance(asked, str) and asked.startswith(CLAUDE)
    more = (asked,) if is_claude and any(name.startswith(CLAUDE) for name in names) else ()
    return frozenset((*names, *map(str, more)))


MOST_VALUES = 200_000
"""Of a request. A conversation of a thousand turns has a tenth of them; each costs time of a processor that all sessions share."""
_MOST_MARKS = 2_000_000
"""Quotes, commas and brackets of a request, those in its words included: it is not looked at more closely where there are more."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*"?', re.DOTALL)
"""A string, or all that follows a quote that none ends: whatever the bytes are, each is looked at once."""


def _check_count(raw: bytes) -> None:
    """Raises HTTPException 413 for a body of too many values, before anything is made of it."""
    marks = _count(raw)
    if marks <= MOST_VALUES:
        return
    if marks + raw.count(b'"') > _MOST_MARKS or _count(_STRING.sub(b"", raw)) > MOST_VALUES:
        raise HTTPException(413, f"the request has more than {MOST_VALUES:,} values")


def _count(raw: bytes) -> int:
    """How many values it can have at most: words in strings are counted for some."""
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")


def parsed(raw: bytes) -> dict[str, Any]:
    """A request's body; raises HTTPException 400 where it is none, and 413 where there is too much in it."""
    _check_count(raw)
    try:
        body = json.loads(raw, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the request is not JSON") from None
    if not isinstance(body, dict):
        raise HTTPException(400, "the request is not a JSON object")
    return body


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


@dataclass(frozen=True, kw_only=True)
class ClientRequest:
    """A session's request that was found good."""

    dialect: Dialect
    """How its client speaks."""
    request: ModelRequest
    headers: Mapping[str, str] = field(default_factory=dict)
    """The client's own that are passed on, where its wire is."""

    @classmethod
    def read(
        cls,
        settings: Settings,
        account: Account,
        body: Mapping[str, Any],
        wire: Wire,
        *,
        model: str = "",
        stream: bool = False,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> "ClientRequest":
        """Check a request; raises HTTPException 400 with what is wrong with it. `model` and `stream` are what its address says."""
        dialect = DIALECTS[wire]
        names = _with_aliases(names_of(settings, account), model or body.get("model"), wire)
        completion = settings.space(account.space).budget.completion_tokens
        try:
            check_model(model or body.get("model", DEFAULT_MODEL), names)
            request = dialect.read(body, names=names, completion=completion, model=model, stream=stream)
        except WireError as error:
            raise HTTPException(400, str(error)) from None
        return cls(dialect=dialect, request=request, headers=headers)

    @cached_property
    def as_chat(self) -> ModelRequest | WireError:
        """The request as a chat completion, or why it can be none. Its usage is always asked for: it is what is translated."""
        try:
            chat = self.dialect.to_chat(self.request)
        except WireError as error:
            return error
        return chat if self.dialect.wire is Wire.CHAT else replace(chat, wants_usage=True)

    @property
    def transcribed(self) -> Sequence[Any]:
        """The conversation as a transcript has it: readers of one know the messages of chat completions."""
        return self.request.messages if isinstance(self.as_chat, WireError) else self.as_chat.messages

    def refusal(self, status: int, code: str, message: str) -> JSONResponse:
        """A refusal in the shape its client knows."""
        return JSONResponse(self.dialect.error(status, code, message), status_code=status)

    def for_endpoint(self, settings: Settings, candidate: Candidate) -> "EndpointRequest":
        """The request as a candidate's endpoint gets it. Raises WireError for one that cannot be asked this."""
        wires, mine = settings.endpoint(candidate.endpoint).wire, self.dialect.wire
        if mine in wires:
            return EndpointRequest.of(settings, candidate, self, self.request)
        if Wire.CHAT not in wires:
            raise WireError(
                f"the session's model speaks {' and '.join(wires)}, and requests of {mine} are translated to chat alone:"
                f" its endpoint needs {mine} or chat in its `wire`"
            )
        if isinstance(self.as_chat, WireError):
            raise self.as_chat
        return EndpointRequest.of(settings, candidate, self, self.as_chat)

    def fits(self, settings: Settings, candidate: Candidate) -> bool:
        """Whether a candidate's endpoint can be asked this."""
        wires = settings.endpoint(candidate.endpoint).wire
        if self.dialect.wire in wires:
            return True
        return Wire.CHAT in wires and not isinstance(self.as_chat, WireError)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRequest:
    """A client's request as one endpoint gets it."""

    client: ClientRequest
    endpoint: str
    """Its name in the settings."""
    model: str
    """What the endpoint calls the model."""
    dialect: Dialect
    """How the endpoint is spoken to."""
    request: ModelRequest
    body: bytes

    @classmethod
    def of(
        cls, settings: Settings, candidate: Candidate, client: ClientRequest, request: ModelRequest
    ) -> "EndpointRequest":
        dialect, model = DIALECTS[request.wire], settings.model_name(candidate)
        limit = settings.endpoint(candidate.endpoint).limit_parameter
        return cls(
            client=client,
            endpoint=candidate.endpoint,
            model=model,
            dialect=dialect,
            request=request,
            body=dialect.written(request, model=model, limit_parameter=limit),
        )

    @property
    def is_translated(self) -> bool:
        return self.dialect.wire is not self.client.dialect.wire

    @property
    def headers(self) -> Mapping[str, str]:
        """The client's own that the endpoint gets."""
        return NO_HEADERS if self.is_translated else self.client.headers
