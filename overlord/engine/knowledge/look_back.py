"""The facts of a job that is over, as a retrospective is shown them: read from rows, and what people pushed on top from git."""

import re
import sqlite3
from collections.abc import Iterable, Iterator

import structlog

from minion.protocol import Report
from overlord.domain.answers import label_of
from overlord.domain.evaluation import SHOWN_LAST, CheckScore, describe
from overlord.domain.event import EventName
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.knowledge.known import is_known
from overlord.domain.knowledge.retrospective import Fact, LookBack
from overlord.domain.portfolio.escalation import EscalationState
from overlord.engine.runtime.parts import Parts
from overlord.errors import ExternalServiceError
from overlord.store import decisions, ledger, sessions
from overlord.store.checks import evaluations
from overlord.store.conversation import follow_ups, steering
from overlord.store.portfolio import escalations

MOST_DIFF_BYTES = 4_000
MOST_PUSHES = 3
_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)
_SOUND = (CheckScore.PASS, CheckScore.NOT_JUDGED)

log = structlog.get_logger()


async def look_back(parts: Parts, job: Job) -> LookBack:
    """What is known of a job, redacted; what people said and changed comes first."""

    def read(connection: sqlite3.Connection) -> tuple[list[Fact], list[Fact], list[Fact]]:
        return list(_said(connection, job)), list(_found(connection, job)), list(_learned(connection, job))

    said, found, learned = await parts.database.read(read)
    pushed = await _pushed(parts, job)
    redact = parts.current.redactor.redact

    def clean(facts: Iterable[Fact]) -> tuple[Fact, ...]:
        unique = dict.fromkeys(Fact(source=item.source, text=redact(item.text)) for item in facts)
        return tuple(unique)

    return LookBack(
        issue=job.issue_ref,
        title=redact(job.issue.title),
        ending=redact(job.reason) or str(job.state),
        facts=clean((*said, *pushed, *found, *learned)),
        learnings=clean(learned),
    )


def _said(connection: sqlite3.Connection, job: Job) -> Iterator[Fact]:
    """What people said: answers in words, reviews, messages, and what they decided of escalations."""
    for decision in decisions.answered(connection, job.id):
        is_pressed = decision.verb is not None and decision.answer == label_of(decision.verb)
        if not is_pressed and not is_known(decision.answered_by):
            asked = f"asked: {decision.title}\nanswered: {decision.answer}"
            yield Fact(source=f"decision {decision.id}", text=asked)
    for item in follow_ups.of_job(connection, job.id):
        what = f"{describe(item.finding)}\n{item.finding.evidence}".strip()
        yield Fact(source=f"round {item.round} of the pull request", text=what)
    for message in steering.of_job(connection, job.id):
        yield Fact(source=f"message {message.id}", text=message.text)
    for escalation in escalations.of_job(connection, job.id):
        if escalation.state is EscalationState.RESOLVED:
            text = f"escalated: {escalation.question}\nresolved: {escalation.resolution}"
            yield Fact(source=f"escalation {escalation.ref}", text=text)


def _found(connection: sqlite3.Connection, job: Job) -> Iterator[Fact]:
    """What evaluations held against the work; each thing once, where it was found first."""
    seen = set[str]()
    for row in evaluations.closed(connection, job.id):
        for check in row.checks:
            if check.score in _SOUND:
                continue
            for finding in check.findings:
                told = describe(finding)
                if finding.rule not in SHOWN_LAST and told not in seen:
                    seen.add(told)
                    text = f"{told}\n{finding.suggestion}".strip()
                    yield Fact(source=f"finding of evaluation {row.id}", text=text)


def _learned(connection: sqlite3.Connection, job: Job) -> Iterator[Fact]:
    """What sessions said that they learned."""
    for session in sessions.of_job(connection, job.id):
        if isinstance(session.report, Report):
            for text in session.report.learnings:
                yield Fact(source=f"report of {session.id}", text=text)


async def _pushed(parts: Parts, job: Job) -> list[Fact]:
    """What people changed of the job's own work, by pushing on top of it."""
    found = list[Fact]()
    for before, after in (await parts.database.read(lambda c: _pushes(c, job)))[:MOST_PUSHES]:
        try:
            diff = await _changed_by(parts, job, before, after)
        except ExternalServiceError as error:
            log.info("push_not_read", job=job.id, reason=str(error))
            continue
        if diff:
            text = f"a person changed the work of a session:\n{diff}"
            found.append(Fact(source=f"push of {after[:12]}", text=text))
    return found


def _pushes(connection: sqlite3.Connection, job: Job) -> list[tuple[Sha, Sha]]:
    """Of each push of others' the commit before it, and its own: those that were seen, and what was merged beside that."""
    found = list[tuple[Sha, Sha]]()
    for entry in ledger.entries(connection, job_id=job.id):
        before, after = entry.details.get("before"), entry.details.get("head")
        if entry.name == EventName.FOREIGN_PUSH_FOUND and before and after:
            found.append((Sha(str(before)), Sha(str(after))))
        elif entry.name == EventName.MERGED and after and job.head_sha and after != job.head_sha:
            found.append((job.head_sha, Sha(str(after))))
    return found


async def _changed_by(parts: Parts, job: Job, before: Sha, after: Sha) -> str:
    """The diff of a push, of the files that the job had changed: what came from base is none of its author's doing."""
    if after != job.head_sha:
        remote = await parts.forge.remote(job.space)
        await parts.git.refresh_mirror(job.space, remote, branches=[job.base_branch], commits=[after])
    own = {change.path for change in await parts.git.changes(job.space, job.base, before)}
    diff = await parts.git.diff(job.space, before, after, limit_bytes=MOST_DIFF_BYTES)
    files = _FILE.split(diff)[1:]
    return "".join(file for file in files if _path_of(file) in own).strip()


def _path_of(file: str) -> str:
    """The path that a file's part of a diff is about, as it is named after the change."""
    return file.partition("\n")[0].rpartition(" b/")[2]
