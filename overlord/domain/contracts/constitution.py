"""Seventeen rules no contract can relax. This file checks, when a contract is loaded, those that its text can break."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from overlord.domain.contracts.contract import Contract, scope_problem
from overlord.errors import ContractError


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule of the constitution that a contract breaks, and where."""

    rule: str
    message: str


def _roles_declare_a_scope(contract: Contract) -> Iterator[str]:
    for name, role in contract.roles.items():
        if role.scope is None:
            yield f"role {name} declares no scope; write `scope: {{mode: directory, patterns: [src/**]}}`"
        elif problem := scope_problem(role.scope):
            yield f"role {name}: {problem}"


def _sessions_have_a_budget(contract: Contract) -> Iterator[str]:
    for name, role in contract.roles.items():
        if role.budget is None:
            yield f"role {name} has no budget; write `budget: {{}}` to take the limits of the settings"


def _jobs_have_a_lifetime(contract: Contract) -> Iterator[str]:
    if contract.lifetime_h is None:
        yield "the contract has no lifetime; write `lifetime_h: 168`"


def _people_answer_people_gates(contract: Contract) -> Iterator[str]:
    for name, gate in contract.gates.items():
        if gate.kind == "person" and gate.answered_by != "person":
            yield f"gate {name} is a person's and says it is answered by {gate.answered_by}"


def _names_exist(contract: Contract) -> Iterator[str]:
    if contract.start not in contract.phases:
        yield f"start names an unknown phase {contract.start!r}"
    for name, phase in contract.phases.items():
        if phase.role not in contract.roles:
            yield f"phase {name} names an unknown role {phase.role!r}"
        if phase.next is not None and phase.next not in contract.phases:
            yield f"phase {name} goes on to an unknown phase {phase.next!r}"
    for name, gate in contract.gates.items():
        if gate.after not in contract.phases:
            yield f"gate {name} comes after an unknown phase {gate.after!r}"


LOAD_RULES: dict[str, Callable[[Contract], Iterator[str]]] = {
    "names": _names_exist,
    "1.1": _roles_declare_a_scope,
    "4.1": _sessions_have_a_budget,
    "4.3": _jobs_have_a_lifetime,
    "5.5": _people_answer_people_gates,
}


def violations(contract: Contract) -> list[Violation]:
    """Every rule this contract breaks."""
    return [
        Violation(rule=rule, message=message)
        for rule, check in LOAD_RULES.items()
        for message in check(contract)
    ]


def load_contract(text: str, source: str) -> Contract:
    """Parse a contract and hold it against the constitution; raises ContractError naming each broken rule."""
    contract = Contract.parse(text, source)
    if broken := violations(contract):
        raise ContractError(f"{source}: " + "; ".join(f"rule {item.rule}: {item.message}" for item in broken))
    return contract
