"""Whether a change may be judged and shown at all, on Overlord's own diff, before anything of it runs.

Three strengths: what no branch may hold fails it; what makes the tests prove less is sent back; what decides how work
is judged, built or instructed is allowed only with a person's word. Nothing here trusts a name inside the diff's text.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath

from minion.protocol import Finding
from overlord.domain.changes.diff import FileDiff, Hunk, is_cut, parse_diff
from overlord.domain.changes.guard import guarded
from overlord.domain.changes.paths import Guard
from overlord.domain.checks.integrity_secret import written_secrets
from overlord.domain.checks.testcode.compare import Compared
from overlord.domain.checks.weakening import LONGEST_LINE, weaknesses
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.scope.check import GITLINK_MODE, SYMLINK_MODE, Change
from overlord.domain.skills.review import SkillReview
from overlord.domain.skills.scan.rule import Level
from overlord.domain.text.plain import count, visible
from overlord.domain.text.redaction import Redactor
from overlord.domain.text.secret_detection import find_secrets, redacted

EVIDENCE_CHARS = 200
LONGEST_SECRET = 8000
"""What is read beyond a cut, so that no secret is cut into a piece that is not known for one."""
MOST_NAMED = 50
"""Findings of one rule that are listed; a change with more has been understood by then."""
_ABSENT_MODE = "000000"
_SECRET_RULES = frozenset({"secret", "held-secret"})
_SILENCED = re.compile(
    r"#\s{0,4}(?:type:\s{0,4}ignore|(?:ruff:\s{0,4})?noqa|pylint:\s{0,4}disable|pragma:\s{0,4}no cover|mypy:|fmt:\s{0,4}off|nosec)"
    r"|eslint-disable|@ts-(?:ignore|nocheck|expect-error)|//\s{0,4}nolint"
)
_TEXT = re.compile(
    r"(?i).*\.(?:pyi?|pyx|[cm]?[jt]sx?|go|rs|java|kt|rb|php|sh|c|cc|cpp|h|hpp|cs|swift|sql|toml|cfg|ini|json|ya?ml|md|rst|txt|html|css)"
)
_HIDING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that make a line read differently from how it runs."""


