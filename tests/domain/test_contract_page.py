"""The page on contracts: its examples are contracts that load, and its tables have every key that there is."""

import re
from typing import Any

import pytest

from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.criteria.registry import KINDS
from overlord.domain.contracts.resolution import RESOLUTIONS
from overlord.domain.contracts.schema import contract_schema, models
from overlord.domain.decision import SCOPE_GRANT_LIFETIME
from overlord.errors import ContractError
from overlord.settings.load import BUILT_IN_CONTRACTS
from tests.architecture.test_imports import ROOT

PAGE = (ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
PARTS = {
    "The contract": "Contract",
    "`roles`": "Role",
    "`scope`": "ScopeRule",
    "`budget`": "RoleBudget",
    "`phases`": "Phase",
    "`gates`": "Gate",
    "`shared`": "Shared",
    "`lifetime`": "Lifetime",
}
"""The headings of the tables, and the part of a contract that each is about. Criteria are on a page of their own."""


def properties(part: str) -> dict[str, Any]:
    schema = contract_schema()
    found: dict[str, Any] = (schema if part == "Contract" else schema["$defs"][part])["properties"]
    return found


def rows(heading: str) -> dict[str, list[str]]:
    """The cells of a table after its first column, by that one's key."""
    text = PAGE.partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    cells = [re.split(r"\s+\|\s+", line.strip("| ")) for line in text.splitlines() if line.startswith("| `")]
    return {first.strip("`"): others for first, *others in cells}


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_each_example_is_a_contract_that_can_be_gone_by(number: int) -> None:
    assert isinstance(load_contract(EXAMPLES[number], "docs/contracts.md"), Contract)


def test_the_examples_grow_from_one_role_to_a_crew() -> None:
    contracts = [load_contract(text, "docs/contracts.md") for text in EXAMPLES]
    assert [len(contract.roles) for contract in contracts] == [1, 1, 2, 4]
    assert [len(contract.phases) for contract in contracts] == [1, 1, 2, 4]


NEEDED = [line for line in EXAMPLES[0].splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("number", range(len(NEEDED)), ids=NEEDED)
def test_no_line_of_the_first_example_can_be_left_out(number: int) -> None:
    with pytest.raises(ContractError):
        load_contract("\n".join((*NEEDED[:number], *NEEDED[number + 1 :])), "contract.yaml")


@pytest.mark.parametrize(("heading", "part"), PARTS.items())
def test_every_key_is_in_its_table(heading: str, part: str) -> None:
    assert list(rows(heading)) == list(properties(part))


@pytest.mark.parametrize(("heading", "part"), PARTS.items())
def test_the_tables_have_the_defaults(heading: str, part: str) -> None:
    said = rows(heading)
    for key, value in properties(part).items():
        default = value.get("default")
        if isinstance(default, str | int) and not isinstance(default, bool) and default != "":
            assert f"`{default}`" in said[key][1], key


def test_every_part_that_is_no_criterion_has_its_table() -> None:
    criteria = {model for kind in KINDS for model in models(kind)}
    assert {part.__name__ for part in set(models(Contract)) - criteria} == set(PARTS.values())


def test_the_built_in_contracts_and_the_architects_answers_are_all_there() -> None:
    built_in = PAGE.partition("\n## The built-in contracts\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", built_in, re.MULTILINE) == list(BUILT_IN_CONTRACTS)
    assert re.findall(r"^\*\*`([\w-]+)`\.\*\*", built_in, re.MULTILINE) == list(BUILT_IN_CONTRACTS)
    answers = PAGE.partition("**Handing up.**")[2].partition("About one role")[0]
    assert re.findall(r"^\| `(\w+)` \|", answers, re.MULTILINE) == list(RESOLUTIONS)
    assert answers.count(f"{SCOPE_GRANT_LIFETIME.days} days") == 1
