"""The operator's page of a world, over HTTP as a browser speaks it: signed in, with forms that are read from the pages themselves."""

import contextlib
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from typing import Any

import httpx

from overlord.entrypoints.web.server import page_served
from tests.memory.world import MemoryWorld, made_memory_world


@dataclass(slots=True, kw_only=True)
class Form:
    """A form as a page has it."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str, str]] = field(default_factory=list)
    """Of each its label, name and value."""


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._button: tuple[str, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = Form(action=found.get("action", ""))
            self.forms.append(self._form)
        elif self._form is not None and tag == "input" and "name" in found and "form" not in found:
            self._form.fields[found["name"]] = found.get("value", "")
        elif tag == "button":
            self._button = (found.get("name", ""), found.get("value", ""))

    def handle_data(self, data: str) -> None:
        if self._button is not None and self._form is not None:
            self._form.buttons.append((data.strip(), *self._button))
            self._button = None

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None


@dataclass(slots=True, kw_only=True)
class Page:
    """A browser that is signed in."""

    world: MemoryWorld
    client: httpx.AsyncClient
    address: str
    token: str

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.client.get(path, **more)

    async def text(self, path: str) -> str:
        """A page that is there, as HTML."""
        found = await self.get(path)
        assert found.status_code == 200, (found.status_code, found.text)
        return found.text

    async def words(self, path: str) -> str:
        """What a person reads on it."""
        return words_of(await self.text(path))

    async def forms(self, path: str) -> list[Form]:
        parser = _Forms()
        parser.feed(await self.text(path))
        return parser.forms

    async def press(self, path: str, label: str, *, settles: bool = True, **typed: str) -> str:
        """Press a button on a page; what is said then. `settles`: once all that comes of it is done."""
        for form in await self.forms(path):
            for shown, name, value in form.buttons:
                if shown == label:
                    return await self.send(
                        path,
                        form.action,
                        {**form.fields, **typed, **({name: value} if name else {})},
                        settles=settles,
                    )
        raise AssertionError(f"{path} has no button {label!r}")

    async def send(self, path: str, action: str, fields: Mapping[str, str], *, settles: bool = True) -> str:
        sent = await self.client.post(
            action, data=dict(fields), headers={"referer": f"{self.address}{path.lstrip('/')}"}
        )
        if sent.status_code == 303:
            sent = await self.get(sent.headers["location"])
        if settles:
            await self.world.settle()
        found = re.search(r'<p class="flash"[^>]*>(.*?)</p>', sent.text, re.DOTALL)
        return unescape(found[1]) if found else ""


def words_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


@contextlib.asynccontextmanager
async def paged(world: MemoryWorld) -> AsyncIterator[Page]:
    """The page of a world that has started."""
    async with page_served(world.overlord) as address:
        token = world.overlord.parts.home.page_token.read_text(encoding="ascii")
        async with httpx.AsyncClient(base_url=address) as client:
            begun = await client.get("/", params={"token": token})
            assert begun.status_code == 303
            yield Page(world=world, client=client, address=address, token=token)


@contextlib.asynccontextmanager
async def made_page(files: dict[str, str] | None = None, **settings: Any) -> AsyncIterator[Page]:
    """A world with its page."""
    async with made_memory_world(files, **{"page": {"address": "127.0.0.1:0"}, **settings}) as world:
        await world.start()
        async with paged(world) as page:
            yield page
