"""A world with a chat in it, and alice, whose word counts there."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.chat.record import Message
from overlord.entrypoints.chat.stand_in import looks
from tests.world import DEADLINE_S, World, made_world

Make = Callable[..., contextlib.AbstractAsyncContextManager[World]]
"""Makes a world of these files and settings."""


@dataclass
class Talk:
    """A world, its chat, and who is there."""

    world: World
    chat: EmbeddedChat
    alice: str

    def cards(self, start: str = "") -> list[Message]:
        """The messages in the channel, or those whose words begin so."""
        return [message for message in self.chat.messages() if message.plain.startswith(start)]

    def card(self, start: str) -> Message:
        """The one message whose words begin so."""
        found = self.cards(start)
        assert len(found) == 1, f"{len(found)} messages begin with {start!r}\n{self.chat.transcript()}"
        return found[0]

    def buttons(self, message: Message) -> list[str]:
        return [button.label for button in self.chat.message(message.ts).buttons]

    async def press(self, message: Message, label: str, *, by: str = "") -> None:
        """Somebody presses a button that stands there now, and the world settles."""
        delivered = await self.chat.click(by or self.alice, message.ts, label)
        assert delivered.acked, delivered
        await self.world.settle()

    async def command(self, text: str, *, by: str = "") -> str:
        """Somebody gives a command; what they are answered, once the world has settled."""
        delivered = await self.chat.command(by or self.alice, text)
        assert delivered.acked, delivered
        await self.world.settle()
        return delivered.plain


@contextlib.asynccontextmanager
async def made_talk(
    files: dict[str, str] | None = None, *, made: Make = made_world, **overrides: Any
) -> AsyncIterator[Talk]:
    """A fresh world with a chat; `overrides` go over the settings."""
    async with made(files, **overrides) as world:
        # A slow machine is no Slack that gave up.
        chat = EmbeddedChat(now=world.clock.now, ack_timeout_s=DEADLINE_S, looks=looks())
        alice = chat.add_user("alice")
        async with chat.serve() as base_url:
            world.chat = chat
            given = {
                "api_url": f"{base_url}/api/",
                "bot_token": chat.bot_token,
                "app_token": chat.app_token,
                "channel": chat.channel,
                "approvers": [alice],
            }
            world.overrides["slack"] = given | world.overrides.get("slack", {})
            try:
                yield Talk(world=world, chat=chat, alice=alice)
            finally:
                await world.stop()  # before the chat it talks with
