"""A command as it is typed in a terminal, in the chat and in a comment. What the chat or a comment does not have is said as whoever
runs Overlord types it."""

import shlex

from overlord.command_ref import CommandRef
from overlord.domain.interface import Interface
from overlord.queries import registry as queries
from overlord.verbs import registry as verbs


def typed_words(ref: CommandRef) -> str:
    """As texts name one: `overlord …`; what prints it says how the program is called here."""
    return f"overlord {after_overlord(ref)}"


def typed_in_chat(ref: CommandRef) -> str:
    """`/overlord …`, where the chat has it."""
    return _slashed(ref, Interface.CHAT)


def typed_in_comment(ref: CommandRef) -> str:
    """`/overlord …`, where comments have it."""
    return _slashed(ref, Interface.COMMENT)


def after_overlord(ref: CommandRef) -> str:
    """What is typed after `overlord`, quoted for a shell."""
    return " ".join((_name(ref.name), *map(shlex.quote, ref.arguments)))


def _slashed(ref: CommandRef, interface: Interface) -> str:
    if ref.name not in {*verbs.offered(interface), *queries.offered(interface)}:
        return typed_words(ref)
    return " ".join(("/overlord", ref.name, *ref.arguments))


def _name(name: str) -> str:
    """What the command line calls a verb or a query; a name that is neither is a command of its own."""
    if name in queries.names():
        return queries.find(name).terminal or name
    if name in verbs.names():
        return verbs.find(name).terminal or name
    return name
