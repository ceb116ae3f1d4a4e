"""The page's application: who may come in, what each address answers, and what is said of what goes wrong."""

import gzip
import mimetypes
import sqlite3
from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from http import HTTPStatus
from urllib.parse import urlencode

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from overlord.domain.conversation.argument import CommandError
from overlord.entrypoints.web.account import NotNow
from overlord.entrypoints.web.api.application import PREFIX, Api
from overlord.entrypoints.web.compression import Compression
from overlord.entrypoints.web.form import MOST_BYTES, form_of
from overlord.entrypoints.web.github_sign_in import CALLBACK, GitHubSignIn
from overlord.entrypoints.web.handlers import error_page, worded
from overlord.entrypoints.web.portfolio_handlers import PortfolioHandlers
from overlord.entrypoints.web.render import HERE, Templates
from overlord.entrypoints.web.sign_in import (
    TOKEN,
    address_of,
    is_at,
    is_ours,
    is_secure,
    is_theirs,
    is_this_machine,
    path_here,
    signed_in,
    without_token,
)
from overlord.entrypoints.web.site import LASTS_S, Site
from overlord.entrypoints.web.visitor import UNSEEN, Visitor
from overlord.errors import NotFound, OverlordError, Refused, StoreError
from overlord.verbs.right import NotAllowed

Handler = Callable[[Request, Visitor], Awaitable[Response]]

log = structlog.get_logger()


