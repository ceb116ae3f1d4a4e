"""A call's result is verified: what the worker said is read, what has to be run is run in a check session, and code says what holds."""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from minion.protocol import CheckReport, CheckStep, Report, SessionKind
from overlord.domain.checks.file import ChecksFile, ChecksFileError
from overlord.domain.disciplines.call import Call, CallStatus, Verification
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.disciplines.history import HistoryEntry, told_of
from overlord.domain.disciplines.reading import files_read
from overlord.domain.disciplines.verification import verify as verification_of
from overlord.domain.disciplines.verification.seen import LineRange, Needed, Seen
from overlord.domain.disciplines.worker_result import WorkerResult, worker_result
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.domain.retention_item import TRANSCRIPT
from overlord.domain.session import MAX_LOSSES, EndKind, Session, SessionState
from overlord.engine.disciplines import answer, retrospective, trainer
from overlord.engine.disciplines.answer import Worked
from overlord.engine.evaluation import check
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import ending as endings
from overlord.engine.sessions.environment import EnvironmentFailed
from overlord.engine.sessions.evaluation_input import checks_of
from overlord.errors import RunnerRefused
from overlord.failpoints import Failpoint
from overlord.store import evidence as evidence_rows
from overlord.store import jobs, sessions
from overlord.store.disciplines import calls, history

READ_BYTES = 2_000_000
"""As much of a file as is looked at."""
OUTPUT_CHARS = 20_000
"""As much of each run's output as is kept beside the finding."""


async def step(parts: Parts, job: Job, call: Call) -> Progress:
    """Take the verification of a call one step further. Raises GitFailed."""
    work, live = await parts.database.read(
        lambda c: (sessions.last_of(c, job.id, SessionKind.WORK), sessions.live_of(c, job.id))
    )
    if work is None:
        return await answer.failed(parts, job, call, "Its session left no trace.")
    found = worker_result(work.report.answer if isinstance(work.report, Report) else "", call.kind)
    if isinstance(found, str):
        return await answer.failed(parts, job, call, f"The worker gave no result that can be read: {found}")
    if call.discipline is DisciplineName.TRAINER:
        return await trainer.finish(parts, job, call)
    if live is not None:
        return await _follow_check(parts, job, call, work, found, live)
    steps = await _steps(parts, job, call)
    if steps:
        is_prepared = await check.prepare(parts, job, steps, work.layer)
        if is_prepared:
            words = f"{len(steps)} runs of the tests verify it"
            await parts.database.write(Failpoint.CALL_VERIFIED, lambda c: calls.stage(c, call.id, words))
        return Progress.of(is_prepared)
    return await _judge(parts, job, call, work, found, None)


async def _follow_check(  # noqa: PLR0917
    parts: Parts, job: Job, call: Call, work: Session, found: WorkerResult, live: Session
) -> Progress:
    """Start the check session, or take in its report."""
    if live.state is SessionState.PREPARED:
        try:
            return Progress.of(await check.start(parts, job, live))
        except (RunnerRefused, EnvironmentFailed) as error:
            over = endings.Over(session=live, ending=endings.never_started(str(error)))
            return await _judge(parts, job, call, work, found, over)
    over_now = await endings.over(parts, live)
    if over_now is None:
        return Progress.IDLE
    if await _is_to_repeat(parts, job, over_now):
        await parts.database.write(Failpoint.CHECK_LOST, lambda c: _lose(c, parts, job, over_now))
        return Progress.MOVED
    return await _judge(parts, job, call, work, found, over_now)


async def _is_to_repeat(parts: Parts, job: Job, over: endings.Over) -> bool:
    """Whether a check session was lost to infrastructure, and not too often."""
    by_itself = over.ending.kind in (EndKind.EXITED, EndKind.KILLED, EndKind.LOST)
    has_report = over.session.report is not None and over.ending.kind is not EndKind.LOST
    if has_report or over.session.stop_reason is not None or not by_itself:
        return False
    return await parts.database.read(lambda c: sessions.count(c, job.id, SessionKind.CHECK)) <= MAX_LOSSES


def _lose(connection: sqlite3.Connection, parts: Parts, job: Job, over: endings.Over) -> None:
    endings.close(connection, parts, over)
    data: dict[str, Json] = {"session": over.session.id, "ending": over.ending.kind}
    jobs.note(connection, job.id, EventName.CHECK_LOST, at=parts.clock.now(), data=data)


