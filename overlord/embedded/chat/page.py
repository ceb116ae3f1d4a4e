"""A page to talk on: the channel as a person sees it, kept fresh by a long poll, and what that person does there.

It is for one browser on this machine: a random token in its address becomes a cookie, and whoever comes without one, or
asks for another host, is sent away. Everything it shows is somebody's text; the browser is told to run nothing but ours.
"""

import asyncio
import hashlib
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from overlord.embedded.chat.interaction import Interactions
from overlord.embedded.chat.people import COMMAND, People
from overlord.embedded.chat.problem import Problem
from overlord.embedded.chat.record import Json, Message, View
from overlord.embedded.chat.workspace import Workspace

FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
}
LOOKS = {"/style.css": "text/css; charset=utf-8", "/icon.svg": "image/svg+xml"}
"""What the page looks like, but for what only a chat has: given by whoever serves it."""
STATE, ACT = "/page/state", "/page/act"
PERSON = "you"
HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
POLL_S = 20.0
MOST_SHOWN = 500
MOST_ACT_BYTES = 64 * 1024
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Page:
    """The page and what it asks for, as an ASGI application."""

    def __init__(
        self, workspace: Workspace, interactions: Interactions, people: People, looks: Mapping[str, bytes]
    ) -> None:
        self.channel = ""
        """The channel it opens with."""
        self.waiting = 0
        """How many wait for news."""
        self._workspace = workspace
        self._interactions = interactions
        self._people = people
        self._looks = looks
        self._token = ""
        self._user = ""
        self._is_closed = False

    @property
    def user(self) -> str:
        """Who acts on the page."""
        self._user = self._user or self._workspace.enter(PERSON).id
        return self._user

    def url(self, base_url: str) -> str:
        """The address that lets a browser in."""
        self._token = self._token or secrets.token_urlsafe(24)
        return f"{base_url}/?token={self._token}"

    @staticmethod
    def serves(path: str) -> bool:
        return path in FILES or path in LOOKS or path in (STATE, ACT)

    def open(self) -> None:
        """Let browsers wait for news."""
        self._is_closed = False

    def close(self) -> None:
        """Let nobody wait for news any longer."""
        self._is_closed = True
        self._workspace.change()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._respond(request)
        response.headers.update(HEADERS)
        if self._is_invited(request):
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        await response(scope, receive, send)

    # Who is let in

    @property
    def _cookie(self) -> str:
        """Its own name for each chat: browsers tell hosts apart, not ports."""
        return f"overlord_chat_{hashlib.sha256(self._token.encode()).hexdigest()[:8]}"

    def _is_invited(self, request: Request) -> bool:
        """Whether a request comes by the address that was printed."""
        shown = request.query_params.get("token", "")
        return _is_local(request) and request.url.path == "/" and self._is_token(shown)

    def _is_known(self, request: Request) -> bool:
        return self._is_token(request.cookies.get(self._cookie, ""))

    def _is_token(self, shown: str) -> bool:
        return bool(self._token) and hmac.compare_digest(shown.encode(), self._token.encode())

    # What it answers

    async def _respond(self, request: Request) -> Response:
        if not _is_local(request) or not (self._is_known(request) or self._is_invited(request)):
            return PlainTextResponse("Open the page by the address that was printed, with its token.", 403)
        path, method = request.url.path, request.method
        if path == ACT and method == "POST":
            return await self._act(request) if _is_own(request) else PlainTextResponse("Forbidden", 403)
        if path == STATE and method == "GET":
            return await self._news(request)
        if path in LOOKS and method == "GET":
            return Response(self._looks.get(path[1:], b""), media_type=LOOKS[path])
        if path in FILES and method == "GET":
            name, media_type = FILES[path]
            content = resources.files("overlord.embedded.chat").joinpath(name).read_bytes()
            return Response(content, media_type=media_type)
        return PlainTextResponse("Method Not Allowed", 405)

    async def _news(self, request: Request) -> Response:
        """What stands there now, once that is something else than the page has."""
        after = request.query_params.get("after", "")
        self.waiting += 1
        try:
            async with asyncio.timeout(POLL_S):
                await self._workspace.until(lambda: self._is_closed or str(self._workspace.revision) != after)
        except TimeoutError:
            pass  # nothing new: the same again
        finally:
            self.waiting -= 1
        return Response(json.dumps(self._shown()), media_type="application/json")

    def _shown(self) -> Json:
        workspace = self._workspace
        seen = [message for message in workspace.whispers if message.shown_to == self.user]
        lines = [*workspace.standing.values(), *seen]
        lines.sort(key=lambda message: float(message.ts))
        return {
            "revision": workspace.revision,
            "me": self.user,
            "command": COMMAND,
            "bot": {"id": workspace.bot.id, "name": workspace.bot.name},
            "is_connected": self._people.deliveries.is_reachable,
            "channel": self.channel,
            "channels": [{"id": channel.id, "name": channel.name} for channel in workspace.channels.values()],
            "people": {person.id: person.name for person in workspace.people.values()},
            "messages": [self._message(message) for message in lines[-MOST_SHOWN:]],
            "home": self._view(home) if (home := self._interactions.homes.get(self.user)) else None,
            "views": [
                self._view(view) for view in self._interactions.views.values() if view.user == self.user
            ],
        }

    @staticmethod
    def _message(message: Message) -> Json:
        return {
            "channel": message.channel,
            "ts": message.ts,
            "user": message.user,
            "text": message.text,
            "blocks": list(message.blocks),
            "thread_ts": message.thread_ts,
            "is_edited": bool(message.edits),
            "is_bot": bool(message.bot_id) or bool(message.shown_to),
            "is_private": bool(message.shown_to),
        }

    @staticmethod
    def _view(view: View) -> Json:
        return {"id": view.id, "hash": view.hash, "errors": dict(view.errors), "spec": view.spec}

    # What its person does

    async def _act(self, request: Request) -> Response:
        try:
            body = bytearray()
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_ACT_BYTES:
                    return _error_response("too much at once")
            asked = json.loads(body)
            act = self._acts()[asked["act"]]
            await act(asked)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            return _error_response(f"{error}")
        except Problem as problem:
            return _error_response(problem.error)
        return JSONResponse({"ok": True})

    def _acts(self) -> dict[str, Callable[[Any], Awaitable[Any]]]:
        return {
            "send": self._send,
            "click": self._click,
            "submit": self._submit,
            "close": self._close,
            "open_home": self._open_home,
            "click_home": self._click_home,
        }

    async def _send(self, asked: Any) -> None:
        """What was typed: a command, a mention, or words."""
        text, channel, thread = str(asked["text"]), str(asked["channel"]), asked.get("thread") or None
        name = f"@{self._workspace.bot.name}"
        command, _, rest = text.partition(" ")
        if text.startswith("/"):
            await self._people.command(
                self.user, rest.strip(), command=command, channel=channel, thread=thread
            )
        elif text.casefold().startswith(name.casefold()):
            words = text[len(name) :].strip()
            await self._people.mention(self.user, words, channel=channel, thread=thread)
        elif text.strip():
            await self._people.say(self.user, text, channel=channel, thread=thread)

    async def _click(self, asked: Any) -> None:
        ts = str(asked["ts"])
        message = self._people.shown(self.user, ts)
        wanted = (asked["block_id"], asked["action_id"])
        for button in message.buttons if message else ():
            if (button.block_id, button.action_id) == wanted:
                await self._people.click(self.user, ts, button)
                return
        raise LookupError("that button does not stand there any more")

    async def _open_home(self, _asked: Any) -> None:
        await self._people.open_home(self.user)

    async def _click_home(self, asked: Any) -> None:
        home = self._interactions.homes.get(self.user)
        wanted = (asked["block_id"], asked["action_id"])
        for button in home.buttons if home else ():
            if (button.block_id, button.action_id) == wanted:
                await self._people.click_home(self.user, button)
                return
        raise LookupError("that button does not stand there any more")

    async def _submit(self, asked: Any) -> None:
        values = {str(name): str(text) for name, text in asked["values"].items()}
        delivered = await self._people.submit(self._interactions.views[asked["view"]], values, self.user)
        if delivered.error:
            raise ValueError(f"the app did not take it: {delivered.error}")

    async def _close(self, asked: Any) -> None:
        await self._people.view_closed(self._interactions.views[asked["view"]], self.user)


def _error_response(words: str) -> Response:
    return JSONResponse({"ok": False, "error": words}, 400)


def _host(netloc: str) -> str:
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


def _is_local(request: Request) -> bool:
    """Whether it is this machine that was asked for: a name of somebody else's may lead here too."""
    return _host(request.headers.get("host", "")) in HOSTS


def _is_own(request: Request) -> bool:
    """Whether a change was asked for by our page and by no other."""
    origin = request.headers.get("origin")
    asked_for = request.headers.get("host", "")
    is_json = request.headers.get("content-type", "").partition(";")[0].strip() == "application/json"
    return is_json and (origin is None or urlsplit(origin).netloc == asked_for)
