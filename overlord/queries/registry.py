"""Every query there is: the modules of `queries/declared/`. A new one is a new module there, and nothing else."""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from overlord.domain.conversation.argument import Argument, SkillRef, arguments_of, read_arguments
from overlord.domain.conversation.call_argument import CallArgument
from overlord.domain.conversation.look_argument import (
    CostOf,
    FilterArgument,
    RepositoryArgument,
    SpaceOptionArgument,
)
from overlord.domain.decision import ApprovalRef
from overlord.domain.interface import Interface
from overlord.domain.text.reference import InitiativeRef, IssueRef, JobRef, TaskRef
from overlord.domain.view.view import View
from overlord.queries import declared
from overlord.queries.look import Look
from overlord.queries.query import Cell, Query
from overlord.store.disciplines import calls


def names() -> tuple[str, ...]:
    """What queries are called, without loading them."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(declared.__path__)))


def module_of(name: str) -> str:
    """Where it is declared."""
    return f"{declared.__name__}.{name.replace('-', '_')}"


def queries() -> Mapping[str, Query]:
    """All of them by their names, in the order they are listed."""
    return dict(sorted(((name, find(name)) for name in names()), key=lambda item: item[1].position))


@cache
def find(name: str) -> Query:
    """One of them. Raises KeyError for a name that none has."""
    if name not in names():
        raise KeyError(name)
    found = importlib.import_module(module_of(name)).QUERY
    assert isinstance(found, Query), f"{name} declares no QUERY"
    return found


def offered(interface: Interface) -> Mapping[str, Query]:
    """Those that an interface has."""
    return {name: query for name, query in queries().items() if not query.gap(interface)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query with its arguments, as somebody asked it."""

    name: str
    arguments: object

    def value(self, look: Look) -> object:
        """What programs get. Raises NotFound, Refused."""
        query = find(self.name)
        value: object = query.data(query.read(look, self.arguments))
        return value

    def space(self, look: Look) -> str:
        """The repository it is about, as the settings spell it; empty for everything. Raises NotFound, Refused."""
        for field, kind in arguments_of(type(self.arguments)):
            value = getattr(self.arguments, field)
            value = value.job if isinstance(value, CostOf) else value
            match value:
                case JobRef() | IssueRef():
                    return look.newest_job(value).space
                case ApprovalRef():
                    return look.decision_space(look.decision(value))
                case InitiativeRef():
                    return look.initiative(value).space
                case TaskRef():
                    return look.task(value).space
                case str() if isinstance(kind, CallArgument):
                    return calls.named(look.connection, value.strip().casefold()).space
                case SkillRef(space=str() as named):
                    return look.space(named)
                case str() if value and _names_a_space(kind):
                    return look.space(value)
        return ""

    def csv(self, look: Look) -> Iterable[Sequence[Cell]]:
        """Rows for spreadsheets, of a query that has them. Raises NotFound, Refused."""
        query = find(self.name)
        assert query.csv is not None, f"{self.name} has no rows"
        return query.csv(query.read(look, self.arguments))

    def view(self, look: Look) -> View:
        """What people are shown. Raises NotFound, Refused."""
        query = find(self.name)
        return query.view(look, query.read(look, self.arguments))


def _names_a_space(kind: Argument) -> bool:
    is_filter = isinstance(kind, FilterArgument) and kind.name == "space"
    return is_filter or isinstance(kind, RepositoryArgument | SpaceOptionArgument)


def question_of(name: str, words: str, interface: Interface) -> Question:
    """The question that a query's name and the words after it stand for. Raises CommandError."""
    query = find(name)
    return Question(name=name, arguments=read_arguments(query.arguments, words, query.typed(name, interface)))


def help_of(name: str) -> str:
    """What a query shows, as its module's docstring has it."""
    find(name)
    return inspect.cleandoc(sys.modules[module_of(name)].__doc__ or "")
