"""An address of the API, declared once: how it is asked, what it answers, and how it is described."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from overlord.entrypoints.web.api.problem import Problem
from overlord.entrypoints.web.site import Site
from overlord.entrypoints.web.visitor import Visitor
from overlord.verbs.argument_json import Schema

Answer = Callable[["Asked"], Awaitable[Any]]
_NUMBER = re.compile(r"[0-9]{1,15}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request of somebody who may come in."""

    site: Site
    visitor: Visitor
    request: Request

    def path(self, name: str) -> str:
        """A part of its address."""
        return str(self.request.path_params[name])

    def number(self, name: str = "number") -> int:
        """A number in its address. Raises Problem."""
        text = self.path(name)
        if not _NUMBER.fullmatch(text):
            raise Problem(404, "not-found", "there is nothing with that number")
        return int(text)

    def parameter(self, name: str) -> str:
        """One of its parameters; empty where it is not said."""
        return self.request.query_params.get(name, "")

    def whole(self, name: str, *, default: int, most: int) -> int:
        """A parameter that is a whole number from 1. Raises Problem."""
        text = self.parameter(name)
        if not text:
            return default
        if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= most:
            said = f"{name} is a number from 1 to {most:,}"
            raise Problem(400, "not-understood", said, more={"field": name})
        return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter in an address."""

    name: str
    schema: Schema
    is_needed: bool = False
    where: str = "query"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The declaration of one."""

    path: str
    """After `/api/v1`, as Starlette and OpenAPI have it: `/jobs/{number}`."""
    answer: Answer
    """A value that becomes JSON, or a Response. Raises Problem, OverlordError, CommandError."""
    summary: str
    method: str = "GET"
    tag: str
    returns: Any = None
    """The type of the value; None where `media_type` says what is answered."""
    schema: Schema | None = None
    """The value's JSON schema, where no type says it."""
    media_type: str = "application/json"
    parameters: tuple[Parameter, ...] = ()
    body: Schema | None = None
    problems: Mapping[int, str] = field(default_factory=dict)
    """What may go wrong beside what may everywhere: a status, and why."""
    right: str = "read"
    """What a token needs."""

    @property
    def name(self) -> str:
        """What it is called among the others."""
        words = re.sub(r"[{}]", "", self.path).strip("/").replace("/", "-") or "index"
        return f"{self.method.lower()}-{words}"

    def takes(self, name: str) -> bool:
        """Whether it has such a parameter."""
        return any(item.name == name and item.where == "query" for item in self.parameters)


Responding = Callable[[Request], Awaitable[Response]]
