"""What a linter says of the changed files that it did not say at base.

It runs at base and at head, both with base's configuration, and complaints are counted by file, rule and message: a
line that moved is no new complaint, one more of the same kind is. A linter that is missing or breaks is never a pass.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from minion.protocol import CheckReport, CheckStep, Finding, StepOutcome, StepResult, Tree
from overlord.domain.changes.diff import parse_diff
from overlord.domain.changes.paths import is_lint_configuration
from overlord.domain.checks.file import CheckCommand, ChecksFile
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.scope.check import Change
from overlord.domain.session import Ending, EndKind
from overlord.domain.text.plain import count, visible

LINT_BASE_STEP = "lint_base"
LINT_STEP = "lint"
LINT_CONFIGURATION = ("ruff.toml", ".ruff.toml", "pyproject.toml", ".flake8", "setup.cfg", "tox.ini")
"""What to read at base, at the root, to know which linter a repository uses."""
MOST_NAMED = 50
EVIDENCE_CHARS = 600
_REGULAR = "100"
"""How the modes of regular files begin; links and submodules are not linted."""
_RUFF = ("ruff", "check", "--output-format=concise", "--quiet", "--no-fix", "--no-cache", "--exit-zero")
_RUFF_CONFIGURED = (*_RUFF, "--force-exclude", "--")
_SURE = "E9,F63,F7,F82"
"""What is surely wrong, whoever lints: syntax, comparisons that cannot be meant, undefined names. Where a repository selects no rules
of its own nothing else counts: a linter's defaults change with its version."""
_RUFF_BARE = (*_RUFF, "--isolated", f"--select={_SURE}", "--")
_FLAKE8 = ("flake8", "--exit-zero", "--format=%(path)s:%(row)d:%(col)d: %(code)s %(text)s", "--")
_FLAKE8_RULES = re.compile(
    r"^(?:select|extend-select|extend_select|ignore|extend-ignore|extend_ignore|max-[\w-]+|max_\w+|per-file-ignores)\s*=",
    re.MULTILINE,
)
"""Any of these says which rules are meant."""
_RUFF_SECTION = re.compile(r"^\[tool\.ruff[\].]", re.MULTILINE)
_FLAKE8_SECTION = re.compile(r"^\[flake8[\]:]", re.MULTILINE)
_PLACE = re.compile(
    r":(\d{1,9}):(?:\d{1,9}:)?\s+(?:([A-Z]{1,6}\d{1,5}|invalid-syntax):?\s+)?(?:\[\*\]\s+)?(.*)"
)
_ANYWHERE = re.compile(r"(?:^|[\s(\"'])((?:[\w.@+-]+/)*[\w.@+-]+\.\w{1,10}):(\d{1,9})(?::\d{1,9})?:?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One line of a linter's output."""

    file: str
    line: int
    rule: str
    message: str

    @property
    def kind(self) -> tuple[str, str, str]:
        """What makes two complaints the same, wherever in the file they are."""
        return (self.file, self.rule, self.message)


def plan_lint(
    changes: Sequence[Change],
    configuration_at_base: Mapping[str, str],
    checks: ChecksFile | None,
    timeout_s: int,
) -> tuple[CheckStep, ...]:
    """The runs to make; none when the change holds nothing to lint.

    `configuration_at_base` has the content at base of those files of LINT_CONFIGURATION that exist there.
    """
    restore = tuple(
        sorted({path for change in changes for path in change.paths if is_lint_configuration(path)})
    )
    before, after = _files(changes)
    if checks and checks.lint:
        words, limit_s = checks.lint.command, checks.lint.limit_s(timeout_s)
        at_base, at_head = words, words
    else:
        words, limit_s = _linter(configuration_at_base), timeout_s
        at_base = (*words, *before) if before and after else ()
        at_head = (*words, *after) if after else ()
    steps = (
        CheckStep(name=LINT_BASE_STEP, tree=Tree.BASE, command=at_base, timeout_s=limit_s, capture=True),
        CheckStep(name=LINT_STEP, restore=restore, command=at_head, timeout_s=limit_s, capture=True),
    )
    return tuple(step for step in steps if step.command)


def describe_lint(
    command: CheckCommand | None, configuration: Mapping[str, str], names: Iterable[str]
) -> str:
    """What lints a repository, in words: a command that is named, else what its configuration and files lead to."""
    if command is not None:
        return command.words
    if not any(name.endswith(".py") for name in names):
        return "nothing"
    words = _linter(configuration)
    how = "for what is surely wrong" if any(_SURE in word for word in words) else "as it is configured"
    return f"{words[0]}, {how}; only what a change introduces counts"


def lint_everything(configuration: Mapping[str, str], checks: ChecksFile | None, timeout_s: int) -> CheckStep:
    """The linter over all of the base commit."""
    if checks and checks.lint:
        words, limit_s = checks.lint.command, checks.lint.limit_s(timeout_s)
    else:
        words, limit_s = (*_linter(configuration), "."), timeout_s
    return CheckStep(name=LINT_BASE_STEP, tree=Tree.BASE, command=words, timeout_s=limit_s, capture=True)


def count_complaints(text: str) -> int:
    """How many lines of a linter's output name a place in a file."""
    return sum(1 for _ in read_any_complaints(text))


def judge_lint(
    report: CheckReport | None,
    ending: Ending,
    steps: Sequence[CheckStep],
    *,
    changes: Sequence[Change],
    diff: str,
    checks: ChecksFile | None = None,
) -> CheckResult:
    """The lint score from what a check session reported on `steps`, which are those of `plan_lint`."""
    if not steps:
        return _lint_result(CheckScore.PASS, "no files to lint")
    if report is None or ending.kind not in (EndKind.EXITED, EndKind.STOPPED):
        return _unclear(f"the check session did not end by itself ({ending.kind.replace('_', ' ')})")
    results = {result.name: result for result in report.steps}
    if missing := [step.name for step in steps if step.name not in results]:
        return _unclear(f"the check session did not run {missing[0]}")
    runs = [results[step.name] for step in steps]
    if trouble := next((found for run in runs if (found := _unusable_run(run))), None):
        return trouble
    base, head = results.get(LINT_BASE_STEP), results[LINT_STEP]
    if checks and checks.lint:
        return _judge_command(base, head, changes, diff)
    if broken := next((run for run in runs if run.exit_code != 0), None):
        return _unclear(
            f"{steps[0].command[0]} could not lint (exit code {broken.exit_code}): {_last_words(broken)}"
        )
    if any(run.captured is None for run in runs):
        return _unclear("the linter said too much to be compared")
    before, after = _files(changes)
    known = list(read_complaints(_output_of(base), before)) if base else []
    new = _new(known, list(read_complaints(_output_of(head), after)), changes, diff)
    return _judged(new, f"{count(len(after), 'file')} linted with {steps[0].command[0]}")


def read_complaints(text: str, paths: Collection[str]) -> Iterator[Complaint]:
    """Lines of the form `path:line:column: RULE message` about one of these paths."""
    for line in text.splitlines():
        at = line.find(":")
        while at > 0 and line[:at] not in paths:
            at = line.find(":", at + 1)
        match = _PLACE.match(line, at) if at > 0 else None
        if match:
            yield Complaint(file=line[:at], line=int(match[1]), rule=match[2] or "lint", message=match[3])


def read_any_complaints(text: str) -> Iterator[Complaint]:
    """Lines that name a place in a file, in whatever form; what is left of the line is the message, numbers apart."""
    for line in text.splitlines():
        if match := _ANYWHERE.search(line[:2000]):
            message = re.sub(r"\d+", "#", f"{line[: match.start(1)]}{line[match.end() : 2000]}").strip()
            yield Complaint(file=match[1], line=int(match[2]), rule="lint", message=message)


def _files(changes: Sequence[Change]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The changed Python files as they are called at base, and at head."""
    before = [change.old_path or change.path for change in changes if change.old_mode.startswith(_REGULAR)]
    after = [change.path for change in changes if change.new_mode.startswith(_REGULAR)]
    return _python(before), _python(after)


def _python(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if path.endswith((".py", ".pyi")))


def _linter(configuration: Mapping[str, str]) -> tuple[str, ...]:
    for name in (".ruff.toml", "ruff.toml", "pyproject.toml"):
        text = configuration.get(name, "")
        if name in configuration and (name != "pyproject.toml" or _RUFF_SECTION.search(text)):
            return _ruff(text, is_shared=name == "pyproject.toml")
    sections = (_flake8_section(configuration.get(name, "")) for name in (".flake8", "setup.cfg", "tox.ini"))
    own = next((section for section in sections if section is not None), None)
    if own is None:
        return _RUFF_BARE
    return _FLAKE8 if _FLAKE8_RULES.search(own) else (*_FLAKE8[:-1], f"--select={_SURE}", "--")


def _ruff(text: str, *, is_shared: bool) -> tuple[str, ...]:
    """ruff as it is configured; where that selects nothing, what is sure and what it selects besides."""
    try:
        config = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return _RUFF_CONFIGURED  # it says so itself
    own = config.get("tool", {}).get("ruff", {}) if is_shared else config
    sections = [own, own.get("lint", {})] if isinstance(own, dict) else []
    sections = [one for one in sections if isinstance(one, dict)]
    if any("select" in one or "extend" in one for one in sections):
        return _RUFF_CONFIGURED
    more = [rule for one in sections for rule in one.get("extend-select", []) if isinstance(rule, str)]
    return (*_RUFF, f"--select={','.join([_SURE, *more])}", "--force-exclude", "--")


def _flake8_section(text: str) -> str | None:
    """What flake8 is told, where it is told something."""
    found = _FLAKE8_SECTION.search(text)
    return text[found.end() :].partition("\n[")[0] if found else None


def _unusable_run(run: StepResult) -> CheckResult | None:
    if run.outcome is StepOutcome.NO_TOOLCHAIN:
        return _unclear(f"no linter: {_last_words(run)}", Subject.NO_TOOLCHAIN)
    if run.outcome is not StepOutcome.RAN:
        return _unclear(f"the linter {run.outcome.replace('_', ' ')}: {_last_words(run)}")
    return None


def _judge_command(
    base: StepResult | None, head: StepResult, changes: Sequence[Change], diff: str
) -> CheckResult:
    """A command of the repository's own: its exit code, and where it fails at base too, what it says more."""
    text = f"exit code {head.exit_code} in {head.duration_s:.1f} s"
    if head.exit_code == 0:
        return _lint_result(CheckScore.PASS, text)
    known = list(read_any_complaints(_output_of(base))) if base else []
    found = list(read_any_complaints(_output_of(head)))
    new = _new(known, found, changes, diff)
    if base is None or base.exit_code == 0:
        evidence = visible(_output_of(head))[-EVIDENCE_CHARS:]
        message = "The lint command fails; at base it does not."
        failed = Finding(check=CheckName.LINT, rule="command-failed", message=message, evidence=evidence)
        return _lint_result(CheckScore.NEEDS_REVISION, text, *(_findings(new) or (failed,)))
    if not known or not found:
        return _unclear(f"{text}; it fails at base too, and its output cannot be compared")
    return _judged(new, f"{text}, as at base")


def _output_of(run: StepResult | None) -> str:
    return f"{run.captured or ''}\n{run.output}" if run else ""


def _new(
    known: Sequence[Complaint], found: Sequence[Complaint], changes: Sequence[Change], diff: str
) -> list[Complaint]:
    """Complaints of a kind there are more of than at base; of each kind those on added lines are named first."""
    renamed = {change.old_path: change.path for change in changes if change.old_path}
    before = Counter(replace(item, file=renamed.get(item.file, item.file)).kind for item in known)
    more = Counter(item.kind for item in found) - before
    added = {
        (file.change.path, line.number) for file in parse_diff(changes, diff) or () for line in file.added
    }
    new = []
    for item in sorted(found, key=lambda item: ((item.file, item.line) not in added, item.file, item.line)):
        if more[item.kind] > 0:
            more[item.kind] -= 1
            new.append(item)
    return sorted(new, key=lambda item: (item.file, item.line))


def _judged(new: Sequence[Complaint], text: str) -> CheckResult:
    if not new:
        return _lint_result(CheckScore.PASS, f"{text}, nothing new")
    return _lint_result(
        CheckScore.NEEDS_REVISION, f"{count(len(new), 'new complaint')}; {text}", *_findings(new)
    )


def _findings(new: Sequence[Complaint]) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            check=CheckName.LINT,
            rule=item.rule,
            message=visible(item.message)[:EVIDENCE_CHARS] or "The linter complains here.",
            file=visible(item.file),
            line=item.line,
        )
        for item in new[:MOST_NAMED]
    )


def _last_words(run: StepResult) -> str:
    return " ".join(visible(run.output).split())[-200:]


def _unclear(summary: str, subject: Subject = Subject.CHECKS_UNAVAILABLE) -> CheckResult:
    return CheckResult(name=CheckName.LINT, score=None, summary=summary, subject=subject)


def _lint_result(score: CheckScore, summary: str, *findings: Finding) -> CheckResult:
    return CheckResult(name=CheckName.LINT, score=score, summary=summary, findings=findings)
