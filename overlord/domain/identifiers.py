"""The names by which things are known across rooms."""

from typing import NewType

RepositoryName = NewType("RepositoryName", str)
"""`owner/name`, as GitHub spells it."""
SessionId = NewType("SessionId", str)
Sha = NewType("Sha", str)
ChannelId = NewType("ChannelId", str)
"""A conversation of the chat, as `C0123456789`."""
MessageTs = NewType("MessageTs", str)
"""A message's time, which is its name within a channel, as `1700000000.000100`."""
UserId = NewType("UserId", str)
"""Somebody in the chat, as `U0123456789`."""
