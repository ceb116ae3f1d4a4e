"""Says before each call of an agent's own tools whether its role allows it: a hook, for agents that run one before a call.

It is a small program of its own, started by the agent. What it needs to know stands in a file that is read anew at each call, so
a scope that was widened meanwhile counts. It is polite and no wall: a program that is allowed may do anything the container lets
it do, and the judge's diff is what counts. A call it cannot read is let through, for the same reason.
"""

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from minion.agents.agent import Permissions

_PATCH = "*** Begin Patch"
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)
_SHELLS = ("Bash", "shell", "exec_command")
_PATCHER = "apply_patch"


def hook_command(permissions_file: Path) -> str:
    """The shell command that asks this program, with the permissions of a file."""
    site = Path(__file__).resolve().parents[2]
    code = "import sys; sys.path.insert(0, sys.argv[1]); from minion.agents.configuration.call_gate import main; main(sys.argv[2])"
    words = (sys.executable, "-I", "-c", code, str(site), str(permissions_file))
    return shlex.join(words)


def to_json(permissions: Permissions) -> str:
    """The file's text."""
    return json.dumps(asdict(permissions))


def refusal(permissions: Mapping[str, Any], call: Mapping[str, Any]) -> str:
    """Why a call is not allowed, as the model is told it; empty where it is."""
    name, given = call.get("tool_name"), call.get("tool_input")
    texts = [text for text in given.values() if isinstance(text, str)] if isinstance(given, dict) else []
    text = given if isinstance(given, str) else "\n".join(texts)
    found = ""
    if name in (*_SHELLS, _PATCHER) and _PATCH in text:
        found = _refused_patch(permissions, text, str(call.get("cwd") or os.curdir))
    return found or (_refused_line(permissions, text) if name in _SHELLS else "")


def main(permissions_file: str) -> None:
    """Read a call from standard input, and answer where it is refused."""
    try:
        permissions = json.loads(Path(permissions_file).read_text(encoding="utf-8"))
        call = json.loads(sys.stdin.buffer.read())
    except (OSError, ValueError, RecursionError):
        return
    if isinstance(call, dict) and isinstance(permissions, dict) and (why := refusal(permissions, call)):
        answer = {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": why,
        }
        print(json.dumps({"hookSpecificOutput": answer}))


def _refused_line(permissions: Mapping[str, Any], line: str) -> str:
    commands = permissions.get("commands")
    if not isinstance(commands, list):
        return ""
    from minion.errors import ToolError
    from minion.tools.command_list import check_commands

    try:
        check_commands(line, [*map(str, commands), _PATCHER])
    except ToolError as error:
        return str(error).replace("run_command may", "The shell may")
    return ""


def _refused_patch(permissions: Mapping[str, Any], patch: str, directory: str) -> str:
    if permissions.get("is_reader"):
        return "This session reads and changes no file. Nothing was written."
    for path in _paths(patch, directory):
        if _matches(permissions.get("closed"), path):
            return f"{path} is closed to this session. Nothing was written; leave it as it is."
        if not _matches(permissions.get("writable"), path):
            or_ask = (
                ", or ask for more with ask_question and say why" if permissions.get("can_ask", True) else ""
            )
            return (
                f"{path} is outside what this session may write: {', '.join(permissions.get('writable') or ())}. "
                f"Nothing was written. Work inside it{or_ask}."
            )
    return ""


def _paths(patch: str, directory: str) -> Iterator[str]:
    """The files a patch names, from the directory it is applied in."""
    for name in _PATCHED.findall(patch):
        yield os.path.relpath(Path(directory, name), directory)


def _matches(patterns: object, path: str) -> bool:
    from minion.protocol import ScopeError, path_matcher

    try:
        return isinstance(patterns, list) and path_matcher(tuple(map(str, patterns)))(path)
    except ScopeError:
        return False
