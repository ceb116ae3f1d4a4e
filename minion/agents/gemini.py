"""Gemini CLI, by `gemini -o stream-json` with the prompt on its standard input, configured in a home of the session's own.

What its role may do are policy rules, judged before a call runs. The rules of the session are its user memory. A repository's
`.gemini/settings.json` is out of its sight, and so hooks, skills, extensions and MCP servers of the repository stay off. Each
`GEMINI.md` is read all the same, as a part of the first message: 0.61 has no setting that leaves it out.
"""

import json
from collections.abc import Iterable
from typing import Any

from minion.agents.agent import Capabilities, Given, Program, Said, SaidKind, Server
from minion.agents.configuration.gemini_policy import POLICY, policy

_SETTINGS = ".gemini/settings.json"
_RULES = ".gemini/GEMINI.md"
_ASKED_OF_PEOPLE_MS = 7 * 24 * 3600 * 1000
"""A tool's call may wait for a person. The session's own limits end it before."""
_MOST_ACTION_CHARS = 200


class Gemini:
    """Gemini CLI as an agent of a session."""

    name = "gemini"
    executables = ("gemini",)
    capabilities = Capabilities(
        structured_events=True, permission_before_call=True, usage=True, resume=True, mcp=True
    )

    def __init__(self) -> None:
        self._is_replying = False

    def program(self, given: Given, prompt: str, *, resume: str = "") -> Program:
        """`gemini`, which reads its prompt from the standard input and ends after its last reply."""
        settings = json.dumps(_settings(given), indent=1)
        arguments = ["--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"]
        arguments += ["--model", given.model, "--extensions", "none"]
        arguments += ["--allowed-mcp-server-names", *([server.name for server in given.servers] or ["none"])]
        arguments += ["--resume", resume] if resume else []
        return Program(
            arguments=[*arguments, *given.choice.arguments],
            environment={
                "GOOGLE_GEMINI_BASE_URL": given.base_url,
                "GEMINI_API_KEY": "none",
                "GEMINI_MODEL": given.model,
                "GEMINI_CLI_NO_RELAUNCH": "true",
                "NO_COLOR": "1",
            },
            files={
                _SETTINGS: settings,
                _RULES: given.rules,
                POLICY: policy(given.permissions, str(given.root)),
            },
            tree_files={_SETTINGS: settings},  # a repository's own would count more than its user's
            stdin=prompt,
        )

    def read(self, line: str) -> Iterable[Said]:
        """What an event says. A reply begins with the first event of the model's after a tool's result."""
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(event, dict):
            return
        kind, text = event.get("type"), str(event.get("content") or event.get("message") or "")
        is_models = kind == "tool_use" or (kind == "message" and event.get("role") == "assistant")
        if is_models and not self._is_replying:
            yield Said(kind=SaidKind.TURN)
        self._is_replying = is_models or (self._is_replying and kind == "error")
        if kind == "init":
            yield Said(kind=SaidKind.SESSION, text=str(event.get("session_id", "")))
        elif kind == "message" and is_models:
            yield Said(kind=SaidKind.TEXT, text=text, is_partial=event.get("delta") is True)
        elif kind == "tool_use":
            yield Said(kind=SaidKind.ACTION, text=_action(event))
        elif kind == "tool_result" and event.get("status") == "error":
            yield Said(kind=SaidKind.ACTION, text=f"failed: {event.get('output', '')}"[:_MOST_ACTION_CHARS])
        elif kind == "error" and event.get("severity") != "warning":
            yield Said(kind=SaidKind.ERROR, text=text)
        elif kind == "result":
            error = event.get("error")
            why = str(error.get("message", "")) if isinstance(error, dict) else ""
            if why:
                yield Said(kind=SaidKind.ERROR, text=why)
            yield Said(kind=SaidKind.RESULT, text=why, failed=event.get("status") != "success")


def _action(event: dict[str, Any]) -> str:
    given = event.get("parameters")
    given = given if isinstance(given, dict) else {}
    about = (
        given.get("command") or given.get("file_path") or given.get("pattern") or given.get("dir_path") or ""
    )
    return f"{event.get('tool_name', '')} {about}".strip()[:_MOST_ACTION_CHARS]


def _settings(given: Given) -> dict[str, Any]:
    return {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "model": {"name": given.model, "maxSessionTurns": given.turns},
        "tools": {"shell": {"inactivityTimeout": given.command_s, "enableInteractiveShell": False}},
        "skills": {"enabled": False},
        "hooksConfig": {"enabled": False},
        "experimental": {"enableAgents": False},
        "advanced": {"ignoreLocalEnv": True, "autoConfigureMemory": False},
        "ide": {"enabled": False},
        "mcpServers": {server.name: _server(server) for server in given.servers},
    }


def _server(server: Server) -> dict[str, Any]:
    if server.url:
        how: dict[str, Any] = {"httpUrl": server.url, "headers": dict(server.headers)}
    else:
        program, *rest = server.command
        how = {"command": program, "args": rest, "env": dict(server.environment)}
    return {**how, "trust": True, "timeout": _ASKED_OF_PEOPLE_MS, "includeTools": list(server.tools)}
