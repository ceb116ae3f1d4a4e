"""Seventeen rules no contract can relax. This file checks, when a contract is loaded, those that its text can break."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import ValidationError

from minion.protocol import ScopeError
from overlord.domain.contracts.contract import END, ENDINGS, PEOPLE, Contract, ScopeRule
from overlord.domain.contracts.version_1 import read_version_1
from overlord.domain.text.plain_yaml import load_yaml
from overlord.domain.text.problem import first_problem, yaml_problem
from overlord.errors import ContractError


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule of the constitution that a contract breaks, and where."""

    rule: str
    message: str


def scope_problem(rule: ScopeRule) -> str | None:
    """What is wrong with a declared scope, or None."""
    try:
        rule.scope()
    except ScopeError as error:
        return str(error)
    return None


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
    if contract.lifetime is None:
        yield "the contract has no lifetime; write `lifetime: {hours: 168}`"


def _people_answer_people_gates(contract: Contract) -> Iterator[str]:
    for name, gate in contract.gates.items():
        if gate.audience not in {*PEOPLE, *contract.roles}:
            yield f"gate {name} is a person's and says it is answered by {gate.audience}"


def _names_exist(contract: Contract) -> Iterator[str]:
    if contract.start not in contract.phases:
        yield f"start names an unknown phase {contract.start!r}"
    for name, phase in contract.phases.items():
        for actor in phase.actors:
            if actor not in contract.roles:
                yield f"phase {name} names an unknown role {actor!r}"
        for target in phase.next.values():
            if target not in contract.phases:
                yield f"phase {name} goes on to an unknown phase {target!r}"
    for name, gate in contract.gates.items():
        if gate.source not in contract.phases:
            yield f"gate {name} comes after an unknown phase {gate.source!r}"
        for outcome in (gate.approve, gate.reject):
            if outcome is not None and outcome not in {*contract.phases, *ENDINGS, END}:
                yield f"gate {name} leads to an unknown phase {outcome!r}"


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


def parse_contract(text: str, source: str) -> Contract:
    """Read a contract's YAML, of either version; raises ContractError with the key that is wrong."""
    try:
        document: Any = load_yaml(text)
        if isinstance(document, dict) and document.get("version") == 2:
            return Contract.model_validate(document)
        return read_version_1(document)
    except yaml.YAMLError as error:
        raise ContractError(f"{source} is not YAML: {yaml_problem(error)}") from None
    except ValidationError as error:
        raise ContractError(f"{source}: {first_problem(error)}") from None


def load_contract(text: str, source: str) -> Contract:
    """Parse a contract and hold it against the constitution; raises ContractError naming each broken rule."""
    contract = parse_contract(text, source)
    if broken := violations(contract):
        raise ContractError(f"{source}: " + "; ".join(f"rule {item.rule}: {item.message}" for item in broken))
    return contract
