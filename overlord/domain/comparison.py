"""Test runs side by side: what passed at base and does not any more, what is new, mended, changed, flaky, gone."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from minion.protocol import Finding
from overlord.domain.evaluation import CheckName
from overlord.domain.junit import Case, CaseOutcome
from overlord.domain.testrun import Run
from overlord.domain.text import visible

MESSAGE_CHARS = 600
MOST_NAMED = 50
"""Broken tests that are listed; the figures count all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """The runs of one evaluation."""

    base: Run
    restored: Run | None
    """Base's tests on the new code; None when the change touches no test."""
    head: Run
    new_on_base: Run | None
    """The changed test files on base's code; None when that was not asked or cannot be read."""
    changed: Collection[str]
    """Every changed path."""
    renamed: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the runs say together."""

    broken: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    passed: int
    figures: str


def compare(runs: Runs) -> Comparison:
    """Hold every test of every run against base."""
    broken, changed = _of_base(runs)
    failing = [case for case in runs.head.failed if case.id not in broken and _is_fault(runs, case)]
    gone = _gone(runs, set(broken))
    notes = [
        _note("changed-test", case, "fails in its old form and passes in its changed one.")
        for case in changed
    ]
    notes += [_note("flaky", case, "failed once and passed when it was run again.") for case in _flaky(runs)]
    findings = [*broken.values(), *(_failing(case) for case in failing), *gone]
    return Comparison(
        broken=tuple(findings[:MOST_NAMED]),
        notes=tuple(notes[:MOST_NAMED]),
        passed=sum(1 for _ in runs.head.passed),
        figures=_figures(runs, broken=len(findings), changed=len(changed)),
    )


def _of_base(runs: Runs) -> tuple[dict[str, Finding], list[Case]]:
    """The tests that passed at base and are broken, and those that only their changed file saves."""
    against = runs.restored or runs.head
    broken: dict[str, Finding] = {}
    changed: list[Case] = []
    for case in _reliable(runs.base):
        if against.passes(case.id):
            continue
        if _is_in(case, runs.changed) and runs.head.passes(case.id):
            changed.append(case)
        else:
            broken[case.id] = _broken(case, against)
    return broken, changed


def _reliable(base: Run) -> Iterator[Case]:
    """What passed at base the first time: a test that was flaky there is no obstacle later."""
    return (case for case in base.cases.values() if case.outcome is CaseOutcome.PASSED)


def _is_fault(runs: Runs, case: Case) -> bool:
    """Whether a test that fails now is held against the change: it did not fail, nor falter, before."""
    before = runs.base.cases.get(case.id)
    return before is None or before.outcome is not CaseOutcome.FAILED


def _flaky(runs: Runs) -> list[Case]:
    found = {
        run.cases[name].id: run.cases[name] for run in (runs.head, runs.restored) if run for name in run.flaky
    }
    return [found[name] for name in sorted(found)]


def _gone(runs: Runs, broken: Collection[str]) -> Iterator[Finding]:
    """Files with fewer tests than before: those that passed at base, are not run any more, and moved nowhere."""
    fresh = [case for case in runs.head.passed if case.id not in runs.base.cases]
    moved = Counter(_bare(case) for case in fresh)
    lost: dict[str, list[Case]] = {}
    for case in _reliable(runs.base):
        if case.id not in broken and not runs.head.passes(case.id) and not runs.head.fails(case.id):
            if moved[_bare(case)]:
                moved[_bare(case)] -= 1
            else:
                lost.setdefault(_place(case, runs.renamed), []).append(case)
    gained = Counter(_place(case, {}) for case in fresh if moved[_bare(case)])
    for place, cases in lost.items():
        if len(cases) > gained[place]:
            message = f"{len(cases)} tests that passed before are not run any more, the first of them {cases[0].id}."
            yield Finding(
                check=CheckName.TESTS, rule="tests-gone", message=visible(message), file=place or None
            )


def _bare(case: Case) -> str:
    return case.id.rsplit("::", 1)[-1].split("[", 1)[0]


def _place(case: Case, renamed: Mapping[str, str]) -> str:
    return renamed.get(case.file, case.file) if case.file else case.id.split("::", 1)[0]


def _is_in(case: Case, changed: Collection[str]) -> bool:
    """Whether the file of a test is among these paths; where the report names no file, its dotted module tells."""
    if case.file:
        return case.file in changed
    stems = (path.rsplit(".", 1)[0].replace("/", ".") for path in changed)
    return any(f"{case.id.split('::', 1)[0]}.".startswith(f"{stem}.") for stem in stems)


def _figures(runs: Runs, *, broken: int, changed: int) -> str:
    head, base = runs.head, runs.base
    passed = list(head.passed)
    fixed = sum(1 for case in passed if case.id in base.cases and base.fails(case.id))
    failing_before = sum(1 for case in head.failed if not _is_fault(runs, case))
    skipped = sum(1 for case in head.cases.values() if case.outcome is CaseOutcome.SKIPPED)
    extra = [(failing_before, "failing as before"), (changed, "changed"), (len(_flaky(runs)), "flaky")]
    parts = [f"{len(passed)} passed", _new(runs), f"{fixed} fixed", f"{broken} broken"]
    parts += [f"{number} {word}" for number, word in (*extra, (skipped, "skipped")) if number]
    return ", ".join(parts)


def _new(runs: Runs) -> str:
    """How many tests are new, and how many of them show that the change was needed: told, never required."""
    new = [case.id for case in runs.head.passed if case.id not in runs.base.cases]
    if not new or runs.new_on_base is None:
        return f"{len(new)} new"
    proving = sum(1 for identifier in new if not runs.new_on_base.passes(identifier))
    return f"{len(new)} new ({proving} of them fail on base)"


def _broken(case: Case, against: Run) -> Finding:
    now = against.cases.get(case.id)
    if now is None:
        return _finding(
            "test-missing", case, "passed before and is not run any more.", against.why_missing(case)
        )
    if now.outcome is CaseOutcome.SKIPPED:
        return _finding("test-skipped", case, "passed before and is skipped.", now.message)
    return _finding("test-broken", case, "passed before and fails.", now.message)


def _failing(case: Case) -> Finding:
    return _finding("test-failed", case, "fails.", case.message)


def _note(rule: str, case: Case, told: str) -> Finding:
    return _finding(rule, case, told, case.message if rule == "flaky" else "")


def _finding(rule: str, case: Case, told: str, evidence: str) -> Finding:
    return Finding(
        check=CheckName.TESTS,
        rule=rule,
        message=visible(f"{case.id.lstrip(':')} {told}"),
        file=visible(case.file) or None,
        evidence=visible(evidence)[-MESSAGE_CHARS:],
    )
