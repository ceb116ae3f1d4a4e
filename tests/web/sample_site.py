"""The sample pages on loopback, under the policy of the real ones: parts that change when a test says so, and forms that are noted."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tests.web.looks import PAGES, STATIC, page, part

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(kw_only=True)
class SampleSite:
    """What a test changes and sees."""

    url: str = ""
    round: int = 0
    pressed: list[dict[str, str]] = field(default_factory=list)
    parts_read: int = 0
    connected: asyncio.Event = field(default_factory=asyncio.Event)
    _changes: list[asyncio.Queue[str]] = field(default_factory=list)

    def change(self) -> None:
        """Every live part is another now, and each page hears of it."""
        self.round += 1
        for changes in self._changes:
            changes.put_nowait("event: changed\ndata: {}\n\n")

    def cut(self) -> None:
        """End every connection for events, as a restart does."""
        for changes in self._changes:
            changes.put_nowait("")
        self._changes.clear()
        self.connected.clear()

    async def _events(self, _: Request) -> Response:
        changes: asyncio.Queue[str] = asyncio.Queue()
        self._changes.append(changes)
        self.connected.set()

        async def lines() -> AsyncIterator[str]:
            yield "retry: 200\n\n"
            while line := await changes.get():
                yield line

        return StreamingResponse(lines(), media_type="text/event-stream")

    async def _page(self, request: Request) -> Response:
        name = request.path_params.get("name") or "now"
        return HTMLResponse(page(name, round=self.round)) if name in PAGES else Response(status_code=404)

    async def _part(self, request: Request) -> Response:
        self.parts_read += 1
        return HTMLResponse(part(request.path_params["name"], round=self.round))

    async def _press(self, request: Request) -> Response:
        self.pressed.append(dict(parse_qsl((await request.body()).decode())))
        return RedirectResponse(request.headers["referer"], status_code=303)

    def application(self) -> Starlette:
        made = Starlette(
            routes=[
                Mount("/static", StaticFiles(directory=STATIC)),
                Route("/events", self._events),
                Route("/parts/{name}", self._part),
                Route("/press", self._press, methods=["POST"]),
                Route("/answer", self._press, methods=["POST"]),
                Route("/", self._page),
                Route("/{name}", self._page),
            ]
        )
        made.add_middleware(BaseHTTPMiddleware, dispatch=with_policy)
        return made


async def with_policy(request: Request, call_next: RequestResponseEndpoint) -> Response:
    response = await call_next(request)
    response.headers["content-security-policy"] = POLICY
    return response
