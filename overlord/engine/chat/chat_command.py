"""Commands in a chat: what follows `/overlord`, or a mention. What is not understood is answered with what to type instead, and
never with the words that were not understood."""

from dataclasses import dataclass
from difflib import get_close_matches

from overlord.domain.conversation.argument import MOST_CHARS, CommandError, after, read_arguments, word
from overlord.domain.conversation.typed_text import typed
from overlord.engine.chat.looks import LOOKS, Look
from overlord.verbs import registry
from overlord.verbs.registry import Command
from overlord.verbs.right import Interface


@dataclass(frozen=True, slots=True, kw_only=True)
class LookCommand:
    """A look with its arguments, as somebody typed them."""

    look: Look
    arguments: object


def chat_command(text: str) -> Command | LookCommand:
    """What somebody asks for: the text after `/overlord`, or a mention without the name. Raises CommandError."""
    if len(text) > MOST_CHARS:
        raise CommandError(f"That is too long: {MOST_CHARS:,} characters are the most.", "help")
    command_text = typed(text)
    name = word(command_text, 0).casefold().removeprefix("/") or "help"
    rest = after(command_text, 1)
    if look := LOOKS.get(name):
        words = "" if look.ignores_words else rest
        return LookCommand(look=look, arguments=read_arguments(look.arguments, words, look.typed(name)))
    offered = registry.offered(Interface.CHAT)
    if name in offered:
        return registry.command_of(name, rest, Interface.CHAT)
    if near := get_close_matches(name[:40], [*offered, *LOOKS], n=1, cutoff=0.7):
        known = offered[near[0]].usage if near[0] in offered else LOOKS[near[0]].usage
        raise CommandError("I do not know that one. Did you mean this?", known)
    raise CommandError("I do not know that one.", "help")
