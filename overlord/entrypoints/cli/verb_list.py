"""Verbs and queries as lists of commands: read from their source, so that a list or a completion imports none of them."""

import ast
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import typer

from overlord.entrypoints.cli.lazy_group import Loaded
from overlord.queries import declared as declared_queries
from overlord.verbs import declared as declared_verbs

_TERMINAL = "Interface.TERMINAL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A verb or a query as a list of commands has it."""

    verb: str
    """Its name, or that of the query."""
    group: str
    name: str
    help: str
    position: int


def add_verbs(app: typer.Typer, group: str = "") -> None:
    """A loader for each verb of a group; of no group, for those that are commands of their own."""

    def load(name: str) -> Loaded:
        from overlord.entrypoints.cli.verb_command import verb_command

        return verb_command(name)

    _add(app, declared_verbs, group, load)


def add_queries(app: typer.Typer, group: str = "") -> None:
    """A loader for each query of a group; of no group, for those that are commands of their own."""

    def load(name: str) -> Loaded:
        from overlord.entrypoints.cli.query_command import query_command

        return query_command(name)

    _add(app, declared_queries, group, load)


def bind_queries(app: typer.Typer, group: str) -> None:
    """The commands themselves of a group's queries, for a group that is imported whole."""
    from overlord.entrypoints.cli.query_command import query_command

    for item in _listed(declared_queries, group):
        app.command(item.name)(query_command(item.verb))


def _add(app: typer.Typer, package: ModuleType, group: str, load: Callable[[str], Loaded]) -> None:
    for item in _listed(package, group):
        app.command(item.name, help=item.help)(_loader(load, item.verb))


def _loader(load: Callable[[str], Loaded], name: str) -> Callable[[], Loaded]:
    def loader() -> Loaded:
        return load(name)

    return loader


def _listed(package: ModuleType, group: str) -> list[Listed]:
    """Those that the command line has in this group, in order."""
    found = (item for item in _declared(package) if item.group == group)
    return sorted(found, key=lambda item: item.position)


def _declared(package: ModuleType) -> Iterator[Listed]:
    for module in pkgutil.iter_modules(package.__path__):
        tree = ast.parse(Path(module.module_finder.path, f"{module.name}.py").read_text(encoding="utf-8"))  # type: ignore[union-attr]
        call = next(node for node in reversed(tree.body) if isinstance(node, ast.Assign)).value
        assert isinstance(call, ast.Call), f"{module.name} is declared last in its module"
        options = {item.arg: item.value for item in call.keywords}
        if _TERMINAL in ast.unparse(options.get("gaps", ast.Constant(""))):
            continue
        named = module.name.replace("_", "-")
        group, _, name = (_constant(options, "terminal") or named).rpartition(" ")
        help, position = inspect.cleandoc(ast.get_docstring(tree) or ""), options["position"]
        assert isinstance(position, ast.Constant) and isinstance(position.value, int), module.name
        yield Listed(verb=named, group=group, name=name, help=help, position=position.value)


def _constant(options: dict[str | None, ast.expr], name: str) -> str:
    value = options.get(name, ast.Constant(""))
    assert isinstance(value, ast.Constant), f"{name} is said in its place"
    return str(value.value)
