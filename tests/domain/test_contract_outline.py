"""A contract as people read it, and written again."""

import pytest

from overlord.config_files import packaged
from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.outline import contract_yaml, outline_of
from overlord.settings.load import BUILT_IN_CONTRACTS
from tests.contracts import crew

BARE = {"name": "x", "version": 2, "roles": {"one": {}}, "phases": {"a": {"actors": ["one"]}}}


def test_what_each_role_may_write_is_its_whole_write_set() -> None:
    found = {role.name: role for role in outline_of(crew()).roles}
    assert found["architect"].writes == ("docs/**", "plan/**")
    assert found["backend"].writes == ("src/api/**", "package.json", "Makefile")
    assert found["auditor"].writes == ("audit/**",) and found["auditor"].phases == ()
    assert found["backend"].commands == ("pytest", "ruff") and found["tester"].commands is None
    assert found["backend"].budget == "3 sessions, 50 turns, 2 USD, 40 files"
    assert found["backend"].exhausted == "gate" and found["tester"].exhausted == "ask"


def test_phases_and_gates_say_where_they_lead() -> None:
    found = outline_of(crew())
    assert [(phase.name, phase.next) for phase in found.phases] == [
        ("plan", ("done: red", "blocked: ship")),
        ("red", ("done: build",)),
        ("build", ("done: ship",)),
        ("ship", ("done: end",)),
    ]
    assert [(gate.name, gate.on, gate.approve, gate.reject) for gate in found.gates] == [
        ("plan_approval", "plan->red", "red", "plan"),
        ("merge", "ship->end", "merged", "pr_closed"),
    ]
    assert found.lifetime == "24 h, 20 USD"


def test_what_is_not_said_is_told_as_that() -> None:
    found = outline_of(Contract.model_validate(BARE))
    assert (found.lifetime, found.roles[0].budget, found.roles[0].writes) == ("no end", "none", ())


@pytest.mark.parametrize("name", BUILT_IN_CONTRACTS)
def test_what_is_written_is_the_same_contract(name: str) -> None:
    for contract in (crew(), load_contract(packaged(f"contracts/{name}.yaml"), name)):
        again = load_contract(contract_yaml(contract), "again")
        assert again == contract.model_copy(update={"version": 2})


def test_a_contract_of_version_1_says_what_differs() -> None:
    assert contract_yaml(load_contract(packaged("contracts/default.yaml"), "x")).startswith(
        "# Written as version 1"
    )
    assert contract_yaml(crew()).startswith("name: crew")


def test_the_key_on_needs_no_quotes() -> None:
    assert crew().gates["merge"].on == "ship->end", "YAML reads it as true"
