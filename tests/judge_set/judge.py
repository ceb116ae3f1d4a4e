"""One fix, judged as the engine judges it by code alone: integrity and tests on a real check session, without review or person."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from minion.protocol import CheckReport, CheckStep, SessionKind, StepResult
from overlord.domain.changes.diff import parse_diff
from overlord.domain.checks.behaviour import exemption, is_code
from overlord.domain.checks.change_context import ChangeContext
from overlord.domain.checks.file import ChecksFile
from overlord.domain.checks.integrity import IntegrityLimits, check_integrity
from overlord.domain.checks.testcode.compare import Compared, Source
from overlord.domain.checks.testruns.imports import imports_changed
from overlord.domain.checks.testruns.judge import baseline_of, changed_lines, judge_tests, plan_tests
from overlord.domain.checks.weakening import holds_tests
from overlord.domain.evaluation import CheckResult, CheckScore, ordered
from overlord.domain.session import Ending, EndKind
from tests.domain.differ import edit, together
from tests.judge_set.fixes import Fix, fixes
from tests.judge_set.projects import Broken, Files
from tests.minion.conftest import environment
from tests.minion.session_api import opened

TITLE = "It gives a wrong result"
EXITED = Ending(kind=EndKind.EXITED, exit_code=0)
LIMIT_S = 120


class Judged(NamedTuple):
    """What became of a fix."""

    project: str
    fix: Fix
    checks: tuple[CheckResult, ...]

    @property
    def is_delivered(self) -> bool:
        return all(made.score is CheckScore.PASS and not made.subject for made in self.checks)

    @property
    def rules(self) -> list[str]:
        """What is said of it, the gravest first."""
        return list(
            dict.fromkeys(found.rule for found in ordered(f for made in self.checks for f in made.findings))
        )

    @property
    def word(self) -> str:
        if self.is_delivered:
            return "delivered"
        return (self.rules or ["?"])[0].replace("red-test-", "red ").replace("assertion-", "")[:11]

    @property
    def told(self) -> str:
        return "; ".join(f"{made.name}: {made.score} {made.summary} {self.rules}" for made in self.checks)


def judged(project: Broken) -> Iterator[Judged]:
    """Every fix of a project."""
    base, baseline = project.base(), None
    for fix in fixes(project):
        checks, baseline = judge(base, fix, baseline)
        yield Judged(project.sdist.name, fix, checks)


def judge(
    base: Files, fix: Fix, baseline: StepResult | None = None, checks: ChecksFile | None = None
) -> tuple[tuple[CheckResult, CheckResult], StepResult | None]:
    """Integrity and tests of one fix, and the baseline to judge the next one by."""
    changes, diff = together(*(edit(path, base.get(path), fix.change[path]) for path in sorted(fix.change)))
    sources = [
        Source(path=path, before=_bytes(base.get(path)), after=_bytes(after))
        for path, after in fix.change.items()
    ]
    compared = Compared((one for one in sources if holds_tests(one.path)), deletions=False)
    sizes = {path: len(text) for path, text in fix.change.items() if text is not None}
    integrity = check_integrity(changes, diff, {}, sizes, IntegrityLimits(), compared=compared)
    lines = changed_lines(parse_diff(changes, diff) or ())
    steps = plan_tests(changes, checks, LIMIT_S, with_baseline=baseline is None, watched=lines)
    report = _run(base, fix, steps)
    code = [change.path for change in changes if is_code(change)]
    context = ChangeContext(
        exempt=exemption(changes, [one for one in sources if not holds_tests(one.path)], TITLE),
        compared=compared,
        is_reviewed=False,
        issue=TITLE,
        imports={
            path
            for path, text in base.items()
            if holds_tests(path) and imports_changed(path, text.encode(), code)
        },
    )
    tests = judge_tests(baseline, report, EXITED, changes, checks, context=context)
    return (integrity, tests), baseline or baseline_of(report)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _run(base: Files, fix: Fix, steps: tuple[CheckStep, ...]) -> CheckReport:
    """A check session, as a program of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="m-", dir="/tmp") as root,
        opened(
            Path(root), dict(base), change=dict(fix.change), kind=SessionKind.CHECK, steps=steps
        ) as session_api,
    ):
        subprocess.run(
            [sys.executable, "-m", "minion"],
            env=environment(session_api),
            cwd="/",
            check=True,
            capture_output=True,
        )
        return session_api.check_report
