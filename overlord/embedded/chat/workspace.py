"""The workspace itself: who is there, where they talk and what stands there. What happens is told to whoever listens."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from overlord.embedded.chat import block_text
from overlord.embedded.chat.problem import Problem
from overlord.embedded.chat.record import Channel, Group, Json, Message, Person

TEAM = "T0OVERLORD"
STRANGERS = "T0STRANGER"
APP = "A0OVERLORD"
SLACKBOT = "USLACKBOT"
SCOPES = (
    "app_mentions:read",
    "channels:history",
    "chat:write",
    "commands",
    "groups:history",
    "usergroups:read",
    "users:read",
)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Workspace:
    """People, groups, channels and messages."""

    def __init__(self, now: Callable[[], datetime], first_id: int = 1) -> None:
        self.now = now
        self.team = TEAM
        self.scopes = set(SCOPES)
        """What the bot's token may."""
        self.people: dict[str, Person] = {}
        self.groups: dict[str, Group] = {}
        self.channels: dict[str, Channel] = {}
        self.standing: dict[str, Message] = {}
        """Every message by its `ts`, oldest first; a `ts` is given once in the whole workspace."""
        self.whispers: list[Message] = []
        """What was shown to one person only, oldest first."""
        self.deliver: Callable[[Json], None] = _nobody
        """Is called with each event that the app may receive."""
        self.revision = 0
        """Rises with whatever people would see."""
        self._changed = asyncio.Event()
        self._number = itertools.count(first_id)
        self._last_us = 0
        self.bot = self.enter("overlord", is_bot=True)
        self.bot_id = self.next_id("B")
        self.slackbot = Person(id=SLACKBOT, name="slackbot", team=TEAM, is_bot=True)
        self.people[SLACKBOT] = self.slackbot

    # Names and times

    def next_id(self, kind: str) -> str:
        """A name nobody has yet; `kind` is its first letter, as Slack's."""
        return f"{kind}0{next(self._number):07d}"

    def next_ts(self) -> str:
        """The time by the chat's clock, and later than any before."""
        self._last_us = max(int(self.now().timestamp() * 1_000_000), self._last_us + 1)
        return f"{self._last_us // 1_000_000}.{self._last_us % 1_000_000:06d}"

    def change(self) -> None:
        """Something looks otherwise now."""
        self.revision += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, is_so: Callable[[], Any]) -> None:
        """Wait until something is so; it is looked at again after each change."""
        while not is_so():
            await self._changed.wait()

    # Who and where

    def enter(self, name: str, **about: Any) -> Person:
        person = Person(id=self.next_id("U"), name=name, **{"team": self.team, **about})
        self.people[person.id] = person
        return person

    def person(self, user: str) -> Person:
        """Somebody by id, or by name."""
        named = [person for person in self.people.values() if person.name == user]
        found = self.people.get(user) or (named[0] if named else None)
        if found is None:
            raise Problem("user_not_found")
        return found

    def open_channel(self, name: str, **about: Any) -> Channel:
        channel = Channel(id=self.next_id("C"), name=name, **about)
        self.channels[channel.id] = channel
        return channel

    def channel(self, channel: str) -> Channel:
        found = self.channels.get(channel)
        if found is None:
            raise Problem("channel_not_found")
        return found

    def joined(self, channel: str) -> Channel:
        """A channel that the bot is in."""
        found = self.channel(channel)
        if not found.has_bot:
            raise Problem("channel_not_found" if found.is_private else "not_in_channel")
        return found

    # What stands there

    def message(self, channel: str, ts: str) -> Message:
        found = self.standing.get(ts)
        if found is None or found.channel != channel or found.is_tombstone:
            raise Problem("message_not_found")
        return found

    def replies(self, ts: str) -> list[Message]:
        """What stands in the thread of a message, oldest first."""
        return [message for message in self.standing.values() if message.thread_ts == ts]

    def post(self, channel: str, user: str, text: str, *, thread: str = "", **more: Any) -> Message:
        """Put a message up, and tell of it."""
        message = self.put(channel, user, text, thread=thread, **more)
        self._deliver(message, self.shape(message))
        return message

    def put(self, channel: str, user: str, text: str, *, thread: str = "", **more: Any) -> Message:
        """Put a message up; its blocks get names."""
        if thread:
            self._check_thread(channel, thread)
        if self.channel(channel).is_archived:
            raise Problem("is_archived")
        more["blocks"] = block_text.named(more.get("blocks", ()))
        message = Message(channel=channel, ts=self.next_ts(), user=user, text=text, thread_ts=thread, **more)
        self.standing[message.ts] = message
        self.change()
        return message

    def edit(self, message: Message, **changed: Any) -> Message:
        """Put something else in a message's place."""
        if "blocks" in changed:
            changed["blocks"] = block_text.named(changed["blocks"])
        after = replace(message, **changed, edits=message.edits + 1, edited_ts=self.next_ts())
        self.standing[message.ts] = after
        self.change()
        before_after = {"message": self.shape(after), "previous_message": self.shape(message)}
        self._deliver(
            after, {"type": "message", "subtype": "message_changed", "hidden": True, **before_after}
        )
        return after

    def delete(self, ts: str) -> None:
        """Take a message away; if others have answered it, their thread keeps a tombstone."""
        message = self.standing.pop(ts, None)
        if message is None:
            raise Problem("message_not_found")
        if self.replies(ts):
            gone = replace(message, text="This message was deleted.", blocks=(), metadata=None)
            self.standing[ts] = replace(gone, user=SLACKBOT, bot_id="", is_tombstone=True)
            self.standing = dict(sorted(self.standing.items(), key=lambda item: _order(item[0])))
        self.change()
        data = {"deleted_ts": ts, "previous_message": self.shape(message)}
        self._deliver(message, {"type": "message", "subtype": "message_deleted", "hidden": True, **data})

    def ephemeral(self, channel: str, user: str, text: str, **more: Any) -> Message:
        """Show something to one person only."""
        more["blocks"] = block_text.named(more.get("blocks", ()))
        author = more.pop("author", self.bot.id)
        message = Message(channel=channel, ts=self.next_ts(), user=author, text=text, shown_to=user, **more)
        self.whispers.append(message)
        self.change()
        return message

    def _check_thread(self, channel: str, thread: str) -> None:
        parent = self.standing.get(thread)
        if parent is None or parent.channel != channel:
            raise Problem("thread_not_found")
        if parent.thread_ts:
            raise Problem("cannot_reply_to_message")

    # As it is shown

    def shape(self, message: Message, *, with_metadata: bool = True) -> Json:
        """A message in Slack's words."""
        shape: Json = {"type": "message", "user": message.user, "text": message.text, "ts": message.ts}
        shape["team"] = self.team
        if message.bot_id:
            shape |= {"bot_id": message.bot_id, "app_id": APP}
        if message.blocks:
            shape["blocks"] = list(message.blocks)
        if message.files:
            shape |= {"subtype": "file_share", "files": list(message.files), "upload": False}
        if message.is_broadcast:
            shape |= {"subtype": "thread_broadcast", "root": self._root(message)}
        if message.is_tombstone:
            shape |= {"subtype": "tombstone", "hidden": True}
        if message.edited_ts:
            shape["edited"] = {"user": message.user, "ts": message.edited_ts}
        if message.metadata is not None and with_metadata:
            shape["metadata"] = message.metadata
        if message.thread_ts:
            shape["thread_ts"] = message.thread_ts
        elif replies := self.replies(message.ts):
            shape |= _thread_of(message, replies)
        return shape

    def _root(self, message: Message) -> Json:
        """The message whose thread one is in; little of it when it is gone."""
        root = self.standing.get(message.thread_ts)
        return self.shape(root) if root is not None else {"ts": message.thread_ts}

    def event(self, message: Message, event: Json) -> Json | None:
        """An event in a channel, for an app that is in it."""
        channel = self.channel(message.channel)
        if not channel.has_bot:
            return None
        kind = "group" if channel.is_private else "channel"
        return {**event, "channel": channel.id, "channel_type": kind, "event_ts": self.next_ts()}

    def _deliver(self, message: Message, event: Json) -> None:
        body = self.event(message, event)
        if body is not None:
            self.deliver(body)


def _nobody(_event: Json) -> None:
    """Nobody listens."""


def _order(ts: str) -> tuple[int, int]:
    seconds, _, micros = ts.partition(".")
    return int(seconds), int(micros)


def _thread_of(parent: Message, replies: Sequence[Message]) -> Json:
    users = list(dict.fromkeys(reply.user for reply in replies))
    return {
        "thread_ts": parent.ts,
        "reply_count": len(replies),
        "reply_users": users,
        "reply_users_count": len(users),
        "latest_reply": replies[-1].ts,
    }
