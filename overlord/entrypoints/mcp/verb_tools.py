"""Verbs over MCP: a tool for each verb that MCP has, with the caller's rights. All comes from the declarations.

Whoever calls is a machine: no person is made of it, and what asks a person is refused where answers are given (`verbs/commands.py`).
"""

import json
import re
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from hashlib import sha256
from typing import Any

import structlog

from overlord.domain.contracts.contract import Contract
from overlord.domain.conversation.argument import ApprovalArgument, CommandError, arguments_of
from overlord.domain.event import EventName, LedgerEvent
from overlord.domain.interface import Interface
from overlord.domain.text.json_text import json_text
from overlord.entrypoints.mcp.backend import Backend
from overlord.entrypoints.mcp.caller import (
    TOLD,
    check_given,
    now,
    refusal,
    sentence,
    settings_of,
    spaces_of,
    visitor_of,
    word,
)
from overlord.entrypoints.mcp.listing import Schema, ToolListing, ToolResult
from overlord.entrypoints.web.visitor import NotSeen
from overlord.errors import Refused
from overlord.failpoints import Failpoint
from overlord.store import api_replies, ledger
from overlord.verbs import answering, registry
from overlord.verbs.argument_json import MisreadArgument, record_of, schema_of
from overlord.verbs.declared.answer import Answer
from overlord.verbs.outcome import outcome
from overlord.verbs.registry import Command
from overlord.verbs.right import OF_TOKEN, NotAllowed, Right
from overlord.verbs.verb import Context, Done, Verb

REQUEST_ID, DIGEST = "request_id", "digest"
MOST_WAIT_S = 20.0
"""How long a call waits at most for what comes of it: clients give up on a tool after a minute."""
MOST_REFUSALS_A_MINUTE = 10
_KEY = re.compile(r"[\x21-\x7e]{1,100}")
_OURS: Schema = {
    REQUEST_ID: {
        "type": "string",
        "pattern": "^[!-~]{1,100}$",
        "description": "A word of your own, another one for each request. The same request with the same word within a day is carried out"
        " once, and answered as the first time.",
    },
    DIGEST: {
        "type": "string",
        "maxLength": 200,
        "description": "The digest of what was shown: where it has changed since, nothing is done.",
    },
}
_ANSWERED = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What was done, in a sentence."},
        "is_under_way": {
            "type": "boolean",
            "description": "Whether what becomes of it is still to be known.",
        },
        "is_replayed": {
            "type": "boolean",
            "description": "Whether it was done by an earlier call with the same request_id.",
        },
    },
    "required": ["text", "is_under_way", "is_replayed"],
}
_MACHINES = (
    "You answer as a machine: questions of sessions, and another try where something failed that is no fault of the work. Gates, approvals,"
    " budgets and whatever else asks a person are answered by a person, in the chat, in a comment, on the page or in a terminal."
)
_NO_DAEMON = (
    "{tool} takes a daemon that manages this repository, and none runs here: start one with `overlord serve`, and this server anew;"
    " without one, the disciplines work on this checkout, and `overlord run` in a terminal works on a requirement"
)

log = structlog.get_logger()


@cache
def names() -> Mapping[str, str]:
    """The verbs by the names of their tools."""
    offered = registry.offered(Interface.MCP).items()
    return {(verb.mcp or name).replace("-", "_"): name for name, verb in offered}


def listed(backend: Backend) -> tuple[ToolListing, ...]:
    """Those that the caller's right is enough for, and that are worked on there."""
    held = OF_TOKEN[backend.right]
    return tuple(
        _listing(tool, name)
        for tool, name in names().items()
        if held >= registry.find(name).right and _is_worked_on(backend, name)
    )


def _is_worked_on(backend: Backend, name: str) -> bool:
    return backend.is_daemon or registry.find(name).has_runs


@cache
def _listing(tool: str, name: str) -> ToolListing:
    verb = registry.find(name)
    described = registry.help_of(name)
    return ToolListing(
        name=tool,
        title=f"{verb.means[:1].upper()}{verb.means[1:]}".partition(";")[0].replace("`", ""),
        description=f"{described}\n\n{_MACHINES}" if _is_about_an_approval(verb) else described,
        input_schema=_schema(verb),
        output_schema=_ANSWERED,
        is_read_only=False,
        is_destructive=verb.is_destructive,
        is_idempotent=not verb.makes_new,
    )


def _schema(verb: Verb) -> Schema:
    made = schema_of(verb.arguments)
    ours = {name: part for name, part in _OURS.items() if name != DIGEST or _is_about_an_approval(verb)}
    return {**made, "properties": {**made["properties"], **ours}}


def _is_about_an_approval(verb: Verb) -> bool:
    return any(isinstance(kind, ApprovalArgument) for _, kind in arguments_of(verb.arguments))


