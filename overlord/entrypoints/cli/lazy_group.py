"""A group whose commands are imported when they are typed: nobody waits for what another command needs.

A command is listed by a *loader*: a function that has the command's name, the first paragraph of its help as docstring, and a
body that imports the command and returns it. Lists of commands and completion read loaders alone; what parses, explains and runs
a command is built from the command itself. A test compares the two.
"""

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

Loaded = Callable[..., None] | typer.Typer
"""What a loader returns: a command, or a group of them."""


class LazyGroup(TyperGroup):
    """Its commands are loaders, until one is typed."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, loader, rest = super().resolve_command(ctx, args)
        if name is None or loader is None or loader.callback is None:
            return name, loader, rest
        return name, _built(name, loader.callback()), rest


def _built(name: str, loaded: Loaded) -> Any:
    """The command that Typer makes of what was loaded, as if it had been there from the start."""
    holder = typer.Typer(add_completion=False)
    if isinstance(loaded, typer.Typer):
        holder.add_typer(loaded, name=name)
        return get_group(holder).commands[name]
    holder.command(name)(loaded)
    built = get_command(holder)
    built.help = _flowing(built.help or "")
    return built


def _flowing(text: str) -> str:
    """A docstring's paragraphs without its line breaks: they are wrapped for the terminal they are read at."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
