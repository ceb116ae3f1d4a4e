"""A query: what a person can look at, declared once. Terminal, chat, comments and JSON are derived from its declaration.

Each query is one module of `queries/declared/`: the module's name is the query's, its docstring is its help, `QUERY` its declaration.
It reads a value and makes a view of it; it knows no interface, and no renderer knows a query.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from overlord.domain.access import AccessRight
from overlord.domain.conversation.argument import JobArgument, Typed, arguments_of
from overlord.domain.conversation.look_argument import CostArgument
from overlord.domain.interface import Interface
from overlord.domain.view.view import View
from overlord.queries.look import Look

Cell = str | int | float | None
"""One cell of a table for programs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """No arguments."""


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The declaration of a query."""

    read: Callable[[Look, Any], Any]
    """The value, from one look and the arguments. Raises NotFound, Refused."""
    view: Callable[[Look, Any], View]
    """What is shown of it."""
    data: Callable[[Any], Any] = _same
    """The value as programs get it, where that is another one than `read` gives."""
    csv: Callable[[Any], Iterable[Sequence[Cell]]] | None = None
    """Rows for spreadsheets, the names of the columns first; None where it has none."""
    yaml: Callable[[Any], str] | None = None
    """It as a YAML document, from the JSON that programs get; None where it has none."""
    has_graph: bool = False
    """Whether its view has a graph, which a terminal can write as SVG."""
    usage: str
    """How it is typed in the chat, with an example: `why #42`."""
    means: str
    """What it shows, after its usage."""
    position: int
    """Its place in lists, after the verbs."""
    arguments: type = Nothing
    """A frozen record; each field says its kind."""
    aliases: tuple[str, ...] = ()
    """What the chat takes for it too, word for word."""
    terminal: str = ""
    """How the command line calls it, where that is not its name: `decisions list`."""
    right: AccessRight = AccessRight.READ
    """What whoever looks must at least be given: with ADMIN it is for the operator of the machine alone."""
    is_narrowed: bool = False
    """Whether it shows to who may see some repositories what is about these, where none is named; without that it is refused them."""
    survives_bad_settings: bool = False
    """Whether it shows what it can where the settings do not load."""
    needs_state: bool = True
    """Whether there has to be a database."""
    has_runs: bool = True
    """Whether it is about a repository's local runs too (`--repo`)."""
    finds_local: bool = False
    """Whether a command line shows the local runs of the repository it stands in, where there is no daemon's state."""
    gaps: Mapping[Interface, str] = field(default_factory=dict)
    """Interfaces that leave it out, each with why."""

    def gap(self, interface: Interface) -> str:
        """Why an interface leaves it out; empty where it does not."""
        if interface is Interface.COMMENT and not self.is_about_a_job:
            return "a comment shows its own issue alone"
        if interface is Interface.CHAT and self.right is AccessRight.ADMIN:
            return "for whoever operates the machine, which the chat does not show"
        return self.gaps.get(interface, "")

    @property
    def is_about_a_job(self) -> bool:
        """Whether it is about one job: that of the issue a comment stands at."""
        return any(isinstance(kind, JobArgument | CostArgument) for _, kind in arguments_of(self.arguments))

    @property
    def value(self) -> Any:
        """The type of what programs get."""
        function = self.read if self.data is _same else self.data
        return get_type_hints(function)["return"]

    def typed(self, name: str, interface: Interface) -> Typed:
        """How it is typed there."""
        is_comment = interface is Interface.COMMENT
        return Typed(name=name, usage=name if is_comment else self.usage, is_comment=is_comment)
