"""Which program works in a session, and the MCP servers it is offered; a part of `minion/protocol.py`, and used from there."""

import re
import shlex
from dataclasses import dataclass

NATIVE = "native"
"""The Minion's own loop."""
PROGRAMS = (NATIVE, "claude-code", "codex", "opencode", "aider", "cursor", "gemini")
"""The agents that are known by name. Every other one that speaks ACP is `acp:COMMAND`."""
ACP = "acp"
"""The program of an agent that is reached over the Agent Client Protocol."""
WITHOUT_TOOLS = frozenset({"aider"})
"""Those that take no MCP servers, and so have none of the session's own tools: they cannot answer what is answered by a tool."""
AGENTS_DIRECTORY = "/opt/agents"
"""Where containers have the programs of agents: `/opt/agents/codex/bin/codex`."""

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_MOST_COMMAND_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChoice:
    """The program of one session."""

    name: str = NATIVE
    """As it was chosen, and as people see it: `codex`, `acp:goose acp`, or a name of the settings' own."""
    program: str = NATIVE
    """Which integration drives it: one of `PROGRAMS`, or `acp`."""
    command: tuple[str, ...] = ()
    """What is started in place of the integration's own program; for `acp` the agent's command."""
    arguments: tuple[str, ...] = ()
    """Further arguments from the settings."""
    model: str = ""
    """What its model's endpoint calls the model, so that the program can tune itself to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A server of tools that a repository's settings offer to its sessions."""

    name: str
    command: tuple[str, ...] = ()
    """Started in the session's container, over standard input and output. Empty: reached through the session API."""
    environment: tuple[tuple[str, str], ...] = ()
    tools: tuple[str, ...] = ()
    """The tools that are offered; empty for all it has."""


def read_agent_name(text: str) -> str:
    """The name of an agent as people write it: a word, or `acp:` and a command.

    Raises ValueError, with a sentence that says what there is, for what can be no agent's name.
    """
    name = " ".join(text.split())
    if name.casefold().startswith(f"{ACP}:"):
        return f"{ACP}:{shlex.join(acp_command(name))}"
    if not _NAME.fullmatch(name.casefold()):
        raise ValueError(f"{text[:60]!r} is no agent's name; known: {', '.join(PROGRAMS)}, {ACP}:COMMAND")
    return name.casefold()


def acp_command(name: str) -> tuple[str, ...]:
    """The command of `acp:COMMAND`. Raises ValueError when there is none that can be read."""
    text = name.partition(":")[2].strip()
    if not text or len(text) > _MOST_COMMAND_CHARS or not text.isprintable():
        raise ValueError(
            f"{ACP}: needs the command that starts the agent, as {ACP}:goose acp, in at most {_MOST_COMMAND_CHARS} characters"
        )
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"{name!r} cannot be read as a command: {error}") from None
