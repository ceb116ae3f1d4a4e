"""The verdict on a session's work: checks with findings, and the rule that combines them. Nothing unclear is a pass."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from minion.protocol import Finding
from overlord.domain.identifiers import Sha


class CheckScore(StrEnum):
    """What one check says of a change."""

    PASS = "pass"
    FAIL = "fail"
    NEEDS_REVISION = "needs_revision"
    NOT_JUDGED = "not_judged"
    """A person accepted that nothing can be judged here. No check says that by itself."""


class CheckName(StrEnum):
    """The checks, in the order they run."""

    SCOPE = "scope"
    INTEGRITY = "integrity"
    SKILL = "skill"
    """Made for an approved draft of a skill alone."""
    CRITERIA = "criteria"
    """What the contract wants to be so after a role's session."""
    TESTS = "tests"
    LINT = "lint"
    REVIEW = "review"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check's outcome. `score` is None when the check could not be made: never a pass, a person is asked."""

    name: CheckName
    score: CheckScore | None
    summary: str
    """One line with figures: "41 passed, 2 new"."""
    findings: tuple[Finding, ...] = ()
    evidence: tuple[str, ...] = ()
    """Hashes of evidence files."""
    subject: str = ""
    """For a check that could not be made or that a person must decide: the code of the decision to raise."""


class Verdict(StrEnum):
    """What an evaluation means for the job."""

    PASS = "pass"
    NEEDS_REVISION = "needs_revision"
    FAIL = "fail"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """The history row: one verdict on one canonical commit."""

    job_id: int
    repo: str
    pr_number: int | None
    head_sha: Sha
    revision_number: int
    timestamp: datetime
    checks: tuple[CheckResult, ...]

    def score(self, name: CheckName) -> CheckScore | None:
        """A check's score; None when it was not made."""
        return next((check.score for check in self.checks if check.name == name), None)

    @property
    def overall(self) -> Verdict:
        return overall(self.checks)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return ordered(finding for check in self.checks for finding in check.findings)

    @property
    def feedback(self) -> str:
        """The findings as one text, worst first, for the brief of a revision and for people."""
        return "\n".join(describe(finding) for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRequest:
    """What sends a session back on the same branch."""

    job_id: int
    revision_number: int
    findings: tuple[Finding, ...]


REQUIRED = (CheckName.SCOPE, CheckName.INTEGRITY, CheckName.TESTS, CheckName.LINT)
"""What a pass needs, besides the review where there is one."""


SHOWN_FIRST = ("red-test-rewritten", "red-test-gone", "red-test-skipped", "red-test-left", "unproven")
"""Rules of findings that are named before all others, in this order."""
ABOUT_TESTS = frozenset({*SHOWN_FIRST, "expectation-changed"})
"""Of these a person may say, after the last revision, that they are meant: a test can be wrong."""
HYPOTHESIS = "hypothesis"
"""The rule of what may have caused a failure: told to whoever repairs it."""
SHOWN_LAST = frozenset(
    {"failing-before", "flaky", "changed-test", "removed-test", "red-test-explained", HYPOTHESIS}
)
"""Rules of findings that are told and held against nobody."""


def usually_required(checks: Sequence[CheckResult]) -> Sequence[CheckName]:
    """What a pass needs by the checks themselves: where a contract's criteria were judged and neither tests nor lint were, these
    were not asked for."""
    made = {check.name for check in checks}
    if CheckName.CRITERIA in made and made.isdisjoint({CheckName.TESTS, CheckName.LINT}):
        return (CheckName.SCOPE, CheckName.INTEGRITY, CheckName.CRITERIA)
    return REQUIRED


def overall(checks: Sequence[CheckResult], required: Sequence[CheckName] | None = None) -> Verdict:
    """Any hard fail fails; a check that could not be made asks a person; any revision revises; all made and passed, pass.
    Tests that a person accepted as not judged stand in nothing's way; no other check can be that."""
    scores = [check.score for check in checks]
    if CheckScore.FAIL in scores:
        return Verdict.FAIL
    if None in scores:
        return Verdict.UNAVAILABLE
    if any(check.score is CheckScore.NOT_JUDGED and check.name is not CheckName.TESTS for check in checks):
        return Verdict.UNAVAILABLE
    if CheckScore.NEEDS_REVISION in scores:
        return Verdict.NEEDS_REVISION
    made = {check.name for check in checks}
    wanted = usually_required(checks) if required is None else required
    return Verdict.PASS if made.issuperset(wanted) else Verdict.UNAVAILABLE


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Without doubles: what was made of red tests first, what is only noted last, in the order of the checks, by file and line."""
    unique = dict.fromkeys(findings)
    order: dict[str, int] = {name: index for index, name in enumerate(CheckName)}

    def rank(item: Finding) -> tuple[int, int, str, int, str]:
        late = len(SHOWN_FIRST) + (item.rule in SHOWN_LAST)
        place = SHOWN_FIRST.index(item.rule) if item.rule in SHOWN_FIRST else late
        return (place, order.get(item.check, 99), item.file or "", item.line or 0, item.rule)

    return tuple(sorted(unique, key=rank))


def describe(finding: Finding) -> str:
    """A finding in one line."""
    is_named = bool(finding.file) and finding.message.startswith(f"{finding.file} ")
    place = f"{finding.file}:{finding.line}" if finding.line else "" if is_named else (finding.file or "")
    return " ".join(part for part in (f"[{finding.check}/{finding.rule}]", place, finding.message) if part)
