"""Every command that is printed runs as it is pasted: it is named where the program can say how it is typed here.

A text that names one has it in backticks, `overlord why 7`, and is printed by what passes texts through `as_pasted`; a command on a
line of its own is asked of `command`. A bare one would be right only where the program is on PATH, and with no other home.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from typer.core import TyperGroup
from typer.main import get_command

from overlord.entrypoints.cli.command_list import app
from tests.architecture.test_imports import ROOT, modules

TYPED = get_command(app)
assert isinstance(TYPED, TyperGroup)
BARE = re.compile(rf"(?<![`/\w-])overlord (?:{'|'.join(TYPED.commands)})\b")
ANY = re.compile(rf"(?<!/)\boverlord (?:{'|'.join(TYPED.commands)})\b")
PRINTERS = {"print", "echo", "BadParameter", "confirm", "prompt"}
ELSEWHERE = {
    "overlord/entrypoints/local/checkout.py": "what git's reflog says of a branch",
    "overlord/domain/chat/draft_card.py": "in the chat, and said to be for the command line",
}
"""Texts that are no hint at a terminal, and why."""


def texts(code: ast.AST) -> Iterator[ast.expr]:
    """Every string that is no docstring and no part of another."""
    inner = {
        id(part) for node in ast.walk(code) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
    }
    described = {id(node.value) for node in ast.walk(code) if isinstance(node, ast.Expr)}
    for node in ast.walk(code):
        is_whole = isinstance(node, ast.JoinedStr) or id(node) not in inner
        if is_whole and id(node) not in described and isinstance(node, ast.Constant | ast.JoinedStr):
            yield node


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def said(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


SAID_THERE = "overlord/domain/chat/"
"""What the chat itself says, in its own commands."""


def test_no_domain_or_store_code_holds_a_command_line() -> None:
    """A command is data there (`command_ref.py`): each interface words it."""
    found = {
        path.relative_to(ROOT).as_posix(): lines
        for layer in ("domain", "store", "verbs", "queries")
        for path in modules(f"overlord/{layer}")
        if (
            lines := [
                text for node in texts(tree(path)) if re.search(r"`/?overlord [a-z]", text := said(node))
            ]
        )
    }
    assert {name: lines for name, lines in found.items() if not name.startswith(SAID_THERE)} == {}


def test_no_text_names_a_command_bare() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): bare
        for path in modules("overlord")
        if (bare := [text for node in texts(tree(path)) if BARE.search(text := said(node))])
    }
    assert {name: bare for name, bare in found.items() if name not in ELSEWHERE} == {}
    assert found.keys() == ELSEWHERE.keys(), "an exception that is needed no more"


def test_what_prints_past_the_seam_names_no_command() -> None:
    """`console.print` and the like print a text as it is."""
    past = [
        ast.unparse(call)
        for path in modules("overlord/entrypoints")
        for call in ast.walk(tree(path))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func).rpartition(".")[2] in PRINTERS
        and any(ANY.search(said(node)) for node in texts(call))
    ]
    assert past == []