class Strength(StrEnum):
    """What a finding does to the check's score."""

    FAILS = "fails"
    REVISES = "revises"
    ASKS = "asks"
    """A person must approve."""
    NOTES = "notes"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegrityLimits:
    """How large a change may be. Beyond it nobody would read it, and the checks would not be made in time."""

    files: int = 300
    lines: int = 20_000
    """Added and removed, over all files."""
    file_bytes: int = 2_000_000
    """The largest file a change may add or modify."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _WeighedFinding:
    strength: Strength
    finding: Finding


def check_integrity(
    changes: Sequence[Change],
    diff: str,
    link_targets: Mapping[str, str],
    sizes: Mapping[str, int],
    limits: IntegrityLimits,
    *,
    approved: Collection[str] = (),
    skills: Sequence[SkillReview] = (),
    approved_file: str = "",
    known: Redactor | None = None,
    binaries: Mapping[str, str] | None = None,
    compared: Compared | None = None,
) -> CheckResult:
    """Judge a change by its paths, modes, sizes and added lines.

    `link_targets` has the target of every symlink the change adds or modifies, `sizes` the bytes of every other file
    it adds or modifies, both at head and by path. What is missing from them counts against the change. `approved` are
    dependency files a person has seen and allowed as they are. `skills` are the skill files it leaves, judged: a
    rejected one fails the change, and every other waits for a person. `approved_file` is the one file that a
    person has approved word for word as it is, or is asked about by itself. `known` has the secrets Overlord was given, which stand in no finding either.
    `binaries` says of each binary file the change adds or modifies how one of them is written in it, by path: empty for none.
    `compared` has the test files it changes that could be parsed, as they were and as they are.
    """
    files = parse_diff(changes, diff)
    found = [*_trees(changes, link_targets), *_sizes(changes, sizes, limits), *_skills(skills)]
    if files is None:
        found.append(_unread(diff))
    else:
        for file in files:
            found += _in_lines(file)
        found += _weakened(files, compared)
        found += _guards(files, approved, approved_file)
    if known is not None:
        binaries = binaries or {}
        found += _unseen(changes, binaries, sizes, limits)
        for item in written_secrets(changes, files or (), binaries, known.search):
            found.append(
                _make_finding(Strength.FAILS, "held-secret", item.message, item.file, line=item.line)
            )
        found = [_without_values(item, known) for item in found]
    return _integrity_result(changes, found)


def _unseen(
    changes: Sequence[Change], binaries: Mapping[str, str], sizes: Mapping[str, int], limits: IntegrityLimits
) -> Iterator[_WeighedFinding]:
    """Binary files whose content is not there to be looked at; too large ones are said already."""
    for change in changes:
        is_file = change.binary and change.new_mode not in (_ABSENT_MODE, GITLINK_MODE, SYMLINK_MODE)
        if is_file and change.path not in binaries and sizes.get(change.path, 0) <= limits.file_bytes:
            message = f"{change.path} could not be read, so nobody knows what it holds."
            yield _make_finding(Strength.FAILS, "unreadable-file", message, change.path)


def _without_values(item: _WeighedFinding, known: Redactor) -> _WeighedFinding:
    finding, take = item.finding, known.without_values
    redacted = replace(
        finding,
        message=take(finding.message),
        file=finding.file and take(finding.file),
        evidence=take(finding.evidence),
    )
    return replace(item, finding=redacted)


def holds_secret(made: CheckResult) -> bool:
    """Whether a check found a secret for certain."""
    return any(finding.rule in _SECRET_RULES for finding in made.findings)


def hunks_first(
    changes: Sequence[Change], diff: str, findings: Sequence[Finding], *, limit_chars: int = 20_000
) -> str:
    """The diff for people, secrets redacted: the hunks that findings name, then the others, as much as fits."""
    files = parse_diff(changes, diff)
    if files is None:
        return "The diff could not be read as a whole.\n"
    parts = []
    for named in (True, False):
        for file in files:
            hunks = tuple(hunk for hunk in file.hunks if _is_named(file, hunk, findings) is named)
            if hunks or (not file.hunks and _is_named(file, None, findings) is named):
                parts.append(file.header + "".join(hunk.text for hunk in hunks))
    text = "".join(parts)
    shown = redacted(visible(text[: limit_chars + LONGEST_SECRET]))[:limit_chars]
    if len(text) <= limit_chars:
        return shown
    return f"{shown}\n[cut: {len(text) - limit_chars:,} more characters]\n"


def _is_named(file: FileDiff, hunk: Hunk | None, findings: Sequence[Finding]) -> bool:
    lines = {finding.line for finding in findings if finding.file in file.change.paths}
    if None in lines or hunk is None:
        return bool(lines)
    return any(line.number in lines for line in hunk.lines if line.sign == "+")


def _integrity_result(changes: Sequence[Change], found: Sequence[_WeighedFinding]) -> CheckResult:
    strongest = [strength for strength in Strength if any(item.strength is strength for item in found)]
    findings = tuple(item.finding for strength in Strength for item in _most_severe(found, strength))
    files = count(len(changes), "file")
    if not strongest or strongest[0] is Strength.NOTES:
        summary = f"{files}, nothing tampered with" + (f", {count(len(found), 'note')}" if found else "")
        return CheckResult(
            name=CheckName.INTEGRITY, score=CheckScore.PASS, summary=summary, findings=findings
        )
    rules = Counter(item.finding.rule for item in found if item.strength is strongest[0])
    text = ", ".join(rule if times == 1 else f"{rule} × {times}" for rule, times in rules.items())
    summary = f"{files}; {_WORDS[strongest[0]]}: {text}"
    asks = strongest[0] is Strength.ASKS
    return CheckResult(
        name=CheckName.INTEGRITY,
        score=_SCORES[strongest[0]],
        summary=summary,
        findings=findings,
        subject=Subject.PROTECTED_CHANGE if asks else "",
    )


_SCORES = {
    Strength.FAILS: CheckScore.FAIL,
    Strength.REVISES: CheckScore.NEEDS_REVISION,
    Strength.ASKS: CheckScore.PASS,
}
_SUGGESTIONS = {
    "secret": "Take the value out; read it from the environment or a file outside the repository.",
    "held-secret": "Take it out of every file; nothing a task needs is a secret of Overlord's.",
    "test-skipped": "Let the test run, or say in your summary why it cannot.",
    "tests-deleted": "Put the tests back, or say in your summary what replaces them.",
    "assertion-removed": "Put the assertions back, or say in your summary what replaces them.",
    "empty-assertion": "Assert what the code must do.",
    "tolerance-loosened": "Keep the tolerance and fix the code.",
    "assertion-weakened": "Assert what was asserted before, and fix the code.",
    "assertion-swallowed": "Let the assertion fail the test.",
    "assertion-conditional": "Assert it always.",
    "rows-removed": "Put the cases back, or say in your summary what replaces them.",
    "stand-in": "Test the code itself.",
    "unreadable-test": "Write it so that it can be parsed.",
    "sees-tests": "Let the code do the same whether it is tested or not.",
    **dict.fromkeys(
        map(str, Guard), "Undo this change unless the task asks for it: it needs a person's approval."
    ),
}
_WORDS = {
    Strength.FAILS: "not acceptable",
    Strength.REVISES: "tests or lines to put right",
    Strength.ASKS: "a person must approve",
}


def _most_severe(found: Sequence[_WeighedFinding], strength: Strength) -> Iterator[_WeighedFinding]:
    counted: Counter[str] = Counter()
    for item in found:
        counted[item.finding.rule] += item.strength is strength
        if item.strength is strength and counted[item.finding.rule] <= MOST_NAMED:
            yield item


def _unread(diff: str) -> _WeighedFinding:
    if is_cut(diff):
        message = "The diff is too large to be read to its end."
        return _make_finding(Strength.FAILS, "too-large", message)
    message = "The diff does not fit the list of changed files, so its lines could not be checked."
    return _make_finding(Strength.FAILS, "unreadable-diff", message)


def _trees(changes: Sequence[Change], link_targets: Mapping[str, str]) -> Iterator[_WeighedFinding]:
    for change in changes:
        path = change.path
        if GITLINK_MODE in (change.old_mode, change.new_mode):
            yield _make_finding(
                Strength.FAILS, "submodule", f"{path} is a submodule: another repository's commit.", path
            )
        if any(name.casefold().rsplit("/", 1)[-1] == ".gitmodules" for name in change.paths):
            yield _make_finding(
                Strength.FAILS, "submodule", f"{path} says where submodules are fetched from.", path
            )
        if change.new_mode == SYMLINK_MODE and (reason := _link_problem(path, link_targets.get(path))):
            yield _make_finding(Strength.FAILS, "escaping-link", f"{path} is a symbolic link {reason}.", path)
        if change.new_mode != _ABSENT_MODE and (visible(path) != path or "\\" in path or "\n" in path):
            message = "The name of a file has characters that are not shown as they are."
            yield _make_finding(Strength.REVISES, "unusual-name", message, visible(path))


def _link_problem(path: str, target: str | None) -> str:
    """Why a link is refused. `..` may only come first: after a name it may lead anywhere that name links to."""
    if not target:
        return "whose target is not known"
    parts = PurePosixPath(target).parts
    ups = next((place for place, part in enumerate(parts) if part != ".."), len(parts))
    if target.startswith("/") or ups > len(PurePosixPath(path).parts) - 1 or ".." in parts[ups:]:
        return "that leaves the repository"
    if any(part.casefold().rstrip(". ") in {".git", "git~1"} for part in parts) or "\0" in target:
        return "into git's own files"
    return ""


def _sizes(
    changes: Sequence[Change], sizes: Mapping[str, int], limits: IntegrityLimits
) -> Iterator[_WeighedFinding]:
    if len(changes) > limits.files:
        message = f"{len(changes):,} files are changed; {limits.files:,} are the limit."
        yield _make_finding(Strength.FAILS, "too-large", message)
    lines = sum(change.added + change.removed for change in changes)
    if lines > limits.lines:
        message = f"{lines:,} lines are changed; {limits.lines:,} are the limit."
        yield _make_finding(Strength.FAILS, "too-large", message)
    for change in changes:
        if change.new_mode in (_ABSENT_MODE, GITLINK_MODE, SYMLINK_MODE):
            continue
        size = sizes.get(change.path)
        if size is None or size > limits.file_bytes:
            text = "an unknown number of" if size is None else f"{size:,}"
            message = f"{change.path} has {text} bytes; {limits.file_bytes:,} are the limit."
            yield _make_finding(Strength.FAILS, "too-large", message, change.path)
        if change.binary and _TEXT.fullmatch(change.path):
            message = f"{change.path} is named like text and is not text, so nobody can read the change."
            yield _make_finding(Strength.FAILS, "unreadable-file", message, change.path)


def _in_lines(file: FileDiff) -> Iterator[_WeighedFinding]:
    path = file.change.path
    yield from _secrets(file)
    yield from _conflict_marks(file)
    for line in file.added:
        if not line.text.isascii() and any(_hides(char) for char in line.text):
            message = "This line has characters that hide or turn round what it says."
            yield _make_finding(
                Strength.REVISES, "hidden-characters", message, path, line=line.number, evidence=line.text
            )
        if _SILENCED.search(line.text[:LONGEST_LINE]):
            message = "This line tells a linter or type checker to look away."
            yield _make_finding(
                Strength.NOTES, "check-silenced", message, path, line=line.number, evidence=line.text
            )


def _conflict_marks(file: FileDiff) -> Iterator[_WeighedFinding]:
    """Both sides of a merge that nobody has made one of."""
    begins = [line for line in file.added if line.text.startswith("<<<<<<< ")]
    if begins and any(line.text.startswith(">>>>>>> ") for line in file.added):
        message = "A conflict begins here that was not resolved: both sides are in the file, between marks."
        for line in begins:
            yield _make_finding(
                Strength.REVISES, "conflict-mark", message, file.change.path, line=line.number
            )


def _secrets(file: FileDiff) -> Iterator[_WeighedFinding]:
    """Secrets this change brings in: what it takes out elsewhere in the file was there before."""
    if next(find_secrets("\n".join(line.text for line in file.added)), None) is None:
        return
    before = "\n".join(line.text for line in file.removed)
    for line in file.added:
        for secret in find_secrets(line.text):
            if secret.value in before:
                continue
            strength = Strength.FAILS if secret.certain else Strength.NOTES
            rule = "secret" if secret.certain else "possible-secret"
            message = f"This line holds what looks like a secret: {secret.kind}."
            yield _make_finding(
                strength, rule, message, file.change.path, line=line.number, evidence=line.text
            )


def _hides(char: str) -> bool:
    return char in _HIDING or "\U000e0000" <= char <= "\U000e007f"


def _weakened(files: Sequence[FileDiff], compared: Compared | None) -> Iterator[_WeighedFinding]:
    for weak in weaknesses(files, compared):
        yield _make_finding(
            Strength.REVISES, weak.rule, weak.message, weak.file, line=weak.line, evidence=weak.evidence
        )


_STRENGTHS = {Level.REJECT: Strength.FAILS, Level.FLAG: Strength.ASKS, Level.NOTE: Strength.NOTES}


def _skills(reviews: Sequence[SkillReview]) -> Iterator[_WeighedFinding]:
    for review in reviews:
        for item in review.findings:
            strength, evidence = _STRENGTHS[item.level], item.evidence
            yield _make_finding(
                strength, item.rule, item.message, review.file, line=item.line, evidence=evidence
            )


def _guards(
    files: Sequence[FileDiff], approved: Collection[str], approved_file: str
) -> Iterator[_WeighedFinding]:
    for file in files:
        for path, guard, message in guarded(file):
            is_known = path == approved_file or (
                guard in (Guard.LOCK_FILE, Guard.PACKAGING) and path in approved
            )
            yield _make_finding(Strength.NOTES if is_known else Strength.ASKS, guard, message, path)


def _make_finding(
    strength: Strength,
    rule: str,
    message: str,
    file: str | None = None,
    *,
    line: int | None = None,
    evidence: str = "",
) -> _WeighedFinding:
    finding = Finding(
        check=CheckName.INTEGRITY,
        rule=rule,
        message=visible(message),
        file=file,
        line=line,
        evidence=redacted(visible(evidence)).strip()[:EVIDENCE_CHARS],
        suggestion=_SUGGESTIONS.get(rule, ""),
    )
    return _WeighedFinding(strength=strength, finding=finding)
