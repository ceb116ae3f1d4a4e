"""Commands that are derived from verbs: their arguments, options and help are those of the declaration."""

import inspect
import json
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import typer

from minion.protocol import Scope, ScopeError
from overlord.domain.access import AccessRight, is_token_name
from overlord.domain.contracts.contract import Contract
from overlord.domain.conversation.access_argument import (
    AccessRightArgument,
    DaysArgument,
    SpacesArgument,
    TokenNameArgument,
)
from overlord.domain.conversation.argument import (
    ApprovalArgument,
    Argument,
    InitiativeArgument,
    IssueArgument,
    JobArgument,
    PatternsArgument,
    SkillArgument,
    SkillRef,
    SpaceArgument,
    TaskArgument,
    WordsArgument,
    arguments_of,
)
from overlord.domain.conversation.look_argument import FlagArgument
from overlord.domain.decision import ApprovalKind
from overlord.domain.decision import Verb as DecisionVerb
from overlord.domain.interface import Interface
from overlord.domain.person import Person
from overlord.domain.text.reference import IssueRef, issue_in
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.typed_argument import (
    KEYWORD,
    approval,
    argument,
    of_portfolio,
    option,
    run_as,
    shown_approval,
    skill,
)
from overlord.entrypoints.invocation import chosen_address
from overlord.entrypoints.terminal.show import line, person, show_text
from overlord.errors import Refused
from overlord.failpoints import Failpoint
from overlord.verbs import registry
from overlord.verbs.declared.answer import Answer
from overlord.verbs.outcome import outcome
from overlord.verbs.registry import Command
from overlord.verbs.typed_words import typed_words
from overlord.verbs.verb import Context, Done

_LOOKS_EVERY_S = 0.2
STDIN = "-"
"""In the place of words: they are read from standard input, line by line as they are."""


def verb_command(
    name: str, *, only: ApprovalKind | None = None, help: str | None = ""
) -> Callable[..., None]:
    """The command of a verb, for Typer. `only` is the one kind that a group of commands is about, `help` what it says of that."""
    verb = registry.find(name)

    def run(**values: Any) -> None:
        arguments = {field: _value(kind, field, values, only) for field, kind in arguments_of(verb.arguments)}
        give(
            Command(name=name, arguments=_as_named(verb.arguments(**arguments), values.get("words", []))),
            digest=values.get("digest", ""),
            wait_s=values.get("wait", 0.0),
        )

    parameters = [
        parameter
        for field, kind in arguments_of(verb.arguments)
        for parameter in _parameters(field, kind, only)
    ]
    if any(isinstance(kind, ApprovalArgument) for _, kind in arguments_of(verb.arguments)):
        parameters.append(
            option("digest", str, "", help="The digest you were shown; refuses if it has changed.")
        )
    if verb.wait_s:
        parameters.append(option("wait", float, verb.wait_s, min=0, help="Seconds to wait for the outcome."))
    if verb.has_runs:
        parameters.append(inspect.Parameter("_repo", KEYWORD, default="", annotation=state.Repo))
    return run_as(run, name, help or registry.help_of(name), parameters)


def _parameters(field: str, kind: Argument, only: ApprovalKind | None) -> list[inspect.Parameter]:
    """What is typed for one argument."""
    if isinstance(kind, WordsArgument) and kind.option:
        return [option(kind.option, str, "", help=kind.help)]
    if isinstance(kind, SkillArgument):
        return skill(field, kind)
    if isinstance(kind, FlagArgument):
        return [option(kind.name, bool, False, help=kind.help)]
    if isinstance(kind, AccessRightArgument):
        return [option(field, AccessRight, kind.default, help=kind.help)]
    if isinstance(kind, SpacesArgument):
        return [option("space", list[str] | None, None, help=kind.help, metavar="SPACE")]
    if isinstance(kind, DaysArgument):
        return [option(field, int | None, None, min=1, max=kind.most, help=kind.help)]
    if isinstance(kind, PatternsArgument) or (isinstance(kind, WordsArgument) and kind.missing):
        return [argument(field, list[str], help=kind.help)]
    if isinstance(kind, WordsArgument | SpaceArgument):
        return [argument(field, str, "", help=kind.help)]
    if isinstance(kind, ApprovalArgument):
        return [argument(field, str, **shown_approval(only))]
    return [argument(field, str, help=kind.help)]


