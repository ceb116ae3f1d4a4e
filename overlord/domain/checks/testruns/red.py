"""Tests that were red at base: what the change made of each, known by base's own version.

Fixed is what was red, passes in the form it had at base, and is still run. A change that makes a red test green by changing the test,
or that has it not run any more, has fixed nothing: that is the first thing said of it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from minion.protocol import Finding
from overlord.domain.checks.change_context import ChangeContext
from overlord.domain.checks.testruns.junit import Case
from overlord.domain.checks.testruns.run import Runs, bare_name
from overlord.domain.evaluation import CheckName
from overlord.domain.review.claim import EXPLAINED
from overlord.domain.text.plain import visible

MESSAGE_CHARS = 600
MOST_NAMED = 50
"""Findings of one kind that are listed; the figures count all of them."""
REWRITTEN, GONE, SKIPPED = "red-test-rewritten", "red-test-gone", "red-test-skipped"
LEFT, FAILING_BEFORE = "red-test-left", "failing-before"
RED_RULES = frozenset({REWRITTEN, GONE, SKIPPED})
_SUGGESTIONS = {
    REWRITTEN: "Put the test back as it is at base, and fix the code until it passes.",
    GONE: "Put the test back as it is at base, with all its cases, and fix the code until it passes.",
    SKIPPED: "Let the test run, and fix the code until it passes.",
    LEFT: "Fix the code until it passes, or name it in your summary and say why it cannot pass with this task.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RedTests:
    """What became of them."""

    fixed: tuple[Case, ...]
    left: tuple[Case, ...]
    """Red before and after."""
    findings: tuple[Finding, ...]
    green: frozenset[str]
    """Whose version of base passes on the new code, whatever was made of them."""
    moved: frozenset[str]
    """What they are called now, where only that changed: still red."""


def judge_red(runs: Runs) -> RedTests:
    """Follow every test that failed at base."""
    against = runs.restored or runs.head
    fixed: list[Case] = list(_of_unread_files(runs))
    left: list[Case] = []
    findings: list[Finding] = []
    fresh = {bare_name(case): case.id for case in runs.head.failed if case.id not in runs.base.cases}
    moved: set[str] = set()
    red = [case for case in runs.base.failed if not case.is_file]
    for case in red:
        is_green, now = against.passes(case.id), runs.head.cases.get(case.id)
        if is_green and runs.head.passes(case.id):
            fixed.append(case)
        elif runs.head.fails(case.id):
            if not is_green:
                left.append(runs.head.cases[case.id])
        elif now is None and fresh.get(bare_name(case), "") not in {"", *moved}:
            moved.add(fresh[bare_name(case)])
            left.append(case)
        elif now is None:
            findings.append(finding_of(GONE, case, f"{_FAILED} and is not run any more."))
        elif runs.head.passes(case.id):
            text = f"{_FAILED} and passes only because it was changed: as it was it still fails."
            findings.append(finding_of(REWRITTEN, case, text, _failure_message(runs, case)))
        else:
            findings.append(finding_of(SKIPPED, case, f"{_FAILED} and is skipped.", now.message))
    green = frozenset(case.id for case in red if against.passes(case.id))
    return RedTests(
        fixed=tuple(fixed), left=tuple(left), findings=tuple(findings), green=green, moved=frozenset(moved)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftRed:
    """The tests that fail before and after, by whether they are the task's."""

    findings: tuple[Finding, ...]
    claims: tuple[Finding, ...]
    """Of the task, and explained: whether that holds the review says."""
    notes: tuple[Finding, ...]
    """Nothing of the task's, as far as can be seen."""


def left_of_task(left: Sequence[Case], context: ChangeContext) -> LeftRed:
    """Which of the tests that are still red the task is about: those the issue names, and those that run or import what was changed."""
    found: dict[str, list[Finding]] = {LEFT: [], EXPLAINED: [], FAILING_BEFORE: []}
    for case in left:
        why = _of_task(case, context)
        finding = finding_of(LEFT, case, f"fails before and after, and {why}.", case.message)
        if not why:
            found[FAILING_BEFORE].append(
                finding_of(FAILING_BEFORE, case, "fails before and after.", case.message)
            )
        elif bare_name(case) in context.summary:
            text_line = next(line for line in context.summary.splitlines() if bare_name(case) in line)
            words = visible(text_line)[:MESSAGE_CHARS]
            found[EXPLAINED].append(replace(finding, rule=EXPLAINED, suggestion="", evidence=words))
        else:
            found[LEFT].append(finding)
    return LeftRed(
        findings=tuple(found[LEFT][:MOST_NAMED]),
        claims=tuple(found[EXPLAINED]),
        notes=tuple(found[FAILING_BEFORE][:MOST_NAMED]),
    )


def _of_task(case: Case, context: ChangeContext) -> str:
    """Why a test belongs to the task, or nothing."""
    name = bare_name(case)
    if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", context.issue) or (
        case.file and case.file in context.issue
    ):
        return "the issue names it"
    if case.touches:
        return "it runs what was changed"
    return (
        "its file imports what was changed" if case.touches is None and case.file in context.imports else ""
    )


_FAILED = "failed before"


def _failure_message(runs: Runs, case: Case) -> str:
    now = (runs.restored or runs.head).cases.get(case.id)
    return now.message if now is not None else ""


def _of_unread_files(runs: Runs) -> Iterator[Case]:
    """Tests in files that could not even be read at base, and whose version of base passes now."""
    against = runs.restored or runs.head
    unread = {case.file for case in runs.base.failed if case.is_file and case.file}
    for case in against.passed:
        if case.file in unread and case.id not in runs.base.cases and runs.head.passes(case.id):
            yield case


def finding_of(rule: str, case: Case, text: str, evidence: str = "") -> Finding:
    """A finding of the tests check about one test."""
    return Finding(
        check=CheckName.TESTS,
        rule=rule,
        message=visible(f"{case.id.lstrip(':')} {text}"),
        file=visible(case.file) or None,
        evidence=visible(evidence)[-MESSAGE_CHARS:],
        suggestion=_SUGGESTIONS.get(rule, ""),
    )
