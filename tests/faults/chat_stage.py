"""A world that talks, whose chat can go away and come back at the same place, and whose sessions are played."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.chat.delivery import Delivered
from overlord.embedded.play import say
from overlord.engine.runtime.chat_output import ASIDE_S
from overlord.home import Home
from overlord.store.database import open_reader
from tests.chatting import Talk
from tests.faults.chat_invariants import of_chat
from tests.faults.invariants import check_world, must_hold
from tests.faults.player import OPENING, played
from tests.world import made_world

ROUNDS = 5
"""How often everything that was put off or aside is due again; more than enough for what fails once."""
PLAYS = 6


@dataclass
class Stage(Talk):
    """A talk whose external service can go away."""

    bob: str
    heard: list[Delivered] = field(default_factory=list)
    _served: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)
    _port: int = 0

    async def back(self) -> str:
        """Slack is there, where it was before; its address."""
        base_url = await self._served.enter_async_context(self.chat.serve(port=self._port))
        self._port = urlsplit(base_url).port or 0
        return base_url

    async def away(self) -> None:
        """Slack is gone."""
        await self._served.aclose()

    async def issue(self, title: str) -> int:
        for _ in range(PLAYS):
            self.world.model_will(say("Go on."), when=OPENING)
        return await self.world.issue(title)

    async def catch_up(self) -> None:
        """Let whatever was put off or aside be tried again until nothing is."""
        for _ in range(ROUNDS):
            await self.world.settle()
            self.world.clock.move(ASIDE_S + 1)
        await self.world.settle()

    async def check(self) -> None:
        """Raise AssertionError with all that is not as it must be, in the chat and elsewhere."""
        found = self.violations()
        must_hold(found, self.chat.transcript())
        await check_world(self.world)
        found = self.violations()
        must_hold(found, "after another look", self.chat.transcript())

    def violations(self) -> list[str]:
        settings = self.world.settings()
        with contextlib.closing(open_reader(Home(self.world.root / "home").database)) as connection:
            return list(of_chat(connection, self.chat, heard=self.heard, canaries=settings.secrets()))


@contextlib.asynccontextmanager
async def made_stage(**overrides: Any) -> AsyncIterator[Stage]:
    """A fresh world with a chat that is there; decisions are alice's, by a group she is in, and not bob's."""
    async with made_world(**overrides) as world:
        chat = EmbeddedChat(now=world.clock.now, retry_after_s=(0.0, 0.0, 0.0))
        stage = Stage(world=world, chat=chat, alice=chat.add_user("alice"), bob=chat.add_user("bob"))
        base_url = await stage.back()
        world.chat = chat
        given = {
            "api_url": f"{base_url}/api/",
            "bot_token": chat.bot_token,
            "app_token": chat.app_token,
            "channel": chat.channel,
            "approvers": [chat.add_group("deciders", [stage.alice])],
        }
        world.overrides["slack"] = given | world.overrides.get("slack", {})
        world.overrides["process"] = {"python": played(world.root)}
        try:
            yield stage
        finally:
            await world.stop()  # before the chat it talks with
            await stage.away()
