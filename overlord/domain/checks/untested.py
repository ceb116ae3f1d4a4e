"""A repository without tests: how that is seen from its files, what people are asked about it, and what their answer means.

A person says once for each repository how its work is judged. Their answer counts until there are tests; without one no session
is begun. What nobody judged is called that: it is never a pass of the tests.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from minion.protocol import Answer, Finding
from overlord.domain.changes.paths import is_test_path
from overlord.domain.checks.file import CHECKS_PATH, ChecksFile
from overlord.domain.decision import Verb
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore, EvaluationResult
from overlord.domain.pause import name_of
from overlord.domain.text.plain import count, defused_line

NOT_WALKED = frozenset({".git", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache"})
"""Directories in which the checker looks for no tests (`minion/checks/toolchain.py`)."""
CONFIGURATION = ("pytest.ini", ".pytest.ini", "pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg")
"""Where pytest may be told to find tests in other files."""
MOST_NAMED = 3
MOST_READ = 100
"""Files that are read to see whether they hold unittest's cases; with more than these, some do."""
_PYTEST_FILE = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")
_UNITTEST_FILE = re.compile(r"test.*\.py|.*tests?\.py")
_FINDS_OTHERS = re.compile(r"python_files|doctest")
_QUESTION = "This repository has no tests. How is the work to be judged?"
CHOICES = (Verb.WITHOUT_TESTS, Verb.WRITE_TESTS)
"""The answers that are remembered for a repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UntestedPolicy:
    """What a person said about a repository that has no tests: a row."""

    space: str
    choice: Verb
    decided_by: str
    """The actor: `cli:alice`."""
    decided_at: datetime

    def describe(self) -> str:
        """For people who look at the repository."""
        how = (
            "accepted without tests"
            if self.choice is Verb.WITHOUT_TESTS
            else "each change brings its own tests"
        )
        return f"{how} ({_who(self)})"


def to_read(names: Iterable[str]) -> tuple[str, ...]:
    """The files whose content `has_tests` asks for."""
    found = [name for name in _walked(names) if _UNITTEST_FILE.fullmatch(_base(name))]
    present = set(names)
    return (*(name for name in CONFIGURATION if name in present), *found[:MOST_READ])


def has_tests(checks: ChecksFile | None, names: Iterable[str], files: Mapping[str, bytes]) -> bool:
    """Whether the judge would run something as this commit's tests. Where that is not certain it is said to: people are asked
    only where there is nothing. `checks` are the repository's own and its kind of project's; `files` those of `to_read`."""
    if checks is not None and checks.tests is not None:
        return True
    walked = _walked(names)
    if any(_PYTEST_FILE.fullmatch(_base(name)) for name in walked):
        return True
    if any(_FINDS_OTHERS.search(_decoded(files, name)) for name in CONFIGURATION):
        return True
    cases = [name for name in walked if _UNITTEST_FILE.fullmatch(_base(name))]
    return len(cases) > MOST_READ or any("TestCase" in _decoded(files, name) for name in cases)


def is_node(names: Iterable[str]) -> bool:
    """Whether its tests would be npm's."""
    known = set(names)
    return "package.json" in known and not any(name.endswith(".py") for name in known)


def _walked(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if NOT_WALKED.isdisjoint(name.split("/")[:-1]))


def _base(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _decoded(files: Mapping[str, bytes], name: str) -> str:
    return files.get(name, b"").decode(errors="replace")


def judged(lint: str, *, review: bool) -> str:
    """What is looked at in a change where there are no tests. `lint` is what lints, as `describe_lint` says it."""
    linted = () if lint == "nothing" else (f"lint ({lint.partition(',')[0]})",)
    looked = ("scope", "integrity", *linted, *(("a model's review",) if review else ()))
    return f"{', '.join(looked[:-1])} and {looked[-1]}"


def question(names: Iterable[str], lint: str, *, review: bool) -> str:
    """What a person is asked before the first session."""
    similar = sorted(name for name in _walked(names) if is_test_path(name))
    lines = [
        "No tests were found that could be run, so no change can be shown to work.",
        f"Judged: {judged(lint, review=review)}.\nNot judged: whether the code works. No test is run.",
    ]
    if similar:
        shown = ", ".join(defused_line(name) for name in similar[:MOST_NAMED])
        more = f" and {count(len(similar) - MOST_NAMED, 'other')}" if len(similar) > MOST_NAMED else ""
        lines.append(f"These look like tests, and nothing says how to run them: {shown}{more}.")
    lines.append(
        "“Write tests first”: each change brings tests of its own, which are then run. “Accept without tests”: changes pass"
        " without any, and their pull requests say so. Either counts for this repository until it has tests. If it has some that"
        f" were not found, name their command in {CHECKS_PATH}, push that, and try again."
    )
    return "\n\n".join(lines)


def not_judged(policy: UntestedPolicy) -> CheckResult:
    """The tests' check where a person accepted that there are none."""
    summary = f"not judged: this repository has no tests ({_who(policy, 'accepted ')})"
    return CheckResult(name=CheckName.TESTS, score=CheckScore.NOT_JUDGED, summary=summary)


def not_written(policy: UntestedPolicy) -> CheckResult:
    """The same where the change was to bring tests and none were run."""
    finding = Finding(
        check=CheckName.TESTS,
        rule="tests-missing",
        message="The change was to bring tests of its own, and none were run. Add at least one for what it changes.",
    )
    summary = f"no test was run; each change is to bring its own ({_who(policy)})"
    return CheckResult(
        name=CheckName.TESTS, score=CheckScore.NEEDS_REVISION, summary=summary, findings=(finding,)
    )


def not_judged_line(evaluations: Sequence[EvaluationResult]) -> str:
    """What a card says first of work that no test judged; nothing for other work."""
    checks = evaluations[-1].checks if evaluations else ()
    found = (check for check in checks if check.score is CheckScore.NOT_JUDGED)
    return next((check.summary for check in found), "")


def request(*, node: bool) -> Answer:
    """What a Minion is told where its change is to bring tests."""
    how = (
        "a `test` script in package.json that ends with another exit code than 0 when a test fails, and tests in `tests/`."
        " Use what Node brings (`node --test`); the evaluator runs `npm test`. Add no dependencies"
        if node
        else "pytest tests in `tests/`, in files named test_*.py. The evaluator runs them with pytest, whatever language the code is"
        " in; for another than Python let them start the program and look at what it does"
    )
    return Answer(
        question=_QUESTION,
        answer="Write tests first. Along with the change, add at least one test that fails without it and passes with it:"
        f" {how}.",
    )


def patterns(*, node: bool) -> tuple[str, ...]:
    """What a session must be able to write for that."""
    return ("tests/**", "package.json") if node else ("tests/**",)


def _who(policy: UntestedPolicy, verb: str = "said ") -> str:
    return f"{verb}by {defused_line(name_of(policy.decided_by))} on {policy.decided_at:%Y-%m-%d}"
