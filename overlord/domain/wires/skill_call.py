"""Which skills a reply asks for, whatever else it says. Agents that reach our tools over MCP put the server's name before the tool's."""

import json
import re

from overlord.domain.wires.wire import ReplyContent

MOST_CALLS = 100
"""Of one reply that are looked at."""
_TOOL = re.compile(r"(?:(?:mcp_+)?overlord[_.-]+)?use_skill")


def skills_asked_for(content: ReplyContent | None) -> tuple[str, ...]:
    """The names with which a reply calls `use_skill`, each once; of whatever else it says, none."""
    calls = (
        content.message.get("tool_calls")
        if content is not None and isinstance(content.message, dict)
        else None
    )
    names = (_skill_of(call) for call in calls[:MOST_CALLS]) if isinstance(calls, list) else ()
    return tuple(dict.fromkeys(name for name in names if name))


def _skill_of(call: object) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not _is_tool(function.get("name")):
        return ""
    try:
        arguments = json.loads(function["arguments"])
    except (LookupError, TypeError, ValueError, RecursionError):
        return ""
    name = arguments.get("name") if isinstance(arguments, dict) else None
    return name if isinstance(name, str) and name.isascii() else ""


def _is_tool(name: object) -> bool:
    return isinstance(name, str) and _TOOL.fullmatch(name) is not None
