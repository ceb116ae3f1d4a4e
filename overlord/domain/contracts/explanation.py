"""Who may write a path under a contract, in which phase, and why or why not. Said of the contract alone: a repository's own scope
narrows it, and what a person granted a job widens it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from minion.protocol import PROTECTED_UNLESS_NAMED, Scope, ScopeError, ScopeMode, is_protected
from overlord.domain.contracts.contract import Contract, is_plan
from overlord.domain.contracts.turn import Turn


class Ground(StrEnum):
    """Why a role may write a path, or may not."""

    ANY_FILE = "any_file"
    OWN_SCOPE = "own_scope"
    SHARED = "shared"
    ALSO_WRITES = "also_writes"
    PLAN = "plan"
    SECRET = "secret"
    PROTECTED = "protected"
    UNNAMED_WORKFLOW = "unnamed_workflow"
    OTHER_PLAN = "other_plan"
    NO_SCOPE = "no_scope"
    NO_PATTERN = "no_pattern"


_MAY = {
    Ground.ANY_FILE: "its scope is any file",
    Ground.OWN_SCOPE: "its own scope has",
    Ground.SHARED: "it is declared shared:",
    Ground.ALSO_WRITES: "its also_writes has",
    Ground.PLAN: "the phase's outputs have",
}
_MAY_NOT = {
    Ground.SECRET: "it is one of the contract's secret_paths:",
    Ground.PROTECTED: "no session writes below .git or .nebulus",
    Ground.UNNAMED_WORKFLOW: f"no pattern names {PROTECTED_UNLESS_NAMED[0]}, which `**` does not open",
    Ground.OTHER_PLAN: "it is of the job's plan, and the phase has no outputs there",
    Ground.NO_SCOPE: "the role's scope cannot be read:",
    Ground.NO_PATTERN: "none of its patterns has it:",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Whether a role may write the path in a phase."""

    role: str
    phase: str
    may: bool
    ground: Ground
    pattern: str = ""
    """What decides: the pattern that has it, or all that were looked at."""

    @property
    def reason(self) -> str:
        """In words, as the end of a sentence."""
        return f"{(_MAY | _MAY_NOT)[self.ground]} {self.pattern}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a contract says of one path: an answer for each role in each phase it works in."""

    path: str
    contract: str
    answers: tuple[Answer, ...]
    idle: tuple[str, ...]
    """Roles that work in no phase."""

    @property
    def writers(self) -> tuple[str, ...]:
        """The roles that may write it in some phase."""
        return tuple(dict.fromkeys(answer.role for answer in self.answers if answer.may))


def explain(contract: Contract, path: str) -> Explanation:
    """Raises ContractError for a contract whose phases name roles it does not have."""
    answers = tuple(
        answer_for(Turn.in_phase(contract, phase, role), path)
        for phase, found in contract.phases.items()
        for role in found.actors
    )
    working = {answer.role for answer in answers}
    idle = tuple(role for role in contract.roles if role not in working)
    return Explanation(path=path, contract=contract.name, answers=answers, idle=idle)


def answer_for(turn: Turn, path: str) -> Answer:
    """Whether a role may write the path in its phase. What cannot be read opens nothing."""
    ground, pattern = _decided(turn, path)
    return Answer(
        role=turn.role_name, phase=turn.phase_name, may=ground in _MAY, ground=ground, pattern=pattern
    )


def secret_pattern(contract: Contract, path: str) -> str | None:
    """The pattern of the contract's secret paths that has a path; one that cannot be read has every path."""
    return next((pattern for pattern in contract.secret_paths if _has(pattern, path, otherwise=True)), None)


def _decided(turn: Turn, path: str) -> tuple[Ground, str]:
    contract = turn.contract
    if (secret := secret_pattern(contract, path)) is not None:
        return Ground.SECRET, secret
    if contract.has_plan and is_plan(path.lstrip("/")) and not any(map(is_plan, turn.phase.outputs or ())):
        return Ground.OTHER_PLAN, ""
    try:
        scope = turn.scope()
        is_open = scope.allows(path)
    except ScopeError as error:
        return Ground.NO_SCOPE, str(error)
    if not is_open:
        return _refused(path, scope)
    if scope.mode is ScopeMode.UNRESTRICTED:
        return Ground.ANY_FILE, ""
    return _opened(turn, path, scope.mode)


def _refused(path: str, scope: Scope) -> tuple[Ground, str]:
    clean = path.strip("/")
    if is_protected(clean, (clean,)):
        return Ground.PROTECTED, ""
    if is_protected(clean, scope.patterns):
        return Ground.UNNAMED_WORKFLOW, ""
    return Ground.NO_PATTERN, ", ".join(scope.patterns)


def _opened(turn: Turn, path: str, mode: ScopeMode) -> tuple[Ground, str]:
    """The first that has the path of what a role may write."""
    shared = (path for item in turn.contract.shared if turn.role_name in item.roles for path in item.paths)
    for ground, patterns in (
        (Ground.OWN_SCOPE, turn.rule.patterns),
        (Ground.SHARED, tuple(shared)),
        (Ground.ALSO_WRITES, turn.role.also_writes),
    ):
        if (found := _first(patterns, path, mode)) is not None:
            return ground, found
    return Ground.PLAN, _first(filter(is_plan, turn.phase.outputs or ()), path, mode) or ""


def _first(patterns: Iterable[str], path: str, mode: ScopeMode) -> str | None:
    return next((pattern for pattern in patterns if _has(pattern, path, mode=mode)), None)


def _has(pattern: str, path: str, *, otherwise: bool = False, mode: ScopeMode = ScopeMode.DIRECTORY) -> bool:
    try:
        return Scope(mode=mode, patterns=(pattern,)).allows(path)
    except ScopeError:
        return otherwise
