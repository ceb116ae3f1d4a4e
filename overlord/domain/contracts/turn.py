"""Whose turn it is: a role in a phase of a contract, and what that means for its session."""

from dataclasses import dataclass
from typing import Self

from minion.protocol import Scope, ScopeError, ScopeMode
from overlord.domain.contracts.contract import PLAN, Contract, Phase, Role, RoleBudget, ScopeRule, is_plan
from overlord.domain.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A role in a phase."""

    contract: Contract
    phase_name: str
    role_name: str

    @classmethod
    def of(cls, contract: Contract, job: Job) -> Self:
        """Whose turn it is on a job. Raises ContractError for a phase or role that is not there, or has nobody to work."""
        return cls.in_phase(contract, job.phase, job.role)

    @classmethod
    def in_phase(cls, contract: Contract, phase: str, role: str = "") -> Self:
        """The turn of a role, or of the phase's first actor."""
        actors = contract.phase(phase).actors
        role = role if role in contract.roles else next(iter(actors), "")
        contract.role(role)
        return cls(contract=contract, phase_name=phase, role_name=role)

    @property
    def phase(self) -> Phase:
        return self.contract.phase(self.phase_name)

    @property
    def role(self) -> Role:
        return self.contract.role(self.role_name)

    @property
    def budget(self) -> RoleBudget:
        return self.role.budget or RoleBudget()

    @property
    def iterations(self) -> int:
        """Sessions it may have before somebody else is asked."""
        return self.budget.iterations

    @property
    def rule(self) -> ScopeRule:
        """Raises ScopeError for a role that declares no scope."""
        if self.role.scope is None:
            raise ScopeError(f"role {self.role_name} declares none")
        return self.role.scope

    @property
    def plan_patterns(self) -> tuple[str, ...]:
        """What of the job's plan its sessions may write."""
        return tuple(filter(is_plan, self.phase.outputs or ()))

    @property
    def closed(self) -> tuple[str, ...]:
        """What its sessions may not write whatever their scope says: secrets, and the plan where the phase does not make it."""
        own = self.plan_patterns or not self.contract.has_plan
        return (*self.contract.secret_paths, *(() if own else (f"{PLAN}/**",)))

    def scope(self) -> Scope:
        """What its sessions may write, before a space narrows it and grants widen it. Raises ScopeError."""
        mode, patterns = self.rule.mode, self.contract.written_by(self.role_name, self.phase_name)
        if patterns is None:
            return Scope(mode=ScopeMode.UNRESTRICTED, without=self.closed)
        if mode is ScopeMode.EXPLICIT and patterns != self.rule.patterns:
            mode = ScopeMode.DIRECTORY  # what is shared and what the plan may hold are patterns
        return Scope.parse(Scope(mode=mode, patterns=patterns, without=self.closed).to_json())
