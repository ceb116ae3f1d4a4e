"""A contract as people read it: its roles, phases and gates in rows, each value in words; and its text as version 2 writes it."""

from dataclasses import dataclass
from typing import Any

import yaml

from overlord.domain.contracts.contract import Contract, Gate, Phase, RoleBudget, ScopeRule, is_plan
from overlord.domain.text.plain import count

ANY = "any file"
UPGRADED = """\
# Written as version 1, here as version 2 says it. One thing differs: in version 2, work that missed
# something is taken back before the next session; in version 1 it stays for that one to mend.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleOutline:
    """Who works."""

    name: str
    phases: tuple[str, ...]
    writes: tuple[str, ...]
    """What it may write in any of its phases, without what is secret and protected."""
    commands: tuple[str, ...] | None
    """The programs it may start; None for any."""
    budget: str
    exhausted: str
    verification: tuple[str, ...]
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseOutline:
    """A step."""

    name: str
    actors: tuple[str, ...]
    preconditions: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    criteria: tuple[str, ...]
    next: tuple[str, ...]
    """As `done: build`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOutline:
    """A decision."""

    name: str
    on: str
    audience: str
    inputs: tuple[str, ...]
    approve: str
    reject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractOutline:
    """A contract in rows."""

    name: str
    version: int
    constitution: int
    lifetime: str
    escalation: tuple[str, ...]
    secret_paths: tuple[str, ...]
    roles: tuple[RoleOutline, ...]
    phases: tuple[PhaseOutline, ...]
    gates: tuple[GateOutline, ...]
    yaml: str
    """The same as YAML of version 2."""


def outline_of(contract: Contract) -> ContractOutline:
    """Phases in the order they are written, the first one first."""
    names = dict.fromkeys((contract.start, *contract.phases))
    return ContractOutline(
        name=contract.name,
        version=contract.version,
        constitution=contract.constitution,
        lifetime=lifetime_text(contract),
        escalation=tuple(contract.escalation),
        secret_paths=contract.secret_paths,
        roles=tuple(_role(contract, name) for name in contract.roles),
        phases=tuple(_phase(name, contract.phases[name]) for name in names if name in contract.phases),
        gates=tuple(_gate(name, gate) for name, gate in contract.gates.items()),
        yaml=contract_yaml(contract),
    )


def lifetime_text(contract: Contract) -> str:
    """What a job may take as a whole."""
    if contract.lifetime is None:
        return "no end"
    usd = "" if contract.lifetime.usd is None else f", {contract.lifetime.usd:g} USD"
    return f"{contract.lifetime.hours:g} h{usd}"


def budget_text(budget: RoleBudget | None) -> str:
    """Where a role's work ends."""
    if budget is None:
        return "none"
    values = (
        (budget.minutes, "min"),
        (budget.turns, "turns"),
        (budget.tokens, "tokens"),
        (budget.usd, "USD"),
        (budget.diff_files, "files"),
        (budget.diff_lines, "lines"),
    )
    said = [
        f"{value:,g} {unit}" if value < 100_000 else f"{value:,.0f} {unit}" for value, unit in values if value
    ]
    return ", ".join([count(budget.iterations, "session"), *said])


def _role(contract: Contract, name: str) -> RoleOutline:
    role = contract.roles[name]
    phases = tuple(phase for phase, found in contract.phases.items() if name in found.actors)
    exhausted = role.budget.exhausted if role.budget is not None else None
    return RoleOutline(
        name=name,
        phases=phases,
        writes=_writes(contract, name, phases),
        commands=role.commands,
        budget=budget_text(role.budget),
        exhausted=str(exhausted or "ask"),
        verification=tuple(item.describe() for item in role.verification),
        model=role.model or "",
    )


def _writes(contract: Contract, role: str, phases: tuple[str, ...]) -> tuple[str, ...]:
    found = [contract.written_by(role, phase) for phase in phases or (contract.start,)]
    known = [patterns for patterns in found if patterns is not None]
    if len(known) < len(found):
        return (ANY,)
    every = dict.fromkeys(pattern for patterns in known for pattern in patterns)
    return tuple(pattern for pattern in every if phases or not is_plan(pattern))


def _phase(name: str, phase: Phase) -> PhaseOutline:
    ends = ("done: end",) if phase.terminal else ()
    return PhaseOutline(
        name=name,
        actors=phase.actors,
        preconditions=tuple(item.describe() for item in phase.preconditions),
        inputs=phase.inputs or (),
        outputs=phase.outputs or (),
        criteria=tuple(item.describe() for item in phase.criteria),
        next=(*(f"{outcome}: {target}" for outcome, target in phase.next.items()), *ends),
    )


def _gate(name: str, gate: Gate) -> GateOutline:
    return GateOutline(
        name=name,
        on=gate.on,
        audience=gate.audience,
        inputs=gate.inputs,
        approve=gate.approve or "",
        reject=gate.reject or "",
    )


def contract_yaml(contract: Contract) -> str:
    """The contract as version 2 writes it, without what is so by default."""
    document: dict[str, Any] = contract.model_dump(mode="json", exclude_defaults=True)
    document["version"] = 2
    for name, role in contract.roles.items():
        written = document["roles"][name]
        if isinstance(role.scope, ScopeRule):
            written["scope"] = _scope(role.scope)
        if role.budget is not None:
            written.setdefault("budget", {})
        if role.verification:
            written["verification"] = [_criterion(item) for item in role.verification]
    for name, phase in contract.phases.items():
        for key in ("preconditions", "criteria"):
            if criteria := getattr(phase, key):
                document["phases"][name][key] = [_criterion(item) for item in criteria]
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    return text if contract.version == 2 else f"{UPGRADED}{text}"


def _scope(rule: ScopeRule) -> Any:
    """A list of patterns where that says all."""
    said = rule.model_dump(mode="json", exclude_defaults=True)
    return said["patterns"] if set(said) == {"patterns"} else said


def _criterion(item: Any) -> Any:
    """A word where it has nothing to say but its name."""
    said = item.model_dump(mode="json", exclude_none=True)
    return item.kind if said == {item.kind: True} else said
