"""The interfaces that people give commands in."""

from enum import StrEnum


class Interface(StrEnum):
    """Where a command is given."""

    TERMINAL = "terminal"
    CHAT = "chat"
    COMMENT = "comment"
    PAGE = "page"
    API = "api"
    MCP = "mcp"
    """Where other agents give them: whoever speaks there counts as a machine, whosever token it has."""
