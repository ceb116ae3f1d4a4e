"""Overlord's voice in the chat: the port, where it speaks, and what may be forgotten: the pace it keeps, who people are."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import TypeVar

from overlord.domain.chat.account import ChatIdentity, ChatUser
from overlord.domain.chat.card import Place
from overlord.domain.identifiers import ChannelId, UserId
from overlord.ports.chat import Chat

Known = TypeVar("Known")

PACE_S = 1.0
"""Slack takes one message per second and channel."""
KNOWN_FOR_S = 300.0
"""How long what the chat said of a person or a group counts."""
ASIDE_S = 300.0
"""How long a message that was refused waits while others go on."""
OTHERS_FIRST_S = 15.0
"""How long a message whose call failed comes after those that are due as well: it may be the only one that fails."""


@dataclass(slots=True, kw_only=True)
class ChatOutput:
    """What engine steps talk with. Times are those of the monotonic clock."""

    chat: Chat
    channel: ChannelId
    instance: str
    """This Overlord among those that may speak in the same channel."""
    place: Place
    monotonic: Callable[[], float]
    connected: Callable[[], Awaitable[bool]] | None = None
    """Whether what people say arrives by a connection that stands; None where they send requests to our listener."""
    free_at: float = 0.0
    aside: dict[int, float] = field(default_factory=dict)
    last: dict[int, float] = field(default_factory=dict)
    _identity: ChatIdentity | None = None
    _people: dict[str, tuple[float, ChatUser]] = field(default_factory=dict)
    _groups: dict[str, tuple[float, Collection[UserId]]] = field(default_factory=dict)

    def key(self, text: str) -> str:
        """What a message carries, unseen by people, so that it is found again."""
        return f"{self.instance} {text}"

    def wait_s(self) -> float:
        """How long until the next message may be sent."""
        return max(0.0, self.free_at - self.monotonic())

    def spoke(self) -> None:
        self.free_at = self.monotonic() + PACE_S

    def put_aside(self, message_id: int) -> None:
        self.aside[message_id] = self.monotonic() + ASIDE_S

    def is_aside(self, message_id: int) -> bool:
        return self.aside.get(message_id, 0.0) > self.monotonic()

    def put_last(self, message_id: int) -> None:
        self.last[message_id] = self.monotonic() + OTHERS_FIRST_S

    def is_last(self, message_id: int) -> bool:
        return self.last.get(message_id, 0.0) > self.monotonic()

    async def identity(self) -> ChatIdentity:
        """Who we are there."""
        if self._identity is None:
            self._identity = await self.chat.identity()
        return self._identity

    async def person(self, user: UserId) -> ChatUser:
        """Who somebody is. Raises ChatMissing for nobody, ChatUnavailable."""
        known = self._fresh(self._people, user)
        if known is None:
            known = await self.chat.person(user)
            self._people[user] = (self.monotonic(), known)
        return known

    async def members(self, group: str) -> Collection[UserId]:
        """Who is in a user group. Raises ChatMissing for no group, ChatUnavailable."""
        known = self._fresh(self._groups, group)
        if known is None:
            known = await self.chat.group(group)
            self._groups[group] = (self.monotonic(), known)
        return known

    def _fresh(self, kept: dict[str, tuple[float, Known]], key: str) -> Known | None:
        at, known = kept.get(key, (0.0, None))
        return known if known is not None and self.monotonic() - at < KNOWN_FOR_S else None
