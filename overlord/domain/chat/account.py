"""Who somebody is in a chat, and where a message stands there."""

from dataclasses import dataclass

from overlord.domain.identifiers import ChannelId, MessageTs, UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatIdentity:
    """Who Overlord is in the chat."""

    team: str
    user: UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatUser:
    """Somebody in the chat, as far as that says whether their word counts."""

    id: UserId
    name: str
    team: str
    is_bot: bool = False
    is_guest: bool = False
    """Restricted to some channels, or somebody of another workspace."""
    is_gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """Where a message stands."""

    channel: ChannelId
    ts: MessageTs
