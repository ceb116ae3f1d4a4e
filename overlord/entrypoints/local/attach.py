"""`overlord resume` of a run that another process works: what happens there is shown here, and a decision can be answered here.

It reads the place's database and the transcripts of its sessions, once a second: the wakeup belongs to the process that works. An
answer is written as any command beside a daemon writes one. When the place is free and the run does not rest, that process has died.
"""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from minion.protocol import SessionKind
from overlord import wakeup
from overlord.command_ref import CommandRef
from overlord.domain.conversation.decision_words import answer_ref
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.decision import Decision, DecisionState
from overlord.domain.interface import Interface
from overlord.domain.job import Job, JobState
from overlord.domain.session import Session, SessionState
from overlord.domain.text.plain import plain_line
from overlord.domain.transcript import Exchange, exchange_of
from overlord.entrypoints.local import asking, result
from overlord.entrypoints.local import record as records
from overlord.entrypoints.local.asking import Answered
from overlord.entrypoints.local.interruption import INTERRUPTED, Interruption
from overlord.entrypoints.local.place import Place
from overlord.entrypoints.local.screen import Screen, Spoken
from overlord.entrypoints.local.work import ACTIVE, cancelled, job_of, last_event, run_status
from overlord.entrypoints.terminal.show import console, line, person
from overlord.entrypoints.terminal.watch import LedgerTail
from overlord.errors import NotFound, Refused
from overlord.failpoints import Failpoint
from overlord.queries import session as session_query
from overlord.store import decisions, jobs, sessions
from overlord.store.database import open_reader, write_from_command
from overlord.store.disciplines import calls
from overlord.verbs import commands
from overlord.verbs.typed_words import typed_words

LOOK_S = 1.0
LINE_CHARS = 200
Result = TypeVar("Result")


async def attach(
    place: Place, screen: Screen, environment: Mapping[str, str], *, number: int | None, json: bool
) -> int | None:
    """Follow the run that is worked elsewhere until it rests or somebody presses Ctrl-C; the exit code. None when the process that
    worked on it is gone and it does not rest: it is to be gone on with. Raises Refused where another run than `number` is worked, NotFound for one that is none."""
    if number is not None:
        records.get(place, number)
    interruption = Interruption(_leave)
    asks = asking.can_ask() and not json
    follower = Follower(place=place, screen=screen, interruption=interruption, asks=asks, issue=number or 0)
    with interruption.listening():
        job = await follower.follow()
    if interruption.came.is_set():
        name = _named(job)
        screen.write(f"Detached. {name[:1].upper()}{name[1:]} goes on; `overlord resume` attaches again.")
        return 0
    if job is None or job.state in ACTIVE or follower.read(lambda c: decisions.unapplied(c, job.id)):
        screen.write(
            f"The process that worked on {_named(job)} has ended before it did: it is gone on with here."
        )
        return None
    with contextlib.suppress(NotFound):
        record = records.get(place, job.issue.number)
        outcome = result.read(place, record, place.settings(environment), job)
        await result.show(outcome, screen, json=json)
        return outcome.code
    return 0 if job.state in (JobState.IN_REVIEW, JobState.COMPLETED) else 1


def _named(job: Job | None) -> str:
    return "the run" if job is None else f"run {job.issue.number}"


