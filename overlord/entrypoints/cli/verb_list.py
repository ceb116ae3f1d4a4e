"""The verbs as a list of commands: read from their source, so that a list or a completion imports none of them."""

import ast
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import typer

from overlord.entrypoints.cli.lazy_group import Loaded
from overlord.verbs import declared

_TERMINAL = "Interface.TERMINAL"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedVerb:
    """A verb as a list of commands has it."""

    name: str
    help: str
    position: int


def add_verbs(app: typer.Typer) -> None:
    """A loader for each verb that is a command of its own."""
    for verb in sorted(listed_verbs(), key=lambda item: item.position):
        app.command(verb.name, help=verb.help)(_loader(verb.name))


def _loader(name: str) -> Callable[[], Loaded]:
    def load() -> Loaded:
        from overlord.entrypoints.cli.verb_command import verb_command

        return verb_command(name)

    return load


def listed_verbs() -> Iterator[ListedVerb]:
    """Those that the command line has, outside groups."""
    for module in pkgutil.iter_modules(declared.__path__):
        tree = ast.parse(Path(module.module_finder.path, f"{module.name}.py").read_text(encoding="utf-8"))  # type: ignore[union-attr]
        call = next(node for node in reversed(tree.body) if isinstance(node, ast.Assign)).value
        assert isinstance(call, ast.Call), f"{module.name} declares its VERB last"
        options = {item.arg: item.value for item in call.keywords}
        if "group" not in options and _TERMINAL not in ast.unparse(options.get("gaps", ast.Constant(""))):
            help, position = inspect.cleandoc(ast.get_docstring(tree) or ""), options["position"]
            assert isinstance(position, ast.Constant) and isinstance(position.value, int), module.name
            yield ListedVerb(name=module.name, help=help, position=position.value)
