"""Verbs that are given on the page: a form's fields become a command, and whoever sent it may give it or is told why not."""

import sqlite3
from collections.abc import Mapping

import structlog

from overlord.domain.conversation.argument import (
    ApprovalArgument,
    Argument,
    CommandError,
    Typed,
    arguments_of,
)
from overlord.domain.conversation.look_argument import FlagArgument
from overlord.domain.decision import Verb as DecisionVerb
from overlord.domain.interface import Interface
from overlord.entrypoints.web.site import Site
from overlord.entrypoints.web.visitor import Visitor
from overlord.verbs import answering, registry
from overlord.verbs.declared.answer import Answer
from overlord.verbs.registry import Command
from overlord.verbs.right import NotAllowed, Right
from overlord.verbs.verb import Done

log = structlog.get_logger()


def command_in(name: str, form: Mapping[str, str]) -> Command:
    """The command that a form stands for. Raises KeyError for a verb there is none of, CommandError."""
    verb = registry.find(name)
    typed = verb.typed(name, Interface.PAGE)
    values = {
        field: value_of(kind, form.get(field, ""), typed) for field, kind in arguments_of(verb.arguments)
    }
    return Command(name=name, arguments=verb.arguments(**values))


def value_of(kind: Argument, text: str, typed: Typed) -> object:
    """One field, as its kind reads it. Raises CommandError."""
    said = kind.name if isinstance(kind, FlagArgument) and text in {"on", "true", "1"} else text.strip()
    value, rest = kind.read(said, typed)
    if rest:
        raise typed.misread(f"That one takes nothing after {kind.noun}.")
    return value


def answer_in(form: Mapping[str, str]) -> Command:
    """The answer that a form of the inbox stands for. Raises CommandError."""
    typed = registry.find("answer").typed("answer", Interface.PAGE)
    ref, _ = ApprovalArgument().read(form.get("decision", ""), typed)
    try:
        named = DecisionVerb(form.get("verb", ""))
    except ValueError:
        raise CommandError("That is none of its answers.") from None
    return Command(
        name="answer", arguments=Answer(decision=ref, words=form.get("text", "").strip()[:4000], named=named)
    )


async def give(site: Site, visitor: Visitor, command: Command, digest: str = "") -> Done:
    """Have it done by whoever asks. Raises NotFound, Refused, NotAllowed."""
    try:
        space, right = await site.running.parts.database.read(
            lambda c: (command.space(site.context(c)), _right(site, c, command))
        )
        visitor.check_may(right, space)
    except NotAllowed as error:
        log.warning("page_refused", actor=visitor.actor, verb=command.name, reason=str(error))
        raise
    done = await site.running.parts.database.write(
        command.verb.failpoint, lambda c: command.act(site.context(c, visitor.person, digest))
    )
    site.running.parts.notify()
    return done


def _right(site: Site, connection: sqlite3.Connection, command: Command) -> Right:
    """What whoever gives it must at least be; of an answer, what its decision asks for."""
    if not isinstance(command.arguments, Answer):
        return command.right
    context = site.context(connection)
    return answering.right_of(context.decision(command.arguments.decision))
