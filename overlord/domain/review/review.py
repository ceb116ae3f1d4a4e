"""The model's review: the only form of answer that counts, and what the rubric makes of it.

The model names rules; the rubric says what they weigh. An answer that is not exactly in form is a failed review, and a
failed review is never a pass: whatever a diff says to its reviewer, a review can only lower a verdict.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from minion.protocol import Finding
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.review.claim import Claim, ClaimAnswer, answer_problem, unjustified
from overlord.domain.review.review_request import Part
from overlord.domain.review.rubric import Rubric, Severity
from overlord.domain.text.plain import count, visible
from overlord.domain.text.problem import first_problem
from overlord.domain.text.secret_detection import redacted

MAX_ANSWER_CHARS = 400_000
EVIDENCE_CHARS = 600
_JSON_BLOCK = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ReviewFinding(_Strict):
    """One thing the model holds against the change."""

    rule: str
    file: str
    line: Annotated[int, Field(ge=1)] | None
    message: Annotated[str, Field(min_length=1, max_length=4000)]
    evidence: Annotated[str, Field(max_length=8000)]
    suggestion: Annotated[str, Field(max_length=8000)]
    systemic: bool


class ReviewAnswer(_Strict):
    """A model's answer on one part, in form."""

    files_reviewed: Annotated[list[str], Field(min_length=1)]
    findings: list[ReviewFinding]
    claims: list[ClaimAnswer] = Field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewProblem:
    """Why an answer does not count. The engine asks once more, with these words."""

    reason: str

    def correction(self) -> dict[str, str]:
        """The message that asks again."""
        text = f"That answer does not count: {self.reason}. Answer again, with one JSON object of the given form only."
        return {"role": "user", "content": text}


def parse_review(
    text: str, part: Part, rubric: Rubric, claims: Sequence[Claim] = (), issue: str = ""
) -> ReviewAnswer | ReviewProblem:
    """A model's answer on `part`, or what is wrong with it. It may stand alone or in one ```json block. `claims` are the questions
    about tests it must answer, `issue` the text it may quote for that."""
    stripped = text.strip()
    if not stripped:
        return ReviewProblem(reason="it is empty")
    if len(stripped) > MAX_ANSWER_CHARS:
        return ReviewProblem(reason=f"it is longer than {MAX_ANSWER_CHARS:,} characters")
    block = _JSON_BLOCK.fullmatch(stripped)
    try:
        answer = ReviewAnswer.model_validate(
            json.loads(block[1] if block else stripped, object_pairs_hook=_each_key_once)
        )
    except ValidationError as error:
        return ReviewProblem(reason=visible(first_problem(error))[:500])
    except (ValueError, RecursionError) as error:
        return ReviewProblem(reason=f"it is not JSON: {visible(str(error))[:200]}")
    if problem := answer_problem(answer.claims, claims, issue):
        return ReviewProblem(reason=problem)
    return _accounted(answer, part, rubric)


def judge_review(
    parts: Sequence[Part],
    answers: Sequence[ReviewAnswer | ReviewProblem],
    rubric: Rubric,
    claims: Sequence[Claim] = (),
) -> CheckResult:
    """The review's score: the worst severity found; no score when any part was not reviewed in form."""
    in_form = [answer for answer in answers if isinstance(answer, ReviewAnswer)]
    severities = rubric.severities
    found = [_finding(finding) for answer in in_form for finding in answer.findings]
    found += [finding for answer in in_form for finding in unjustified(answer.claims, claims)]
    # A rubric may know nothing of tests, as that of skills; what is not justified is sent back all the same.
    weight = {finding.rule: severities.get(finding.rule, Severity.NEEDS_REVISION) for finding in found}
    findings = tuple(sorted(found, key=lambda finding: list(Severity).index(weight[finding.rule])))
    weights = [weight[finding.rule] for finding in findings]
    against = sum(weight is not Severity.NOTE for weight in weights)
    text = f"{count(len(parts), 'part')} reviewed, {count(against, 'finding')}"
    if notes := len(weights) - against:
        text += f", {count(notes, 'note')}"
    asked = {one.number: one.needs_quote for one in claims}
    lines = [asked[one.number] for answer in in_form for one in answer.claims if one.justified]
    if expected := sum(lines):
        text += f", {count(expected, 'changed test')} as the issue asks"
    if explained := len(lines) - sum(lines):
        text += f", {count(explained, 'red test')} with a reason"
    if Severity.FAIL in weights:
        return _review_result(CheckScore.FAIL, text, findings)
    problem = next((answer for answer in answers if isinstance(answer, ReviewProblem)), None)
    if problem is not None or len(answers) != len(parts) or not parts:
        reason = problem.reason if problem else f"{len(answers)} of {count(len(parts), 'part')} answered"
        return _review_result(None, f"the review failed: {reason}", findings)
    return _review_result(CheckScore.NEEDS_REVISION if against else CheckScore.PASS, text, findings)


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _accounted(answer: ReviewAnswer, part: Part, rubric: Rubric) -> ReviewAnswer | ReviewProblem:
    """The answer, if it names the rubric's rules and this part's files only, and leaves none of the files out."""
    for finding in answer.findings:
        if finding.rule not in rubric.severities:
            return ReviewProblem(reason=f"the rubric has no rule {visible(finding.rule)[:60]!r}")
        if finding.file not in part.files:
            return ReviewProblem(
                reason=f"a finding is about {visible(finding.file)[:200]!r}, which is not in this part"
            )
    reviewed = set(answer.files_reviewed)
    if strange := sorted(reviewed - set(part.files)):
        return ReviewProblem(
            reason=f"files_reviewed names {visible(strange[0])[:200]!r}, which is not in this part"
        )
    if missing := sorted(set(part.files) - reviewed):
        return ReviewProblem(reason=f"files_reviewed leaves out {visible(missing[0])[:200]!r}")
    return answer


def _finding(finding: ReviewFinding) -> Finding:
    return Finding(
        check=CheckName.REVIEW,
        rule=finding.rule,
        file=visible(finding.file),
        line=finding.line,
        message=redacted(visible(finding.message)),
        evidence=redacted(visible(finding.evidence))[:EVIDENCE_CHARS],
        suggestion=redacted(visible(finding.suggestion))[:EVIDENCE_CHARS],
        systemic=finding.systemic,
    )


def _review_result(score: CheckScore | None, summary: str, findings: tuple[Finding, ...]) -> CheckResult:
    subject = Subject.CHECKS_UNAVAILABLE if score is None else ""
    return CheckResult(
        name=CheckName.REVIEW, score=score, summary=summary, findings=findings, subject=subject
    )
