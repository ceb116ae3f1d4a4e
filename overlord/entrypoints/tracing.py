"""Spans for a collector, made of the same facts as the log lines, once a session, a check or a job is over. Off by default.

A collector that is slow or away costs spans, never work: they wait in a short line, and what does not fit is dropped.
"""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

import structlog

from minion.protocol import SessionKind
from overlord.adapters.otlp import OtlpExporter
from overlord.app import Overlord
from overlord.domain.event import EventName
from overlord.domain.job import TERMINAL, TRANSITIONS
from overlord.domain.trace import Attribute, ModelCall, Span, Trace
from overlord.entrypoints.fact_log import Listener
from overlord.errors import NotFound
from overlord.settings.load import Settings
from overlord.store import jobs, sessions
from overlord.store.budgets import exchanges
from overlord.store.budgets.exchanges import Exchange
from overlord.store.checks import evaluations
from overlord.store.ledger import Entry

WAITING = 256
"""Batches in the line: each is one session, check or job."""
PARTING_S = 3.0
ENDINGS = frozenset(event for (_, event), state in TRANSITIONS.items() if state in TERMINAL)
OF_A_SESSION = frozenset({"tests", "lint"})

log = structlog.get_logger()


class Tracer:
    """Receives facts and sends spans made of them."""

    def __init__(self, running: Overlord, exporter: OtlpExporter) -> None:
        self._running = running
        self._exporter = exporter
        self._line: asyncio.Queue[Sequence[Span]] = asyncio.Queue(WAITING)
        self._is_away = False

    async def handle(self, entries: Sequence[Entry]) -> None:
        """Put the spans of what ended into the line. Raises what the database does."""
        for entry in entries:
            if entry.job_id is not None and entry.name in _SPANS:
                self._put(await self._running.parts.database.read(partial(self._made, entry)))

    def _made(self, entry: Entry, connection: sqlite3.Connection) -> Sequence[Span]:
        try:
            return list(_SPANS[entry.name](self, connection, entry))
        except NotFound:
            return ()  # what it was about is gone already

    def _put(self, spans: Sequence[Span]) -> None:
        try:
            self._line.put_nowait(spans)
        except asyncio.QueueFull:
            self._report_outage("the line is full", lost=len(spans))

    async def send(self) -> None:
        """Send what is in the line, for ever."""
        while True:
            spans = await self._line.get()
            try:
                taken = await asyncio.to_thread(self._exporter.send, spans)
            except (OSError, ValueError, RuntimeError) as error:
                taken = False
                log.debug("spans_not_sent", trouble=str(error))
            finally:
                self._line.task_done()
            if taken:
                self._is_away = False
            else:
                self._report_outage("the collector took them not", lost=len(spans))

    async def rest(self) -> None:
        """Wait until the line is empty."""
        await self._line.join()

    def _report_outage(self, why: str, *, lost: int) -> None:
        if not self._is_away:
            log.warning("spans_lost", why=why, first=lost)
        self._is_away = True

    def _trace(self, entry: Entry) -> Trace:
        return Trace(instance=self._running.parts.home.instance(), job_id=entry.job_id or 0)

    def _session(self, connection: sqlite3.Connection, entry: Entry) -> Iterator[Span]:
        identifier = str(json.loads(entry.data)["session"])
        yield from self._of_session(connection, self._trace(entry), identifier, _time_of(entry))

    def _of_session(
        self, connection: sqlite3.Connection, trace: Trace, identifier: str, end: datetime
    ) -> Iterator[Span]:
        session = sessions.get(connection, identifier)
        asked = [_model_call(one) for one in exchanges.of_session(connection, identifier) if one.settled_at]
        turned, called = self._running.session_api.parts.journal.take(identifier)
        start = session.started_at or session.prepared_at
        yield trace.session(identifier, session.kind, start, end, ending=session.ending)
        yield from trace.within_session(identifier, asked, turned, called)

    def _check(self, connection: sqlite3.Connection, entry: Entry) -> Iterator[Span]:
        trace, data, end = self._trace(entry), json.loads(entry.data), _time_of(entry)
        name, score = str(data["check"]), str(data["score"] or "unavailable")
        start, within = evaluations.begun_at(connection, entry.job_id or 0) or end, trace.root
        kind = SessionKind.CHECK if name in OF_A_SESSION else SessionKind.REVIEW if name == "review" else None
        session = sessions.last_of(connection, entry.job_id or 0, kind) if kind else None
        if session is not None and session.prepared_at >= start:
            start, within = session.started_at or session.prepared_at, trace.inside(session.id)
            if kind is SessionKind.REVIEW:  # it runs nowhere: its end is that of its check
                yield from self._of_session(connection, trace, session.id, end)
        yield trace.span(
            f"event {entry.seq}",
            f"check {name}",
            start,
            end,
            within=within,
            failed=score != "pass",
            attributes={"check": name, "score": score},
        )

    def _job(self, connection: sqlite3.Connection, entry: Entry) -> Iterator[Span]:
        job, trace = jobs.get(connection, entry.job_id or 0), self._trace(entry)
        attributes: dict[str, Attribute] = {"job": job.id, "repository": job.space, "state": job.state}
        yield trace.span(
            "job",
            "job",
            job.created_at,
            _time_of(entry),
            within=0,
            failed=job.state == "failed",
            attributes={**attributes, "change": str(job.pull_number)} if job.pull_number else attributes,
        )


_SPANS: Mapping[str, Callable[[Tracer, sqlite3.Connection, Entry], Iterator[Span]]] = {
    EventName.SESSION_ENDED: Tracer._session,
    EventName.CHECK_COMPLETED: Tracer._check,
    **dict.fromkeys(ENDINGS, Tracer._job),
}
"""What ends with each fact."""


def exporter_for(settings: Settings, instance: str) -> OtlpExporter | None:
    """None where nobody asked for spans. Raises SettingsError where they cannot be sent."""
    tracing = settings.tracing
    if not tracing.is_on:
        return None
    headers = {name: value.get_secret_value() for name, value in tracing.headers.items()}
    return OtlpExporter(tracing.endpoint, headers=headers, timeout_s=tracing.timeout_s, instance=instance)


@contextlib.asynccontextmanager
async def traced(running: Overlord) -> AsyncIterator[Listener | None]:
    """Send spans while the block runs, if the settings ask for it; gives what is to be called with facts."""
    exporter = exporter_for(running.parts.settings, running.parts.home.instance())
    if exporter is None:
        yield None
        return
    tracer = Tracer(running, exporter)
    sending = asyncio.create_task(tracer.send())
    log.info("tracing", endpoint=running.parts.settings.tracing.endpoint)
    try:
        yield tracer.handle
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PARTING_S):
                await tracer.rest()
    finally:
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sending
        exporter.close()


def _model_call(one: Exchange) -> ModelCall:
    return ModelCall(
        id=one.id,
        model=one.model,
        start=one.at,
        end=one.settled_at or one.at,
        status=one.status or 0,
        prompt=one.prompt,
        cached=one.cached,
        completion=one.completion,
    )


def _time_of(entry: Entry) -> datetime:
    return datetime.fromisoformat(entry.at)
