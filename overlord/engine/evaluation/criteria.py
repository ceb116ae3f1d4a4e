"""The criteria of a contract in an evaluation: what a check session runs for them, and what they say together."""

import asyncio
import sqlite3
from dataclasses import dataclass, replace

from minion.protocol import CheckReport, CheckStep, Finding, PlanFile, Terms
from overlord.domain.checks.testruns.judge import plan_tests
from overlord.domain.contracts.criteria.criterion import CriterionResult
from overlord.domain.contracts.criteria.evaluation_passed import EvaluationPassed
from overlord.domain.contracts.criteria.registry import findings_of, judge_all, steps_of
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.job import Job
from overlord.domain.text.plain import count
from overlord.domain.text.redacting import redacting_all
from overlord.engine.bootstrap import init_job
from overlord.engine.contracts import judge
from overlord.engine.contracts.judge import Wanted
from overlord.engine.portfolio import lead_job
from overlord.engine.runtime.parts import Parts
from overlord.engine.sessions.evaluation_input import checks_of
from overlord.store.contracts import plan_files
from overlord.store.evidence import EvidenceFile, record
from overlord.store.rows import adapter

EVIDENCE = "criteria"
"""The kind of evidence that holds what each criterion said, met or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CriteriaJudged:
    """The check `criteria`, and the evidence for it."""

    result: CheckResult
    evidence: EvidenceFile

    def keep(self, connection: sqlite3.Connection) -> None:
        """Write the evidence's row, in the transaction of the check."""
        record(connection, self.evidence)


def own(wanted: Wanted) -> Wanted:
    """The same without the evaluation itself, whose checks stand beside this one."""
    return replace(
        wanted, criteria=tuple(item for item in wanted.criteria if not isinstance(item, EvaluationPassed))
    )


async def steps(parts: Parts, job: Job, wanted: Wanted) -> tuple[CheckStep, ...]:
    """What a check session runs for the criteria. A step without a command is of the repository's own tests."""
    found = steps_of(own(wanted).criteria)
    if all(step.command for step in found):
        return found
    limit_s = parts.settings.space(job.space).checks.tests_s
    [tests] = plan_tests((), await checks_of(parts, job), limit_s, with_baseline=False)
    return tuple(step if step.command else replace(tests, name=step.name, reruns=0) for step in found)


async def terms(parts: Parts, job: Job, wanted: Wanted) -> Terms | None:
    """What a check session is given of the job's plan."""
    if not wanted.has_terms:
        return None
    plan = await parts.database.read(lambda c: plan_files.of_job(c, job.id))
    files = tuple(PlanFile(path=path, text=text) for path, text in plan.items())
    return Terms(contract=wanted.turn.contract.name, phase=wanted.turn.phase_name, plan=files)


async def judged(parts: Parts, job: Job, wanted: Wanted, report: CheckReport | None) -> CriteriaJudged:
    """Judge every criterion; what a session did not run is not met and no pass."""
    wanted = own(wanted)
    looked = await judge.seen(parts, job, wanted)
    ran = {item.name: item for item in report.steps} if report is not None else {}
    results = await asyncio.to_thread(judge_all, wanted.criteria, looked, ran)
    results = (*results, *judge.over_budget(wanted, looked.own))
    results = (*results, *await init_job.judged(parts, job, wanted.turn.phase_name))
    results = (*results, *await lead_job.judged(parts, job))
    results = await asyncio.to_thread(_redacted, results, wanted.turn.contract.redact)
    dumped = adapter(tuple[CriterionResult, ...]).dump_json(results, indent=1).decode()
    content = parts.current.redactor.redact(dumped).encode()
    evidence = EvidenceFile(
        job_id=job.id,
        session_id=None,
        kind=EVIDENCE,
        sha256=await asyncio.to_thread(parts.evidence.put, content),
        size=len(content),
        at=parts.clock.now(),
    )
    result = _result(results, wanted.complaints)
    return CriteriaJudged(result=replace(result, evidence=(evidence.sha256,)), evidence=evidence)


def _redacted(results: tuple[CriterionResult, ...], patterns: tuple[str, ...]) -> tuple[CriterionResult, ...]:
    """The same without what the contract takes out of evidence."""
    texts = redacting_all([text for item in results for text in (item.message, item.evidence)], patterns)
    pairs = zip(texts[::2], texts[1::2], strict=True)
    return tuple(
        replace(item, message=message, evidence=evidence)
        for item, (message, evidence) in zip(results, pairs, strict=True)
    )


def _result(results: tuple[CriterionResult, ...], complaints: tuple[Finding, ...]) -> CheckResult:
    missed = [item for item in results if item.is_met is False]
    unknown = [item for item in results if item.is_met is None]
    findings = (*complaints, *findings_of(results))
    met = len(results) - len(missed) - len(unknown)
    summary = (
        f"{met} of {count(len(results), 'criterion').replace('criterions', 'criteria')} met"
        if results
        else "none asked for"
    )
    if missed or complaints:
        return CheckResult(
            name=CheckName.CRITERIA, score=CheckScore.NEEDS_REVISION, summary=summary, findings=findings
        )
    if unknown:
        return CheckResult(
            name=CheckName.CRITERIA,
            score=None,
            summary=f"{unknown[0].name}: {unknown[0].message}",
            findings=findings,
            subject=Subject.CHECKS_UNAVAILABLE,
        )
    return CheckResult(name=CheckName.CRITERIA, score=CheckScore.PASS, summary=summary)
