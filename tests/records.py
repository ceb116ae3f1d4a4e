"""Records as tests need them: whole, plausible, and different only where a test says so."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from minion.protocol import Brief, Finding, Issue, Report, Scope, SessionKind, encode
from overlord.config_files import packaged
from overlord.domain.budgets.budget import TokenUsage
from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.contract import Contract
from overlord.domain.conversation.pull_card import Story
from overlord.domain.decision import Decision, DecisionKind, Subject, Verb
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore, EvaluationResult
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.job import Job, JobId, JobState
from overlord.domain.portfolio.escalation import (
    Escalation,
    EscalationKind,
    EscalationState,
    EscalationType,
    SuggestedAnswer,
)
from overlord.domain.portfolio.priority import Priority
from overlord.domain.session import Session, SessionState, session_id

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
REPO = RepositoryName("acme/calc")
BASE, HEAD = Sha("b" * 40), Sha("c" * 40)


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def contract() -> Contract:
    """The built-in one."""
    return load_contract(packaged("contracts/default.yaml"), "the built-in contract")


def an_issue(**given: Any) -> Issue:
    values = {"number": 7, "title": "add() subtracts", "body": "`add(2, 2)` is 0.", "author": "alice"}
    return Issue(**{**values, **given})


def a_job(**given: Any) -> Job:
    values: dict[str, Any] = {
        "id": JobId(1),
        "space": REPO,
        "issue": an_issue(),
        "state": JobState.QUEUED,
        "branch": "minion/issue-7",
        "base_branch": "main",
        "contract": "default",
        "phase": "implement",
        "created_at": NOW,
        "updated_at": NOW,
        "expires_at": later(336 * 3600),
    }
    return Job(**{**values, **given})


def a_brief(job: Job, kind: SessionKind = SessionKind.WORK, ordinal: int = 1, **given: Any) -> Brief:
    values: dict[str, Any] = {
        "session_id": session_id(job.id, kind, ordinal),
        "kind": kind,
        "role": "minion",
        "repository": job.space,
        "base_branch": job.base_branch,
        "base_sha": job.base_sha or BASE,
        "branch": job.branch,
        "head_sha": job.head_sha or BASE,
        "issue": job.issue,
        "scope": Scope.unrestricted(),
    }
    return Brief(**{**values, **given})


def a_session(
    job: Job | None = None, kind: SessionKind = SessionKind.WORK, ordinal: int = 1, **given: Any
) -> Session:
    job = job or a_job()
    brief = a_brief(job, kind, ordinal)
    values: dict[str, Any] = {
        "id": brief.session_id,
        "job_id": job.id,
        "kind": kind,
        "state": SessionState.PREPARED,
        "brief": encode(brief).decode(),
        "scope": brief.scope.to_json(),
        "branch": job.branch,
        "token_budget": 100_000 if kind is SessionKind.WORK else 0,
        "time_limit_s": 1800,
        "prepared_at": NOW,
    }
    return Session(**{**values, **given})


def a_decision(**given: Any) -> Decision:
    values: dict[str, Any] = {
        "id": 1,
        "job_id": JobId(1),
        "kind": DecisionKind.BLOCKER,
        "subject": Subject.BLOCKED,
        "title": "acme/calc#7: the Minion says it cannot go on",
        "body": "> Which of the two?",
        "verbs": (Verb.RETRY, Verb.TAKE_OVER, Verb.DROP),
        "blocks": "this job",
        "created_at": NOW,
    }
    return Decision(**{**values, **given})


def a_finding(**given: Any) -> Finding:
    return Finding(**{"check": CheckName.TESTS, "rule": "test-failed", "message": "It fails.", **given})


def a_check(
    name: CheckName = CheckName.TESTS,
    score: CheckScore | None = CheckScore.PASS,
    summary: str = "2 passed",
    **given: Any,
) -> CheckResult:
    return CheckResult(name=name, score=score, summary=summary, **given)


def an_evaluation(*checks: CheckResult, **given: Any) -> EvaluationResult:
    values: dict[str, Any] = {
        "job_id": 1,
        "repo": REPO,
        "pr_number": None,
        "head_sha": HEAD,
        "revision_number": 0,
        "timestamp": NOW,
    }
    return EvaluationResult(**{**values, **given}, checks=checks)


def a_story(job: Job | None = None, report: Report | None = None, **given: Any) -> Story:
    job = job or a_job(head_sha=HEAD)
    values: dict[str, Any] = {
        "job": job,
        "attempts": 3,
        "evaluations": (),
        "sessions": () if report is None else (replace(a_session(job), report=report),),
        "decisions": (),
        "answered": (),
        "usage": TokenUsage(prompt=1200, completion=34),
        "calls": 3,
        "work_s": 12.4,
        "ledger_head": "d" * 64,
    }
    return Story(**{**values, **given})


def an_escalation(**given: Any) -> Escalation:
    values: dict[str, Any] = {
        "id": 5,
        "type": EscalationType.DECISION,
        "kind": EscalationKind.TRADE_OFF,
        "space": REPO,
        "question": "Redis or Memcached for token blacklisting?",
        "context": "Redis is persistent.",
        "suggested": (
            SuggestedAnswer(label="Redis", description="persistent, shared across instances"),
            SuggestedAnswer(label="Memcached"),
        ),
        "escalated_by": "session:j1-work-1",
        "path": ("j1-work-1",),
        "priority": Priority.HIGH,
        "state": EscalationState.DRAFT,
        "created_at": NOW,
    }
    return Escalation(**{**values, **given})
