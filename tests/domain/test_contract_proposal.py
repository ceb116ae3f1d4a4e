"""What an architect proposes is read whatever it is, and every problem says what to do about it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from overlord.config_files import packaged
from overlord.domain.bootstrap.proposal import (
    HEADING,
    MOST_BYTES,
    MOST_PROBLEM_CHARS,
    MOST_PROBLEMS,
    MOST_SCHEMA_CHARS,
    propose,
    review_text,
    tool_schema,
)
from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.outline import contract_yaml
from overlord.settings.load import BUILT_IN_CONTRACTS
from tests.domain.contract_texts import SMALL, changed

FILES = ("README.md", "src/app.py", "docs/plan.md")


def problems(value: object) -> tuple[str, ...]:
    return propose(value, existing=FILES).problems


def built_in(name: str) -> dict[str, Any]:
    text = contract_yaml(load_contract(packaged(f"contracts/{name}.yaml"), name))
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def test_a_valid_one_becomes_canonical_text_that_says_who_proposed_it() -> None:
    found = propose(dict(reversed(SMALL.items())), existing=FILES)
    assert found.problems == () and found.contract is not None and found.contract.name == "small"
    assert found.text.splitlines()[:6] == [HEADING.strip(), "name: small", "version: 2", "lifetime:", "  hours: 24", "roles:"]  # fmt: skip
    assert propose(found.text, existing=FILES) == found
    assert review_text(found.text, existing=FILES) == found


@pytest.mark.parametrize("name", BUILT_IN_CONTRACTS)
def test_every_built_in_one_can_be_proposed_and_fits_the_schema(name: str) -> None:
    value = built_in(name)
    assert problems(value) == ()
    assert list(Draft202012Validator(json.loads(tool_schema())).iter_errors(value)) == []


def test_the_schema_of_the_tool_is_short_and_a_schema() -> None:
    schema = json.loads(tool_schema())
    Draft202012Validator.check_schema(schema)
    assert len(tool_schema()) <= MOST_SCHEMA_CHARS
    assert schema["properties"]["roles"]["additionalProperties"] == {"$ref": "#/$defs/Role"}
    checks = Draft202012Validator(schema)
    assert not checks.is_valid(changed(("version", 1)))
    assert not checks.is_valid(changed(("roles", "coder", "scope", "src")))
    assert not checks.is_valid(changed(("roles", "coder", "colour", "red")))
    assert not checks.is_valid(changed(("phases", "plan", "criteria", ["looks_good"])))


def test_every_problem_says_the_rule_the_place_what_shows_it_and_what_to_do() -> None:
    twice = changed(("roles", "architect", "scope", ["src/**"]), ("phases", "plan", "outputs", ["plan/**"]))
    assert problems(twice) == snapshot(
        (
            "rule 1.3 (Where two roles may write the same path, it is declared shared): roles.coder.scope: the roles architect and coder may both write a path that is not declared shared. Counterexample: src/x. Fix: make their scopes apart, or add `{paths: [src/x], roles: [architect, coder]}` to `shared`",
        )
    )
    assert problems(changed(("phases", "build", "inputs", ["plan/other.md"]), ("phases", "plan", "outputs", ["docs/**", "plan/todo.md"]))) == snapshot(('rule 2.2 (An input exists already, or an earlier phase makes it): phases.build.inputs.0: plan/other.md is read in phase build, and nothing makes it before. Counterexample: plan -> build. Fix: add plan/other.md to the outputs of an earlier phase', ))  # fmt: skip
    assert problems(changed(("phases", "plan", "inputs", ["specs/**"]))) == snapshot(
        (
            "rule 2.2 (An input exists already, or an earlier phase makes it): phases.plan.inputs.0: specs/** is read in phase plan: no file at base matches it, and no earlier phase makes it. Counterexample: plan. Fix: correct the pattern, or add it to the outputs of an earlier phase",
        )
    )
    assert problems(changed(("roles", "coder", "budgets", {}))) == snapshot(
        ("schema (the form of a contract): roles.coder.budgets: unknown key. Fix: did you mean budget?",)
    )
    assert problems("name: [") == snapshot(
        (
            "yaml (the text can be read): line 1: cannot be read as YAML: expected the node content, but found '<stream end>'",
        )
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (changed(("version", 1)), "init (what a first contract has to have): version: a new contract is written as version 2"),
        (changed(("version", None)), "version: is missing"),
        (changed(("roles", "overlord", SMALL["roles"]["coder"])), "a role cannot be called overlord"),
        (changed(("roles", "person", SMALL["roles"]["coder"])), "a role cannot be called person"),
        (changed(("gates", "merge", None)), "no gate of a person is right before the end. Counterexample: ship->end"),
        (changed(("gates", "merge", "audience", "coder")), "no gate of a person is right before the end"),
        (changed(("gates", {})), "rule 5.5"),
        (changed(("redact", ["(a+)+"])), "redact.0: it repeats a group"),
        (changed(("phases", "build", "inputs", [f"src/{number}" for number in range(200)]), ("phases", "plan", "inputs", ["x"] * 200), ("gates", "approval", "inputs", ["x"] * 9)), "409 inputs"),
    ],
)  # fmt: skip
def test_a_first_contract_has_more_to_have(value: dict[str, Any], said: str) -> None:
    found = propose(value, existing=FILES)
    assert any(said in problem for problem in found.problems), found.problems
    assert found.contract is None and found.text


def test_the_missing_gate_is_told_once() -> None:
    assert sum("gate" in problem and "before the end" in problem for problem in problems(changed(("gates", "merge", None), ("gates", "approval", "audience", "coder")))) == 1  # fmt: skip


def circular() -> dict[str, Any]:
    value: dict[str, Any] = dict(SMALL)
    value["roles"] = value
    return value


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "no object"),
        ([SMALL], "no object"),
        (7, "no object"),
        ("", "has none"),
        ("seven", "must have keys and values"),
        ("a: &x 1\nb: *x", "anchors"),
        ("a: !!python/object:os.system {}", "tags"),
        (circular(), "nothing in a contract is so deep"),
        (changed(("roles", 7, {})), "roles: a key of it is no text"),
        (changed(("lifetime", "hours", float("nan"))), "lifetime.hours: is no number"),
        (changed(("lifetime", "hours", float("inf"))), "lifetime.hours: is no number"),
        (changed(("lifetime", "hours", 10**5000)), "lifetime.hours: is no number"),
        (changed(("name", "\ud800")), "name: has characters that are no text"),
        (changed(("name", b"x")), "name: is no value of JSON"),
        ("\udcff: 1", "characters that are no text"),
        (changed(("guidance", "x" * MOST_BYTES)), "larger than 200,000 bytes"),
        ("x" * MOST_BYTES + "x", "larger than 200,000 bytes"),
        (changed(("guidance", "x" * 70_000)), "is larger than 65,536 bytes"),
        (changed(("redact", ["x"] * 10_001)), "more than 10,000 values"),
    ],
)  # fmt: skip
def test_what_is_no_contract_at_all_is_a_problem_and_no_exception(value: object, said: str) -> None:
    found = propose(value, existing=FILES)
    assert found.contract is None
    assert len(found.problems) == 1 and said in found.problems[0], found.problems


def test_what_cannot_be_read_is_kept_as_it_was_written() -> None:
    assert propose("name: [", existing=()).text == "name: ["
    assert review_text("name: [", existing=()).problems == propose("name: [", existing=()).problems
    assert review_text("\ud800", existing=()).text == ""


def test_many_problems_are_told_as_far_as_anybody_reads() -> None:
    found = problems(changed(("roles", {f"role-{number}": {} for number in range(60)})))
    assert len(found) == MOST_PROBLEMS + 1
    assert found[-1].startswith("and ") and found[-1].endswith(" more")
    assert all(len(problem) <= MOST_PROBLEM_CHARS for problem in found)


def test_hidden_characters_and_line_breaks_never_reach_a_problem() -> None:
    (found,) = problems(changed(("roles", "coder", "x\u202e\x1b[31m\ny", 1)))
    assert "\x1b" not in found and "\n" not in found and "\u202e" not in found


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=8) | st.sampled_from(["on", "yes", "mode", "paths"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)
_WAYS = st.sampled_from(
    [("name",), ("lifetime",), ("lifetime", "hours"), ("roles",), ("roles", "coder"), ("roles", "coder", "scope"),
     ("roles", "coder", "verification"), ("roles", "coder", "budget"), ("phases",), ("phases", "plan", "criteria"),
     ("phases", "plan", "next"), ("phases", "plan", "inputs"), ("gates",), ("gates", "merge"), ("shared",),
     ("secret_paths",), ("redact",), ("start",), ("escalation",), ("events",)]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(way=_WAYS, value=_JSON)
def test_whatever_stands_at_a_place_it_is_read_or_told(way: tuple[str, ...], value: object) -> None:
    found = propose(_with(SMALL, way, value), existing=FILES)
    assert (found.contract is None) == bool(found.problems)
    assert len(found.problems) <= MOST_PROBLEMS + 1 and len(found.text.encode()) <= MOST_BYTES


@settings(max_examples=100, deadline=None)
@given(value=_JSON | st.text())
def test_whatever_is_proposed_it_is_told(value: object) -> None:
    found = propose(value, existing=())
    assert found.contract is None and found.problems


def _with(document: Mapping[str, Any], way: tuple[str, ...], value: object) -> dict[str, Any]:
    first, *rest = way
    inner = _with(document[first], tuple(rest), value) if rest else value
    return {**document, first: inner}
