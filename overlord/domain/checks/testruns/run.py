"""One test run, read: every test's outcome, which of the failed ones are flaky, and whether the run fits its own exit code.

A test that fails and then passes each time it is run again is flaky: it counts as passing and is named. One that
fails again even once has failed.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from minion.protocol import StepOutcome, StepResult
from overlord.domain.changes.paths import is_test_path
from overlord.domain.checks.testruns.junit import Case, CaseOutcome
from overlord.domain.checks.testruns.report import parse_report


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What ran, by id. `flaky` tests have passed in every rerun."""

    cases: dict[str, Case]
    flaky: frozenset[str] = frozenset()
    exit_code: int = 0

    @property
    def passed(self) -> Iterator[Case]:
        return (case for case in self.cases.values() if self.passes(case.id))

    @property
    def failed(self) -> Iterator[Case]:
        return (case for case in self.cases.values() if self.fails(case.id))

    @property
    def fits_its_exit_code(self) -> bool:
        """A run says the same twice: exit code 0 and no failure, or another and at least one."""
        failures = any(case.outcome is CaseOutcome.FAILED for case in self.cases.values())
        return failures is (self.exit_code != 0)

    def passes(self, identifier: str) -> bool:
        case = self.cases.get(identifier)
        return case is not None and (case.outcome is CaseOutcome.PASSED or identifier in self.flaky)

    def fails(self, identifier: str) -> bool:
        case = self.cases.get(identifier)
        return case is not None and case.outcome is CaseOutcome.FAILED and identifier not in self.flaky

    def why_missing(self, case: Case) -> str:
        """What the runner said of the file a test is in, when it could not even read it."""
        return next((item.message for item in self.failed if item.file and item.file == case.file), "")


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


def bare_name(case: Case) -> str:
    """A test's name without file, class and row."""
    return case.id.rsplit("::", 1)[-1].split("[", 1)[0]


def is_in(case: Case, changed: Collection[str]) -> bool:
    """Whether the file of a test is among these paths; where the report names no file, its class or dotted module tells. Reports that
    tell nothing of that kind (Go's, node's) leave it open: then any changed test may be this one."""
    owner = case.id.split("::", 1)[0]
    if case.file or owner in changed:
        return (case.file or owner) in changed
    stems = [path.rsplit(".", 1)[0].replace("/", ".") for path in changed]
    if any(f"{owner}.".startswith(f"{stem}.") for stem in stems):
        return True
    return any(is_test_path(path) and path.endswith(_REPORT_NO_FILE) for path in changed)


def combined(restored: Run, own: Run, *, changed: Collection[str]) -> Run:
    """The change's tests as a whole, of a run of base's tests and one of the changed files alone: each counts for its own files."""
    kept = {name: case for name, case in restored.cases.items() if not is_in(case, changed)}
    made = {name: case for name, case in own.cases.items() if is_in(case, changed)}
    flaky = frozenset((*(restored.flaky & kept.keys()), *(own.flaky & made.keys())))
    cases = kept | made
    is_red = any(case.outcome is CaseOutcome.FAILED for case in cases.values())
    return Run(cases=cases, flaky=flaky, exit_code=int(is_red))


_NUMBERED = re.compile(r"(?<=[A-Za-z_])\d+(?=[-\]])")
"""How pytest numbers rows that have no name of their own: `given3`. Where rows come from a set the numbers differ in every run."""


def aligned(base: Run, other: Run, *, but: Collection[str]) -> Run:
    """`other` with base's names for rows that are only numbered differently; in files of `but`, which a change wrote, nothing is."""
    lost, fresh = _numbered(base, other, but), _numbered(other, base, but)
    names: dict[str, str] = {}
    for key in lost.keys() & fresh.keys():
        # Those that pass are paired first: it is their number that counts.
        before = sorted(lost[key], key=lambda name: (not base.passes(name), name))
        after = sorted(fresh[key], key=lambda name: (not other.passes(name), name))
        names |= dict(zip(after, before, strict=False))
    if not names:
        return other
    cases = {
        names.get(name, name): replace(case, id=names.get(name, name)) for name, case in other.cases.items()
    }
    return replace(other, cases=cases, flaky=frozenset(names.get(name, name) for name in other.flaky))


def _numbered(run: Run, other: Run, but: Collection[str]) -> dict[str, list[str]]:
    """The names of rows that the other run has not, by what is left of them without their numbers."""
    found: dict[str, list[str]] = {}
    for name, case in run.cases.items():
        if (
            "[" in name
            and name not in other.cases
            and not (case.file and case.file in but)
            and _NUMBERED.search(name)
        ):
            found.setdefault(_NUMBERED.sub("#", name), []).append(name)
    return found


def is_controlled(base: Run, other: Run) -> bool:
    """Whether some test of `other` failed when it had to, if any passes for which that could be shown at base."""
    able = {case.id for case in base.cases.values() if case.controlled}
    passed = [case for case in other.cases.values() if case.outcome is CaseOutcome.PASSED]
    return any(case.controlled for case in passed) or not any(case.id in able for case in passed)


_REPORT_NO_FILE = (".go", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")
RERUNS = 2
"""How often failed tests are run again; fewer reruns than asked for prove nothing."""
NOTHING_RAN = Run(cases={})
_NO_TESTS_COLLECTED = 5
"""pytest's exit code for a run that found no test."""


def read_run(step: StepResult) -> Run | None:
    """The run of a step, or None when it left no report to read."""
    if step.outcome is StepOutcome.NOTHING_TO_RUN:
        return NOTHING_RAN
    cases = parse_report(step.junit)
    if step.outcome is not StepOutcome.RAN or cases is None:
        return None
    if not cases and step.exit_code == _NO_TESTS_COLLECTED:
        return NOTHING_RAN
    reruns = [parse_report(text) or () for text in step.rerun_junit]
    seen: dict[str, bool] = {}
    for case in (case for again in reruns for case in again if case.touches is not None):
        seen[case.id] = seen.get(case.id, False) or bool(case.touches)
    by_id = {case.id: replace(case, touches=seen.get(case.id)) for case in cases}
    return Run(cases=by_id, flaky=_flaky(by_id, reruns), exit_code=step.exit_code or 0)


def _flaky(cases: dict[str, Case], reruns: Sequence[Sequence[Case]]) -> frozenset[str]:
    found = {case.id for case in cases.values() if case.outcome is CaseOutcome.FAILED}
    for again in reruns:
        found &= {case.id for case in again if case.outcome is CaseOutcome.PASSED}
    return frozenset(found) if len(reruns) >= RERUNS else frozenset()
