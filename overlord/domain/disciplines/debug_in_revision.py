"""Hypotheses for what failed in a job's evaluation, for the session that revises its work: told beside the findings, held against nobody."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from minion.protocol import Finding, Issue
from overlord.domain.disciplines.hypotheses import MOST, Hypothesis, hypotheses_in, missing_in
from overlord.domain.evaluation import HYPOTHESIS, CheckName, CheckResult, CheckScore, describe
from overlord.domain.knowledge.discipline import LAWS, OUTPUT_CONTRACT, RULES, Discipline
from overlord.domain.review.review_request import fenced, seen

EXPLAINED = (CheckName.TESTS, CheckName.LINT, CheckName.CRITERIA)
"""The checks whose failing is explained: a program ran, and something came of it. A review says why by itself."""
MOST_REPLY_CHARS = 32_000
MOST_CHARS = 1_000
"""Of each part of a hypothesis."""
ISSUE_CHARS = 8_000
FOUND_CHARS = 24_000
DIFF_CHARS = 40_000


def failed_check(checks: Iterable[CheckResult]) -> CheckResult | None:
    """The check whose failing is to be explained: the first that holds something against the work; None where none does."""
    return next(
        (
            made
            for name in EXPLAINED
            for made in checks
            if made.name is name and made.score is CheckScore.NEEDS_REVISION and made.findings
        ),
        None,
    )


def messages_for(
    failed: CheckResult, *, issue: Issue, diff: str, prompt: str, page: Discipline, fence: str
) -> list[dict[str, str]]:
    """One request's messages. `prompt` is `config/prompts/debug.md`; `fence` a random word made for this request."""
    found = "\n\n".join(_found(finding) for finding in failed.findings)
    sections = (
        ("task", f"{issue.title}\n\n{issue.body}", ISSUE_CHARS),
        (f"what {failed.name} found", f"{failed.summary}\n\n{found}", FOUND_CHARS),
        ("change", diff, DIFF_CHARS),
    )
    told = page.text(LAWS, OUTPUT_CONTRACT, RULES)
    return [
        {"role": "system", "content": prompt.format(fence=fence, discipline=told)},
        {"role": "user", "content": "\n\n".join(fenced(fence, *section) for section in sections)},
    ]


def _found(finding: Finding) -> str:
    return f"{describe(finding)}\n{finding.evidence}".strip()


def findings_of(reply: str, failed: CheckResult) -> tuple[Finding, ...]:
    """The hypotheses of an answer, each as something that is told of this check; none of an answer that is not in form."""
    found = hypotheses_in(reply) if len(reply) <= MOST_REPLY_CHARS else ()
    if missing_in(found):
        return ()
    return tuple(_told(item, failed.name) for item in found[:MOST])


def _told(item: Hypothesis, check: str) -> Finding:
    return Finding(
        check=check,
        rule=HYPOTHESIS,
        message=f"Perhaps ({item.likelihood} likelihood): {_cut(item.text)}",
        suggestion=f"Find out first: {_cut(item.verify)} → expected if correct: {_cut(item.expected)}",
    )


def _cut(text: str) -> str:
    text = " ".join(seen(text).split())
    return text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS].rstrip()} …"


def with_hypotheses(
    checks: Sequence[CheckResult], failed: CheckResult, told: tuple[Finding, ...], evidence: str
) -> tuple[CheckResult, ...]:
    """The checks of an evaluation with what was told of the one that failed, and the file that holds the whole answer."""
    more = replace(failed, findings=(*failed.findings, *told), evidence=(*failed.evidence, evidence))
    return tuple(more if made.name is failed.name else made for made in checks)
