"""Verbs that are given on the page: a form's fields become a command, and whoever sent it may give it or is told why not."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Protocol

import structlog

from overlord.domain.conversation.argument import (
    ApprovalArgument,
    Argument,
    CommandError,
    Typed,
    WordsArgument,
    arguments_of,
)
from overlord.domain.conversation.decision_words import decision_verb
from overlord.domain.conversation.look_argument import (
    FilterArgument,
    FlagArgument,
    NamedArgument,
    SpaceOptionArgument,
)
from overlord.domain.decision import ApprovalRef
from overlord.domain.decision import Verb as DecisionVerb
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.interface import Interface
from overlord.domain.text.reference import JobRef
from overlord.entrypoints.web.site import Site
from overlord.entrypoints.web.visitor import NotSeen, Visitor
from overlord.errors import NotFound, Refused
from overlord.failpoints import Failpoint
from overlord.queries.look import Look
from overlord.settings.assignment import SettingsArgument
from overlord.store import ledger
from overlord.verbs import answering, registry
from overlord.verbs.argument_json import record_of
from overlord.verbs.declared.answer import Answer
from overlord.verbs.outcome import Outcome, outcome
from overlord.verbs.registry import Command
from overlord.verbs.right import NotAllowed, Right
from overlord.verbs.verb import Done

OF_JOBS = frozenset({"stop", "retry", "message"})
"""Verbs that stand on a job's card."""

log = structlog.get_logger()


class Once(Protocol):
    """Keeps a request that is sent twice from being carried out twice, in the transaction that carries it out."""

    def check(self, connection: sqlite3.Connection) -> None:
        """Raises where it was carried out before."""

    def keep(self, connection: sqlite3.Connection, done: Done) -> None:
        """Remember what is answered."""


def command_in(name: str, form: Mapping[str, str]) -> Command:
    """The command that a form stands for. Raises KeyError for a verb there is none of, CommandError."""
    verb = registry.find(name)
    if why := verb.gap(Interface.PAGE):
        raise Refused(f"{name} is not given on the page: {why}")
    typed = verb.typed(name, Interface.PAGE)
    values = {
        field: value_of(kind, form.get(field, ""), typed) for field, kind in arguments_of(verb.arguments)
    }
    return Command(name=name, arguments=verb.arguments(**values))


