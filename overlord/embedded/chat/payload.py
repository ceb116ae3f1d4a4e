"""What Slack tells an app of what people do: commands, presses, modals and events, trimmed, with Slack's names and nesting."""

from typing import Any

from overlord.embedded.chat.record import Channel, Json, Message, Person
from overlord.embedded.chat.workspace import APP, Workspace

TOKEN = "verification-token-of-old"
"""What Slack sent before it signed. Nobody may rely on it."""
DOMAIN = "overlord"


def _user(person: Person) -> Json:
    return {"id": person.id, "username": person.name, "name": person.name, "team_id": person.team}


def _team(workspace: Workspace) -> Json:
    return {"id": workspace.team, "domain": DOMAIN}


def _interactive(workspace: Workspace, person: Person, kind: str) -> Json:
    return {
        "type": kind,
        "user": _user(person),
        "api_app_id": APP,
        "token": TOKEN,
        "team": _team(workspace),
        "enterprise": None,
        "is_enterprise_install": False,
    }


def slash_command(
    person: Person, channel: Channel, command: str, text: str, *, trigger: str, response_url: str
) -> Json:
    """Every field is text: it travels as a form."""
    return {
        "token": TOKEN,
        "team_id": person.team,
        "team_domain": DOMAIN,
        "channel_id": channel.id,
        "channel_name": channel.name,
        "user_id": person.id,
        "user_name": person.name,
        "command": command,
        "text": text,
        "api_app_id": APP,
        "is_enterprise_install": "false",
        "response_url": response_url,
        "trigger_id": trigger,
    }


def block_actions(
    workspace: Workspace, person: Person, message: Message, action: Json, *, trigger: str, response_url: str
) -> Json:
    """A press of a button in a message."""
    channel = workspace.channel(message.channel)
    container: Json = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": channel.id,
        "is_ephemeral": bool(message.shown_to),
    }
    if message.thread_ts:
        container["thread_ts"] = message.thread_ts
    payload = _interactive(workspace, person, "block_actions") | {
        "container": container,
        "trigger_id": trigger,
        "channel": {"id": channel.id, "name": channel.name},
        "state": {"values": {}},
        "response_url": response_url,
        "actions": [{**action, "action_ts": workspace.next_ts()}],
    }
    if not message.shown_to:
        payload["message"] = workspace.shape(message)
    return payload


def home_actions(workspace: Workspace, person: Person, view: Json, action: Json, *, trigger: str) -> Json:
    """A press of a button in a Home tab: it comes from no channel, and no address answers it."""
    return _interactive(workspace, person, "block_actions") | {
        "container": {"type": "view", "view_id": view["id"]},
        "trigger_id": trigger,
        "view": view,
        "state": {"values": {}},
        "actions": [{**action, "action_ts": workspace.next_ts()}],
    }


def home_opened(workspace: Workspace, person: Person, view: Json | None) -> Json:
    """Somebody opened the app's Home tab. `view`: what it shows, of one that was shown before."""
    event: Json = {
        "type": "app_home_opened",
        "user": person.id,
        "channel": f"D{person.id[1:]}",
        "tab": "home",
    }
    event["event_ts"] = workspace.next_ts()
    return event | ({"view": view} if view is not None else {})


def action(button: Any, *, block_id: str) -> Json:
    """A button as it is told of when it was pressed."""
    fields = ("action_id", "text", "value", "style", "confirm", "url")
    return {
        "type": "button",
        "block_id": block_id,
        **{name: button[name] for name in fields if name in button},
    }


def view_submission(workspace: Workspace, person: Person, view: Json, *, trigger: str) -> Json:
    return _interactive(workspace, person, "view_submission") | {
        "trigger_id": trigger,
        "view": view,
        "response_urls": [],
    }


def view_closed(workspace: Workspace, person: Person, view: Json) -> Json:
    return _interactive(workspace, person, "view_closed") | {"view": view, "is_cleared": False}


def event_callback(workspace: Workspace, event: Json) -> Json:
    return {
        "token": TOKEN,
        "team_id": workspace.team,
        "api_app_id": APP,
        "event": event,
        "type": "event_callback",
        "event_id": workspace.next_id("Ev"),
        "event_time": int(workspace.now().timestamp()),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": workspace.team,
                "user_id": workspace.bot.id,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
    }
