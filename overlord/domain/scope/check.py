"""Whether a change stayed where it was allowed, judged on Overlord's own diff (DESIGN: scope, three times)."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from minion.protocol import Finding, Scope, ScopeError, ScopeMode, is_protected
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.identifiers import Sha
from overlord.domain.text.plain import count

GITLINK_MODE = "160000"
SYMLINK_MODE = "120000"
EMPTY_CHANGE = "empty-change"
OUTSIDE = "outside-scope"
_SPECIAL = re.compile(r"([\\*?\[\]!# ])")
_BLANKS = re.compile(r"[^\S ]")
ESCALATE_AT = 3
"""So many violations, or one protected path, go to a person at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Two sides made one. Files that both changed in the same place hold both, between conflict marks."""

    commit: Sha
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One path that differs between two commits. For a rename, `old_path` is where it came from."""

    path: str
    status: str
    """`A` added, `M` modified, `D` deleted, `R` renamed, `T` type changed."""
    old_path: str | None = None
    old_mode: str = "000000"
    new_mode: str = "000000"
    added: int = 0
    """Lines added; 0 for a binary file."""
    removed: int = 0
    binary: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path this change writes: a rename writes both ends."""
        return (self.path,) if self.old_path is None else (self.old_path, self.path)


def effective_scope(declared: Scope, space: Sequence[str] | None, granted: Sequence[str]) -> Scope:
    """What a session may write: its role's scope, narrowed to its space's own if that has one, widened by grants.

    Raises ScopeError when role and space have nothing in common.
    """
    scope = declared
    if space is not None:
        if declared.mode is not ScopeMode.UNRESTRICTED and not set(space) <= set(declared.patterns):
            raise ScopeError(
                f"the space's scope ({', '.join(space)}) goes beyond its role's ({declared.describe()})"
            )
        narrow = ScopeMode.EXPLICIT if declared.mode is ScopeMode.EXPLICIT else ScopeMode.DIRECTORY
        scope = Scope(mode=narrow, patterns=tuple(space), without=declared.without)
    if not granted:
        return scope
    patterns: tuple[str, ...] = ("**",) if scope.mode is ScopeMode.UNRESTRICTED else scope.patterns
    if scope.mode is ScopeMode.EXPLICIT:
        patterns = tuple(map(exact_pattern, patterns))  # what is granted are patterns
    patterns = tuple(dict.fromkeys((*patterns, *granted)))
    return Scope(mode=ScopeMode.DIRECTORY, patterns=patterns, without=scope.without)


def exact_pattern(path: str) -> str:
    """The pattern that means this file and no other; a tab or line break, which no pattern can end in, is any character."""
    return _BLANKS.sub("?", _SPECIAL.sub(r"\\\1", path))


def outside(scope: Scope, changes: Sequence[Change], accepted: Collection[str] = ()) -> tuple[str, ...]:
    """Every changed path the scope does not allow; a rename counts with both its ends. `standing` are paths that are as a
    session left them that was allowed to write there."""
    changed = {path for change in changes for path in change.paths}
    return tuple(sorted(path for path in changed if path not in accepted and not scope.allows(path)))


def escalates(scope: Scope, paths: Sequence[str]) -> bool:
    """Whether so much went outside that a person decides, instead of the change being taken out."""
    return len(paths) >= ESCALATE_AT or any(is_protected(path, scope.patterns) for path in paths)


def droppable(scope: Scope, changes: Sequence[Change], accepted: Collection[str] = ()) -> tuple[str, ...]:
    """The paths whose changes are taken out of the work before it is judged: few, and none of them protected."""
    paths = outside(scope, changes, accepted)
    return () if escalates(scope, paths) else paths


def check_scope(
    scope: Scope,
    changes: Sequence[Change],
    dropped: Sequence[str] = (),
    *,
    large: Collection[str] = (),
    accepted: Collection[str] = (),
    may_be_empty: bool = False,
) -> CheckResult:
    """Judge every changed path against the scope. `dropped` are paths whose changes were taken out already, those of
    `large` because Git LFS keeps their content. `standing`: as in `outside`. `may_be_empty`: no change at all is nothing wrong."""
    paths = outside(scope, changes, accepted)
    findings = tuple(
        _kept_in_lfs(path) if path in large else _violation(path, scope, dropped=True) for path in dropped
    )
    findings += tuple(_violation(path, scope) for path in paths)
    if not changes and not may_be_empty:
        nothing = Finding(check=CheckName.SCOPE, rule=EMPTY_CHANGE, message="The branch has no change.")
        return _scope_result(CheckScore.NEEDS_REVISION, "nothing was changed", (*findings, nothing))
    if paths:
        summary = f"{len(paths)} of {count(len(changes), 'file')} outside the scope"
        score = CheckScore.FAIL if escalates(scope, paths) else CheckScore.NEEDS_REVISION
        return _scope_result(score, summary, findings)
    if dropped:
        return _scope_result(
            CheckScore.NEEDS_REVISION,
            f"{count(len(dropped), 'change')}{'' if large else ' outside'} {'was' if len(dropped) == 1 else 'were'} taken out",
            findings,
        )
    return _scope_result(CheckScore.PASS, f"{count(len(changes), 'file')}, all inside", ())


def _scope_result(score: CheckScore, summary: str, findings: tuple[Finding, ...]) -> CheckResult:
    subject = Subject.SCOPE if score is CheckScore.FAIL else ""
    return CheckResult(name=CheckName.SCOPE, score=score, summary=summary, findings=findings, subject=subject)


def _kept_in_lfs(path: str) -> Finding:
    return Finding(
        check=CheckName.SCOPE,
        rule="kept-in-lfs",
        file=path,
        message=f"Git LFS keeps the content of {path}, and none can be given to it from here. The change was taken out.",
        suggestion="Do without it, or end with task_blocked and say what a person must add.",
    )


def _violation(path: str, scope: Scope, *, dropped: bool = False) -> Finding:
    protected = is_protected(path, scope.patterns)
    message = f"{path} is protected." if protected else f"{path} is outside the scope ({scope.describe()})."
    return Finding(
        check=CheckName.SCOPE,
        rule="protected-path" if protected else OUTSIDE,
        file=path,
        message=f"{message} The change to it was taken out." if dropped else message,
        suggestion="Do without it, or ask for the scope with ask_question(kind='scope').",
    )