def command_of_json(name: str, arguments: Mapping[str, object]) -> Command:
    """The command that a program's arguments stand for. Raises KeyError for a verb there is none of, CommandError."""
    verb = registry.find(name)
    typed = verb.typed(name, Interface.API)
    return Command(name=name, arguments=record_of(verb.arguments, arguments, typed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a verb's form."""

    name: str
    label: str
    help: str
    is_flag: bool
    is_long: bool
    """Whether it may have several lines."""
    is_needed: bool
    choices: tuple[str, ...] = ()
    """What it may be; anything where there are none."""
    initial: str = ""
    """What stands there before anybody types."""


@cache
def fields_of(name: str) -> tuple[Field, ...]:
    """What a verb's form asks for."""
    record = registry.find(name).arguments
    defaults = {item.name for item in fields(record) if item.default is not MISSING}
    return tuple(
        Field(
            name=field,
            label=kind.noun.removeprefix("the ").capitalize() if field != "reason" else "Reason",
            help=kind.help,
            is_flag=isinstance(kind, FlagArgument),
            is_long=isinstance(kind, WordsArgument) and bool(kind.missing),
            is_needed=_is_needed(kind) and field not in defaults,
            choices=kind.choices if isinstance(kind, NamedArgument) else (),
        )
        for field, kind in arguments_of(record)
    )


def _is_needed(kind: Argument) -> bool:
    return not isinstance(kind, SettingsArgument | NamedArgument | SpaceOptionArgument)


def value_of(kind: Argument, text: str, typed: Typed) -> object:
    """One field, as its kind reads it. Raises CommandError."""
    said = kind.name if isinstance(kind, FlagArgument) and text in {"on", "true", "1"} else text.strip()
    if said and isinstance(kind, NamedArgument):
        said = f"{kind.name}:{said}" if isinstance(kind, FilterArgument) else f"{kind.name} {said}"
    value, rest = kind.read(said, typed)
    if rest:
        raise typed.misread(f"That one takes nothing after {kind.noun}.")
    return value


def answer_in(form: Mapping[str, str]) -> Command:
    """The answer that a form of the inbox stands for. Raises CommandError."""
    verb, _, suggested = form.get("verb", "").partition(" ")
    try:
        named = DecisionVerb(verb)
    except ValueError:
        raise CommandError("That is none of its answers.") from None
    return Command(
        name="answer",
        arguments=Answer(
            decision=ref_in(form.get("decision", "")),
            words=(suggested or form.get("text", "")).strip()[:4000],
            named=named,
        ),
    )


def about_job(name: str, number: int, words: str) -> Command:
    """What a job's own buttons stand for. Raises NotFound, CommandError."""
    if name not in OF_JOBS:
        raise NotFound("there is no such verb")
    if name == "message" and not words:
        raise CommandError("Say what its Minion is to read.")
    return registry.command_about(name, JobRef(number=number), words)


def plain_answer(look: Look, label: str, *, approves: bool) -> Command:
    """Yes or no to what waits, by its number. Raises NotFound, Refused, CommandError."""
    ref = ref_in(label)
    verb = decision_verb(look.decision(ref), approves=approves)
    return Command(name="answer", arguments=Answer(decision=ref, words="", named=verb))


def ref_in(label: str) -> ApprovalRef:
    """What waits, by its number. Raises CommandError."""
    typed = registry.find("answer").typed("answer", Interface.PAGE)
    ref, _ = ApprovalArgument().read(label, typed)
    assert ref is not None, "a page always names one"
    return ref


async def give(
    site: Site,
    visitor: Visitor,
    command: Command,
    digest: str = "",
    *,
    interface: Interface = Interface.PAGE,
    once: Once | None = None,
) -> Done:
    """Have it done by whoever asks. Raises NotFound, Refused, NotAllowed, and what `once` raises."""
    try:
        space, right = await site.running.parts.database.read(
            lambda c: (command.space(site.context(c)), _right(site, c, command))
        )
        visitor.check_may(right, space)
    except (NotAllowed, NotSeen) as error:
        await _note_refusal(site, visitor, command, str(error))
        raise
    verb = command.verb
    point = verb.failpoint_of(command.arguments) if verb.failpoint_of else verb.failpoint

    def act(connection: sqlite3.Connection) -> Done:
        if once is not None:
            once.check(connection)
        done = command.act(site.context(connection, visitor.person, digest, interface))
        if once is not None:
            once.keep(connection, done)
        return done

    done = await _written(site, point, act)
    site.running.parts.notify()
    return done


async def outcome_of(site: Site, done: Done, *, wait_s: float) -> Outcome | None:
    """What became of it, as soon as that is known or the time is over; None for what was done at once."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(wait_s):
            while True:
                seen = site.running.watchers.count
                found = await site.reader.read(lambda connection: outcome(connection, done))
                if found is None or found.is_final:
                    return found
                await site.running.watchers.wait(seen, timeout_s=None)
    return await site.reader.read(lambda connection: outcome(connection, done))


async def _note_refusal(site: Site, visitor: Visitor, command: Command, reason: str) -> None:
    """Write down that somebody tried; of who tries without end, ten times a minute."""
    log.warning("page_refused", actor=visitor.actor, verb=command.name, reason=reason)
    if site.refusals.wait_s(visitor.actor):
        return
    site.refusals.note(visitor.actor)
    data: dict[str, Json] = {"verb": command.name, "reason": reason}
    event = LedgerEvent(name=EventName.PAGE_REFUSED, at=site.now, actor=visitor.actor, data=data)

    def note(connection: sqlite3.Connection) -> None:
        ledger.append(connection, event)

    await site.running.parts.database.write(Failpoint.REQUEST_CARRIED_OUT, note)


async def _written(site: Site, point: Failpoint, act: Callable[[sqlite3.Connection], Done]) -> Done:
    return await site.running.parts.database.write(point, act)


def _right(site: Site, connection: sqlite3.Connection, command: Command) -> Right:
    """What whoever gives it must at least be; of an answer, what its decision asks for."""
    if not isinstance(command.arguments, Answer):
        return command.right
    context = site.context(connection)
    return answering.right_of(context.decision(command.arguments.decision))
