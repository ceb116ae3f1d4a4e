"""A command as data: what somebody may give next, before an interface words it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommandRef:
    """A verb's or a query's name, and its arguments, one a word or more: `CommandRef("answer", ("5", "use the second one"))`.
    A terminal types `overlord answer 5 'use the second one'`, a chat `/overlord answer 5 use the second one`."""

    name: str
    arguments: tuple[str, ...] = ()
