"""Every verb there is: the modules of `verbs/declared/`. A new one is a new module there, and nothing else."""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from overlord.domain.conversation.argument import (
    ApprovalArgument,
    JobArgument,
    WordsArgument,
    arguments_of,
    read_arguments,
)
from overlord.domain.decision import ApprovalRef
from overlord.domain.interface import Interface
from overlord.domain.text.reference import JobRef
from overlord.verbs import declared
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


def names() -> tuple[str, ...]:
    """What verbs are called, without loading them."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(declared.__path__)))


def module_of(name: str) -> str:
    """Where it is declared."""
    return f"{declared.__name__}.{name.replace('-', '_')}"


def verbs() -> Mapping[str, Verb]:
    """All of them by their names, in the order they are listed."""
    return dict(sorted(((name, find(name)) for name in names()), key=lambda item: item[1].position))


@cache
def find(name: str) -> Verb:
    """One of them. Raises KeyError for a name that none has."""
    if name not in names():
        raise KeyError(name)
    found = importlib.import_module(module_of(name)).VERB
    assert isinstance(found, Verb), f"{name} declares no VERB"
    return found


def offered(interface: Interface) -> Mapping[str, Verb]:
    """Those that an interface has."""
    return {name: verb for name, verb in verbs().items() if not verb.gap(interface)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A verb with its arguments, as somebody gave them."""

    name: str
    arguments: object

    @property
    def verb(self) -> Verb:
        return find(self.name)

    @property
    def right(self) -> Right:
        """What whoever gives it must at least be."""
        return self.verb.right

    def about(self, context: Context) -> tuple[str, str]:
        """The title of the job or decision it is about, and what an answer to that is bound to. Raises NotFound, Refused."""
        for field, kind in arguments_of(self.verb.arguments):
            if isinstance(kind, JobArgument):
                job = context.job(getattr(self.arguments, field))
                return f"{job.issue_ref}: {job.issue.title}", ""
            if isinstance(kind, ApprovalArgument):
                decision = context.decision(getattr(self.arguments, field))
                return decision.title, decision.digest
        return "", ""

    def space(self, context: Context) -> str:
        """Whose approvers may give it: a repository, or nothing for everything. Raises NotFound, Refused."""
        return self.verb.space(context, self.arguments)

    def act(self, context: Context) -> Done:
        """Do it, for somebody who may. Raises NotFound, Refused."""
        return self.verb.act(context, self.arguments)


def command_of(name: str, words: str, interface: Interface) -> Command:
    """The command that a verb's name and the words after it stand for. Raises CommandError."""
    verb = find(name)
    return Command(name=name, arguments=read_arguments(verb.arguments, words, verb.typed(name, interface)))


def command_about(name: str, about: JobRef | ApprovalRef, words: str = "") -> Command:
    """The command of a button: its verb, about what the button's card shows, with the words of its form."""
    values = dict[str, object]()
    for field, kind in arguments_of(find(name).arguments):
        if isinstance(kind, JobArgument | ApprovalArgument):
            values[field] = about
        elif isinstance(kind, WordsArgument):
            values[field] = words
    return Command(name=name, arguments=find(name).arguments(**values))


def help_of(name: str) -> str:
    """What a verb does, as its module's docstring has it."""
    find(name)
    return inspect.cleandoc(sys.modules[module_of(name)].__doc__ or "")
