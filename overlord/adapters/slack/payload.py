"""What Slack answers, as far as Overlord reads it. Text comes in here: it is checked, and becomes our own records."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from overlord.domain.chat.account import ChatIdentity, ChatUser
from overlord.domain.identifiers import UserId
from overlord.domain.text.plain import plain_line
from overlord.errors import ChatUnavailable

TS = r"^\d{1,12}\.\d{6}$"
ID = r"^[A-Z0-9]{2,40}$"
NAME_CHARS = 80
SLACKBOT = "USLACKBOT"
"""Slack's own; it does not say that it is a bot."""


class WhoPayload(BaseModel):
    """`auth.test`: as whom a token acts."""

    team_id: str = Field(pattern=ID)
    user_id: str = Field(pattern=ID)
    bot_id: str = ""

    def record(self) -> ChatIdentity:
        return ChatIdentity(team=self.team_id, user=UserId(self.user_id))


class PostedPayload(BaseModel):
    """`chat.postMessage`: where it stands."""

    channel: str = Field(pattern=ID)
    ts: str = Field(pattern=TS)


class MetadataPayload(BaseModel):
    event_type: str = ""
    event_payload: dict[str, Any] = {}


class MessagePayload(BaseModel):
    """A message in a conversation, as far as it tells whose it is."""

    ts: str = Field(pattern=TS)
    user: str = ""
    bot_id: str = ""
    metadata: MetadataPayload = MetadataPayload()

    def is_from(self, who: WhoPayload) -> bool:
        return self.user == who.user_id or (self.bot_id == who.bot_id != "")


class CursorPayload(BaseModel):
    next_cursor: str = ""


class PagePayload(BaseModel):
    """`conversations.history`, `conversations.replies`."""

    messages: list[dict[str, Any]]
    response_metadata: CursorPayload | None = None

    def readable(self) -> Iterator[MessagePayload]:
        """The messages, without those that are none of ours by their shape: one of them hides no other."""
        for message in self.messages:
            with suppress(ValidationError):
                yield MessagePayload.model_validate(message)

    @property
    def following(self) -> str:
        """The cursor of the next page; empty after the last one."""
        return self.response_metadata.next_cursor if self.response_metadata else ""


class ProfilePayload(BaseModel):
    display_name: str = ""
    real_name: str = ""


class EnterprisePayload(BaseModel):
    """Where somebody belongs within an organization of several workspaces."""

    teams: list[str] = []


class UserPayload(BaseModel):
    """Somebody, as `users.info` has them."""

    id: str = Field(pattern=ID)
    name: str = ""
    team_id: str = ""
    deleted: bool = False
    is_bot: bool = False
    is_workflow_bot: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    is_stranger: bool = False
    profile: ProfilePayload = ProfilePayload()
    enterprise_user: EnterprisePayload | None = None

    def record(self, ours: str) -> ChatUser:
        """`ours`: our workspace. Who does not belong to it, or only in part, is a guest."""
        teams = {self.team_id, *(self.enterprise_user.teams if self.enterprise_user else ())}
        name = self.profile.display_name or self.profile.real_name or self.name
        return ChatUser(
            id=UserId(self.id),
            name=plain_line(name, limit=NAME_CHARS) or self.id,
            team=ours if ours in teams else self.team_id,
            is_bot=self.is_bot or self.is_workflow_bot or self.id == SLACKBOT,
            is_guest=self.is_restricted or self.is_ultra_restricted or self.is_stranger or ours not in teams,
            is_gone=self.deleted,
        )


class PersonPayload(BaseModel):
    """`users.info`."""

    user: UserPayload


class GroupPayload(BaseModel):
    """`usergroups.users.list`."""

    users: list[str]


Payload = TypeVar("Payload", bound=BaseModel)


def parsed(model: type[Payload], data: Mapping[str, Any], method: str) -> Payload:
    """An answer as one of these; one that is not is as good as none."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        places = sorted({".".join(str(step) for step in fault["loc"]) for fault in error.errors()})
        raise ChatUnavailable(f"{method}: the answer makes no sense at {', '.join(places[:3])}") from None
