"""What new work is put on: the job's head, or where it was before a secret got in."""

from datetime import UTC, datetime

import pytest

from minion.protocol import Finding
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore, EvaluationResult
from overlord.domain.identifiers import Sha
from overlord.engine.sessions.collect import clean_parent
from tests.records import a_job


def judged(head: str, *rules: str, check: CheckName = CheckName.INTEGRITY) -> EvaluationResult:
    findings = tuple(Finding(check=check, rule=rule, message="m") for rule in rules)
    made = CheckResult(name=check, score=CheckScore.PASS, summary="s", findings=findings)
    return EvaluationResult(
        job_id=1,
        repo="acme/calc",
        pr_number=None,
        head_sha=Sha(head),
        revision_number=0,
        timestamp=datetime(2026, 11, 25, tzinfo=UTC),
        checks=(made,),
    )


@pytest.mark.parametrize(
    ("past", "parent"),
    [
        ([], "head"),
        ([judged("head", "too-large")], "head"),
        ([judged("head", "held-secret")], "base"),
        ([judged("clean"), judged("head", "secret")], "clean"),
        ([judged("older"), judged("clean"), judged("bad", "secret"), judged("head", "secret")], "clean"),
        ([judged("unknown", check=CheckName.SCOPE), judged("head", "secret")], "base"),
        ([judged("bad", "secret"), judged("head")], "head"),
    ],
)
def test_work_goes_on_from_the_newest_commit_that_holds_no_secret(
    past: list[EvaluationResult], parent: str
) -> None:
    assert clean_parent(a_job(base_sha="base", head_sha="head"), past) == parent


def test_the_first_work_is_put_on_the_base() -> None:
    assert clean_parent(a_job(base_sha="base", head_sha=None), []) == "base"