async def called(backend: Backend, tool: str, arguments: Mapping[str, object]) -> ToolResult:
    """Have a verb done. Raises KeyError for a tool that is none of these."""
    name = names()[tool]
    try:
        if not _is_worked_on(backend, name):
            raise Refused(_NO_DAEMON.format(tool=tool))
        check_given(tool, _listing(tool, name).input_schema, arguments)
        given = _read(name, arguments)
        done = await _given(backend, given)
        if isinstance(done, _Replayed):
            return ToolResult(text=str(done.answer["text"]), structured={**done.answer, "is_replayed": True})
        if done.is_refused:
            raise Refused(f"{done.text[:1].lower()}{done.text[1:]}", hint=done.hint)
        return await _told(backend, done, given.command.verb.wait_s)
    except TOLD as error:
        return refusal(backend, error)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What a caller gave."""

    command: Command
    digest: str
    key: str
    """In the table of replies: empty where a call may be carried out again. No key of the HTTP API has a blank."""
    request: str
    """The digest of all of it."""


@dataclass(frozen=True, slots=True)
class _Replayed:
    """It was done before."""

    answer: Mapping[str, Any]


def _read(name: str, arguments: Mapping[str, object]) -> _Given:
    """Raises CommandError."""
    verb = registry.find(name)
    own = {DIGEST, REQUEST_ID} if _is_about_an_approval(verb) else {REQUEST_ID}
    digest, key = arguments.get(DIGEST) or "", arguments.get(REQUEST_ID) or ""
    rest = {field: value for field, value in arguments.items() if field not in own}
    if not isinstance(key, str) or (key and not _KEY.fullmatch(key)):
        raise MisreadArgument(REQUEST_ID, CommandError("It is 1 to 100 letters of ASCII, without blanks."))
    if DIGEST in own and not isinstance(digest, str):
        raise MisreadArgument(DIGEST, CommandError("It is a text."))
    record: object = record_of(verb.arguments, rest, verb.typed(name, Interface.MCP))
    said = json.dumps([name, {**rest, DIGEST: digest}], sort_keys=True, default=str)
    return _Given(
        command=Command(name=name, arguments=record),
        digest=str(digest) if DIGEST in own else "",
        key=f"mcp {key}" if key else "",
        request=sha256(said.encode(errors="replace")).hexdigest(),
    )


async def _given(backend: Backend, given: _Given) -> Done | _Replayed:
    """Carry it out, once. Raises NotFound, Refused, NotAllowed."""
    command, verb = given.command, given.command.verb

    def act(connection: sqlite3.Connection) -> Done | _Replayed:
        context = _context(backend, connection, given.digest)
        visitor_of(backend).check_may(_right(context, command), command.space(context))
        if (known := _known(connection, context, given)) is not None:
            return known
        done = command.act(context)
        if given.key and not done.is_refused:
            text = json_text(_answer(done))
            api_replies.keep(
                connection, context.actor, given.key, request=given.request, text=text, at=context.at
            )
        return done

    point = verb.failpoint_of(command.arguments) if verb.failpoint_of else verb.failpoint
    try:
        return await _written(backend, point, act)
    except (NotAllowed, NotSeen) as error:
        await note_refusal(backend, command.name, str(error))
        raise


async def _written(
    backend: Backend, point: Failpoint, act: Callable[[sqlite3.Connection], Done | _Replayed]
) -> Done | _Replayed:
    return await backend.write(point, act)


def _context(backend: Backend, connection: sqlite3.Connection, digest: str) -> Context:
    """What a verb looks at. Nobody is a person here: `by` is left out."""
    settings = settings_of(backend)
    return Context(
        connection=connection,
        current_settings=lambda: settings,
        contract=_contract,
        interface=Interface.MCP,
        at=now(),
        actor=backend.actor,
        digest=digest or None,
        spaces=spaces_of(backend),
    )


def _contract(space: str) -> Contract:
    raise AssertionError(f"no verb of MCP's asks for the contract of {space}")


def _right(context: Context, command: Command) -> Right:
    """What whoever gives it must at least be; of an answer, what its decision asks for."""
    if not isinstance(command.arguments, Answer):
        return command.right
    return answering.right_of(context.decision(command.arguments.decision))


def _known(connection: sqlite3.Connection, context: Context, given: _Given) -> _Replayed | None:
    """What was answered to the same request before. Raises Refused for a `request_id` that was another one's."""
    found = api_replies.find(connection, context.actor, given.key, at=context.at) if given.key else None
    if found is None:
        return None
    if found.request != given.request:
        raise Refused("this request_id was used for another request; take a new one")
    return _Replayed(json.loads(found.text))


async def note_refusal(backend: Backend, verb: str, reason: str) -> None:
    """Write down that somebody tried; of who tries without end, ten times a minute."""
    log.warning("mcp_refused", actor=backend.actor, verb=verb, reason=reason)
    event = LedgerEvent(
        name=EventName.PAGE_REFUSED,
        at=now(),
        actor=backend.actor,
        data={"verb": verb, "reason": reason, "interface": str(Interface.MCP)},
    )

    def note(connection: sqlite3.Connection) -> None:
        since = event.at - timedelta(minutes=1)
        if ledger.count_lately(connection, event.name, event.actor, since=since) < MOST_REFUSALS_A_MINUTE:
            ledger.append(connection, event)

    await backend.write(Failpoint.REQUEST_CARRIED_OUT, note)


async def _told(backend: Backend, done: Done, wait_s: float) -> ToolResult:
    """What was done, with what became of it so far. Raises Refused."""
    answer, until = _answer(done), time.monotonic() + min(wait_s, MOST_WAIT_S)
    while True:
        found = await backend.read(lambda connection: outcome(connection, done))
        left_s = until - time.monotonic()
        if found is None or found.is_final or left_s <= 0:
            break
        await backend.wait(left_s)
    if found is not None:
        if found.is_refused:
            raise Refused(found.text)
        texts = (answer["text"] if done.text else "", sentence(found.worded(word)))
        answer = {**answer, "text": " ".join(filter(None, texts)), "is_under_way": not found.is_final}
    return ToolResult(text=str(answer["text"]), structured=answer)


def _answer(done: Done) -> dict[str, Any]:
    under_way = (done.work_request_id, done.message_id, done.issue_request_id)
    return {
        "text": sentence(done.worded(word)) if done.text else "It is asked for.",
        "is_under_way": any(number is not None for number in under_way),
        "is_replayed": False,
    }
