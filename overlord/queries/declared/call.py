"""One call of a discipline: what was asked, what came of it, whether that was verified and why, and what it rests on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from overlord.command_ref import CommandRef
from overlord.domain.budgets.budget import Cost, cost_text
from overlord.domain.chat.lines import facts, since, words
from overlord.domain.conversation.call_argument import CallArgument
from overlord.domain.disciplines.call import CallResult, CallState
from overlord.domain.text.plain import count, size_text
from overlord.domain.view.span import Bold, Code, Command
from overlord.domain.view.view import (
    Action,
    Actions,
    Bullets,
    Heading,
    Note,
    Output,
    Paragraph,
    Part,
    Quote,
    View,
)
from overlord.queries.declared.calls import CallLine, line_of, state_words
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store import evidence, sessions
from overlord.store.budgets import costs
from overlord.store.disciplines import calls

_MOST_SHOWN = 2_000
"""Characters of an argument or an output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfCall:
    """A call."""

    call: Annotated[str, CallArgument()]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvidence:
    """A file that it rests on."""

    kind: str
    sha256: str
    size: int
    is_removed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSession:
    """A session that worked or checked for it."""

    id: str
    kind: str
    agent: str
    ending: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStory:
    """All that is known of a call."""

    call: CallLine
    arguments: Mapping[str, Any]
    model: str
    """As it was asked for; empty for the repository's."""
    base_sha: str
    result: CallResult | None
    ending: str
    """How it ended without a result; empty for one that has one, and for one that goes on."""
    patch: str
    """The SHA-256 of the patch; empty where nothing was changed."""
    ledger_head: str
    """The hash of the event that says how it ended."""
    sessions: tuple[CallSession, ...]
    evidence: tuple[CallEvidence, ...]
    cost: Cost


def _read(look: Look, arguments: OfCall) -> CallStory:
    call = calls.named(look.connection, arguments.call.strip().casefold())
    job = call.job_id
    ran = sessions.of_job(look.connection, job) if job is not None else []
    kept = evidence.exhibits(look.connection, job) if job is not None else []
    return CallStory(
        call=line_of(call),
        arguments=call.arguments,
        model=call.model,
        base_sha=call.base_sha,
        result=call.result,
        ending=calls.ending_of(look.connection, call),
        patch=call.patch,
        ledger_head=call.ledger_head,
        sessions=tuple(
            CallSession(id=item.id, kind=item.kind, agent=item.agent, ending=item.ending or "")
            for item in ran
        ),
        evidence=tuple(
            CallEvidence(
                kind=item.kind, sha256=item.sha256, size=item.size, is_removed=item.removed_at is not None
            )
            for item in kept
        ),
        cost=costs.of_job(look.connection, job) if job is not None else Cost(tokens=0),
    )


def _view(look: Look, found: CallStory) -> View:
    line = found.call
    text = f"Call {line.call}, {line.discipline} in {line.space}: {state_words(line)}"
    asked = f"asked for by {words(line.actor)} {since(line.created_at, look.at)} ago"
    session = f", in session {words(line.session)}" if line.session else ""
    parts: list[Part] = [Heading(text), Paragraph((f"{asked}{session}",)), *_asked(found)]
    if found.result is not None:
        parts += _result(found, found.result)
    if found.ending:
        parts.append(Paragraph((f"It {words(found.ending, _MOST_SHOWN)}.",)))
    parts += _rests_on(found)
    parts.append(Note(f"{count(len(found.sessions), 'session')} · {cost_text(found.cost)}"))
    return View(summary=text, parts=tuple(parts))


def _asked(found: CallStory) -> Iterator[Part]:
    yield Heading("What was asked")
    short = {name: value for name, value in found.arguments.items() if name != "session_id"}
    rows = tuple((name, words(_shown(value), _MOST_SHOWN)) for name, value in short.items())
    yield facts(*rows, ("model", words(found.model)))


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _result(found: CallStory, result: CallResult) -> Iterator[Part]:
    yield Heading("What came of it")
    yield Paragraph(
        (Bold("Verified" if result.verified else "Not verified"), f": {words(result.why, _MOST_SHOWN)}")
    )
    if result.message:
        yield Paragraph(("The worker says:",))
        yield Quote(words(result.message, _MOST_SHOWN))
    yield facts(
        ("status", str(result.status)),
        ("how the test ended", result.code.replace("_", " ")),
        ("file", words(result.file_path)),
        ("changed", words(", ".join(result.changed), _MOST_SHOWN)),
        ("model", words(result.model_used)),
        ("base tree", (Code(result.base_tree),) if result.base_tree else ""),
        ("head tree", (Code(result.head_tree),) if result.head_tree else ""),
        ("evidence", (Code(f"sha256:{result.evidence}"),) if result.evidence else ""),
        ("ledger head", (Code(found.ledger_head),) if found.ledger_head else ""),
    )
    if result.runner_output:
        yield Output(result.runner_output[-_MOST_SHOWN:])


def _rests_on(found: CallStory) -> Iterator[Part]:
    if found.evidence:
        yield Heading("What it rests on")
        yield Bullets(
            tuple(
                (
                    Code(item.sha256[:16]),
                    f" {item.kind}, {size_text(item.size)}{', removed' if item.is_removed else ''}",
                )
                for item in found.evidence
            )
        )
    if found.call.job is not None and found.sessions:
        yield Paragraph(
            ("What was said in its sessions: ", Command(CommandRef("job transcript", (str(found.call.job),))))
        )
    if found.call.state is CallState.ENDED:
        handle = (found.call.call,)
        yield Actions(
            (
                Action("Check it again, from what is kept", CommandRef("call verify", handle)),
                Action("Hand it to somebody who can check it", CommandRef("call export", handle)),
            )
        )


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfCall,
    usage="call c7",
    means="a call of a discipline: what was asked, what came of it, and why that is verified or not",
    position=66,
    terminal="call show",
    finds_local=True,
)
