"""What lists say of commands that are not imported yet is what the commands say of themselves."""

from collections.abc import Iterator
from inspect import cleandoc

import typer
from typer.core import TyperGroup
from typer.main import get_command

from overlord.entrypoints.cli.command_list import app


def first_paragraph(text: str | None) -> str:
    return cleandoc(text or "").split("\n\n")[0]


def listed(group: TyperGroup, context: typer.Context, *before: str) -> Iterator[tuple[str, str, str]]:
    """Each command by its whole name, with the help that lists show and the help it has itself."""
    for name, loader in group.commands.items():
        _, command, rest = group.resolve_command(context, [name, "more"])
        assert command is not None and (command.name, rest) == (name, ["more"])
        yield " ".join((*before, name)), first_paragraph(loader.help), first_paragraph(command.help)
        if isinstance(command, TyperGroup):
            yield from listed(command, context, *before, name)


def test_a_list_says_what_a_command_says_itself() -> None:
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    found = list(listed(root, typer.Context(root)))
    assert [(name, shown) for name, shown, _ in found] == [(name, own) for name, _, own in found]
    assert all(shown for _, shown, _ in found)
    names = {name for name, _, _ in found}
    assert {"status", "serve", "job history", "space pause", "skills approve", "config check"} <= names
