"""Commands in a chat: what follows `/overlord`, or a mention. What is not understood is answered with what to type instead, and
never with the words that were not understood."""

from dataclasses import dataclass
from difflib import get_close_matches

from overlord.domain.chat.answer import Usage
from overlord.domain.conversation.argument import MOST_CHARS, CommandError, after, word
from overlord.domain.conversation.typed_text import typed
from overlord.domain.interface import Interface
from overlord.queries import registry as queries
from overlord.queries.registry import Question
from overlord.verbs import registry as verbs
from overlord.verbs.registry import Command

HELP = "help"


@dataclass(frozen=True, slots=True)
class Help:
    """Somebody asks what can be typed."""


def chat_command(text: str) -> Command | Question | Help:
    """What somebody asks for: the text after `/overlord`, or a mention without the name. Raises CommandError."""
    if len(text) > MOST_CHARS:
        raise CommandError(f"That is too long: {MOST_CHARS:,} characters are the most.", HELP)
    command_text = typed(text)
    name = word(command_text, 0).casefold().removeprefix("/") or HELP
    rest, offered = after(command_text, 1), queries.offered(Interface.CHAT)
    if name == HELP:
        return Help()
    said = " ".join((name, *rest.split())).casefold()
    name = next((known for known, query in offered.items() if said in query.aliases), name)
    if name in offered:
        return queries.question_of(name, "" if said in offered[name].aliases else rest, Interface.CHAT)
    if name in verbs.offered(Interface.CHAT):
        return verbs.command_of(name, rest, Interface.CHAT)
    known = {item.form.split()[0]: item.form for item in usages()}
    if near := get_close_matches(name[:40], known, n=1, cutoff=0.7):
        raise CommandError("I do not know that one. Did you mean this?", known[near[0]])
    raise CommandError("I do not know that one.", HELP)


def usages() -> list[Usage]:
    """Everything that can be typed in the chat, as it is listed."""
    acts = [Usage(form=item.usage, means=item.means) for item in verbs.offered(Interface.CHAT).values()]
    looks = [Usage(form=item.usage, means=item.means) for item in queries.offered(Interface.CHAT).values()]
    return [*acts, *looks, Usage(form=HELP, means="this list")]
