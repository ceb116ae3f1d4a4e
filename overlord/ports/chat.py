"""Slack, or what speaks like it."""

from collections.abc import Collection
from datetime import datetime
from typing import Protocol

from overlord.domain.chat.account import ChatIdentity, ChatUser, Posted
from overlord.domain.identifiers import ChannelId, MessageTs, UserId
from overlord.domain.view.form import Form
from overlord.domain.view.view import View


class Chat(Protocol):
    """Slack, or what speaks like it. Every call raises ChatUnavailable (worth repeating later), ChatRefused (repeating
    will not help) or ChatMissing (no such message, channel, person or group)."""

    async def identity(self) -> ChatIdentity:
        """Who we are there. The cheapest call: it tells whether the token is good."""

    async def post(
        self, channel: ChannelId, message: View, *, key: str, thread: MessageTs | None = None
    ) -> Posted:
        """Post a message, into the thread of another if one is named. `key` goes with it, unseen by people: `find` finds it."""

    async def find(
        self, channel: ChannelId, key: str, *, since: datetime, thread: MessageTs | None = None
    ) -> MessageTs | None:
        """A message of ours posted at `since` or later with this key, in the channel or in one of its threads."""

    async def edit(self, posted: Posted, message: View) -> None:
        """Show something else in its place, buttons too. Raises MessageMissing for one that was deleted."""

    async def ephemeral(self, channel: ChannelId, user: UserId, message: View) -> None:
        """Show something to one person in a channel. It cannot be found, edited or counted on to last."""

    async def respond(self, address: str, message: View) -> None:
        """Answer a command or a press for its giver's eyes: `address` came with it, good for half an hour and five answers.
        Raises ChatExpired after that, ChatRefused for an address that is not the chat's."""

    async def ask(self, trigger: str, form: Form) -> None:
        """Open a form for who has just pressed or commanded: `trigger` came with that. Raises ChatExpired after 3 s."""

    async def publish(self, user: UserId, message: View) -> None:
        """Show this in somebody's Home tab, in place of what it showed. Raises ChatRefused where the app has none."""

    async def person(self, user: UserId) -> ChatUser: ...
    async def group(self, group: str) -> Collection[UserId]:
        """Who is in a user group."""
