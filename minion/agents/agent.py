"""The interface of a coding agent: one file for each, from what a session is given to the program that is started and what it says.

An agent's file is pure: it says which program, arguments, environment and files there have to be, and reads its output line by
line. What starts, watches, bounds and ends the program is the same for all (`drive.py`), and so is what its end means
(`ending.py`). An agent that is spoken to over a protocol (`acp.py`) brings a conversation of its own in place of that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from minion.agents.sentinel import Sentinel
from minion.protocol import AgentChoice

TOOLS_SERVER = "overlord"
"""The name of the session's own MCP server, as every agent is told it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an agent can do, so that nothing is expected of it that it cannot."""

    structured_events: bool
    """Its output is read as events, not only as text."""
    permission_before_call: bool
    """A call that its role does not allow is refused before it runs, by its own permissions or by ours."""
    usage: bool
    """It says what it used. The gateway counts by itself all the same."""
    resume: bool
    """It can be given another prompt in the same conversation."""
    mcp: bool
    """It takes MCP servers, so that it has the session's own tools."""


class SaidKind(StrEnum):
    """What a piece of an agent's output is."""

    SESSION = "session"
    """The id by which its conversation is resumed."""
    TEXT = "text"
    """Words of the model. Sentinel lines are looked for here."""
    ACTION = "action"
    """Something it does: told as progress, in one line."""
    TURN = "turn"
    """A reply of the model has begun."""
    ERROR = "error"
    RESULT = "result"
    """Its last word; after it the program has nothing more to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A piece of an agent's output, as it was understood."""

    kind: SaidKind
    text: str = ""
    failed: bool = False
    """Of a result: the agent itself says that it did not come to its end."""
    is_partial: bool = False
    """Of words: they go on where the words before them stopped, in the middle of a line perhaps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """An MCP server as an agent is told of it: an address on loopback with headers, or a command."""

    name: str
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    tools: Sequence[str] = ()
    """Those it may call; empty for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """What a session's role may do, as agents' own permission files say it. The judge's diff is what counts in the end."""

    writable: Sequence[str]
    """Patterns below the repository's root, `**` for any file."""
    closed: Sequence[str]
    """Patterns that stay closed whatever is writable: `.git/**`, `.nebulus/**`, what the scope and the contract take out."""
    secret: Sequence[str]
    """Patterns that are not to be read either."""
    commands: Sequence[str] | None
    """The programs its shell may start; None for any. Empty: no shell."""
    is_reader: bool = False
    """It reads and changes nothing."""
    can_ask: bool = True
    """It may ask to write more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What an agent's program is made from."""

    choice: AgentChoice
    role: str
    rules: str
    """Who it is and its limits: for the system prompt, or a rules file, where the agent has one."""
    root: Path
    """The working copy, its working directory."""
    home: Path
    """A directory of its own for configuration and state: its HOME. Nothing else is kept there."""
    base_url: str
    """The session API on loopback, without `/v1`. What it sends as a key does not matter."""
    model: str
    """What to ask for."""
    servers: Sequence[Server]
    permissions: Permissions
    turns: int
    time_s: int
    command_s: int
    context_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is started for one prompt."""

    arguments: Sequence[str]
    """Without the executable."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Beside the environment of a session's commands."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Configuration, by path below `home`; written anew each time."""
    tree_files: Mapping[str, str] = field(default_factory=dict)
    """Configuration an agent reads from the working copy alone, by path below it. It is never part of the work."""
    stdin: str = ""


class CodingAgent(Protocol):
    """One agent whose program is started anew for each prompt."""

    name: str
    executables: Sequence[str]
    """What its program is called, the newest name first."""
    capabilities: Capabilities

    def program(self, given: Given, prompt: str, *, resume: str = "") -> Program:
        """What is started to have a prompt answered. `resume` is the id of the conversation it goes on in; empty for a new one."""

    def read(self, line: str) -> Iterable[Said]:
        """What one line of its output says. Anything at all may come: what is not understood says nothing, and nothing is raised."""


class Stopped(StrEnum):
    """Why we ended a program."""

    SILENT = "silent"
    TURNS = "turns"
    """Its turns were used up."""
    LINGERED = "lingered"
    """It had said its last word and did not leave."""
    DECIDED = "decided"
    """A tool or a sentinel line ended its session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """How one prompt ended."""

    exit_code: int | None
    """None where we ended it, or it goes on and waits for the next prompt."""
    stopped: Stopped | None = None
    text: str = ""
    """Its last words."""
    error: str = ""
    """What it says went wrong."""
    failed: bool = False
    """Whether it says itself that it did not come to its end."""
    sentinel: Sentinel | None = None
    """The last sentinel line of its words. Looked for in `text` where a conversation leaves it out."""
    conversation: str = ""
    """The id by which it is resumed."""
    turns: int = 0


class Conversation(Protocol):
    """A running conversation with an agent."""

    capabilities: Capabilities

    def ask(self, prompt: str) -> Attempt:
        """Give it a prompt and wait for its end. The first one begins the conversation, further ones go on in it where that is
        possible and begin a new one where not. Raises AgentFailed when the program is missing or cannot be started, and
        Interrupted."""

    def close(self) -> None:
        """End whatever of it still runs."""
