"""What may have caused a failure, asked of a model when a revision is about to be ordered: one metered call without tools, on the books of
the repository. Whatever comes of the call, the revision goes its way."""

import asyncio
import secrets
from dataclasses import replace

import structlog

from minion.protocol import SessionKind
from overlord.config_files import packaged
from overlord.domain.disciplines.debug_in_revision import (
    failed_check,
    findings_of,
    messages_for,
    with_hypotheses,
)
from overlord.domain.disciplines.prompts import page
from overlord.domain.evaluation import CheckResult
from overlord.domain.job import Job
from overlord.domain.session import Account
from overlord.engine.runtime.parts import Parts
from overlord.errors import ModelRefused, ModelUnavailable
from overlord.store.checks.evaluations import EvaluationRow
from overlord.store.evidence import EvidenceFile

EVIDENCE = "hypotheses"
WITHIN_S = 90.0
"""For the one answer."""

log = structlog.get_logger()


async def diagnosed(
    parts: Parts, job: Job, row: EvaluationRow, diff: str
) -> tuple[EvaluationRow, EvidenceFile | None]:
    """The evaluation with hypotheses for what failed, and the file that holds the answer; as it was where there are none."""
    failed = failed_check(row.checks) if parts.settings.space(job.space).checks.debug_findings else None
    if failed is None:
        return row, None
    reply = parts.current.redactor.redact(await _reply(parts, job, failed, diff))
    told = await asyncio.to_thread(findings_of, reply, failed)
    if not told:
        if reply:
            log.warning("hypotheses_not_readable", job=job.id)
        return row, None
    content = reply.encode()
    file = EvidenceFile(
        job_id=job.id,
        session_id=None,
        kind=EVIDENCE,
        sha256=await asyncio.to_thread(parts.evidence.put, content),
        size=len(content),
        at=parts.clock.now(),
    )
    return replace(row, checks=with_hypotheses(row.checks, failed, told, file.sha256)), file


async def _reply(parts: Parts, job: Job, failed: CheckResult, diff: str) -> str:
    """What a model says; empty where none answered."""
    redact = parts.current.redactor.redact
    asked = messages_for(
        failed,
        issue=replace(job.issue, title=redact(job.issue.title), body=redact(job.issue.body)),
        diff=redact(diff),
        prompt=packaged("prompts/debug.md"),
        page=page("debug"),
        fence=f"data-{secrets.token_hex(8)}",
    )
    account = Account(id=f"debug-{job.id}", space=job.space, kind=SessionKind.REVIEW)
    try:
        async with asyncio.timeout(WITHIN_S):
            return await parts.assistant.answer(account, asked)
    except (ModelUnavailable, ModelRefused, TimeoutError) as error:
        log.warning("hypotheses_not_answered", job=job.id, reason=str(error) or "no reply in time")
        return ""
