"""Who may give which verb: the levels there are, and the one check of them.

An interface finds out what somebody may at most (`Right`): the chat asks whether they are an approver, the forge whether they may
write to the repository, and whoever can write to OVERLORD_HOME is its operator. What a verb needs is in its declaration.
"""

from collections.abc import Mapping
from enum import IntEnum

from overlord.domain.access import AccessRight
from overlord.domain.interface import Interface
from overlord.errors import Refused


class Right(IntEnum):
    """What somebody may, each with all before it."""

    ANYONE = 0
    """Look: a member of the workspace, an account of the forge."""
    WRITER = 1
    """Have work done, stopped and answered: who may write to the repository."""
    APPROVER = 2
    """Decide what Overlord itself becomes, and pause it: whom the settings name."""
    OPERATOR = 3
    """Everything on this machine."""


HIGHEST = {
    Interface.TERMINAL: Right.OPERATOR,
    Interface.CHAT: Right.APPROVER,
    Interface.COMMENT: Right.WRITER,
    Interface.PAGE: Right.OPERATOR,
    Interface.API: Right.OPERATOR,
    Interface.MCP: Right.OPERATOR,
}
"""What anybody may at most there: a comment shows who may write to a repository, and not who is an approver."""

OF_TOKEN: Mapping[AccessRight, Right] = {
    AccessRight.READ: Right.ANYONE,
    AccessRight.ACT: Right.APPROVER,
    AccessRight.ADMIN: Right.OPERATOR,
}
"""What somebody may who comes with a token, by the token's right."""


class NotAllowed(Refused):
    """Who asks may not do that. The attempt is written down."""


def check_right(needed: Right, held: Right, why: str) -> None:
    """Raises NotAllowed, with the interface's own sentence, for who may less than is needed."""
    if held < needed:
        raise NotAllowed(why)
