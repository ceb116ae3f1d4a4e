"""The portfolio's addresses: the board, an initiative, a task, what is known, and a note of it."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from overlord.entrypoints.web.address import number_in
from overlord.entrypoints.web.job_handlers import JobHandlers
from overlord.entrypoints.web.pages import board as board_page
from overlord.entrypoints.web.pages import initiative as initiative_page
from overlord.entrypoints.web.pages import knowledge as knowledge_page
from overlord.entrypoints.web.visitor import Visitor
from overlord.queries.look import Look

Found = TypeVar("Found")


class PortfolioHandlers(JobHandlers):
    """All of the page's addresses, with these."""

    async def portfolio(self, request: Request, visitor: Visitor) -> Response:
        asked = request.query_params
        wanted = board_page.Filter(
            space=asked.get("space", ""),
            state=asked.get("state", ""),
            first=max(0, number_in(asked.get("first", "0"))),
        )
        found = await self._seen(visitor, lambda look: board_page.board(look, wanted, visitor))
        return await self._page(request, visitor, "portfolio", {"board": found})

    async def initiative(self, request: Request, visitor: Visitor) -> Response:
        ref = request.path_params["ref"]
        found = await self._seen(visitor, lambda look: initiative_page.initiative_page(look, ref, visitor))
        return await self._page(request, visitor, "initiative", {"page": found}, here="portfolio")

    async def task(self, request: Request, visitor: Visitor) -> Response:
        ref = request.path_params["ref"]
        found = await self._seen(visitor, lambda look: initiative_page.task_page(look, ref, visitor))
        return await self._page(request, visitor, "task", {"page": found}, here="portfolio")

    async def knowledge(self, request: Request, visitor: Visitor) -> Response:
        asked = request.query_params
        wanted = knowledge_page.Filter(
            words=asked.get("q", ""),
            space=asked.get("space", ""),
            kind=asked.get("kind", ""),
            state=asked.get("state", ""),
            before=max(0, number_in(asked.get("before", "0"))),
        )
        found = await self._seen(visitor, lambda look: knowledge_page.knowledge(look, wanted, visitor))
        return await self._page(request, visitor, "knowledge", {"knowledge": found})

    async def note(self, request: Request, visitor: Visitor) -> Response:
        ref = request.path_params["ref"]
        found = await self._seen(visitor, lambda look: knowledge_page.note_page(look, ref, visitor))
        return await self._page(request, visitor, "note", {"page": found}, here="knowledge")

    async def _seen(self, visitor: Visitor, act: Callable[[Look], Found]) -> Found:
        """A look with the eyes of somebody who may see some repositories alone."""
        return await self._site.look(lambda look: act(replace(look, spaces=visitor.spaces)))
