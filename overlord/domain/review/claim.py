"""What only a reader can say of tests: whether the issue asks for what a test expects now, or whether a red test may stay red.

The runs name such tests, the review answers for each of them, and code checks the answer: it must quote the issue, word for word,
where the issue is said to ask for it. What is not justified is sent back like any other finding.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from minion.protocol import Finding
from overlord.domain.evaluation import CheckName, CheckResult
from overlord.domain.text.plain import count, visible
from overlord.domain.text.secret_detection import redacted

CHANGED_TEST, REMOVED_TEST, EXPLAINED = "changed-test", "removed-test", "red-test-explained"
"""Rules of findings that are questions."""
EXPECTATION_RULE, LEFT_RULE = "expectation-changed", "red-test-left"
"""Rules of the rubric."""
SHORTEST_QUOTE = 8
_RULES = {CHANGED_TEST: EXPECTATION_RULE, REMOVED_TEST: EXPECTATION_RULE, EXPLAINED: LEFT_RULE}
_QUESTIONS = {
    CHANGED_TEST: "Does the issue ask for what this test expects now?",
    REMOVED_TEST: "Does the issue ask for what this test tested to be gone?",
    EXPLAINED: "Does the explanation hold, so that this test may stay red?",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One question, counted from 1 over a whole review."""

    number: int
    finding: Finding

    @property
    def rule(self) -> str:
        """The rubric's rule that a claim which is not justified falls under."""
        return _RULES[self.finding.rule]

    @property
    def needs_quote(self) -> bool:
        return self.rule == EXPECTATION_RULE

    def describe(self) -> str:
        """As it is put to the review."""
        text = f" The agent says: {self.finding.evidence}" if self.finding.rule == EXPLAINED else ""
        return f"{self.number}. {self.finding.message}{text} {_QUESTIONS[self.finding.rule]}"


class ClaimAnswer(BaseModel):
    """What a model answers to one of them."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    number: Annotated[int, Field(ge=1)]
    justified: bool
    quote: Annotated[str, Field(max_length=2000)]
    """The issue's words that ask for it; may be empty where it is not justified, or where no issue could say it."""
    reason: Annotated[str, Field(min_length=1, max_length=2000)]


def claims_of(checks: Iterable[CheckResult]) -> tuple[Claim, ...]:
    """The questions that the tests' check leaves."""
    found = [
        item
        for made in checks
        if made.name is CheckName.TESTS
        for item in made.findings
        if item.rule in _RULES
    ]
    return tuple(Claim(number=number, finding=item) for number, item in enumerate(found, 1))


def claims_for(
    claims: Sequence[Claim], files: Sequence[str], parts: Sequence[Collection[str]]
) -> tuple[Claim, ...]:
    """Those that belong to a part of the diff with these files: a claim goes with the first part that has its file, else with the
    first of all. `parts` are the files of every part, in order."""
    found = []
    for one in claims:
        home = next((part for part in parts if one.finding.file in part), parts[0] if parts else ())
        if home is files:
            found.append(one)
    return tuple(found)


def answer_problem(answers: Sequence[ClaimAnswer], claims: Sequence[Claim], issue: str) -> str:
    """Why answers do not count, or nothing: each question once, and quotes that the issue really has."""
    numbers = [one.number for one in answers]
    if sorted(numbers) != [one.number for one in claims]:
        wanted = ", ".join(str(one.number) for one in claims) or "none"
        return f"claims must answer each question once ({wanted}), and has {numbers}"
    asked = {one.number: one for one in claims}
    for one in answers:
        if one.justified and asked[one.number].needs_quote and not _is_quoted(one.quote, issue):
            return (
                f"claims: the quote for {one.number} is not in the issue; quote its words exactly, "
                "or say that it is not justified"
            )
    return ""


def unjustified(answers: Sequence[ClaimAnswer], claims: Sequence[Claim]) -> list[Finding]:
    """A finding for each test whose change nothing justifies."""
    asked = {one.number: one for one in claims}
    return [
        Finding(
            check=CheckName.REVIEW,
            rule=asked[one.number].rule,
            file=asked[one.number].finding.file,
            message=redacted(visible(f"{asked[one.number].finding.message} {one.reason}")),
            suggestion="Put the test back as it was and fix the code, unless the issue asks for exactly this.",
        )
        for one in answers
        if not one.justified
    ]


def claims_line(checks: Iterable[CheckResult]) -> str:
    """What a delivered change does to tests, for the card; nothing where it does nothing to them."""
    rules = [one.finding.rule for one in claims_of(checks)]
    lines = [
        f"changes what {count(number, 'test')} {'expects' if number == 1 else 'expect'}"
        if (number := rules.count(CHANGED_TEST))
        else "",
        f"removes {count(number, 'test')}" if (number := rules.count(REMOVED_TEST)) else "",
        f"leaves {count(number, 'test')} of the task red" if (number := rules.count(EXPLAINED)) else "",
    ]
    return ", ".join(filter(None, lines))


def _is_quoted(quote: str, issue: str) -> bool:
    words = _normalized(quote)
    return len(words) >= SHORTEST_QUOTE and words in _normalized(issue)


def _normalized(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()