def _value(kind: Argument, field: str, values: Mapping[str, Any], only: ApprovalKind | None) -> object:
    """What was typed, as the verb's record has it. Raises typer.BadParameter, which is wrong usage."""
    if isinstance(kind, FlagArgument):
        return values[kind.name.replace("-", "_")]
    if isinstance(kind, SpacesArgument):
        return tuple(values["space"] or ())
    typed = values[kind.option if isinstance(kind, WordsArgument) and kind.option else field]
    match kind:
        case JobArgument():
            return state.target(typed)
        case IssueArgument():
            return _issue(typed)
        case SpaceArgument():
            return typed or None
        case TokenNameArgument() if not is_token_name(typed):
            raise typer.BadParameter("a token's name is 1 to 40 of a-z, 0-9 and dashes")
        case PatternsArgument():
            return patterns(typed)
        case SkillArgument():
            return SkillRef(name=typed, space=values["space"] or None)
        case ApprovalArgument():
            return approval(kind, typed, only)
        case InitiativeArgument() | TaskArgument():
            return of_portfolio(kind, typed)
        case WordsArgument() if kind.missing:
            return sys.stdin.read().strip() if typed == [STDIN] else " ".join(typed)
        case _:
            return typed


def _issue(word: str) -> IssueRef:
    """Raises typer.BadParameter."""
    found = issue_in(word)
    if found is None:
        raise typer.BadParameter("give an issue as '#42', owner/repo#42 or its address")
    return found


def patterns(words: list[str]) -> tuple[str, ...]:
    """Patterns of a scope as they are typed, each with a plus or without. Raises typer.BadParameter."""
    try:
        return Scope.parse(json.dumps([item.removeprefix("+") for item in words])).patterns
    except ScopeError as error:
        raise typer.BadParameter(str(error)) from None


def _as_named(arguments: object, words: list[str]) -> object:
    """An answer by its name, with one quoted text or none, is that answer and no other; of anything else the words say it."""
    first, *rest = words or [""]
    if isinstance(arguments, Answer) and first in set(DecisionVerb) and (not rest or _is_quoted(rest)):
        return replace(arguments, named=DecisionVerb(first), words="".join(rest))
    return arguments


def _is_quoted(words: list[str]) -> bool:
    return len(words) == 1 and " " in words[0].strip()


def give(command: Command, *, digest: str = "", wait_s: float = 0.0) -> None:
    """Have a verb done by whoever types it, and show what came of it. Raises NotFound, Refused."""
    if chosen_address()[0]:
        from overlord.entrypoints.cli.remote import chosen_remote

        chosen_remote().give(command, digest=digest, wait_s=wait_s)
        return
    verb, by = command.verb, Person.of(person())

    def act(connection: sqlite3.Connection) -> Done:
        context = Context(
            connection=connection,
            current_settings=state.settings,
            contract=_contract,
            interface=Interface.TERMINAL,
            at=datetime.now(UTC),
            actor=by.actor,
            by=by,
            digest=digest or None,
        )
        return command.act(context)

    done = _written(verb.failpoint_of(command.arguments) if verb.failpoint_of else verb.failpoint, act)
    if done.is_refused:
        raise Refused(f"{done.text[:1].lower()}{done.text[1:]}", hint=done.hint)
    if done.text:
        show_text(line(done.worded(typed_words)))
    if done.secret:
        show_text(done.secret)  # on a line of its own, to be copied
    if done.work_request_id is not None or (done.message_id is not None and wait_s):
        show_text(line(_outcome(done, wait_s)))


def _written(point: Failpoint, act: Callable[[sqlite3.Connection], Done]) -> Done:
    return state.write(point, act)


def _contract(space: str) -> Contract:
    raise AssertionError(f"no command of a person's asks for the contract of {space}")


def _outcome(done: Done, wait_s: float) -> str:
    """What became of it, as soon as that is known or the time is over. Raises Refused."""
    if done.work_request_id is not None and not state.is_heard():
        return "It is written down, and taken up when the daemon runs: `overlord serve`."
    until = time.monotonic() + wait_s
    while True:
        with state.reading() as connection:
            now = outcome(connection, done)
        if now is None or now.is_final or not state.is_heard() or time.monotonic() >= until:
            break
        time.sleep(_LOOKS_EVERY_S)
    if now is not None and now.is_refused:
        raise Refused(now.text)
    return now.worded(typed_words) if now is not None else ""
