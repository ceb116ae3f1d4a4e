"""OpenAI's Codex, by `codex exec --json`, configured by `config.toml` in a `CODEX_HOME` of the session's own.

Its own sandbox is switched off: it needs kernel features that a session's container takes away, and the container is the
sandbox. What its role allows is asked before each call by a hook of ours (`call_gate.py`). The working copy is an untrusted
project to it: no configuration, hook or server of the repository is loaded, and the repository's own instructions are ours to
hand over, as data. It reads files with its shell alone, so it has one even where a role lists no programs.
"""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minion.agents.agent import TOOLS_SERVER, Capabilities, Given, Program, Said, SaidKind, Server
from minion.agents.configuration.call_gate import hook_command, to_json
from minion.agents.configuration.toml_text import to_toml

_HOME = ".codex"
_PERMISSIONS = f"{_HOME}/permissions.json"
_WAIT_FOR_PEOPLE_S = 7 * 24 * 3600
"""It ends a tool's call by the clock, and a question waits for a person. The session's own limits end it before."""
_OFF = (
    *("apps", "plugins", "browser_use", "image_generation", "skill_mcp_dependency_install", "tool_suggest"),
    *("goals", "sleep_tool"),
)
"""What would ask services of its maker, install something, or wait for itself."""
_NO_FAULTS = ("Model metadata for", "`--dangerously-bypass-hook-trust`", "Reconnecting...")
_MOST_ACTION_CHARS = 200


class Codex:
    """Codex as an agent of a session."""

    name = "codex"
    executables: Sequence[str] = ("codex",)
    capabilities = Capabilities(
        structured_events=True, permission_before_call=True, usage=True, resume=True, mcp=True
    )

    def program(self, given: Given, prompt: str, *, resume: str = "") -> Program:
        """`codex exec`, or `codex exec resume`; the prompt comes by its standard input."""
        arguments = ["exec", *(["resume"] if resume else []), "--json", "--skip-git-repo-check"]
        arguments += ["--ignore-rules", "--dangerously-bypass-approvals-and-sandbox"]
        arguments += ["--dangerously-bypass-hook-trust", *([resume] if resume else []), "-"]
        return Program(
            arguments=[*arguments, *given.choice.arguments],
            environment={"CODEX_HOME": str(given.home / _HOME)},
            files={f"{_HOME}/config.toml": to_toml(_config(given)), _PERMISSIONS: to_json(given.permissions)},
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
    hook = {"type": "command", "command": hook_command(given.home / _PERMISSIONS), "timeout": 30}
    return {
        "model": given.model,
        "model_provider": "overlord",
        "model_context_window": given.context_tokens,
        "developer_instructions": given.rules,
        "project_doc_max_bytes": 0,
        "web_search": "disabled",
        "check_for_update_on_startup": False,
        **{key: {"enabled": False} for key in ("agents", "analytics", "feedback")},
        "history": {"persistence": "none"},
        "skills": {"bundled": {"enabled": False}, "include_instructions": False},
        "shell_environment_policy": {"inherit": "all", "ignore_default_excludes": True},
        "features": dict.fromkeys(_OFF, False),
        "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]},
        "projects": {str(given.root): {"trust_level": "untrusted"}},
        "model_providers": {
            "overlord": {
                "name": "overlord",
                "base_url": f"{given.base_url}/v1",
                "wire_api": "responses",
                "request_max_retries": 1,
                "stream_max_retries": 2,
                "stream_idle_timeout_ms": given.time_s * 1000,
            }
        },
        "mcp_servers": {server.name: _server(server) for server in given.servers},
    }


def _server(server: Server) -> dict[str, Any]:
    """A server's table. Its calls are approved here: there is nobody to ask, and calls that are not approved fail."""
    how: dict[str, Any] = (
        {"url": server.url, "http_headers": dict(server.headers)}
        if server.url
        else {"command": server.command[0], "args": list(server.command[1:]), "env": dict(server.environment)}
    )
    how |= {"tool_timeout_sec": _WAIT_FOR_PEOPLE_S} if server.name == TOOLS_SERVER else {}
    how |= {"enabled_tools": list(server.tools)} if server.tools else {}
    return {**how, "default_tools_approval_mode": "approve"}


def _said(event: Mapping[str, Any]) -> Iterable[Said]:
    kind, item, error = event.get("type"), event.get("item"), event.get("error")
    item = item if isinstance(item, dict) else {}
    message = item.get("message") if item.get("type") == "error" else event.get("message")
    if kind == "thread.started":
        yield from _words(SaidKind.SESSION, event.get("thread_id"))
    elif kind == "turn.started":
        yield Said(kind=SaidKind.TURN)
    elif kind == "turn.completed":
        yield Said(kind=SaidKind.RESULT)
    elif kind == "turn.failed":
        text = error.get("message") if isinstance(error, dict) else None
        yield Said(kind=SaidKind.RESULT, text=text if isinstance(text, str) else "", failed=True)
    elif kind == "item.started":
        if action := _action(item):
            yield Said(kind=SaidKind.TURN)
            yield Said(kind=SaidKind.ACTION, text=action)
    elif kind == "item.completed" and item.get("type") == "agent_message":
        yield from _words(SaidKind.TEXT, item.get("text"))
    elif isinstance(message, str) and not message.startswith(_NO_FAULTS):
        yield from _words(SaidKind.ERROR, message)


def _words(kind: SaidKind, text: object) -> Iterable[Said]:
    return (Said(kind=kind, text=text),) if isinstance(text, str) and text else ()


def _action(item: Mapping[str, Any]) -> str:
    """What an item does, in one line; empty for what is no action."""
    kind, changes = item.get("type"), item.get("changes")
    if kind == "command_execution" and isinstance(command := item.get("command"), str):
        return " ".join(f"run {_script(command)}".split())[:_MOST_ACTION_CHARS]
    if kind == "file_change" and isinstance(changes, list):
        paths = [str(change.get("path")) for change in changes[:5] if isinstance(change, dict)]
        return f"edit {', '.join(paths)}"[:_MOST_ACTION_CHARS]
    if kind == "mcp_tool_call":
        return f"call {item.get('server')} {item.get('tool')}"[:_MOST_ACTION_CHARS]
    return ""


def _script(command: str) -> str:
    """The line of `bash -lc 'LINE'`."""
    try:
        words = shlex.split(command[: 16 * _MOST_ACTION_CHARS])
    except ValueError:
        return command
    return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else command
