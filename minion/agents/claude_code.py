"""Anthropic's Claude Code, by `claude -p --output-format stream-json`. No settings, hooks, servers, skills or instructions of the repository's
are loaded: those it is to have come with the brief. (Its bare mode would do that too, and has no tool that makes a file.)

A call that its permissions do not allow is refused by itself (`dontAsk`), before it runs; what it may write and start is told it in a
settings file of the session's own. The prompt comes by its standard input, and long words by files: an argument may be no longer
than 128 KiB. It ends with 1 after a refused request and calls that a success, so `is_error` is what counts.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from minion.agents.agent import Capabilities, Given, Permissions, Program, Said, SaidKind, Server

_FOLDER = ".claude"
_MODELS = (
    "ANTHROPIC_MODEL ANTHROPIC_SMALL_FAST_MODEL ANTHROPIC_DEFAULT_OPUS_MODEL ANTHROPIC_DEFAULT_SONNET_MODEL "
    "ANTHROPIC_DEFAULT_HAIKU_MODEL CLAUDE_CODE_SUBAGENT_MODEL"
)
_OFF = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC CLAUDE_CODE_DISABLE_BACKGROUND_TASKS CLAUDE_CODE_DISABLE_CLAUDE_MDS "
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS DISABLE_AUTOUPDATER DISABLE_TELEMETRY "
    "DISABLE_ERROR_REPORTING IS_SANDBOX"
)
_ALWAYS = ("Read", "Glob", "Grep", "TodoWrite")
_NEVER = (
    "WebFetch WebSearch AskUserQuestion Agent Skill Workflow Monitor SendMessage ListAgents TaskStop ReportFindings ScheduleWakeup "
    "CronCreate CronDelete CronList EnterWorktree ExitWorktree EnterPlanMode ExitPlanMode"
)
"""What leaves the session, asks somebody, or works where nobody counts it."""
_SUBJECTS = "file_path notebook_path path pattern command query question reason summary"
_MOST_ACTION_CHARS = 200


class ClaudeCode:
    """Claude Code as an agent of a session. It remembers which reply of the model it read last."""

    name = "claude-code"
    executables = ("claude",)
    capabilities = Capabilities(
        structured_events=True, permission_before_call=True, usage=True, resume=True, mcp=True
    )

    def __init__(self) -> None:
        self._reply = ""
        self._root = ""

    def program(self, given: Given, prompt: str, *, resume: str = "") -> Program:
        """`claude -p`, with its settings, servers and role in files below its home."""
        self._root = f"{given.root}/"
        folder = given.home / _FOLDER
        settings = {"permissions": _permissions(given), "includeCoAuthoredBy": False}
        servers = {"mcpServers": {server.name: _server(server) for server in given.servers}}
        arguments = ["-p", "--output-format", "stream-json", "--verbose", "--model", given.model]
        arguments += ["--permission-mode", "dontAsk", "--max-turns", str(given.turns)]
        arguments += ["--setting-sources", ""]
        arguments += ["--settings", str(folder / "session.json"), "--strict-mcp-config"]
        arguments += ["--mcp-config", str(folder / "servers.json")]
        arguments += ["--append-system-prompt-file", str(folder / "role.md")]
        return Program(
            arguments=[*arguments, *(["--resume", resume] if resume else []), *given.choice.arguments],
            environment=_environment(given),
            files={
                f"{_FOLDER}/session.json": json.dumps(settings),
                f"{_FOLDER}/servers.json": json.dumps(servers),
                f"{_FOLDER}/role.md": given.rules,
            },
            stdin=prompt,
        )

    def read(self, line: str) -> Iterable[Said]:
        """What an event says."""
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return ()
        return tuple(self._said(event)) if isinstance(event, dict) else ()

    def _said(self, event: Mapping[str, Any]) -> Iterator[Said]:
        kind = event.get("type")
        if kind == "system" and event.get("subtype") == "init":
            yield Said(kind=SaidKind.SESSION, text=_text(event.get("session_id")))
        elif kind == "assistant" and isinstance(message := event.get("message"), dict):
            if (reply := _text(message.get("id"))) != self._reply:
                self._reply = reply
                yield Said(kind=SaidKind.TURN)
            content = message.get("content")
            for block in content if isinstance(content, list) else ():
                if isinstance(block, dict):
                    yield from self._block(block)
        elif kind == "result":
            failed = event.get("is_error") is not False or event.get("subtype") != "success"
            words = event.get("result") or event.get("subtype")
            yield Said(kind=SaidKind.RESULT, text=_text(words), failed=failed)

    def _block(self, block: Mapping[str, Any]) -> Iterator[Said]:
        if block.get("type") == "text":
            yield Said(kind=SaidKind.TEXT, text=_text(block.get("text")))
        elif block.get("type") == "tool_use":
            given = block.get("input")
            given = given if isinstance(given, dict) else {}
            subject = next((_text(given[name]) for name in _SUBJECTS.split() if name in given), "")
            text = f"{_text(block.get('name'))} {subject.replace(self._root, '')}".strip()
            yield Said(kind=SaidKind.ACTION, text=text[:_MOST_ACTION_CHARS])


def _permissions(given: Given) -> dict[str, list[str]]:
    allowed: Permissions = given.permissions
    below = f"/{given.root}"
    edits = [f"Edit({below}/{pattern})" for pattern in allowed.writable]
    allow = [*_ALWAYS, *edits, *_commands(allowed)]
    for server in given.servers:
        allow += [f"mcp__{server.name}__{tool}" for tool in server.tools] or [f"mcp__{server.name}"]
    deny = [*_NEVER.split(), *([] if edits else ["Edit", "Write", "NotebookEdit"])]
    deny += [f"Edit({below}/{pattern})" for pattern in (*allowed.closed, *allowed.secret)]
    deny += [f"Read({below}/{pattern})" for pattern in allowed.secret]
    return {"allow": allow, "deny": [*deny, *(["Bash"] if allowed.commands == () else [])]}


def _commands(allowed: Permissions) -> list[str]:
    if allowed.commands is None:
        return ["Bash"]
    from minion.tools.command_list import ALWAYS  # few sessions have a list

    names = (*allowed.commands, *(name for name in ALWAYS if name.isalpha())) if allowed.commands else ()
    return [f"Bash({name}:*)" for name in names]


def _server(server: Server) -> dict[str, Any]:
    if server.url:
        return {"type": "http", "url": server.url, "headers": dict(server.headers)}
    return {"command": server.command[0], "args": list(server.command[1:]), "env": dict(server.environment)}


def _environment(given: Given) -> dict[str, str]:
    wait_ms = str(given.command_s * 1000)
    return {
        "ANTHROPIC_BASE_URL": given.base_url,
        "ANTHROPIC_API_KEY": "none-needed",
        "CLAUDE_CONFIG_DIR": str(given.home / _FOLDER),
        "BASH_DEFAULT_TIMEOUT_MS": wait_ms,
        "BASH_MAX_TIMEOUT_MS": wait_ms,
        "ENABLE_TOOL_SEARCH": "false",  # the session's own tools are few, and are to be seen at once
        **dict.fromkeys(_MODELS.split(), given.model),
        **dict.fromkeys(_OFF.split(), "1"),
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
