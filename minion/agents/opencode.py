"""OpenCode, by `opencode run --format json`, configured by `opencode.json` in a home of the session's own.

Its permissions decide every call before it runs: the last pattern that matches wins, `*` also crosses a slash, and what would be
asked is refused, since nobody is there. The repository's own configuration, plugins, skills and instructions are not loaded.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minion.agents.agent import Capabilities, Given, Permissions, Program, Said, SaidKind, Server
from minion.tools.command_list import ALWAYS

_CONFIG = ".config/opencode/opencode.json"
_RULES = ".config/opencode/AGENTS.md"
"""Instructions for every project: the only ones it has."""
_PROVIDER = "overlord"
_OUTSIDE = "../*"
_ASKED_OF_PEOPLE_MS = 7 * 24 * 3600 * 1000
"""A tool's call may wait for a person. The session's own limits end it before."""
_SWITCHES = (
    *("DISABLE_PROJECT_CONFIG", "DISABLE_AUTOUPDATE", "DISABLE_MODELS_FETCH", "DISABLE_SHARE"),
    *("DISABLE_LSP_DOWNLOAD", "DISABLE_DEFAULT_PLUGINS", "DISABLE_CLAUDE_CODE", "DISABLE_EXTERNAL_SKILLS"),
    *("DISABLE_TERMINAL_TITLE", "DISABLE_EMBEDDED_WEB_UI"),
)
_CLOSED_TOOLS = ("webfetch", "websearch", "codesearch", "question", "plan_enter", "plan_exit")
_MOST_ACTION_CHARS = 200


class OpenCode:
    """OpenCode as an agent of a session."""

    name = "opencode"
    executables: Sequence[str] = ("opencode",)
    capabilities = Capabilities(
        structured_events=True, permission_before_call=True, usage=True, resume=True, mcp=True
    )

    def program(self, given: Given, prompt: str, *, resume: str = "") -> Program:
        """`opencode run`; the prompt comes by its standard input."""
        arguments = ["run", "--pure", "--format", "json", "--model", f"{_PROVIDER}/{given.model}"]
        arguments += ["--session", resume] if resume else ["--title", given.role or "session"]
        return Program(
            arguments=[*arguments, *given.choice.arguments],
            environment={f"OPENCODE_{name}": "true" for name in _SWITCHES},
            files={_CONFIG: json.dumps(_config(given), indent=1), _RULES: given.rules},
            stdin=prompt,
        )

    def read(self, line: str) -> Iterable[Said]:
        """What an event says."""
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return ()
        return tuple(_said(event)) if isinstance(event, dict) else ()


def _config(given: Given) -> dict[str, Any]:
    limit = {"context": given.context_tokens, "output": min(32_000, given.context_tokens // 4)}
    models = {given.model: {"name": given.model, "tool_call": True, "limit": limit}}
    options = {"baseURL": f"{given.base_url}/v1", "apiKey": "none", "timeout": False}
    return {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "lsp": False,
        "formatter": False,
        "enabled_providers": [_PROVIDER],
        "small_model": f"{_PROVIDER}/{given.model}",
        "provider": {_PROVIDER: {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}},
        "agent": {"build": {"steps": given.turns}},
        "permission": _permission(given.permissions, given.servers),
        "mcp": {server.name: _server(server) for server in given.servers},
    }


def _permission(permissions: Permissions, servers: Sequence[Server]) -> dict[str, Any]:
    """Its permission map. Each rule's order counts, so refusals come last."""
    listed = (*permissions.commands, *ALWAYS) if permissions.commands else ()
    edit, closed = {"*": "deny"}, [_OUTSIDE, *_globs(permissions.closed), *_globs(permissions.secret)]
    if not permissions.is_reader:
        edit |= dict.fromkeys(_globs(permissions.writable), "allow")
        edit = {**{key: edit[key] for key in edit if key not in closed}, **dict.fromkeys(closed, "deny")}
    bash = {"*": "deny"} | {line: "allow" for command in listed for line in (command, f"{command} *")}
    return {
        "*": "allow",
        "edit": edit,
        "read": {"*": "allow", **dict.fromkeys(_globs(permissions.secret), "deny")},
        "bash": "allow" if permissions.commands is None else bash,
        **dict.fromkeys(_CLOSED_TOOLS, "deny"),
        **{f"{server.name}_*": "deny" for server in servers if server.tools},
        **{f"{server.name}_{tool}": "allow" for server in servers for tool in server.tools},
    }


def _globs(patterns: Iterable[str]) -> list[str]:
    """Patterns below the root as OpenCode's wildcards, in which one `*` stands for any characters at all."""
    found = []
    for pattern in patterns:
        plain = re.sub(r"\\(.)", r"\1", re.sub(r"\*\*+", "*", pattern.strip("/")))
        names = [plain, plain.removeprefix("*/")] if plain.startswith("*/") else [plain]
        found += [glob for name in names for glob in ([name] if name.endswith("*") else [name, f"{name}/*"])]
    return found


def _server(server: Server) -> dict[str, Any]:
    how: dict[str, Any] = (
        {"type": "remote", "url": server.url, "headers": dict(server.headers), "oauth": False}
        if server.url
        else {"type": "local", "command": list(server.command), "environment": dict(server.environment)}
    )
    return {**how, "timeout": _ASKED_OF_PEOPLE_MS}


def _said(event: Mapping[str, Any]) -> Iterable[Said]:
    kind, part = event.get("type"), event.get("part")
    part = part if isinstance(part, dict) else {}
    if kind == "step_start":
        yield from _words(SaidKind.SESSION, event.get("sessionID"))
        yield Said(kind=SaidKind.TURN)
    elif kind == "tool_use":
        yield from _words(SaidKind.ACTION, _action(part)[:_MOST_ACTION_CHARS])
    elif kind == "text":
        yield from _words(SaidKind.TEXT, part.get("text"))
    elif kind == "error":
        yield Said(kind=SaidKind.ERROR, text=_fault(event.get("error")))


def _words(kind: SaidKind, text: object) -> Iterable[Said]:
    return (Said(kind=kind, text=text),) if isinstance(text, str) and text else ()


def _fault(error: object) -> str:
    data = error.get("data") if isinstance(error, dict) else None
    message = data.get("message") if isinstance(data, dict) else error
    return message if isinstance(message, str) else "it failed and did not say why"


def _action(part: Mapping[str, Any]) -> str:
    """What a call did, in one line; a refused one as well."""
    tool, state = part.get("tool"), part.get("state")
    state = state if isinstance(state, dict) else {}
    given = state["input"] if isinstance(state.get("input"), dict) else {}
    verb = {"bash": "run", "write": "edit"}.get(str(tool), str(tool))
    subject = given.get("command") or state.get("title") or given.get("filePath") or ""
    failed = " (refused or failed)" if state.get("status") == "error" else ""
    return " ".join(f"{verb} {subject}".split())[: _MOST_ACTION_CHARS - len(failed)] + failed
