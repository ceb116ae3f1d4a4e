"""Commands as data: what somebody may give next, before an interface words it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommandRef:
    """A verb's or a query's name, and its arguments, one a word or more: `CommandRef("answer", ("5", "use the second one"))`.
    A terminal types `overlord answer 5 'use the second one'`, a chat `/overlord answer 5 use the second one`."""

    name: str
    arguments: tuple[str, ...] = ()


Word = Callable[[CommandRef], str]
"""How an interface words a command."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What can be done about something: words, and commands among them. It goes on where a sentence stands, without its full stop."""

    parts: tuple[str | CommandRef, ...]

    def worded(self, word: Word) -> str:
        """As an interface says it, with its commands between backticks."""
        return "".join(part if isinstance(part, str) else f"`{word(part)}`" for part in self.parts)

    @property
    def commands(self) -> tuple[CommandRef, ...]:
        """Those in it, in order."""
        return tuple(part for part in self.parts if isinstance(part, CommandRef))


def hint(*parts: str | CommandRef) -> Hint:
    """What can be done: `hint(CommandRef("decisions"), " shows those that wait")`."""
    return Hint(parts)


def with_hint(text: str, given: Hint | None, word: Word) -> str:
    """A sentence with what can be done about it."""
    return f"{text.rstrip('.')}; {given.worded(word)}" if given is not None else text
