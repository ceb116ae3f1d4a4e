"""Reading a test run: JUnit XML into test ids and outcomes. What does not parse is None, never "all passed"."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from junitparser.junitparser import JUnitXmlError


class CaseOutcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test: its id (`tests.test_calc.TestAdd::test_small`), outcome, and what it said when it failed."""

    id: str
    outcome: CaseOutcome
    message: str = ""


def parse_junit(text: str | None) -> tuple[Case, ...] | None:
    """Every test case, or None when this is no JUnit report."""
    if not text:
        return None
    try:
        return tuple(_case(case) for case in _cases(JUnitXml.fromstring(text.encode())))
    except (JUnitXmlError, SyntaxError, ValueError, TypeError, AttributeError):
        return None  # ElementTree's ParseError is a SyntaxError


def _cases(root: JUnitXml | TestSuite) -> Iterator[TestCase]:
    for item in root:
        if isinstance(item, TestSuite):
            yield from _cases(item)
        elif isinstance(item, TestCase):
            yield item


def _case(case: TestCase) -> Case:
    outcome, message = CaseOutcome.PASSED, ""
    for result in case.result:
        if isinstance(result, Failure | Error):
            outcome, message = CaseOutcome.FAILED, str(result.message or result.text or "")
        elif isinstance(result, Skipped) and outcome is CaseOutcome.PASSED:
            outcome = CaseOutcome.SKIPPED
    return Case(id=f"{case.classname or ''}::{case.name or ''}", outcome=outcome, message=message)
