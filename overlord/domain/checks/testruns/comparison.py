"""Test runs side by side: what passed at base and does not any more, what is new, fixed, changed, flaky, gone."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from minion.protocol import Finding
from overlord.domain.checks.testruns.junit import Case, CaseOutcome
from overlord.domain.checks.testruns.red import MOST_NAMED, RedTests, finding_of, judge_red
from overlord.domain.checks.testruns.run import Run, Runs, bare_name, is_in
from overlord.domain.evaluation import CheckName
from overlord.domain.review.claim import CHANGED_TEST, REMOVED_TEST
from overlord.domain.text.plain import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the runs say together."""

    broken: tuple[Finding, ...]
    """What is held against the change; first what became of tests that were red at base."""
    notes: tuple[Finding, ...]
    claims: tuple[Finding, ...]
    """Tests of base that fail on the new code and that the change rewrote or removed: right only if the issue asks for that."""
    fixed: tuple[Case, ...]
    """Red at base, and green in base's own version on the new code."""
    left: tuple[Case, ...]
    """Red at base and red now."""
    passed: int
    figures: str


def compare(runs: Runs) -> Comparison:
    """Hold every test of every run against base."""
    broken, claims = _of_base(runs)
    red = judge_red(runs)
    failing = [case for case in runs.head.failed if case.id not in broken and _is_fault(runs, case, red)]
    gone = _missing_tests(runs, {*broken, *claims})
    notes = [
        _finding_of_case("flaky", case, "failed once and passed when it was run again.")
        for case in _flaky(runs)
    ]
    findings = [*red.findings, *broken.values(), *(_failing(case) for case in failing), *gone]
    return Comparison(
        broken=tuple(findings[:MOST_NAMED]),
        notes=tuple(notes[:MOST_NAMED]),
        claims=tuple(claims.values()),
        fixed=red.fixed,
        left=red.left,
        passed=sum(1 for _ in runs.head.passed),
        figures=_figures(runs, red, broken=len(findings), claims=list(claims.values())),
    )


def _of_base(runs: Runs) -> tuple[dict[str, Finding], dict[str, Finding]]:
    """The tests that passed at base and are broken, and those that only their changed file saves."""
    against = runs.restored or runs.head
    broken: dict[str, Finding] = {}
    claims: dict[str, Finding] = {}
    moved = Counter(bare_name(case) for case in runs.head.passed if case.id not in runs.base.cases)
    for case in _reliable(runs.base):
        if against.passes(case.id):
            continue
        is_skipped = case.id in against.cases and not against.fails(case.id)
        if is_skipped or not is_in(case, runs.changed):
            broken[case.id] = _broken(case, against)
        elif runs.head.passes(case.id) or moved[bare_name(case)]:
            text = "fails in its old form and passes in its changed one."
            claims[case.id] = _finding_of_case(CHANGED_TEST, case, text)
        elif case.id not in runs.head.cases:
            claims[case.id] = _finding_of_case(REMOVED_TEST, case, "fails as it was, and is gone.")
        else:
            broken[case.id] = _broken(case, against)
    return broken, claims


def _reliable(base: Run) -> Iterator[Case]:
    """What passed at base the first time: a test that was flaky there is no obstacle later."""
    return (case for case in base.cases.values() if case.outcome is CaseOutcome.PASSED)


def _is_fault(runs: Runs, case: Case, red: RedTests) -> bool:
    """Whether a test that fails now is held against the change: it did not fail, nor falter, before, or its own version passes now."""
    if case.id in red.moved:
        return False
    before = runs.base.cases.get(case.id)
    return before is None or before.outcome is not CaseOutcome.FAILED or case.id in red.green


def _flaky(runs: Runs) -> list[Case]:
    found = {
        run.cases[name].id: run.cases[name] for run in (runs.head, runs.restored) if run for name in run.flaky
    }
    return [found[name] for name in sorted(found)]


def _missing_tests(runs: Runs, broken: Collection[str]) -> Iterator[Finding]:
    """Files with fewer tests than before: those that passed at base, are not run any more, and moved nowhere."""
    fresh = [case for case in runs.head.passed if case.id not in runs.base.cases]
    moved = Counter(bare_name(case) for case in fresh)
    lost: dict[str, list[Case]] = {}
    for case in _unfailed(runs):
        if case.id not in broken and not runs.head.passes(case.id) and not runs.head.fails(case.id):
            if moved[bare_name(case)]:
                moved[bare_name(case)] -= 1
            else:
                lost.setdefault(_place(case, runs.renamed), []).append(case)
    gained = Counter(_place(case, {}) for case in fresh if moved[bare_name(case)])
    for place, cases in lost.items():
        if len(cases) > gained[place]:
            message = f"{len(cases)} tests that passed before are not run any more, the first of them {cases[0].id}."
            yield Finding(
                check=CheckName.TESTS, rule="tests-gone", message=visible(message), file=place or None
            )


def _unfailed(runs: Runs) -> Iterator[Case]:
    """What passed at base, and what was skipped there and is not run by any name now."""
    yield from _reliable(runs.base)
    for case in runs.base.cases.values():
        is_gone = case.outcome is CaseOutcome.SKIPPED and case.id not in runs.head.cases
        if is_gone and is_in(case, runs.changed):
            yield case


def _place(case: Case, renamed: Mapping[str, str]) -> str:
    return renamed.get(case.file, case.file) if case.file else case.id.split("::", 1)[0]


def _figures(runs: Runs, red: RedTests, *, broken: int, claims: Sequence[Finding]) -> str:
    passed = list(runs.head.passed)
    skipped = sum(1 for case in runs.head.cases.values() if case.outcome is CaseOutcome.SKIPPED)
    changed = sum(1 for item in claims if item.rule == CHANGED_TEST)
    extra = [
        (sum(1 for case in runs.head.failed if not _is_fault(runs, case, red)), "failing before and after"),
        (changed, "expecting something else"),
        (len(claims) - changed, "removed"),
        (len(_flaky(runs)), "flaky"),
        (skipped, "skipped"),
    ]
    parts = [f"{len(passed)} passed", _new(runs), f"{len(red.fixed)} fixed", f"{broken} broken"]
    parts += [f"{number} {word}" for number, word in extra if number]
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
        return finding_of(
            "test-missing", case, "passed before and is not run any more.", against.why_missing(case)
        )
    if now.outcome is CaseOutcome.SKIPPED:
        return finding_of("test-skipped", case, "passed before and is skipped.", now.message)
    return finding_of("test-broken", case, "passed before and fails.", now.message)


def _failing(case: Case) -> Finding:
    return finding_of("test-failed", case, "fails.", case.message)


def _finding_of_case(rule: str, case: Case, text: str) -> Finding:
    return finding_of(rule, case, text, case.message if rule == "flaky" else "")
