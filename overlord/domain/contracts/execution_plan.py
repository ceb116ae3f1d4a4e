"""What a job would do under a contract, said before anybody works: its phases in order, who works in each with what, and who decides."""

from collections.abc import Iterator
from dataclasses import dataclass

from overlord.domain.contracts.contract import BLOCKED, DONE, Contract, Gate, RoleBudget
from overlord.domain.contracts.graph import PhaseGraph
from overlord.domain.contracts.outline import RoleOutline, lifetime_text, outline_of
from overlord.domain.text.plain import count


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPhase:
    """A step of the work."""

    name: str
    roles: tuple[RoleOutline, ...]
    """Who works, one after the other; nobody in a phase that is passed through."""
    criteria: tuple[str, ...]
    """What has to be so before it is left."""
    gates: tuple[str, ...]
    """Who decides before it is left, as sentences."""
    only_after: str = ""
    """What has to happen for a job to come here at all; "" where every job does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPlan:
    """The whole of it."""

    contract: str
    lifetime: str
    phases: tuple[PlannedPhase, ...]
    sessions: int
    """The most on the straight way: each role's first and all its revisions."""
    sessions_usd: float | None
    """What these may cost together; None where some session has no cap in USD."""
    most_usd: float | None
    """What the job may cost whatever happens; None where nothing says so."""
    limited_by: str = ""
    """What says so."""

    @property
    def cost(self) -> str:
        """What it may cost, in sentences."""
        counted = f"{count(self.sessions, 'session')} of work at most, if no gate sends it back"
        known = "" if self.sessions_usd is None else f", which may cost {self.sessions_usd:,.2f} USD"
        if self.most_usd is None:
            return f"{counted}{known}. Nothing caps the job in USD."
        return f"{counted}{known}. The job ends at {self.most_usd:,.2f} USD ({self.limited_by})."


def plan_of(
    contract: Contract, *, session_usd: float | None = None, job_usd: float | None = None
) -> ExecutionPlan:
    """The plan under a contract. `session_usd` and `job_usd` are the caps that the settings have."""
    way = tuple(_way(contract))
    graph = PhaseGraph.of(contract)
    aside = [name for name in contract.phases if name in graph.reached() and name not in way]
    roles = {role.name: role for role in outline_of(contract).roles}
    working = [role for name in way for role in contract.phases[name].actors]
    caps = [
        (contract.lifetime.usd if contract.lifetime is not None else None, "lifetime.usd of the contract"),
        (job_usd, "the budget of the job"),
    ]
    known = [(usd, what) for usd, what in caps if usd is not None]
    most = min(known, default=None)
    return ExecutionPlan(
        contract=contract.name,
        lifetime=lifetime_text(contract),
        phases=tuple(_phase(contract, name, roles, is_aside=name in aside) for name in (*way, *aside)),
        sessions=sum(_iterations(contract, role) for role in working),
        sessions_usd=_sessions_usd(contract, working, session_usd),
        most_usd=most[0] if most is not None else None,
        limited_by=most[1] if most is not None else "",
    )


def _way(contract: Contract) -> Iterator[str]:
    """The phases of a job in which everything goes as it should."""
    name, passed = contract.start, set[str]()
    while name in contract.phases and name not in passed:
        passed.add(name)
        yield name
        target = contract.phases[name].next.get(DONE, "")
        gate = contract.gate_on(name, target)
        name = (gate[1].approve if gate is not None else None) or target


def _phase(contract: Contract, name: str, roles: dict[str, RoleOutline], *, is_aside: bool) -> PlannedPhase:
    phase = contract.phases[name]
    return PlannedPhase(
        name=name,
        roles=tuple(roles[role] for role in phase.actors if role in roles),
        criteria=tuple(item.describe() for item in phase.criteria),
        gates=tuple(_gate(title, gate) for title, gate in contract.gates.items() if gate.source == name),
        only_after=" or ".join(_ways_to(contract, name)) if is_aside else "",
    )


def _ways_to(contract: Contract, name: str) -> Iterator[str]:
    for source, outcome, target in contract.edges():
        if target == name:
            yield f"{source} says {outcome!r}" if outcome != BLOCKED else f"{source} is blocked"
    yield from (f"gate {title} leads there" for title, gate in contract.gates.items() if gate.approve == name)


def _gate(name: str, gate: Gate) -> str:
    if gate.is_pull:
        return f"gate {name}: a person merges the result, or does not"
    shown = f" and is shown {', '.join(gate.inputs)}" if gate.inputs else ""
    who = {"person": "a person", "approver": "an approver"}.get(gate.audience, f"role {gate.audience}")
    return (
        f"gate {name}: {who} decides{shown}; approved it goes on to {gate.approve}, rejected to {gate.reject}"
    )


def _iterations(contract: Contract, role: str) -> int:
    budget = contract.role(role).budget
    return (budget or RoleBudget()).iterations


def _sessions_usd(contract: Contract, working: list[str], session_usd: float | None) -> float | None:
    total = 0.0
    for name in working:
        budget = contract.role(name).budget
        own = budget.usd if budget is not None else None
        caps = [usd for usd in (own, session_usd) if usd is not None]
        if not caps:
            return None
        total += min(caps) * _iterations(contract, name)
    return total