class Application:
    """Routes, and the guard before each of them."""

    def __init__(self, site: Site, templates: Templates) -> None:
        self._site, self._templates = site, templates
        self._handlers = PortfolioHandlers(site, templates)
        self._github: GitHubSignIn | None = None
        if site.oauth is not None and site.accounts is not None:
            self._github = GitHubSignIn(site, site.oauth, site.accounts, self._sign_in_page)

    def starlette(self) -> Starlette:
        h = self._handlers
        looks: list[tuple[str, Handler]] = [
            ("/", h.now),
            ("/waiting", h.waiting),
            ("/inbox", h.inbox),
            ("/inbox/{ref}", h.decision),
            ("/jobs/{number}", h.job),
            ("/jobs/{number}/transcript", h.transcript),
            ("/jobs/{number}/diff", h.diff),
            ("/jobs/{number}/checks", h.checks),
            ("/jobs/{number}/cost", h.cost),
            ("/jobs/{number}/cost.csv", h.cost_csv),
            ("/jobs/{number}/evidence/{digest}", h.evidence),
            *_of_portfolio(h),
            ("/history", h.history),
            ("/trends", h.trends),
            ("/trends.csv", h.trends_csv),
            ("/spaces", h.spaces),
            ("/spaces/{owner}/{name}", h.space),
            ("/look/{query}", h.look),
            ("/do", h.verbs),
            ("/do/{verb}", h.verb),
            ("/events", self._events),
        ]
        acts: list[tuple[str, Handler]] = [
            ("/answer", h.answer),
            ("/answers", h.answer_many),
            ("/jobs/{number}/verify-ledger", h.verify_ledger),
            ("/jobs/{number}/{verb}", h.job_act),
            ("/do/{verb}", h.act),
            ("/sign-out", self._sign_out),
        ]
        app = Starlette(
            routes=[
                Mount(PREFIX, Api(self._site).application()),
                Route("/static/{name}", self._guarded(_static), methods=["GET"]),
                Route("/sign-in", self._guarded(self._sign_in), methods=["GET", "POST"]),
                Route("/sign-in/github", self._guarded(self._to_github), methods=["GET"]),
                Route(CALLBACK, self._guarded(self._from_github), methods=["GET"]),
                *(Route(path, self._for_visitors(handler), methods=["GET"]) for path, handler in looks),
                *(Route(path, self._for_visitors(handler), methods=["POST"]) for path, handler in acts),
            ],
            exception_handlers={HTTPException: self._http_error, ClientDisconnect: _disconnected},
            middleware=[Middleware(Compression)],
        )
        app.router.redirect_slashes = False
        return app

    # The guard

    def _for_visitors(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            try:
                visitor = await self._site.visitor(request)
                if visitor is None:
                    return await self._without_session(request)
            except (StoreError, sqlite3.OperationalError):
                return PlainTextResponse("the database is busy; load the page again\n", 503)
            except NotNow as error:
                return PlainTextResponse(f"{error}\n", 503)
            if TOKEN in request.query_params:
                return RedirectResponse(without_token(request), 303)
            if request.method == "POST" and not await self._is_theirs(request, visitor):
                return self._error(visitor, 403, "Not sent", "this form is not from this page; load it again")
            return await self._answered(handler, request, visitor)

        return self._guarded(handle)

    def _guarded(
        self, handle: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Nobody reaches it by another name, and nothing long is read."""

        async def guarded(request: Request) -> Response:
            if self._site.is_local and not (is_this_machine(request) or is_at(request, self._site.url)):
                response: Response = PlainTextResponse("this page is for this machine alone\n", 421)
            elif int(request.headers.get("content-length") or 0) > MOST_BYTES:
                response = PlainTextResponse("that is too long\n", 413)
            else:
                response = await handle(request)
            response.headers.setdefault("cache-control", "no-store")
            return response

        return guarded

    async def _answered(self, handler: Handler, request: Request, visitor: Visitor) -> Response:
        """What a handler answers, or why it cannot."""
        try:
            return await handler(request, visitor)
        except NotAllowed as error:
            return self._error(visitor, 403, "Not allowed", worded(error))
        except NotFound as error:
            text = f"{UNSEEN[:1].upper()}{UNSEEN[1:]}." if visitor.hides(error) else worded(error)
            return self._error(visitor, 404, "Not found", text)
        except CommandError as error:
            return self._error(visitor, 400, "Not understood", worded(error))
        except Refused as error:
            return self._error(visitor, 409, "Not done", worded(error))
        except (StoreError, sqlite3.OperationalError) as error:
            log.warning("page_unread", path=request.url.path, trouble=str(error))
            return self._error(visitor, 503, "Not now", "the database is busy; load the page again")
        except OverlordError as error:
            return self._error(visitor, 502, "Not now", worded(error))

    def _error(self, visitor: Visitor, status: int, title: str, text: str) -> Response:
        return error_page(self._templates, visitor, status, title, text)

    async def _is_theirs(self, request: Request, visitor: Visitor) -> bool:
        sent = request.headers.get("x-csrf-token", "")
        if not sent:
            sent = dict(await form_of(request)).get("csrf", "")
        return is_theirs(visitor, request, sent, self._site.url)

    # Signing in and out

    async def _without_session(self, request: Request) -> Response:
        is_page = request.headers.get("sec-fetch-dest", "document") == "document"
        if TOKEN in request.query_params and request.method == "GET" and is_page:
            return await self._begin(request, request.query_params[TOKEN], without_token(request))
        if request.method == "GET" and request.url.path != "/events":
            return self._sign_in_page("", request.url.path, 401)
        return PlainTextResponse("sign in first\n", 401)

    async def _sign_in(self, request: Request) -> Response:
        if request.method == "GET":
            return self._sign_in_page("", "/", 200)
        if not is_ours(request, self._site.url):
            return PlainTextResponse("sign in on this page itself\n", 403)
        form = dict(await form_of(request))
        return await self._begin(request, form.get(TOKEN, "").strip(), path_here(form.get("to", "")))

    def _sign_in_page(self, text: str, to: str, status: int) -> Response:
        begins = f"{self._site.url}/sign-in/github?{urlencode({'to': to})}" if self._github else ""
        return self._templates.response(
            "sign_in.html", {"text": text, "to": to, "github": begins}, status=status
        )

    async def _to_github(self, request: Request) -> Response:
        return await self._github.begin(request) if self._github else self._no_github()

    async def _from_github(self, request: Request) -> Response:
        return await self._github.back(request) if self._github else self._no_github()

    def _no_github(self) -> Response:
        return self._sign_in_page("Nobody signs in with GitHub here: use a token.", "/", 404)

    async def _begin(self, request: Request, token: str, to: str) -> Response:
        secret = await self._site.begin_session(token)
        if secret is None:
            return await self._no_token(request, token, to)
        secure = is_secure(request, self._site.url)
        return signed_in(to, self._site.cookie, secret, is_secure=secure, lasts_s=LASTS_S)

    async def _no_token(self, request: Request, token: str, to: str) -> Response:
        """Refuse a token; who tries again and again is told to wait. Whoever has one comes in all the same."""
        address = address_of(request, is_behind_proxy=bool(self._site.url))
        if wait_s := self._site.attempts.wait_s(address):
            headers = {"retry-after": str(int(wait_s) + 1)}
            return PlainTextResponse("too many tries; wait a minute\n", 429, headers)
        self._site.attempts.note(address)
        log.warning("sign_in_refused", address=address)
        await self._site.note_stranger(token)
        return self._sign_in_page("That is no token of this Overlord.", to, 401)

    async def _sign_out(self, _request: Request, visitor: Visitor) -> Response:
        await self._site.end_session(visitor)
        response = RedirectResponse("/sign-in", 303)
        response.delete_cookie(self._site.cookie)
        return response

    async def _events(self, request: Request, visitor: Visitor) -> Response:
        last_seen = request.headers.get("last-event-id") or request.query_params.get("after", "")
        return self._site.live.stream(last_seen, partial(self._is_signed_in, visitor.secret))

    async def _is_signed_in(self, secret: str) -> bool:
        """Whether a session still counts. While nobody can say so, who watches is not sent away."""
        try:
            return await self._site.visitor_with(secret, is_use=False) is not None
        except (StoreError, sqlite3.OperationalError):
            return True
        except NotNow:
            return False

    async def _http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        try:
            visitor = await self._site.visitor(request)
        except (NotNow, StoreError, sqlite3.OperationalError):
            visitor = None
        title = "Not found" if error.status_code == HTTPStatus.NOT_FOUND else "Not done"
        return error_page(self._templates, visitor, error.status_code, title, str(error.detail))


def _of_portfolio(h: PortfolioHandlers) -> list[tuple[str, Handler]]:
    return [
        ("/portfolio", h.portfolio),
        ("/initiatives/{ref}", h.initiative),
        ("/tasks/{ref}", h.task),
        ("/knowledge", h.knowledge),
        ("/knowledge/{ref}", h.note),
    ]


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    found = _asset(name, "gzip" in request.headers.get("accept-encoding", ""))
    if found is None:
        return PlainTextResponse("there is no such file\n", 404)
    content, headers = found
    return Response(content, headers=headers)


_FILES = {file.name: file for file in (HERE / "static").iterdir() if file.is_file()}


@lru_cache(maxsize=64)
def _asset(name: str, is_small: bool) -> tuple[bytes, dict[str, str]] | None:
    """A file of the page's own, compressed once."""
    file = _FILES.get(name)
    if file is None:
        return None
    content, kind = file.read_bytes(), mimetypes.guess_type(name)[0] or "text/plain"
    headers = {"content-type": f"{kind}; charset=utf-8", "cache-control": "public, max-age=3600"}
    headers["vary"] = "accept-encoding"
    if is_small:
        content, headers["content-encoding"] = gzip.compress(content, mtime=0), "gzip"
    return content, headers


async def _disconnected(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # nobody reads it
