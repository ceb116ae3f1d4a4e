"""Every command in the documents is one that the program takes, with the options it is shown with."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from overlord.entrypoints.cli.command_list import app
from tests.architecture.test_imports import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "SECURITY.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "deploy").glob("*.md")),
]
SHOWN = re.compile(
    r"(?:(?<=`)|(?<=^)|(?<=\$ )|(?<=&& ))(?:\.venv/bin/)?overlord (?P<words>[a-z-][^`\n]*)", re.MULTILINE
)


def commands(page: Path) -> Iterator[str]:
    """Each command of a page, without what a shell makes of what follows it. Of chat commands, which begin with a slash, none."""
    for found in SHOWN.finditer(page.read_text(encoding="utf-8")):
        yield re.split(r" (?:#|\||&&|>|<|;|and |\()|[…]", found["words"])[0].strip()


def wrong_in(words: str) -> str:
    """What the program would not take of a command; nothing where it takes it."""
    try:
        typed = shlex.split(words.replace("'", '"') if words.count("'") % 2 else words)
    except ValueError:
        typed = words.split()
    found: Any = get_command(app)
    while typed and hasattr(found, "commands") and not typed[0].startswith("-"):
        names = [name for name in typed.pop(0).split("|") if name]
        if any(name not in found.commands for name in names):
            return f"no command {'|'.join(names)}"
        _, found, _ = found.resolve_command(
            found.make_context("overlord", [], resilient_parsing=True), [names[0]]
        )
    known = {name for option in found.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
    options = re.findall(r"(?<![\w-])--[a-z][\w-]*", " ".join(typed))
    return next((f"no option {option}" for option in options if option not in known), "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_the_documents_are_taken(page: Path) -> None:
    found = {words: wrong for words in commands(page) if (wrong := wrong_in(words))}
    assert found == {}


def test_a_command_that_is_none_is_seen() -> None:
    assert wrong_in("job shwo 3") == "no command shwo"
    assert wrong_in("job show 3 --jsn") == "no option --jsn"
    assert wrong_in("space add owner/repo") == ""
