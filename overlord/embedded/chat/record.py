"""What the embedded chat remembers. Records are frozen: who holds a message or a button holds it as it was then."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from overlord.embedded.chat import block_text

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody, or some program, in the workspace or a guest of it."""

    id: str
    name: str
    team: str
    real_name: str = ""
    is_bot: bool = False
    is_guest: bool = False
    """Of this workspace, but restricted to some channels."""
    is_stranger: bool = False
    """Of another workspace, here through a shared channel."""
    is_gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """People who can be named by one handle."""

    id: str
    handle: str
    members: tuple[str, ...] = ()
    is_disabled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A place where people talk. Who is no member of a private one does not know that it is there."""

    id: str
    name: str
    has_bot: bool = False
    is_private: bool = False
    is_archived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """A button as it stood when it was looked at."""

    channel: str
    ts: str
    block_id: str
    action_id: str
    label: str
    value: str = ""
    url: str = ""
    style: str = ""
    confirm: str = ""
    """What is asked once more, of one that asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What stands in a channel, or is shown to one person there."""

    channel: str
    ts: str
    user: str
    text: str
    blocks: tuple[Json, ...] = ()
    metadata: Json | None = None
    thread_ts: str = ""
    """The message whose thread this is in; empty for one of the channel."""
    is_broadcast: bool = False
    """It was also sent to the channel, of one in a thread."""
    files: tuple[Json, ...] = ()
    """What was sent with it."""
    bot_id: str = ""
    edits: int = 0
    edited_ts: str = ""
    unfurl_links: bool | None = None
    unfurl_media: bool | None = None
    is_tombstone: bool = False
    """It was deleted, and its thread goes on."""
    shown_to: str = ""
    """Who alone sees it, of an ephemeral one."""

    @property
    def buttons(self) -> tuple[Button, ...]:
        """Every button, in the order they stand."""
        return tuple(
            Button(
                channel=self.channel,
                ts=self.ts,
                block_id=block_id,
                action_id=element.get("action_id", ""),
                label=element["text"]["text"],
                value=element.get("value", ""),
                url=element.get("url", ""),
                style=element.get("style", ""),
                confirm=element["confirm"]["text"]["text"] if "confirm" in element else "",
            )
            for block_id, element in block_text.buttons(self.blocks)
        )

    @property
    def plain(self) -> str:
        """Every text that can be read, in order, a block a line or more; without blocks, the text."""
        return block_text.plain(self.blocks) if self.blocks else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A modal that is open before somebody, or what the app shows in their Home tab."""

    id: str
    user: str
    spec: Json
    """As the app gave it, its blocks named."""
    hash: str
    errors: Mapping[str, str] = field(default_factory=dict)
    """What the app said against the last submission, by block."""

    @property
    def title(self) -> str:
        return str(self.spec["title"]["text"])

    @property
    def buttons(self) -> tuple[Button, ...]:
        """Every button, in the order they stand."""
        return Message(channel="", ts="", user="", text="", blocks=tuple(self.spec["blocks"])).buttons

    @property
    def plain(self) -> str:
        """Every text that can be read above and beside the fields."""
        return block_text.plain(self.spec["blocks"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One call the chat has had, for the transcript. Status 0: it was left without an answer."""

    method: str
    status: int
    error: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    at: datetime

    @property
    def ok(self) -> bool:
        return self.status == 200 and not self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """What lets an app open a modal for who has just acted, once."""

    user: str
    channel: str
    issued_at: datetime


@dataclass(slots=True, kw_only=True)
class ResponseAddress:
    """Where an app answers one command or click."""

    user: str
    channel: str
    issued_at: datetime
    thread_ts: str = ""
    source_ts: str = ""
    """The message whose button was pressed."""
    uses: int = 0
    answers: list[Json] = field(default_factory=list)
