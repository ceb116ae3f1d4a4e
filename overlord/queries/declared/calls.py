"""What other agents called over MCP, newest first: each discipline, what it came to, and whether that was verified."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.budgets.budget import usd_text
from overlord.domain.chat.lines import listed, since, words
from overlord.domain.conversation.look_argument import FilterArgument
from overlord.domain.disciplines.call import Call, CallState
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold, Span
from overlord.domain.view.view import Action, Actions, Table, View
from overlord.queries.look import Look
from overlord.queries.query import Cell, Query
from overlord.store.disciplines import calls

MOST = 50
_COLUMNS = ("call", "discipline", "state", "what", "repository", "by", "cost", "age")
_ABOUT = 60
NONE = "No agent has called a discipline yet: docs/mcp.md says how one does."


@dataclass(frozen=True, slots=True, kw_only=True)
class OfCalls:
    """Which of them."""

    space: Annotated[str, FilterArgument(name="space", help="Only this repository, as owner/name.")] = ""
    state: Annotated[
        str,
        FilterArgument(name="state", help="Only those in this state.", choices=tuple(CallState)),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLine:
    """A call in a list."""

    call: str
    """Its handle: `c7`."""
    discipline: str
    space: str
    session: str
    """The caller's `session_id`."""
    actor: str
    about: str
    state: CallState
    stage: str
    """What it is at, while it is open."""
    status: str
    """What the worker says of its work; empty before it has ended."""
    verified: bool
    job: int | None
    nusd: int | None
    created_at: datetime
    ended_at: datetime | None


def about(call: Call) -> str:
    """What a call is about: the first of its arguments that says it."""
    wanted = ("spec", "requirements", "error", "test_path", "session_id")
    return next((text for name in wanted if (text := call.text(name).strip())), ", ".join(call.files))


def line_of(call: Call) -> CallLine:
    """A call as a list has it."""
    result = call.result
    return CallLine(
        call=call.ref,
        discipline=call.discipline,
        space=call.space,
        session=call.session_key,
        actor=call.actor,
        about=about(call),
        state=call.state,
        stage=call.stage,
        status=str(result.status) if result is not None else "",
        verified=result is not None and result.verified,
        job=call.job_id,
        nusd=result.nusd if result is not None else None,
        created_at=call.created_at,
        ended_at=call.ended_at,
    )


def state_words(line: CallLine) -> str:
    """How a call stands, in a few words."""
    if line.state is CallState.ENDED:
        return f"{line.status}, {'verified' if line.verified else 'not verified'}"
    return words(line.stage) if line.state is CallState.OPEN and line.stage else str(line.state)


def _read(look: Look, arguments: OfCalls) -> tuple[CallLine, ...]:
    space = look.space(arguments.space) if arguments.space else ""
    found = calls.latest(look.connection, space, limit=MOST)
    if arguments.state == CallState.OPEN:
        found = list(reversed(calls.open_calls(look.connection, space)))
    lines = (line_of(call) for call in found if look.sees(call.space))
    return tuple(line for line in lines if arguments.state in {"", line.state})


def _view(look: Look, found: tuple[CallLine, ...]) -> View:
    open_ones = sum(line.state is CallState.OPEN for line in found)
    table = listed(Table(_COLUMNS, tuple(_row(line, look.at) for line in found)), NONE)
    shown = tuple(Action("See one, whole", CommandRef("call", (line.call,))) for line in found[:1])
    summary = f"{count(len(found), 'call')}, {open_ones} open"
    return View(summary=summary, parts=(table, Actions(shown)), has_title=True)


def _row(line: CallLine, at: datetime) -> tuple[tuple[Span, ...], ...]:
    return (
        (Bold(line.call),),
        (line.discipline,),
        (state_words(line),),
        (words(line.about, _ABOUT),),
        (line.space,),
        (words(line.actor),),
        (usd_text(line.nusd),) if line.nusd is not None else (),
        (since(line.created_at, at),),
    )


def _csv(found: tuple[CallLine, ...]) -> Iterator[Sequence[Cell]]:
    names = tuple(CallLine.__dataclass_fields__)
    yield names
    for item in found:
        values = (getattr(item, name) for name in names)
        yield tuple(value.isoformat() if isinstance(value, datetime) else value for value in values)


QUERY = Query(
    read=_read,
    view=_view,
    csv=_csv,
    arguments=OfCalls,
    usage="calls",
    means="what other agents called over MCP, and what was verified of it",
    position=65,
    terminal="call list",
    finds_local=True,
)
