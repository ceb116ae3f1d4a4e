"""The schema that editors read: it is the models, each key is described, and what it takes is what is loaded."""

from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from overlord.config_files import packaged
from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.criteria.registry import KINDS
from overlord.domain.contracts.schema import contract_schema, models
from tests.architecture.contract_schema import text
from tests.architecture.test_imports import ROOT
from tests.domain.contract_leaves import LEAVES
from tests.domain.contract_texts import CREW, SMALL, changed


def test_the_published_schema_is_these_models() -> None:
    """Rewritten by `python -m tests.architecture.contract_schema`."""
    assert packaged("contract.schema.json") == text()


def test_every_key_is_described() -> None:
    schema = contract_schema()
    parts = {**schema["$defs"], "Contract": schema}
    without = [
        f"{part}.{key}"
        for part, model in parts.items()
        for key, value in model.get("properties", {}).items()
        if not value.get("description")
    ]
    assert without == []


def test_every_kind_of_criterion_is_in_it() -> None:
    assert {kind.__name__ for kind in KINDS} <= contract_schema()["$defs"].keys()


@pytest.mark.parametrize(
    ("document", "is_valid"),
    [
        (SMALL, True),
        (yaml.load(CREW, yaml.BaseLoader) | {"version": 2, "constitution": 1, "phases": {}, "roles": {}, "lifetime": {"hours": 2}}, False),
        ({"version": 2, "name": "team", "roles": SMALL["roles"]}, True),
        ({"phases": SMALL["phases"], "gates": SMALL["gates"]}, True),
        (changed(("roles", "coder", "scope", {"mode": "unrestricted"})), True),
        (changed(("roles", "coder", "scope", "src")), False),
        (changed(("roles", "coder", "verification", ["artifact_exists"])), False),
        (changed(("roles", "coder", "verification", [{"artifact_exists": "a"}])), True),
        (changed(("roles", "coder", "verification", [{"artifact_exists": "a", "x": 1}])), False),
        (changed(("roles", "No Name", {})), False),
        (changed(("version", 1)), False),
        (changed(("lifetme", 1)), False),
        (changed(("gates", "merge", "on", "ship")), False),
        (changed(("phases", "plan", "next", {"done": 7})), False),
    ],
)  # fmt: skip
def test_editors_are_told_the_same(document: dict[str, Any], is_valid: bool) -> None:
    assert Draft202012Validator(contract_schema()).is_valid(document) is is_valid


def _leaves() -> set[str]:
    found = set()
    for model in models(Contract):
        for key in model.model_fields:
            found.add(f"{model.__name__}.{key}")
    return found


def _names_of_tests() -> set[str]:
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.strip().removeprefix("async ")
            if words.startswith("def test_"):
                found.add(words[4:].partition("(")[0])
    return found


def test_nothing_that_a_contract_can_say_goes_without_a_test_of_what_it_does() -> None:
    assert LEAVES.keys() == _leaves()
    named = {name for names in LEAVES.values() for name in names}
    assert sorted(named - _names_of_tests()) == []
    assert [leaf for leaf, names in LEAVES.items() if not names] == []
