"""The Web API's methods that Overlord calls: each reads its arguments, checks them as Slack does, and acts or looks."""

import base64
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from overlord.embedded.chat.interaction import Interactions, message_content
from overlord.embedded.chat.problem import Problem, limited, missing_field, wrong_field
from overlord.embedded.chat.record import Channel, Json, Message
from overlord.embedded.chat.workspace import SLACKBOT, Workspace

MOST_METADATA = 8000
"""Characters of what a message carries unseen."""
MOST_LISTED = 999


class Side(Protocol):
    """What a call may need of the server it came to."""

    workspace: Workspace
    interactions: Interactions
    per_channel_s: float
    last_posts: dict[str, float]

    def link_url(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Call:
    """One call by somebody whose token is good."""

    side: Side
    arguments: Mapping[str, Any]

    @property
    def workspace(self) -> Workspace:
        return self.side.workspace

    def text(self, name: str) -> str:
        """An argument that must be there, as words."""
        if self.arguments.get(name) in (None, ""):
            raise missing_field(name)
        return self.words(name)

    def words(self, name: str) -> str:
        """An argument as words; empty when it is not there."""
        value = self.arguments.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise wrong_field(name, "must provide a string")
        return value

    def flag(self, name: str) -> bool | None:
        value = self.arguments.get(name)
        if value is None or isinstance(value, bool):
            return value
        known = {"true": True, "1": True, 1: True, "false": False, "0": False, 0: False}
        if not isinstance(value, str | int) or value not in known:
            raise wrong_field(name, "must provide a boolean")
        return known[value]

    def number(self, name: str, default: int) -> int:
        try:
            return int(self.arguments.get(name) or default)
        except (TypeError, ValueError):
            raise wrong_field(name, "must provide an integer") from None

    def moment(self, name: str) -> float:
        """A `ts`, or a time in seconds; 0 when it is not there."""
        try:
            moment = float(self.arguments.get(name) or 0)
        except (TypeError, ValueError):
            moment = math.nan
        if not math.isfinite(moment):
            raise Problem(f"invalid_ts_{name}" if name in ("oldest", "latest") else "invalid_arguments")
        return moment

    def message(self, *, is_optional: bool = False) -> tuple[str, list[Json]]:
        return message_content(dict(self.arguments), is_optional=is_optional)

    def metadata(self) -> Json | None:
        value = self.arguments.get("metadata")
        if value is None or value == {}:
            return None
        if not isinstance(value, dict) or not isinstance(value.get("event_type"), str):
            raise Problem("invalid_metadata_format")
        if value.keys() != {"event_type", "event_payload"} or not isinstance(value["event_payload"], dict):
            raise Problem("invalid_metadata_format")
        if len(str(value)) > MOST_METADATA:
            raise Problem("metadata_too_large")
        return value


# Who we are


async def auth_test(call: Call) -> Json:
    workspace = call.workspace
    return {
        "url": "https://overlord.embedded.invalid/",
        "team": "Overlord",
        "user": workspace.bot.name,
        "team_id": workspace.team,
        "user_id": workspace.bot.id,
        "bot_id": workspace.bot_id,
        "is_enterprise_install": False,
    }


async def apps_connections_open(call: Call) -> Json:
    return {"url": call.side.link_url()}


# What is said


async def chat_post_message(call: Call) -> Json:
    workspace = call.workspace
    channel = workspace.joined(call.text("channel"))
    text, blocks = call.message()
    _check_pace(call, channel)
    message = workspace.post(
        channel.id,
        workspace.bot.id,
        text,
        thread=call.words("thread_ts"),
        blocks=blocks,
        metadata=call.metadata(),
        bot_id=workspace.bot_id,
        unfurl_links=call.flag("unfurl_links"),
        unfurl_media=call.flag("unfurl_media"),
    )
    return {"channel": channel.id, "ts": message.ts, "message": workspace.shape(message)}


def _check_pace(call: Call, channel: Channel) -> None:
    """A channel is posted to no more often than was set."""
    side, now_s = call.side, call.workspace.now().timestamp()
    wait_s = side.last_posts.get(channel.id, -math.inf) + side.per_channel_s - now_s
    if side.per_channel_s and wait_s > 0:
        raise limited(max(1, math.ceil(wait_s)))
    side.last_posts[channel.id] = now_s


async def chat_update(call: Call) -> Json:
    workspace = call.workspace
    channel = workspace.joined(call.text("channel"))
    message = workspace.message(channel.id, call.text("ts"))
    if message.bot_id != workspace.bot_id:
        raise Problem("cant_update_message")
    text, blocks = call.message(is_optional="blocks" in call.arguments and bool(message.text))
    changed: Json = {"text": text or message.text}
    if call.arguments.get("blocks") is not None:
        changed["blocks"] = blocks
    if call.arguments.get("metadata") is not None:
        changed["metadata"] = call.metadata()
    after = workspace.edit(message, **changed)
    shape = workspace.shape(after)
    return {"channel": channel.id, "ts": after.ts, "text": after.text, "message": shape}


async def chat_post_ephemeral(call: Call) -> Json:
    workspace = call.workspace
    channel = workspace.joined(call.text("channel"))
    user = workspace.people.get(call.text("user"))
    if user is None or user.is_gone or user.id == SLACKBOT:
        raise Problem("user_not_in_channel")
    text, blocks = call.message()
    shown = workspace.ephemeral(channel.id, user.id, text, blocks=blocks, thread_ts=call.words("thread_ts"))
    return {"message_ts": shown.ts}


# What stands there


async def conversations_history(call: Call) -> Json:
    channel = call.workspace.joined(call.text("channel"))
    lines = [
        message
        for message in reversed(call.workspace.standing.values())
        if message.channel == channel.id and (message.is_broadcast or not message.thread_ts)
    ]
    return _page(call, lines, default=100)


async def conversations_replies(call: Call) -> Json:
    workspace = call.workspace
    channel = workspace.joined(call.text("channel"))
    asked = workspace.standing.get(call.text("ts"))
    if asked is None or asked.channel != channel.id:
        raise Problem("thread_not_found")
    if asked.thread_ts:
        return _page(call, [asked], default=1000)
    return _page(call, workspace.replies(asked.ts), default=1000, first=asked)


def _page(call: Call, messages: Sequence[Message], *, default: int, first: Message | None = None) -> Json:
    """A page of messages; `first` stands before the first page whenever it was written."""
    oldest, latest = call.moment("oldest"), call.moment("latest") or math.inf
    inclusive = call.flag("inclusive") or False
    fitting = [
        message
        for message in messages
        if oldest < float(message.ts) < latest or (inclusive and float(message.ts) in (oldest, latest))
    ]
    if first is not None:
        fitting.insert(0, first)
    limit = call.number("limit", default)
    if not 1 <= limit <= max(MOST_LISTED, default):
        raise Problem("invalid_limit")
    start = _start(call.words("cursor"), fitting)
    shown = fitting[start : start + limit]
    has_more = start + limit < len(fitting)
    with_metadata = call.flag("include_all_metadata") or False
    page: Json = {
        "messages": [call.workspace.shape(message, with_metadata=with_metadata) for message in shown],
        "has_more": has_more,
    }
    if has_more:
        after = base64.b64encode(f"after:{shown[-1].ts}".encode()).decode()
        page["response_metadata"] = {"next_cursor": after}
    return page


def _start(cursor: str, messages: Sequence[Message]) -> int:
    """Where the next page begins: after what the last one ended with, whatever was written since."""
    if not cursor:
        return 0
    try:
        kind, _, ts = base64.b64decode(cursor, validate=True).decode().partition(":")
    except ValueError:
        kind, ts = "", ""
    places = [index for index, message in enumerate(messages, 1) if message.ts == ts]
    if kind != "after" or not places:
        raise Problem("invalid_cursor")
    return places[0]


# Who is there


async def users_info(call: Call) -> Json:
    person = call.workspace.people.get(call.text("user"))
    if person is None:
        raise Problem("user_not_found")
    real_name = person.real_name or person.name
    user: Json = {
        "id": person.id,
        "team_id": person.team,
        "name": person.name,
        "deleted": person.is_gone,
        "real_name": real_name,
        "profile": {"real_name": real_name, "display_name": person.name, "team": person.team},
        "is_bot": person.is_bot,
        "is_app_user": False,
        "updated": 0,
    }
    if not person.is_gone:
        user |= {"is_admin": False, "is_owner": False, "is_primary_owner": False}
        user |= {"is_restricted": person.is_guest, "is_ultra_restricted": False}
    if person.is_stranger:
        user["is_stranger"] = True
    return {"user": user}


async def usergroups_users_list(call: Call) -> Json:
    group = call.workspace.groups.get(call.text("usergroup"))
    if group is None or (group.is_disabled and not call.flag("include_disabled")):
        raise Problem("no_such_subteam")
    return {"users": list(group.members)}


async def views_open(call: Call) -> Json:
    trigger = call.text("trigger_id")
    if call.arguments.get("view") is None:
        raise missing_field("view")
    view = call.side.interactions.open(trigger, call.arguments["view"])
    return {"view": call.side.interactions.shape(view)}


async def views_publish(call: Call) -> Json:
    user = call.text("user_id")
    if call.arguments.get("view") is None:
        raise missing_field("view")
    view = call.side.interactions.publish(user, call.arguments["view"])
    return {"view": call.side.interactions.shape(view)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method: what answers it, what a token needs for it."""

    answer: Callable[[Call], Awaitable[Json]]
    scopes: tuple[str, ...] = ()
    """One of them is enough."""
    is_for_apps: bool = False
    """It takes the app's token, and every other one takes the bot's."""


_HISTORY = ("channels:history", "groups:history")
METHODS: Mapping[str, Method] = {
    "apps.connections.open": Method(answer=apps_connections_open, is_for_apps=True),
    "auth.test": Method(answer=auth_test),
    "chat.postEphemeral": Method(answer=chat_post_ephemeral, scopes=("chat:write",)),
    "chat.postMessage": Method(answer=chat_post_message, scopes=("chat:write",)),
    "chat.update": Method(answer=chat_update, scopes=("chat:write",)),
    "conversations.history": Method(answer=conversations_history, scopes=_HISTORY),
    "conversations.replies": Method(answer=conversations_replies, scopes=_HISTORY),
    "usergroups.users.list": Method(answer=usergroups_users_list, scopes=("usergroups:read",)),
    "users.info": Method(answer=users_info, scopes=("users:read",)),
    "views.open": Method(answer=views_open),
    "views.publish": Method(answer=views_publish),
}
STRUCTURED = frozenset({"blocks", "metadata", "view", "attachments"})
"""Arguments that are JSON within a form."""
