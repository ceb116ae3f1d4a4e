"""Reading what a session sends: bounded, strict, and never trusted. What does not fit is answered 400 with the reason."""

from typing import TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from minion.protocol import CheckReport, Event, MessagesTaken, NewEscalation, NewTask, ProposedPlan, Report
from overlord.domain.text.problem import first_problem
from overlord.domain.wires.registry import DIALECTS
from overlord.domain.wires.wire import Wire
from overlord.session_api.limits import BodyPart

MAX_REPORT_BYTES = 24 * 1024 * 1024
MAX_EVENT_BYTES = 256 * 1024

Record = TypeVar("Record")


def strict(kind: type[Record]) -> TypeAdapter[Record]:
    """The validator of a record: nothing in it is bent, and nothing is passed over."""
    # A wrapper's configuration reaches the nested records too: unknown fields are refused, types are not bent, and
    # every number is one that can be written down and read again.
    kind.__pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)  # type: ignore[attr-defined]
    return TypeAdapter(kind)


REPORT = strict(Report)
CHECK_REPORT = strict(CheckReport)
EVENT = strict(Event)
MESSAGES_TAKEN = strict(MessagesTaken)
NEW_ESCALATION = strict(NewEscalation)
PROPOSED_PLAN = strict(ProposedPlan)
NEW_TASK = strict(NewTask)


async def read(request: Request, adapter: TypeAdapter[Record], *, limit: int) -> Record:
    """The request's body as a record; raises HTTPException 413 or 400."""
    return record(await read_bytes(request, limit=limit), adapter)


def record(body: str | bytes, adapter: TypeAdapter[Record]) -> Record:
    """A body that was read, as a record; raises HTTPException 400."""
    try:
        return adapter.validate_json(body)
    except ValidationError as error:
        raise HTTPException(400, first_problem(error)) from None


async def read_bytes(request: Request, *, limit: int) -> bytes:
    """The request's body, at most `limit` bytes of it; raises HTTPException 413, or 503 when its session's requests together
    are too large."""
    memory: BodyPart = request.scope["overlord.body"]
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise HTTPException(413, f"the request is larger than {limit} bytes")
        memory.take(len(chunk))
        chunks.append(chunk)
    return b"".join(chunks)


def wire_of(path: str) -> Wire:
    """The wire that a client speaks who asks for this path; chat completions where it tells nothing."""
    return next((wire for start, wire in _WIRES.items() if path.startswith(start)), Wire.CHAT)


_WIRES = {"/v1/messages": Wire.MESSAGES, "/v1/responses": Wire.RESPONSES, "/v1beta/": Wire.GEMINI}


def error_response(status: int, code: str, message: str, path: str = "") -> JSONResponse:
    """An error in the shape that clients expect who asked for this path."""
    return JSONResponse(DIALECTS[wire_of(path)].error(status, code, message), status_code=status)
