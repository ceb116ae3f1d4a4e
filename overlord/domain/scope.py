"""Whether a change stayed where it was allowed, judged on Overlord's own diff (DESIGN: scope, three times)."""

from collections.abc import Sequence
from dataclasses import dataclass

from minion.protocol import Finding, Scope, ScopeError, ScopeMode, is_protected
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore

GITLINK_MODE = "160000"
SYMLINK_MODE = "120000"
ESCALATE_AT = 3
"""So many violations, or one protected path, go to a person at once."""


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
        scope = Scope(mode=ScopeMode.DIRECTORY, patterns=tuple(space))
    if not granted:
        return scope
    patterns = ("**",) if scope.mode is ScopeMode.UNRESTRICTED else scope.patterns
    mode = ScopeMode.DIRECTORY if scope.mode is ScopeMode.UNRESTRICTED else scope.mode
    return Scope(mode=mode, patterns=tuple(dict.fromkeys((*patterns, *granted))))


def check_scope(scope: Scope, changes: Sequence[Change]) -> CheckResult:
    """Judge every changed path against the scope the session was given."""
    outside = sorted({path for change in changes for path in change.paths if not scope.allows(path)})
    if not changes:
        return CheckResult(
            name=CheckName.SCOPE,
            score=CheckScore.NEEDS_REVISION,
            summary="the session changed nothing",
            findings=(
                Finding(check=CheckName.SCOPE, rule="empty-change", message="The branch has no change."),
            ),
        )
    if not outside:
        count = len(changes)
        return CheckResult(
            name=CheckName.SCOPE,
            score=CheckScore.PASS,
            summary=f"{count} file{'s' * (count != 1)}, all inside",
        )
    protected = [path for path in outside if is_protected(path, scope.patterns)]
    escalates = bool(protected) or len(outside) >= ESCALATE_AT
    return CheckResult(
        name=CheckName.SCOPE,
        score=CheckScore.FAIL if escalates else CheckScore.NEEDS_REVISION,
        summary=f"{len(outside)} of {len(changes)} files outside the scope"
        + (", protected" if protected else ""),
        findings=tuple(_violation(path, scope, path in protected) for path in outside),
        subject="scope" if escalates else "",
    )


def _violation(path: str, scope: Scope, protected: bool) -> Finding:
    return Finding(
        check=CheckName.SCOPE,
        rule="protected-path" if protected else "outside-scope",
        file=path,
        message=f"{path} is protected."
        if protected
        else f"{path} is outside the scope ({scope.describe()}).",
        suggestion="Undo the change to this file, or ask for the scope with ask_question(kind='scope').",
    )
