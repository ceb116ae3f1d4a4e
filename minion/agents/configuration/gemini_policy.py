"""The policy rules that Gemini CLI judges a call by before it runs it, made from a session's permissions.

A rule's pattern is tried on the call's input as JSON, each of its values between two NUL characters. It knows no links; what counts
in the end is the judge's diff.
"""

import json
import re
from collections.abc import Iterable, Sequence

from minion.agents.agent import Permissions

POLICY = ".gemini/policies/session.toml"
"""Where it reads them, below its home."""
_WRITE = ("write_file", "replace")
_READ = ("read_file",)
_SHELL = ("run_shell_command",)
_OFF = ("web_fetch", "google_web_search", "ask_user", "activate_skill", "enter_plan_mode", "exit_plan_mode")
_PATH = '\\x00"file_path":"'


def policy(permissions: Permissions, root: str) -> str:
    """All rules: the highest priority that fits a call decides."""
    rules = [refusals(permissions, root)]
    if not permissions.is_reader:
        writable = _expressions(permissions.writable, root)
        rules += [_rule(_WRITE, "allow", 500, pattern=_PATH + one) for one in writable]
    rules.append(_rule(_WRITE, "deny", 100, why="This session may not change that file."))
    if permissions.commands is not None:
        if permissions.commands:
            from minion.tools.command_list import ALWAYS  # few sessions have a list

            rules.append(_rule(_SHELL, "allow", 500, commands=[*permissions.commands, *ALWAYS]))
        rules.append(_rule(_SHELL, "deny", 100, why="This session may not start that program."))
    return "\n".join(rules)


def refusals(permissions: Permissions, root: str) -> str:
    """The rules for what stays closed whatever is asked."""
    closed = [*permissions.closed, *permissions.secret]
    refused = [r"\.\./", r'[^"]*/\.\./', *_expressions(closed, root)]
    secret = _expressions(permissions.secret, root)
    return "\n".join(
        [
            _rule(_OFF, "deny", 990),
            *(_rule(_WRITE, "deny", 900, pattern=_PATH + one) for one in refused),
            *(_rule(_READ, "deny", 900, pattern=_PATH + one) for one in secret),
        ]
    )


def _rule(
    tools: Sequence[str],
    decision: str,
    priority: int,
    *,
    pattern: str = "",
    commands: Sequence[str] = (),
    why: str = "",
) -> str:
    named = {
        "toolName": tools[0] if len(tools) == 1 else list(tools),
        "argsPattern": pattern,
        "commandPrefix": list(commands),
        "denyMessage": why,
    }
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in named.items() if value]
    return "\n".join(["[[rule]]", *lines, f'decision = "{decision}"', f"priority = {priority}", ""])


def _expressions(patterns: Iterable[str], root: str) -> list[str]:
    """What the rest of a path that one of the patterns means looks like in a call, without the groups that its policies refuse."""
    found: list[str] = []
    for pattern in patterns:
        plain = pattern.strip("/")
        shapes = [plain, plain.removeprefix("**/")] if plain.startswith("**/") else [plain]
        shapes += [shape.replace("/**/", "/") for shape in shapes if "/**/" in shape]
        for shape in dict.fromkeys(shapes):
            body = "".join(map(_piece, re.findall(r"\*+|\?|\[[^]]*\]|.", shape)))
            ends = [""] if shape.endswith("**") else ['"', "/"]
            places = (re.escape(f"{root}/"), "", r"\./")
            found += [place + body + end for place in places for end in ends]
    return found


def _piece(piece: str) -> str:
    if piece.startswith("**"):
        return '[^"]*'
    return {"*": '[^"/]*', "?": '[^"/]'}.get(
        piece, '[^"/]' if piece.startswith("[") and len(piece) > 2 else re.escape(piece)
    )
