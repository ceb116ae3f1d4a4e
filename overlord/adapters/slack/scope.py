"""What Overlord needs at Slack: the one table of methods, scopes and events that the code, the manifest and its page share."""

from collections.abc import Mapping

SCOPES: Mapping[str, tuple[str, ...]] = {
    "auth.test": (),
    "chat.postMessage": ("chat:write",),
    "chat.update": ("chat:write",),
    "chat.postEphemeral": ("chat:write",),
    "conversations.history": ("channels:history", "groups:history"),
    "conversations.replies": ("channels:history", "groups:history"),
    "users.info": ("users:read",),
    "usergroups.users.list": ("usergroups:read",),
    "views.open": (),
    "views.publish": (),
}
"""Each method that Overlord calls with its bot token, and what the token must have been granted for it: in public channels, in private ones."""
EVENTS: Mapping[str, str] = {
    "app_home_opened": "",
    "app_mention": "app_mentions:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
}
"""What Slack tells of, and the scope it wants for it, if any."""
COMMAND = "/overlord"
COMMAND_SCOPE = "commands"
SOCKET_METHOD = "apps.connections.open"
SOCKET_SCOPE = "connections:write"
"""Of the app-level token alone, which opens Socket Mode and can do nothing else."""


def bot_scopes() -> tuple[str, ...]:
    """All that the bot token needs, in order."""
    needed = {scope for scopes in SCOPES.values() for scope in scopes}
    return tuple(sorted({*needed, *filter(None, EVENTS.values()), COMMAND_SCOPE}))
