"""What can be done about something on its page: verbs by their names, each a button or a form that is derived from its declaration.

A verb that there is none of, or that whoever looks may not give, is left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from overlord.domain.conversation.argument import arguments_of
from overlord.domain.interface import Interface
from overlord.entrypoints.web.giving import Field, fields_of
from overlord.entrypoints.web.visitor import Visitor
from overlord.verbs import registry
from overlord.verbs.verb import Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A verb about one thing."""

    verb: str
    label: str
    id: str
    """Another one for each on a page."""
    hidden: tuple[tuple[str, str], ...]
    """What it is about, by the name of its argument."""
    fields: tuple[Field, ...]
    """What else is asked for; nothing where a press is enough."""
    confirm: str
    is_dangerous: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A verb that a page would offer."""

    verb: str
    label: str
    is_dangerous: bool = False
    initial: Mapping[str, str] | None = None
    """What stands in its fields at first, by their names; `*` for the field that may have several lines."""
    choices: Mapping[str, tuple[str, ...]] | None = None
    """What a field may be, where only some of it is offered here."""
    is_bare: bool = False
    """Whether a press is enough though more could be said."""


def acts(visitor: Visitor, wanted: Iterable[Wanted], *, about: str, space: str) -> tuple[Act, ...]:
    """Those of the verbs that there are and that whoever looks may give. `about`: as it is typed; empty for what is about nothing yet."""
    return tuple(_acts(visitor, wanted, about, space))


def _acts(visitor: Visitor, wanted: Iterable[Wanted], about: str, space: str) -> Iterator[Act]:
    offered = _offered()
    for number, item in enumerate(wanted):
        verb = offered.get(item.verb)
        if verb is None or not visitor.may(verb.right, space):
            continue
        first = _subject(item.verb) if about else ""
        fields = [_begun(field, item) for field in fields_of(item.verb) if field.name != first]
        if item.is_bare:
            fields = [field for field in fields if field.is_needed]
        yield Act(
            verb=item.verb,
            label=item.label,
            id=f"{item.verb}-{about}-{number}".replace(".", "-"),
            hidden=((first, about),) if first else (),
            fields=tuple(fields),
            confirm=verb.confirm,
            is_dangerous=item.is_dangerous,
        )


@cache
def _offered() -> Mapping[str, Verb]:
    return registry.offered(Interface.PAGE)


@cache
def _subject(name: str) -> str:
    """The argument that says what a verb is about: its first."""
    return next((field for field, _ in arguments_of(registry.find(name).arguments)), "")


def _begun(field: Field, item: Wanted) -> Field:
    initial, choices = item.initial or {}, item.choices or {}
    begun = initial.get(field.name) or (initial.get("*", "") if field.is_long else "")
    return replace(field, initial=begun, choices=choices.get(field.name, field.choices))
