"""A program that speaks to the API of a world, with a token of its own."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from overlord.domain.access import AccessRight
from overlord.failpoints import Failpoint
from overlord.store import access
from tests.web.paging import Page, made_page

PREFIX = "/api/v1"


@dataclass(slots=True, kw_only=True)
class Program:
    """It sends its token with each request."""

    page: Page
    client: httpx.AsyncClient
    token: str

    async def get(self, path: str, status: int = 200, **parameters: Any) -> Any:
        """What a GET answers, once its status is as expected."""
        found = await self.client.get(f"{PREFIX}{path}", params=parameters or None)
        assert found.status_code == status, (found.status_code, found.text)
        return found.json()

    async def give(
        self,
        verb: str,
        status: int = 200,
        *,
        headers: Mapping[str, str] | None = None,
        digest: str | None = None,
        **arguments: Any,
    ) -> Any:
        """What a verb answers, once its status is as expected and all that comes of it is done."""
        body: dict[str, Any] = {"arguments": arguments}
        if digest is not None:
            body["digest"] = digest
        found = await self.client.post(f"{PREFIX}/verbs/{verb}", json=body, headers=headers)
        assert found.status_code == status, (found.status_code, found.text)
        return found.json()


async def token_of(
    page: Page, name: str, right: AccessRight = AccessRight.READ, spaces: tuple[str, ...] = ()
) -> str:
    """The secret of a new token."""
    parts = page.world.overlord.parts
    _, secret = await parts.database.write(
        Failpoint.ACCESS_GRANTED,
        lambda c: access.create(c, name, right, spaces=spaces, actor="cli:tester", at=page.world.clock.now()),
    )
    return secret


@contextlib.asynccontextmanager
async def program(
    page: Page, name: str = "ci", right: AccessRight = AccessRight.ADMIN, spaces: tuple[str, ...] = ()
) -> AsyncIterator[Program]:
    """One with a token that is made for it."""
    token = await token_of(page, name, right, spaces)
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=page.address, headers=headers, timeout=30) as client:
        yield Program(page=page, client=client, token=token)


@contextlib.asynccontextmanager
async def made_program(
    right: AccessRight = AccessRight.ADMIN, spaces: tuple[str, ...] = (), **settings: Any
) -> AsyncIterator[Program]:
    """The same, of a world of its own."""
    async with made_page(**settings) as page, program(page, right=right, spaces=spaces) as made:
        yield made
