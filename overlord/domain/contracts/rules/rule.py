"""What a rule is, what breaks one, and what all of them look at."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from minion.protocol import Scope, ScopeError, ScopeMode
from overlord.domain.contracts.contract import Contract, is_plan
from overlord.domain.contracts.graph import PhaseGraph
from overlord.domain.contracts.overlap import Overlaps, beginning, is_plain

CONSTITUTION = 1
"""The version of the set of rules. A set that says more has a higher one, and its new rules say so in `since`."""

Key = tuple[str | int, ...]
"""The way to a part of a contract: `("roles", "backend", "scope")`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that a contract breaks, and where."""

    key: Key
    """The way to what breaks it."""
    message: str
    counterexample: str = ""
    """What shows it: a path, or phases one after the other."""
    fix: str
    rule: str = ""


class Checked:
    """A contract under its rules, and what several of them ask."""

    def __init__(self, contract: Contract, existing: Collection[str] | None) -> None:
        self.contract = contract
        self.existing = existing
        """The files at base; None where they are not known."""
        self.graph = PhaseGraph.of(contract)
        self._problems: dict[tuple[str, ScopeMode], str] = {}
        self._useless: dict[Scope, str | None] = {}
        self._made: dict[tuple[str, str], bool] = {}

    @cached_property
    def overlaps(self) -> Overlaps:
        """Comparisons over every pattern of the contract."""
        return Overlaps(tuple(dict.fromkeys(_patterns_of(self.contract))))

    @cached_property
    def secret(self) -> tuple[str, ...]:
        """The patterns of secret paths that can be read."""
        return self.readable(self.contract.secret_paths)

    def problem_of(self, pattern: str, mode: ScopeMode = ScopeMode.DIRECTORY) -> str:
        """Why a pattern cannot be read; empty where it can."""
        known = self._problems.get((pattern, mode))
        if known is None:
            known = self._problems[pattern, mode] = _problem(pattern, mode)
        return known

    def readable(self, patterns: Collection[str], mode: ScopeMode = ScopeMode.DIRECTORY) -> tuple[str, ...]:
        return tuple(pattern for pattern in patterns if not self.problem_of(pattern, mode))

    def protected_path(self, pattern: str, mode: ScopeMode = ScopeMode.DIRECTORY) -> str | None:
        """A path that a pattern matches when all that it matches is protected, empty when it matches none; None where it is
        of use."""
        if is_plain(pattern):
            return None
        scope = Scope(mode=mode, patterns=(pattern,))
        if scope not in self._useless:
            is_of_use = self.overlaps.shortest(scope) is not None
            self._useless[scope] = (
                None if is_of_use else self.overlaps.shortest(scope, is_protected_too=True) or ""
            )
        return self._useless[scope]

    def own_scope(self, role: str) -> Scope | None:
        """What a role may write by its own scope and by what is shared with it; None where it declares nothing that can be read."""
        rule = self.contract.roles[role].scope
        if rule is None or rule.mode is ScopeMode.UNRESTRICTED:
            return None if rule is None else Scope.unrestricted()
        shared = [path for item in self.contract.shared if role in item.roles for path in item.paths]
        patterns = self.readable(rule.patterns, rule.mode)
        if not patterns:
            return None
        if rule.mode is ScopeMode.EXPLICIT and not shared:
            return Scope(mode=ScopeMode.EXPLICIT, patterns=patterns)
        return Scope(patterns=self.readable((*patterns, *shared)))

    def writable(self, role: str) -> Scope | None:
        """All that a role may write in some phase, but for the plan."""
        own = self.own_scope(role)
        if own is None or own.mode is ScopeMode.UNRESTRICTED:
            return own
        also = self.readable(self.contract.roles[role].also_writes)
        return own if not also else Scope(patterns=(*own.patterns, *also))

    def is_written_by(self, pattern: str, scope: Scope) -> bool:
        """Whether a scope allows something that a pattern matches."""
        if pattern in scope.patterns and is_plain(pattern):
            return True
        return self.overlaps.shortest(Scope(patterns=(pattern,)), scope) is not None

    def makes(self, phase: str, pattern: str) -> bool:
        """Whether what a phase says it makes can be what a pattern is about."""
        known = self._made.get((phase, pattern))
        if known is None:
            outputs = self.contract.phases[phase].outputs or ()
            known = any(self._is_about(output, pattern) for output in outputs if not self.problem_of(output))
            self._made[phase, pattern] = known
        return known

    def _is_about(self, output: str, pattern: str) -> bool:
        if output == pattern:
            return True
        ours, theirs = beginning(output), beginning(pattern)
        if not (ours.startswith(theirs) or theirs.startswith(ours)) or (
            is_plan(pattern) and not is_plan(output)
        ):
            return False
        return self.overlaps.shortest(Scope(patterns=(pattern,)), Scope(patterns=(output,))) is not None


Check = Callable[[Checked], Iterator[Violation]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the constitution."""

    number: str
    title: str
    """What it says, in a sentence."""
    advice: str
    """What to do when a contract breaks it, or what happens when a session does."""
    check: Check | None = None
    """Finds what breaks it in a contract; None for a rule that only work can break."""
    at_run: bool = False
    """Whether it is held while jobs run."""
    since: int = 1
    """The version of the constitution that it came with."""
    holds_version_1: bool = True
    """Whether contracts of version 1 can say what it asks for."""

    @property
    def at_load(self) -> bool:
        """Whether it is held when a contract is read."""
        return self.check is not None


def _patterns_of(contract: Contract) -> Iterator[str]:
    yield from contract.secret_paths
    for item in contract.shared:
        yield from item.paths
    for role in contract.roles.values():
        yield from role.scope.patterns if role.scope else ()
        yield from role.also_writes
    for phase in contract.phases.values():
        yield from phase.inputs or ()
        yield from phase.outputs or ()
    for gate in contract.gates.values():
        yield from gate.inputs


def _problem(pattern: str, mode: ScopeMode) -> str:
    try:
        Scope.parse(Scope(mode=mode, patterns=(pattern,)).to_json())
    except ScopeError as error:
        return str(error).replace("MINION_SCOPE has", "there is").replace("MINION_SCOPE", "it")
    return ""