async def _steps(parts: Parts, job: Job, call: Call) -> tuple[CheckStep, ...]:
    """What has to be run to verify the call."""
    plan = verification_of.plan(
        call.discipline,
        changes=await parts.git.changes(job.space, job.base, job.head),
        arguments=call.arguments,
        directory=call.directory,
        checks=await _checks(parts, job),
        timeout_s=parts.settings.space(job.space).checks.tests_s,
    )
    return plan.steps


async def _checks(parts: Parts, job: Job) -> ChecksFile | None:
    """The repository's own commands; none where its file does not parse, which a call of its own tests then shows."""
    try:
        return await checks_of(parts, job)
    except (ChecksFileError, EnvironmentFailed):
        return None


async def _judge(  # noqa: PLR0917
    parts: Parts, job: Job, call: Call, work: Session, found: WorkerResult, over: endings.Over | None
) -> Progress:
    """Say what holds, and end the call."""
    changes = await parts.git.changes(job.space, job.base, job.head)
    report = over.session.report if over is not None else None
    entries = await _told(parts, call, work)
    seen = Seen(
        result=found,
        arguments=call.arguments,
        directory=call.directory,
        changes=changes,
        checks=await _checks(parts, job),
        report=report if isinstance(report, CheckReport) else None,
        ending=over.ending if over is not None else None,
        entries=[entry.ref for entry in entries],
    )
    base, head = await _contents(parts, job, verification_of.needed(call.discipline, seen))
    read = await _files_read(parts, work, base) if call.discipline is DisciplineName.REVIEW else {}
    seen = replace(seen, base=base, head=head, files_read=read)
    verification = await asyncio.to_thread(verification_of.judge, call.discipline, seen)
    worked = Worked(
        status=_status(found, verification, call),
        message=found.message,
        file_path=found.file_path,
        runner_output=found.runner_output or verification.output,
        verification=verification,
        details={
            "steps": [asdict(item) for item in await _steps(parts, job, call)],
            "runs": _runs(seen.report),
            "worker": asdict(found),
            "dropped": list(work.dropped),
        },
    )
    if call.discipline is not DisciplineName.RETROSPECTIVE:
        return await answer.end(parts, job, call, worked, over=over)
    keep = await retrospective.keeper(parts, job, call, found, entries, verification)
    return await answer.end(parts, job, call, worked, over=over, note=keep)


async def _told(parts: Parts, call: Call, work: Session) -> Sequence[HistoryEntry]:
    """The entries of the caller's session that its worker was told of: not those that came since, for it cannot have seen them."""
    if not call.session_key:
        return ()
    entries = await parts.database.read(lambda c: history.read(c, call.space, call.session_key))
    return told_of((entry for entry in entries if entry.at <= work.prepared_at), call.kind.phase)


def _status(found: WorkerResult, verification: Verification, call: Call) -> CallStatus:
    """The worker's word; but what was to be shown by a run, and was not, is no pass."""
    is_shown = call.kind.writes
    if is_shown and found.status is CallStatus.PASS and not verification.verified:
        return CallStatus.FAIL
    return found.status


def _runs(report: CheckReport | None) -> Sequence[Mapping[str, object]]:
    """What was run and what it came to, for the evidence."""
    steps = report.steps if report is not None else ()
    return [asdict(replace(item, output=item.output[-OUTPUT_CHARS:])) for item in steps]


async def _contents(
    parts: Parts, job: Job, needed: Needed
) -> tuple[Mapping[str, bytes], Mapping[str, bytes]]:
    base = await parts.git.read_files(job.space, job.base, sorted(needed.base), limit_bytes=READ_BYTES)
    head = await parts.git.read_files(job.space, job.head, sorted(needed.head), limit_bytes=READ_BYTES)
    return base, head


async def _files_read(
    parts: Parts, work: Session, files: Mapping[str, bytes]
) -> Mapping[str, Sequence[LineRange]]:
    """The lines that the worker was shown of each of these files, by our own record of its tools."""
    redact = parts.current.redactor.redact
    kept = await parts.database.read(
        lambda c: [item for item in evidence_rows.exhibits(c, work.job_id) if item.session_id == work.id]
    )

    def read() -> Mapping[str, Sequence[LineRange]]:
        said = [parts.evidence.get(item.sha256) for item in kept if item.kind == TRANSCRIPT]
        lines = [line for content in said for line in content.decode(errors="replace").splitlines()]
        texts = {name: redact(content.decode(errors="replace")) for name, content in files.items()}
        return files_read(lines, texts)

    return await asyncio.to_thread(read)
