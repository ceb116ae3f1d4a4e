"""Calls over MCP: a discipline is requested and waited for; the handle of one that takes long is asked for later."""

import sqlite3
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from overlord.domain.access import AccessRight
from overlord.domain.disciplines.arguments import checked, needed_files
from overlord.domain.disciplines.call import Call, CallResult, CallState
from overlord.domain.disciplines.catalog import KINDS, Argument, ArgumentKind, DisciplineKind, DisciplineName
from overlord.domain.event import Json
from overlord.entrypoints.mcp.backend import Backend
from overlord.entrypoints.mcp.schemas import CALL_ANSWER, CANCELLED, RUNNING
from overlord.entrypoints.mcp.tool import Answer, Asked, Tool
from overlord.errors import NotFound
from overlord.failpoints import Failpoint
from overlord.store.disciplines import calls
from overlord.verbs.calls import cancel_call, request_call

MOST_WAIT_S = 280.0
"""The longest that one request waits, whatever it asks for: Codex gives a call 300 seconds."""
MOST_PATCH_CHARS = 1_000_000
READ_ONLY = frozenset({DisciplineName.REVIEW, DisciplineName.DEBUG})
"""Of those that a model works by, what leaves nothing behind but its result."""
CALL = Argument(name="call", meaning="The handle of the call, as `c7`.", is_required=True)


def discipline_tools() -> tuple[Tool, ...]:
    """The eight in which a model works."""
    return tuple(
        Tool(
            name=kind.name,
            title=kind.title,
            meaning=kind.meaning,
            arguments=kind.arguments,
            output=CALL_ANSWER,
            act=partial(_discipline, kind),
            right=AccessRight.ACT,
            is_read_only=kind.name in READ_ONLY,
        )
        for kind in KINDS.values()
    )


def call_tools() -> tuple[Tool, ...]:
    """Those that take the handle of a call."""
    return (
        Tool(
            name="wait",
            title="Wait for a call",
            meaning="Wait for the result of a call that runs; answers with the handle again where it takes longer still.",
            arguments=(
                CALL,
                Argument(
                    name="timeout_s",
                    meaning=f"How long to wait at most, in seconds; at most {MOST_WAIT_S:.0f}. Left out: as long as a call is waited for.",
                    kind=ArgumentKind.NUMBER,
                ),
            ),
            output=CALL_ANSWER,
            act=_wait,
            is_idempotent=True,
        ),
        Tool(
            name="cancel",
            title="Cancel a call",
            meaning="End a call without a result. Of one that has ended nothing changes.",
            arguments=(CALL,),
            output=CALL_ANSWER,
            act=_cancel,
            right=AccessRight.ACT,
            is_idempotent=True,
        ),
        Tool(
            name="call_status",
            title="Look at a call",
            meaning="What a call is at, or its result once it has ended. Does not wait.",
            arguments=(CALL,),
            output=CALL_ANSWER,
            act=_status,
            is_idempotent=True,
        ),
    )


async def _discipline(kind: DisciplineKind, asked: Asked) -> Answer:
    backend = asked.backend
    root = asked.text("project_root")
    needed = needed_files(kind.name, checked(kind, asked.arguments))
    ground = await (backend.ground(root) if root else backend.ground_of_session(asked.text("session_id")))
    await backend.check_files(ground, needed)

    def request(connection: sqlite3.Connection) -> Call:
        return request_call(
            connection,
            kind.name,
            asked.arguments,
            ground,
            settings=backend.settings,
            actor=backend.actor,
            at=datetime.now(UTC),
        )

    call = await asked.begin(partial(backend.write, Failpoint.CALL_REQUESTED, request))
    return await _answer(backend, await _followed(asked, call.ref, backend.settings.disciplines.wait_s))


async def _wait(asked: Asked) -> Answer:
    wanted = asked.arguments.get("timeout_s")
    usual = asked.backend.settings.disciplines.wait_s
    timeout_s = max(0.0, float(min(wanted, MOST_WAIT_S))) if isinstance(wanted, int | float) else usual
    return await _answer(asked.backend, await _followed(asked, asked.text("call"), timeout_s))


async def _status(asked: Asked) -> Answer:
    return await _answer(asked.backend, await _seen(asked.backend, asked.text("call")))


async def _cancel(asked: Asked) -> Answer:
    backend = asked.backend
    call = await _seen(backend, asked.text("call"))
    await cancelled(backend, call.ref)
    return await _answer(backend, await _seen(backend, call.ref))


async def cancelled(backend: Backend, ref: str) -> None:
    """Have a call end without a result, as whoever asked for it says."""
    at = datetime.now(UTC)
    await backend.write(Failpoint.CALL_CANCELLED, lambda c: cancel_call(c, ref, actor=backend.actor, at=at))


async def _seen(backend: Backend, ref: str) -> Call:
    """The call of a handle. Raises NotFound, also for one in a repository that the caller may not see."""

    def read(connection: sqlite3.Connection) -> Call:
        found = calls.named(connection, ref)
        return replace(found, stage=calls.stage_of(connection, found))

    call = await backend.read(read)
    if not backend.reaches(call.space):
        raise NotFound(f"there is no call {call.ref}")
    return call


async def _followed(asked: Asked, ref: str, timeout_s: float) -> Call:
    """A call once it has ended, or the time is up; each change of what it is at is told."""
    until, told = time.monotonic() + timeout_s, ""
    while True:
        call = await _seen(asked.backend, ref)
        if call.state is not CallState.OPEN:
            return call
        if call.stage and call.stage != told:
            told = call.stage
            await asked.progress(f"{call.ref}: {told}")
        left_s = until - time.monotonic()
        if left_s <= 0:
            return call
        await asked.backend.wait(left_s)


async def _answer(backend: Backend, call: Call) -> Answer:
    about: dict[str, Json] = {"call": call.ref, "phase": call.kind.phase, "skill": call.kind.skill}
    if call.state is CallState.OPEN:
        words = f"{call.ref} runs: {call.stage}. Call the tool `wait` with call={call.ref} for its result."
        return Answer(data={**about, "status": RUNNING, "stage": call.stage, "message": words})
    if call.result is None:
        ending = await backend.read(lambda c: calls.ending_of(c, call))
        words = f"{call.ref} {ending}."
        return Answer(data={**about, "status": CANCELLED, "message": words})
    return Answer(data={**about, **await _result(backend, call, call.result)})


async def _result(backend: Backend, call: Call, result: CallResult) -> dict[str, Json]:
    delivered = await backend.deliver(call, apply=call.arguments.get("apply") is not False)
    patch, why_not = delivered.patch, delivered.why_not
    if len(patch) > MOST_PATCH_CHARS:
        said = f"The patch has {len(patch):,} characters, which is too long to be sent; it is the evidence {call.patch}"
        patch, why_not = "", f"{why_not} {said}.".strip() if not delivered.is_applied else ""
    return {
        "status": result.status,
        "phase": result.phase,
        "skill": result.skill,
        "file_path": result.file_path,
        "runner_output": result.runner_output,
        "verified": result.verified,
        "model_used": result.model_used,
        "message": result.message,
        "why": result.why,
        "code": result.code,
        "evidence": result.evidence,
        "ledger_head": call.ledger_head,
        "changed": list(result.changed),
        "patch": patch,
        "applied": delivered.is_applied,
        "not_applied_because": why_not,
        "left_out": list(delivered.left_out),
    }