@dataclass(slots=True, kw_only=True)
class Follower:
    """Looks at the place of a run, again and again."""

    place: Place
    screen: Screen
    interruption: Interruption
    asks: bool
    """Whether somebody is there to be asked."""
    issue: int
    """The run that is followed; 0 until it is known."""
    _tail: LedgerTail | None = None
    _left: set[int] = field(default_factory=set)
    _transcripts: "dict[str, Transcript]" = field(default_factory=dict)

    def read(self, act: Callable[[sqlite3.Connection], Result]) -> Result:
        """One consistent look at the place's database."""
        with closing(open_reader(self.place.home.database)) as connection:
            connection.execute("BEGIN")
            return act(connection)

    async def follow(self) -> Job | None:
        """Show what happens until nobody works here or somebody detaches; the job as it is then."""
        with self.screen.live():
            while True:
                is_worked = self.place.is_locked()  # before the look: what was written until then is seen
                job = self._look()
                if not is_worked or self.interruption.came.is_set():
                    return job
                if job is not None:
                    await self._put_decisions(job)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self.interruption.came.wait()

    def _look(self) -> Job | None:
        if not self.place.home.database.exists():
            return None  # it is just being started
        job = self.read(self._chosen)
        if job is None:
            return None
        if self._tail is None:
            self._begin(job)
        assert self._tail is not None
        for news in self.read(self._tail.news):
            if news.job in {job.id, None} and not news.is_progress:
                self.screen.show_news(news)
        for spoken in self._spoken(job):
            self.screen.show_spoken(spoken)
        self.screen.show(self.read(lambda c: run_status(c, job, datetime.now(UTC))))
        return job

    def _begin(self, job: Job) -> None:
        self._tail = LedgerTail(after=self.read(last_event), is_local=True)
        for session in self.read(lambda c: sessions.of_job(c, job.id)):
            transcript = self._transcripts[session.id] = Transcript()
            transcript.skip(self._content(session, 0))
        where = ", ".join(
            part for part in (f"phase {job.phase}", f"role {job.role}" if job.role else "") if part
        )
        self.screen.write(
            f"Run {job.issue.number}, {line(job.issue.title)}: {state_in_words(job.state)}, {where}.\n"
            "Another process works on it; this one shows what happens there. Ctrl-C detaches, and the run goes on."
        )

    def _chosen(self, connection: sqlite3.Connection) -> Job | None:
        """The job that is followed: that of the run that is named, or the one that moves. Raises Refused."""
        found = [
            job
            for job in jobs.open_jobs(connection)
            if job.space == self.place.repository and job.call_number is None
        ]
        moving = [job for job in found if job.state in ACTIVE or decisions.unapplied(connection, job.id)]
        newest = max(moving or found, key=lambda job: job.updated_at, default=None)
        if self._tail is not None:
            return job_of(connection, self.place.repository, self.issue)
        if newest is None and (open_calls := calls.open_calls(connection, self.place.repository)):
            raise Refused(
                f"an `overlord mcp` works on calls of this checkout ({', '.join(call.ref for call in open_calls[:5])}); wait for them"
            )
        if newest is not None and self.issue not in (0, newest.issue.number):
            raise Refused(
                f"another process works on run {newest.issue.number}; wait for it, or name that run to attach to it"
            )
        self.issue = newest.issue.number if newest is not None else self.issue
        return newest

    def _spoken(self, job: Job) -> Iterator[Spoken]:
        """What is new in the transcripts of its sessions."""
        for session in self.read(lambda c: sessions.of_job(c, job.id)):
            if session.kind is not SessionKind.WORK:
                continue
            transcript = self._transcripts.setdefault(session.id, Transcript())
            if transcript.is_whole:
                continue
            content = self._content(session, transcript.offset)
            for exchange in transcript.add(content):
                yield from (Spoken(session=session.id, text=text) for text in lines_of(exchange))
            transcript.is_whole = session.state is SessionState.ENDED and not content

    def _content(self, session: Session, offset: int) -> bytes:
        def kept(connection: sqlite3.Connection) -> bytes:
            found = session_query.evidence_of(connection, session.job_id, session.id, "transcript")
            return session_query.transcript(self.place.home, session.id, found, offset=offset)

        try:
            return self.read(kept)
        except NotFound:
            return b""  # it was removed since

    async def _put_decisions(self, job: Job) -> None:
        """Show what waits for a person, once each; at a terminal it is asked here."""
        for decision in self.read(lambda c: decisions.waiting(c, job.id)):
            if decision.id in self._left or self.interruption.came.is_set():
                continue
            self._left.add(decision.id)
            if not self.asks:
                ways = " or ".join(
                    f"`{typed_words(answer_ref(decision, verb))}`" for verb in decision.verbs[:2]
                )
                shows = typed_words(CommandRef("decision", (decision.ref.label,)))
                self.screen.write(
                    f"It waits for you: {line(decision.title)} `{shows}` shows it; answer with {ways}."
                )
                continue
            with self.screen.hidden():
                answer = await self._asked(decision)
            if answer is not None:
                self._answer(decision, answer)

    async def _asked(self, decision: Decision) -> Answered | None:
        """The person's choice; None when it is left, detached from, or not needed any more."""
        asked = asyncio.create_task(asking.ask(decision))
        closed = asyncio.create_task(self._closed(decision))
        stop = asyncio.create_task(self.interruption.came.wait())
        try:
            await asyncio.wait({asked, closed, stop}, return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return asked.result()
            self.screen.write("\nThis needs no answer any more." if closed.done() else "")
            return None
        finally:
            await cancelled(asked, closed, stop)

    async def _closed(self, decision: Decision) -> None:
        """Return when it takes no answer any more, or nobody is there to carry one out."""
        while self.place.is_locked():
            if self.read(lambda c: decisions.get(c, decision.id)).state is not DecisionState.OPEN:
                return
            await asyncio.sleep(LOOK_S)

    def _answer(self, decision: Decision, answered: Answered) -> None:
        """Write it as any command does, and wake who works."""
        try:
            write_from_command(
                self.place.home.database,
                Failpoint.DECISION_ANSWERED,
                lambda c: commands.answer_decision(
                    c,
                    decision.id,
                    answered.verb,
                    actor=person(),
                    interface=Interface.TERMINAL,
                    text=answered.text,
                    digest=decision.digest,
                    at=datetime.now(UTC),
                ),
            )
        except Refused as error:
            self.screen.write(error.worded(typed_words))
            self._left.discard(decision.id)
            return
        wakeup.notify(self.place.home.wakeup)


@dataclass(slots=True)
class Transcript:
    """How much of one session's transcript was shown."""

    offset: int = 0
    is_whole: bool = False

    def skip(self, content: bytes) -> None:
        """Leave out what was said before."""
        self.offset += content.rfind(b"\n") + 1

    def add(self, content: bytes) -> Iterator[Exchange]:
        """What is new of it. A line that is still being written is left for the next look."""
        end = content.rfind(b"\n") + 1
        self.offset += end
        for text in content[:end].decode("utf-8", "replace").split("\n"):
            if (exchange := exchange_of(text)) is not None:
                yield exchange


def lines_of(exchange: Exchange) -> Iterator[str]:
    """What was said and done in one exchange, a line each. Everything in it is a model's."""
    if exchange.said:
        yield f"says: {plain_line(exchange.said, limit=LINE_CHARS)}"
    for call in exchange.calls:
        values = (value for value in call.arguments.values() if isinstance(value, str))
        yield plain_line(" ".join((call.name, *values)), limit=LINE_CHARS)
    if exchange.trouble:
        yield plain_line(exchange.trouble, limit=LINE_CHARS)


def _leave() -> None:
    console.show_cursor(True)
    os._exit(INTERRUPTED)
