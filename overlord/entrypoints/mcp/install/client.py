"""The agents whose configuration we know: where it is, and what the entry for a server of MCP looks like there.

An access token is never written: each entry names the variable that holds it, in the words its agent expands.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from overlord.entrypoints.invocation import TOKEN

NAME = "overlord"
"""What the server is called there: its tools are `mcp__overlord__review` and so on."""
TOOL_TIMEOUT_S = 300
"""How long Codex may wait for an answer; ours come before that, with a handle."""


class ClientName(StrEnum):
    """As it is typed."""

    CLAUDE = "claude"
    CODEX = "codex"
    CURSOR = "cursor"
    OPENCODE = "opencode"
    GEMINI = "gemini"


class ClientScope(StrEnum):
    """Whose configuration: the checkout's, which others see who work on it, or the person's own."""

    PROJECT = "project"
    USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What is written down: a program that is started, or an address."""

    command: tuple[str, ...] = ()
    """The program and its first words; `mcp` comes after them."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What the program is started with beside what it inherits; no secrets."""
    inherited: tuple[str, ...] = ()
    """Variables by name that the program needs, and that some agents pass on only where they are named."""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One agent."""

    name: ClientName
    title: str
    path: tuple[str, ...]
    """Where the entry stands in the file."""
    project: str
    """The file in a checkout."""
    user: Callable[[Mapping[str, str]], Path]
    """The file of the person, by the environment."""
    entry: Callable[[Server, ClientScope], dict[str, object]]
    comments: bool = False
    """Whether the file may have comments: then it is JSON with them."""
    is_toml: bool = False
    other: str = ""
    """A name the file may have instead, with the same content."""
    after: str = ""
    """What has to be done there once it is written."""

    def file(self, scope: ClientScope, root: Path, environment: Mapping[str, str]) -> Path:
        """Where it is, whether it is there or not."""
        place = root / self.project if scope is ClientScope.PROJECT else self.user(environment)
        if self.other and not place.exists() and place.with_name(self.other).exists():
            return place.with_name(self.other)
        return place


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or Path.home())


def _named(environment: Mapping[str, str], variable: str, *otherwise: str) -> Path:
    """The directory that a variable names, else one below the home."""
    value = environment.get(variable)
    return Path(value).expanduser() if value else _home(environment).joinpath(*otherwise)


def _header(reference: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {reference}"}


def _claude(server: Server, _scope: ClientScope) -> dict[str, object]:
    if server.url:
        return {"type": "http", "url": server.url, "headers": _header(f"${{{TOKEN}}}")}
    return {"type": "stdio", **_started(server), **({"env": v} if (v := dict(server.variables)) else {})}


def _codex(server: Server, _scope: ClientScope) -> dict[str, object]:
    if server.url:
        return {"url": server.url, "bearer_token_env_var": TOKEN, "tool_timeout_sec": TOOL_TIMEOUT_S}
    made = _started(server)
    if variables := dict(server.variables):
        made["env"] = variables
    if server.inherited:
        made["env_vars"] = list(server.inherited)
    return {**made, "tool_timeout_sec": TOOL_TIMEOUT_S}


def _cursor(server: Server, scope: ClientScope) -> dict[str, object]:
    if server.url:
        return {"url": server.url, "headers": _header(f"${{env:{TOKEN}}}")}
    # Cursor starts a server where it likes, and knows the folder that its file is in.
    where = ("--checkout", "${workspaceFolder}") if scope is ClientScope.PROJECT else ()
    references = {name: f"${{env:{name}}}" for name in server.inherited}
    variables = {**references, **dict(server.variables)}
    return {**_started(server, *where), **({"env": variables} if variables else {})}


def _opencode(server: Server, _scope: ClientScope) -> dict[str, object]:
    if server.url:
        headers = _header(f"{{env:{TOKEN}}}")
        return {"type": "remote", "url": server.url, "enabled": True, "oauth": False, "headers": headers}
    variables = dict(server.variables)
    made = {"type": "local", "command": [*server.command, "mcp"], "enabled": True}
    return {**made, **({"environment": variables} if variables else {})}


def _gemini(server: Server, _scope: ClientScope) -> dict[str, object]:
    if server.url:
        return {"httpUrl": server.url, "headers": _header(f"${TOKEN}")}
    variables = {**{name: f"${name}" for name in server.inherited}, **dict(server.variables)}
    return {**_started(server), **({"env": variables} if variables else {})}


def _started(server: Server, *more: str) -> dict[str, object]:
    program, *first = server.command
    return {"command": program, "args": [*first, "mcp", *more]}


_CLIENTS = (
    Client(
        name=ClientName.CLAUDE,
        title="Claude Code",
        path=("mcpServers", NAME),
        project=".mcp.json",
        user=lambda environment: _named(environment, "CLAUDE_CONFIG_DIR") / ".claude.json",
        entry=_claude,
        after="`/mcp` shows it in Claude Code, which asks once whether the servers of a checkout may be used.",
    ),
    Client(
        name=ClientName.CODEX,
        title="Codex",
        path=("mcp_servers", NAME),
        project=".codex/config.toml",
        user=lambda environment: _named(environment, "CODEX_HOME", ".codex") / "config.toml",
        entry=_codex,
        is_toml=True,
        after="`/mcp` shows it in Codex, which reads a checkout's file only where you trust the checkout.",
    ),
    Client(
        name=ClientName.CURSOR,
        title="Cursor",
        path=("mcpServers", NAME),
        project=".cursor/mcp.json",
        user=lambda environment: _home(environment) / ".cursor" / "mcp.json",
        entry=_cursor,
        comments=True,
        after="Cursor lists it under Settings, MCP, where it is switched on.",
    ),
    Client(
        name=ClientName.OPENCODE,
        title="OpenCode",
        path=("mcp", NAME),
        project="opencode.json",
        user=lambda environment: (
            _named(environment, "XDG_CONFIG_HOME", ".config") / "opencode" / "opencode.json"
        ),
        entry=_opencode,
        comments=True,
        other="opencode.jsonc",
        after="`opencode mcp list` shows it.",
    ),
    Client(
        name=ClientName.GEMINI,
        title="Gemini CLI",
        path=("mcpServers", NAME),
        project=".gemini/settings.json",
        user=lambda environment: _home(environment) / ".gemini" / "settings.json",
        entry=_gemini,
        comments=True,
        after="`/mcp` shows it in Gemini CLI.",
    ),
)
CLIENTS: Mapping[ClientName, Client] = {item.name: item for item in _CLIENTS}


def own_program(typed: str, environment: Mapping[str, str], executable: str) -> tuple[str, ...]:
    """How this program is started from any directory: as `overlord` where a shell finds this very program by that name, else by its
    whole path. `typed`: what it was started by."""
    from overlord.entrypoints.invocation import TYPED_AS, program

    if called := environment.get(TYPED_AS):
        return tuple(called.split())
    if (named := program(environment, typed)) == "overlord":
        return (named,)
    if Path(typed).name == "overlord":
        return (str(Path(typed).absolute()),)
    return (executable, "-m", "overlord")


def inherited(environment: Mapping[str, str], known: Sequence[str]) -> tuple[str, ...]:
    """The variables that are set, of those that settings are read from."""
    names = (*known, *(f"{name}_FILE" for name in known))
    return tuple(sorted(name for name in names if environment.get(name)))


def absolute(environment: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Variables that name a place, so that they hold wherever the program is started."""
    return {
        name: str(Path(value).expanduser().absolute()) for name in names if (value := environment.get(name))
    }
