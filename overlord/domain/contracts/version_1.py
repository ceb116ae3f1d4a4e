"""Version 1 of a contract, in which each phase has one role: read into the same as version 2.

Its work stays when it missed something, for the next session to mend.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from overlord.domain.contracts.contract import (
    ANY_FILE,
    END,
    ISSUE,
    MAX_LIFETIME_H,
    PEOPLE,
    Contract,
    ScopeRule,
)
from overlord.domain.contracts.part import Name, Part, Words, as_tuple

_Words = Annotated[Words, BeforeValidator(as_tuple)]


class _Budget(Part):
    tokens: Annotated[int, Field(gt=0)] | None = None
    usd: Annotated[float, Field(gt=0)] | None = None
    turns: Annotated[int, Field(gt=0)] | None = None
    time_s: Annotated[int, Field(gt=0)] | None = None
    on_exhausted: Literal["ask"] = "ask"


class _Role(Part):
    scope: ScopeRule | None = None
    budget: _Budget | None = None
    tools: Annotated[tuple[Name, ...], BeforeValidator(as_tuple)] = ()


class _Phase(Part):
    role: Name
    inputs: _Words = ()
    outputs: _Words = ()
    criteria: _Words = ()
    attempts: Annotated[int, Field(ge=1, le=3)] = 3
    next: Name | None = None


class _Gate(Part):
    after: Name
    kind: Literal["person", "check"]
    answered_by: Literal["person", "code"]
    approve: Name
    reject: Name


class ContractVersion1(Part):
    """A contract as version 1 writes it."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    version: Literal[1]
    lifetime_h: Annotated[float, Field(gt=0, le=MAX_LIFETIME_H)] | None = None
    merge: Literal["manual"] = "manual"
    start: Name
    roles: dict[Name, _Role]
    phases: Annotated[dict[Name, _Phase], Field(min_length=1)]
    gates: dict[Name, _Gate] = Field(default={})

    def upgraded(self) -> dict[str, Any]:
        """The same as version 2 says it. A role that works in several phases has the attempts of the most patient one."""
        return {
            "name": self.name,
            "version": 1,
            "lifetime": None if self.lifetime_h is None else {"hours": self.lifetime_h},
            "escalation": ["person"],
            "merge": self.merge,
            "start": self.start,
            "roles": {name: self._role(name, role) for name, role in self.roles.items()},
            "phases": {name: _phase(phase) for name, phase in self.phases.items()},
            "gates": {name: self._gate(gate) for name, gate in self.gates.items() if gate.kind == "person"},
        }

    def _role(self, name: str, role: _Role) -> dict[str, Any]:
        attempts = max((phase.attempts for phase in self.phases.values() if phase.role == name), default=3)
        budget = None
        if role.budget is not None:
            minutes = None if role.budget.time_s is None else role.budget.time_s / 60
            budget = {
                "iterations": attempts,
                "minutes": minutes,
                "turns": role.budget.turns,
                "tokens": role.budget.tokens,
                "usd": role.budget.usd,
                "exhausted": role.budget.on_exhausted,
            }
        scope = None if role.scope is None else role.scope.model_dump()
        return {"scope": scope, "budget": budget, "tools": role.tools, "verification": ["diff_non_empty"]}

    def _gate(self, gate: _Gate) -> dict[str, Any]:
        following = self.phases[gate.after].next if gate.after in self.phases else None
        # What is answered by code is no person's gate: its audience is one that rule 5.5 refuses.
        audience = PEOPLE[0] if gate.answered_by == "person" else gate.answered_by
        return {
            "on": f"{gate.after}->{following or END}",
            "audience": audience,
            "approve": gate.approve,
            "reject": gate.reject,
        }


def _phase(phase: _Phase) -> dict[str, Any]:
    return {
        "actors": [phase.role],
        "inputs": phase.inputs or [ISSUE],
        "outputs": [ANY_FILE],
        "criteria": ["evaluation_passed"],
        "next": {} if phase.next is None else {"done": phase.next},
        "terminal": phase.next is None,
    }


def read_version_1(document: Any) -> Contract:
    """A contract of version 1. Raises pydantic.ValidationError."""
    return Contract.model_validate(ContractVersion1.model_validate(document).upgraded())
