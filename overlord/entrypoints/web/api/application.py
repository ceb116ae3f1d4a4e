"""The API on the wire: who may come in, what each address answers, and how it is described."""

import hashlib
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from overlord.domain.conversation.argument import CommandError
from overlord.domain.text.json_text import json_text
from overlord.entrypoints.web.api.bearer import bearer_of, check_address, check_length
from overlord.entrypoints.web.api.endpoint import Asked, Endpoint
from overlord.entrypoints.web.api.jobs import job_endpoints
from overlord.entrypoints.web.api.ledger import ledger_endpoints
from overlord.entrypoints.web.api.openapi import document
from overlord.entrypoints.web.api.problem import Problem, problem_of
from overlord.entrypoints.web.api.queries import query_endpoints
from overlord.entrypoints.web.api.verbs import verb_endpoints
from overlord.entrypoints.web.site import Site
from overlord.entrypoints.web.visitor import UNSEEN, NotSeen
from overlord.errors import NotFound, OverlordError
from overlord.verbs.right import Right

PREFIX = "/api/v1"
MOST_BYTES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Myself:
    """Who comes with the token."""

    actor: str
    """As the ledger names them."""
    right: str
    spaces: list[str]
    """The repositories the token is for; empty for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WellBeing:
    """Whether work goes on."""

    is_well: bool
    reasons: list[str]
    """What keeps it from going on, in sentences."""


class Api:
    """The addresses below `/api/v1`."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @cached_property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """All of them."""
        return (
            Endpoint(
                path="/me", answer=_me, summary="Who comes with this token.", tag="about", returns=Myself
            ),
            Endpoint(
                path="/health",
                answer=_health,
                summary="Whether work goes on, and what keeps it from that.",
                tag="about",
                returns=WellBeing,
            ),
            *job_endpoints(),
            *ledger_endpoints(),
            *query_endpoints(),
            *verb_endpoints(),
        )

    def application(self) -> Starlette:
        """To be mounted at `/api/v1`."""
        app = Starlette(
            routes=[
                Route("/openapi.json", self._guarded(self._described), methods=["GET"]),
                *(
                    Route(item.path, self._for_tokens(item), methods=[item.method], name=item.name)
                    for item in self.endpoints
                ),
            ],
            exception_handlers={HTTPException: _http_error, ClientDisconnect: _disconnected},
        )
        app.router.redirect_slashes = False
        return app

    def _for_tokens(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            visitor = await bearer_of(self._site, request)
            _check_known(endpoint, request)
            try:
                found = await endpoint.answer(Asked(site=self._site, visitor=visitor, request=request))
            except NotFound as error:
                raise NotSeen(UNSEEN) if visitor.hides(error) else error from None
            return found if isinstance(found, Response) else _json(found, request)

        return self._guarded(handle)

    def _guarded(
        self, handle: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Nobody reaches it by another name, nothing long is read, and each error is a problem."""

        async def guarded(request: Request) -> Response:
            try:
                check_address(self._site, request)
                check_length(request, MOST_BYTES)
                return await handle(request)
            except (Problem, CommandError, OverlordError, sqlite3.Error) as error:
                return problem_of(error).response()

        return guarded

    async def _described(self, request: Request) -> Response:
        return _with_tag(self._document, request, "application/json")

    @cached_property
    def _document(self) -> str:
        return json_text(document(self.endpoints, PREFIX))


def _check_known(endpoint: Endpoint, request: Request) -> None:
    """Raises Problem for a parameter that there is none of, or that is said twice."""
    names = [name for name, _ in request.query_params.multi_items()]
    for name in names:
        if not endpoint.takes(name):
            raise Problem(400, "not-understood", "there is no such parameter", more={"field": name[:40]})
        if names.count(name) > 1:
            raise Problem(400, "not-understood", "say a parameter once", more={"field": name})


def _json(value: Any, request: Request) -> Response:
    return _with_tag(json_text(value), request, "application/json")


def _with_tag(text: str, request: Request, media_type: str) -> Response:
    """With what a client may ask by whether it has changed."""
    tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "no-cache, private", "vary": "authorization"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(text, headers=headers, media_type=media_type)


async def _me(asked: Asked) -> Myself:
    visitor = asked.visitor
    names = {Right.ANYONE: "read", Right.OPERATOR: "admin"}
    return Myself(actor=visitor.actor, right=names.get(visitor.right, "act"), spaces=list(visitor.spaces))


async def _health(asked: Asked) -> WellBeing:
    asked.visitor.check_may(Right.ANYONE, "")
    reasons = await asked.site.health_of.reasons()
    return WellBeing(is_well=not reasons, reasons=reasons)


async def _http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = {404: "not-found", 413: "too-long"}.get(error.status_code, "http")
    headers = dict(error.headers or {})
    return Problem(error.status_code, kind, f"{error.detail}".lower(), headers=headers).response()


async def _disconnected(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # nobody reads it
