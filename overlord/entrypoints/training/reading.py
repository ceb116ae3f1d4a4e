"""What jobs that ended make of records, one job at a time: their rows, and of the evidence only what a format needs."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from minion.protocol import Brief, Report, SessionKind
from minion.tools.registry import TOOLS
from overlord.domain.evaluation import Verdict
from overlord.domain.session import Session
from overlord.domain.text.redacting import LEFT_OUT, redacting_json
from overlord.domain.text.redaction import Redactor
from overlord.domain.text.secret_detection import find_secrets
from overlord.domain.training.finished_job import Attempt, FinishedJob, LeftOut, records_of, task_text
from overlord.domain.training.record import RecordKind
from overlord.domain.training.transcribed import conversations, tools_of
from overlord.errors import StoreError
from overlord.store import sessions
from overlord.store.contracts import job_contracts
from overlord.store.evidence import EvidenceFile, EvidenceStore
from overlord.store.rows import adapter
from overlord.store.training import finished
from overlord.store.training.finished import EndedJob

_JUDGED = {Verdict.PASS: True, Verdict.FAIL: False, Verdict.NEEDS_REVISION: False}
"""An evaluation that could not be made says nothing of the work."""


class Format(StrEnum):
    """The forms of training data that there are."""

    SFT = "sft"
    DPO = "dpo"
    KTO = "kto"
    MESSAGES = "messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A record as it is written, and the job it is of."""

    text: str
    job: FinishedJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads one consistent view of a database."""

    connection: sqlite3.Connection
    store: EvidenceStore
    redactor: Redactor
    format: Format

    def lines(self, *, since: date | None, space: str) -> Iterator[Line | LeftOut]:
        """Every record, by the jobs' numbers, and what is left out. Nothing is held longer than its job."""
        for row in finished.ended_jobs(self.connection, since=since, space=space):
            yield from self._of_job(row)

    def _of_job(self, row: EndedJob) -> Iterator[Line | LeftOut]:
        files = finished.evidence_of(self.connection, row.id)
        judged, unread = self._judged(row.id)
        yield from [LeftOut("its brief cannot be read any more")] * unread
        attempts = [self._attempt(session, brief, files, passed) for session, brief, passed in judged]
        job = FinishedJob(
            id=row.id,
            space=row.space,
            ending=row.ending,
            has_pull=row.has_pull,
            agent=row.agent,
            model=row.model,
            ended_on=row.ended_on,
            base=row.base,
            attempts=attempts,
        )
        redact = job_contracts.redactions(self.connection, row.id)
        for made in self._made(job, files):
            yield made if isinstance(made, LeftOut) else self._checked(made, job, redact)

    def _judged(self, job: int) -> tuple[list[tuple[Session, Brief, bool | None]], int]:
        """The work sessions of a job that left a commit, and how many have a brief of a form that nobody reads any more."""
        verdicts = finished.verdicts_of(self.connection, job)
        found, unread = list[tuple[Session, Brief, bool | None]](), 0
        for session in sessions.of_job(self.connection, job):
            if session.kind is not SessionKind.WORK or not session.taken_sha:
                continue
            try:
                brief: Brief = adapter(Brief).validate_json(session.brief)
            except ValueError:
                unread += 1
                continue
            verdict = verdicts.get(session.taken_sha, "")
            found.append((session, brief, _JUDGED.get(Verdict(verdict)) if verdict else None))
        return found, unread

    def _attempt(
        self,
        session: Session,
        brief: Brief,
        files: Mapping[tuple[str, str], EvidenceFile],
        passed: bool | None,
    ) -> Attempt:
        diff, missing = ("", "") if self.format is Format.MESSAGES else self._file(files, session.id, "diff")
        report = session.report
        return Attempt(
            session=session.id,
            role=session.role,
            prompt=task_text(brief),
            is_passed=passed,
            summary=report.summary if isinstance(report, Report) else "",
            diff=diff,
            missing=missing,
        )

    def _file(
        self, files: Mapping[tuple[str, str], EvidenceFile], session: str, kind: str
    ) -> tuple[str, str]:
        """What a file of evidence holds, or why it is not there."""
        item = files.get((session, kind))
        if item is None:
            return "", f"no {kind} of it was kept"
        if item.removed_at is not None:
            return "", f"its {kind} was removed, as `keep` in the settings says"
        try:
            return self.store.get(item.sha256).decode("utf-8", "replace"), ""
        except StoreError:
            return "", f"its {kind} is missing among the evidence, or damaged"

    def _made(
        self, job: FinishedJob, files: Mapping[tuple[str, str], EvidenceFile]
    ) -> Iterator[dict[str, Any] | LeftOut]:
        if self.format is not Format.MESSAGES:
            for made in records_of(job, RecordKind(self.format)):
                yield made if isinstance(made, LeftOut) else json.loads(made.line)
            return
        passed = [item for item in job.attempts if item.is_passed]
        if not job.is_merged:
            yield LeftOut("its job was not merged")
        elif not passed:
            yield LeftOut("no work of its job passed the checks, or no session of it is kept")
        for item in passed if job.is_merged else ():
            text, missing = self._file(files, item.session, "transcript")
            if missing:
                yield LeftOut(missing)
            for messages in conversations(text.encode()):
                known = {name: tool.schema() for name, tool in TOOLS.items()}
                yield {"messages": messages, "tools": tools_of(messages, known)}

    def _checked(self, value: dict[str, Any], job: FinishedJob, redact: tuple[str, ...]) -> Line | LeftOut:
        """A record as it is written: redacted as the job's contract says, and looked through for secrets once more."""
        try:
            written = json.dumps(value, ensure_ascii=False, allow_nan=False)
        except ValueError:
            return LeftOut("it has a number that JSON does not have, as NaN")
        except RecursionError:
            return LeftOut("its calls' arguments are nested too deeply")
        text = redacting_json(written, redact)
        if LEFT_OUT in text:
            return LeftOut("the contract's `redact` patterns took too long to be applied to it")
        if any(self._is_secret(item) for item in _texts(json.loads(text))):
            return LeftOut("it has what looks like a secret")
        return Line(text=text, job=job)

    def _is_secret(self, text: str) -> bool:
        return (
            self.redactor.redact(text) != text
            or bool(self.redactor.search.written_in(text))
            or any(True for _ in find_secrets(text))
        )


def _texts(value: object) -> Iterator[str]:
    """All texts in a record, its names too: what a call gives is a model's, names and all. However deeply they are nested."""
    left = [value]
    while left:
        match left.pop():
            case str() as text:
                yield text
            case dict() as record:
                left += [*record, *record.values()]
            case list() as items:
                left += items
            case _:
                pass
