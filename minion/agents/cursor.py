"""Cursor's CLI, by `cursor-agent -p --output-format stream-json`, as its documentation has it: it needs an account, and was never
run here.

It works for its own service alone. It cannot be pointed at the session's gateway, so its models are neither counted nor limited by
Overlord, and in a container without a network it can do nothing, unless the operator gives it an endpoint of its own by
`agents.<name>.arguments` and a way there, with the key in `CURSOR_API_KEY`.
With `--force`, without which nothing is written, all is allowed that is not denied: what is closed stays closed, and what is merely
outside the scope is left to the judge.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from minion.agents.agent import Capabilities, Given, Permissions, Program, Said, SaidKind, Server

_CONFIG = ".cursor/cli-config.json"
_SERVERS = ".cursor/mcp.json"
"""Its user's servers, below its home: a repository's own file stays as it is."""
_RULES = ".cursor/rules"
_PROTOCOL = """\
End your last reply with one line that says how your work stands, alone in its line, its JSON without a line break:
OVERLORD_EVENT {"type":"PHASE_COMPLETE","summary":"what was changed and why"}
OVERLORD_EVENT {"type":"NEEDS_ESCALATION","reason":"why it cannot be done","context":"what is needed"}
OVERLORD_EVENT {"type":"EXCEPTION","reason":"what is broken","impact":"what that stops"}
OVERLORD_EVENT {"type":"QUESTION","question":"what a person has to decide","options":[],"kind":"question"}
"""
_LONGEST_ARGUMENT = 100_000
"""Bytes; Linux takes no argument of 128 KiB."""
_TASK = f"{_RULES}/30-task.mdc"
_MOST_ACTION_CHARS = 200


class Cursor:
    """Cursor's CLI as an agent of a session."""

    name = "cursor"
    executables = ("agent", "cursor-agent")
    capabilities = Capabilities(
        structured_events=True, permission_before_call=False, usage=False, resume=True, mcp=True
    )

    def program(self, given: Given, prompt: str, *, resume: str = "") -> Program:
        """`cursor-agent -p`; a prompt too long for an argument is a rule of its own."""
        role = re.sub(r"[^a-z0-9]+", "-", given.role.casefold()).strip("-")[:60] or "session"
        rules = {
            f"{_RULES}/00-overlord-protocol.mdc": _rule("How a session ends", _PROTOCOL),
            f"{_RULES}/20-role-{role}.mdc": _rule(f"The role {role}, and its limits", given.rules),
        }
        if len(prompt.encode("utf-8", "replace")) > _LONGEST_ARGUMENT:
            rules[_TASK] = _rule("Your task", prompt)
            prompt = f"Your task is in {_TASK}: read it first."
        arguments = ["-p", "--output-format", "stream-json", "--trust", "--approve-mcps", "--force"]
        arguments += ["--model", given.choice.model] if given.choice.model else []
        arguments += ["--resume", resume] if resume else []
        return Program(
            arguments=[
                *arguments,
                *given.choice.arguments,
                f" {prompt}" if prompt.startswith("-") else prompt,
            ],
            environment={"CURSOR_CONFIG_DIR": str(given.home / ".cursor"), "NO_COLOR": "1"},
            files={
                _CONFIG: json.dumps(_config(given), indent=1),
                _SERVERS: json.dumps(
                    {"mcpServers": {one.name: _server(one) for one in given.servers}}, indent=1
                ),
            },
            tree_files=rules,
        )

    def read(self, line: str) -> Iterable[Said]:
        """What an event says. A message of the assistant is one reply's words up to its next call."""
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(event, dict):
            return
        kind, subtype = event.get("type"), event.get("subtype")
        if kind == "system" and subtype == "init":
            yield Said(kind=SaidKind.SESSION, text=str(event.get("session_id", "")))
        elif kind == "assistant":
            yield Said(kind=SaidKind.TURN)
            yield Said(kind=SaidKind.TEXT, text=_text(event.get("message")))
        elif kind == "tool_call" and subtype == "started":
            yield Said(kind=SaidKind.ACTION, text=_action(event.get("tool_call")))
        elif kind == "result":
            failed = event.get("is_error") is not False
            text = str(event.get("result", ""))
            if failed:
                yield Said(kind=SaidKind.ERROR, text=text or str(subtype or ""))
            yield Said(kind=SaidKind.RESULT, text=text, failed=failed)


def _text(message: object) -> str:
    parts = message.get("content") if isinstance(message, dict) else None
    parts = parts if isinstance(parts, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _action(call: object) -> str:
    """A call is an object under the name of its tool."""
    for name, inner in call.items() if isinstance(call, dict) else ():
        given = inner.get("args") if isinstance(inner, dict) else None
        given = given if isinstance(given, dict) else {}
        about = (
            given.get("command") or given.get("path") or given.get("pattern") or given.get("toolName") or ""
        )
        return f"{name.removesuffix('ToolCall')} {about}".strip()[:_MOST_ACTION_CHARS]
    return ""


def _rule(description: str, text: str) -> str:
    return f"---\ndescription: {description}\nalwaysApply: true\n---\n\n{text}"


def _config(given: Given) -> dict[str, Any]:
    return {
        "version": 1,
        "editor": {"vimMode": False},
        "permissions": _permissions(given.permissions, [server.name for server in given.servers]),
    }


def _permissions(permissions: Permissions, servers: Iterable[str]) -> dict[str, list[str]]:
    """What it may do, and what it may not, which counts more."""
    denied = [f"Write({pattern})" for pattern in (*permissions.closed, *permissions.secret)]
    denied += [*(f"Read({pattern})" for pattern in permissions.secret), "WebFetch(*)"]
    if permissions.is_reader or not permissions.writable:
        denied.append("Write(**)")
    if permissions.commands is not None and not permissions.commands:
        denied.append("Shell(*)")
    allowed = ["Read(**)", *(f"Write({pattern})" for pattern in permissions.writable)]
    allowed += [
        f"Shell({program})" for program in (permissions.commands if permissions.commands is not None else "*")
    ]
    return {"allow": [*allowed, *(f"Mcp({server}:*)" for server in servers)], "deny": denied}


def _server(server: Server) -> dict[str, Any]:
    if server.url:
        return {"url": server.url, "headers": dict(server.headers)}
    program, *rest = server.command
    return {"command": program, "args": rest, "env": dict(server.environment)}
