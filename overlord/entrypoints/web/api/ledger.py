"""The ledger: its events as a list, and as a stream that goes on where it was cut off."""

import json
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import StreamingResponse

from overlord.domain.event_description import describe_event
from overlord.domain.text.json_text import json_text
from overlord.entrypoints.web.api.cursor import after, cursor
from overlord.entrypoints.web.api.endpoint import Asked, Endpoint, Parameter
from overlord.entrypoints.web.api.jobs import CURSOR
from overlord.entrypoints.web.api.problem import Problem
from overlord.entrypoints.web.live import RETRY_MS
from overlord.store import ledger
from overlord.store.ledger import Entry

A_PAGE, MOST_A_PAGE, AT_ONCE = 100, 1000, 200
MOST_DIGITS = 15
LAST_SEEN = "last-event-id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A fact."""

    seq: int
    """Its number: the id of the stream's event."""
    at: str
    job: int | None
    space: str
    """The repository of its job; empty for what is about no job."""
    name: str
    actor: str
    data: Mapping[str, Any]
    sentence: str
    """What happened, for a person; empty for what is of no interest to them."""
    previous: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """A page of the ledger, the oldest first."""

    items: list[Event]
    next: str
    """The cursor of what follows, also of what is still to happen."""
    is_last: bool
    """Whether there is nothing more now."""


def ledger_endpoints() -> Iterator[Endpoint]:
    """Both."""
    job = Parameter(name="job", schema={"type": "integer", "minimum": 1, "description": "Only of this job."})
    limit = {"type": "integer", "minimum": 1, "maximum": MOST_A_PAGE, "default": A_PAGE}
    yield Endpoint(
        path="/ledger",
        answer=_list,
        summary="Every fact, in order.",
        tag="ledger",
        returns=Events,
        parameters=(job, CURSOR, Parameter(name="limit", schema=limit)),
    )
    yield Endpoint(
        path="/events",
        answer=_stream,
        summary="Facts as they happen, as server-sent events: each has its number as id, and `Event` as JSON in its data.",
        tag="ledger",
        media_type="text/event-stream",
        parameters=(
            job,
            Parameter(
                name="after",
                schema={
                    "type": "integer",
                    "minimum": 0,
                    "description": "The number of the last fact that was seen; what follows is sent at once. Without it and without "
                    "`Last-Event-ID` only what is still to happen is sent.",
                },
            ),
            Parameter(
                name="Last-Event-ID",
                schema={"type": "string", "description": "The same, as browsers send it."},
                where="header",
            ),
        ),
    )


async def _list(asked: Asked) -> Events:
    job = _job(asked)
    limit = asked.whole("limit", default=A_PAGE, most=MOST_A_PAGE)
    filters = {"job": str(job or "")}
    first = after(asked.parameter("cursor"), "ledger", filters)
    rows = await asked.site.reader.read(lambda c: _rows(c, job, first, limit + 1))
    shown = rows[:limit]
    last = shown[-1][0].seq if shown else first
    return Events(
        items=[_event(entry, space) for entry, space in shown if _is_seen(asked, space)],
        next=cursor("ledger", filters, last) if last else "",
        is_last=len(rows) <= limit,
    )


async def _stream(asked: Asked) -> StreamingResponse:
    job, seen = _job(asked), _last_seen(asked)
    if seen is None:
        seen = await asked.site.reader.read(ledger.last_number)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_facts(asked, job, seen), media_type="text/event-stream", headers=headers)


async def _facts(asked: Asked, job: int | None, seen: int) -> AsyncIterator[str]:
    """Each fact after one, without end; while there are none, a sign of life."""
    site = asked.site
    yield f"retry: {RETRY_MS}\n\n"
    looked_at = time.monotonic()
    while True:
        rang = site.live.changed.count
        rows = await site.reader.read(lambda c, seen=seen: _rows(c, job, seen, AT_ONCE))  # type: ignore[misc]
        for entry, space in rows:
            if _is_seen(asked, space):
                yield f"id: {entry.seq}\nevent: {entry.name}\ndata: {json_text(_event(entry, space))}\n\n"
        if rows:
            seen = rows[-1][0].seq
            yield f"id: {seen}\n\n"
        if len(rows) < AT_ONCE:
            left_s = max(looked_at + site.live.ping_s - time.monotonic(), 0.0)
            if not await site.live.changed.wait(rang, timeout_s=left_s):
                yield ": still here\n\n"
        if time.monotonic() >= looked_at + site.live.ping_s:
            if await site.bearer(asked.visitor.secret) is None:  # revoked meanwhile
                return
            looked_at = time.monotonic()


def _rows(connection: sqlite3.Connection, job: int | None, seen: int, limit: int) -> list[tuple[Entry, str]]:
    return ledger.with_spaces(connection, after=seen, limit=limit, job_id=job)


def _is_seen(asked: Asked, space: str) -> bool:
    return not asked.visitor.spaces or bool(space and asked.visitor.sees(space))


def _event(entry: Entry, space: str) -> Event:
    return Event(
        seq=entry.seq,
        at=entry.at,
        job=entry.job_id,
        space=space,
        name=entry.name,
        actor=entry.actor,
        data=json.loads(entry.data),
        sentence=describe_event(entry.name, json.loads(entry.data)) or "",
        previous=entry.previous,
        hash=entry.hash,
    )


def _job(asked: Asked) -> int | None:
    return asked.whole("job", default=0, most=10**9) or None


def _last_seen(asked: Asked) -> int | None:
    """Raises Problem."""
    text = asked.request.headers.get(LAST_SEEN, "") or asked.parameter("after")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise Problem(400, "not-understood", "that is no event's number", more={"field": "after"})
    return int(text)
