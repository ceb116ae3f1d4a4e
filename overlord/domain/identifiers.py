"""The names by which things are known in all packages."""

from typing import NewType

RepositoryName = NewType("RepositoryName", str)
"""`owner/name`, as GitHub spells it."""
SessionId = NewType("SessionId", str)
Sha = NewType("Sha", str)
"""A commit, as 40 hexadecimal digits."""
NO_COMMIT = Sha("")
"""Stands where a commit is still to come."""
ChannelId = NewType("ChannelId", str)
"""A conversation of the chat, as `C0123456789`."""
MessageTs = NewType("MessageTs", str)
"""A message's time, which is its name within a channel, as `1700000000.000100`."""
UserId = NewType("UserId", str)
"""Somebody in the chat, as `U0123456789`."""
