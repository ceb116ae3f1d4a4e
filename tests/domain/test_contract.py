"""Contracts as text: what they may say, what the constitution refuses, and that a refusal names rule and place."""

from typing import Any

import pytest
import yaml

from minion.protocol import Scope, ScopeMode
from overlord.config_files import packaged
from overlord.domain.contracts.constitution import load_contract, parse_contract
from overlord.domain.contracts.contract import MAX_LIFETIME_H, Exhausted, RoleBudget
from overlord.domain.contracts.reading import read_contract
from overlord.domain.contracts.rules.registry import violations
from overlord.domain.contracts.turn import Turn
from overlord.errors import ContractError
from tests.domain.contract_texts import CREW, SMALL, changed, written
from tests.records import contract

SOUND: dict[str, Any] = {
    "name": "two-steps",
    "version": 1,
    "lifetime_h": 24,
    "start": "implement",
    "roles": {"coder": {"scope": {"mode": "directory", "patterns": ["src/**"]}, "budget": {"tokens": 1000}}},
    "phases": {
        "implement": {"role": "coder", "next": "polish"},
        "polish": {"role": "coder", "attempts": 1},
    },
    "gates": {
        "merge": {
            "after": "polish",
            "kind": "person",
            "answered_by": "person",
            "approve": "merged",
            "reject": "pr_closed",
        }
    },
}


def text(*path_and_value: Any) -> str:
    """The sound contract as YAML, with the value at a path replaced (None: taken out)."""
    document = yaml.safe_load(yaml.safe_dump(SOUND))
    *path, last, value = path_and_value
    place = document
    for key in path:
        place = place[key]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return yaml.safe_dump(document)


def test_the_built_in_contract_is_the_simple_flow() -> None:
    built_in = contract()
    assert violations(built_in) == []
    assert (built_in.name, built_in.start, built_in.merge) == ("default", "implement", "manual")
    assert built_in.roles["minion"].budget == RoleBudget(exhausted=Exhausted.ASK)
    assert built_in.phase("implement").terminal
    rule = built_in.role("minion").scope
    assert rule is not None
    assert rule.scope() == Scope.unrestricted()
    assert built_in.gates["merge"].is_pull


def test_a_sound_contract_loads() -> None:
    loaded = load_contract(yaml.safe_dump(SOUND), "two-steps.yaml")
    rule = loaded.role("coder").scope
    assert rule is not None
    assert rule.scope() == Scope(mode=ScopeMode.DIRECTORY, patterns=("src/**",))


@pytest.mark.parametrize(
    ("change", "rule", "said"),
    [
        (("roles", "coder", "scope", None), "1.1", "role coder declares no scope"),
        (
            ("roles", "coder", "scope", {"mode": "directory", "patterns": []}),
            "1.1",
            "role coder: its scope lists no patterns",
        ),
        (("roles", "coder", "scope", "patterns", ["../up"]), "1.1", "names no path inside the repository"),
        (("roles", "coder", "scope", "patterns", ["src/[z-a]"]), "1.1", "cannot be read"),
        (("roles", "coder", "budget", None), "4.1", "role coder has no budget"),
        (("lifetime_h", None), "4.3", "the contract has no lifetime"),
        (("gates", "merge", "answered_by", "code"), "5.5", "gate merge is answered by 'code'"),
        (("start", "review"), "names", "start names an unknown phase 'review'"),
        (("phases", "polish", "role", "writer"), "names", "phase polish names an unknown role 'writer'"),
        (("phases", "implement", "next", "test"), "names", "goes on to an unknown phase 'test'"),
        (("gates", "merge", "after", "test"), "names", "comes after an unknown phase 'test'"),
    ],
)
def test_a_contract_that_breaks_a_rule_is_refused_with_the_rule(
    change: tuple[Any, ...], rule: str, said: str
) -> None:
    with pytest.raises(ContractError) as refused:
        load_contract(text(*change), "mine.yaml")
    (problem,) = refused.value.problems
    assert (problem.file, problem.rule) == ("mine.yaml", rule)
    assert said in problem.message


def test_every_broken_rule_is_named_at_once() -> None:
    with pytest.raises(ContractError) as refused:
        load_contract(text("roles", "coder", {}), "mine.yaml")
    assert [problem.rule for problem in refused.value.problems] == ["1.1", "4.1"]


def test_a_check_may_be_answered_by_code() -> None:
    assert violations(parse_contract(text("gates", "merge", "kind", "check"), "x")) == []
    gate = {**SOUND["gates"]["merge"], "kind": "check", "answered_by": "code"}
    assert violations(parse_contract(text("gates", "merge", gate), "x")) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("lifetme_h", 24), "mine.yaml: lifetme_h: unknown key"),
        (("roles", "coder", "budget", "dollars", 3), "mine.yaml: roles.coder.budget.dollars: unknown key"),
        (
            ("roles", "coder", "scope", "approval", "required"),
            "mine.yaml: roles.coder.scope: approval: a directory scope",
        ),
        (("roles", "coder", "scope", "approval", "maybe"), "mine.yaml: roles.coder.scope.approval: "),
        (("version", 3), "mine.yaml: version: is none that is known"),
        (("merge", "auto"), "mine.yaml: merge: "),
        (("name", None), "mine.yaml: name: is missing"),
        (("phases", "polish", "attempts", 4), "mine.yaml: phases.polish.attempts: "),
        (("phases", "polish", "attempts", 0), "mine.yaml: phases.polish.attempts: "),
        (("roles", "coder", "budget", "tokens", 0), "mine.yaml: roles.coder.budget.tokens: "),
        (("lifetime_h", 0), "mine.yaml: lifetime_h: "),
        (("lifetime_h", float("inf")), "mine.yaml: lifetime_h: "),
        (("lifetime_h", float("nan")), "mine.yaml: lifetime_h: "),
        (("lifetime_h", MAX_LIFETIME_H + 1), "mine.yaml: lifetime_h: "),
    ],
)
def test_what_a_contract_cannot_say_is_refused_with_the_key(change: tuple[Any, ...], said: str) -> None:
    with pytest.raises(ContractError) as refused:
        parse_contract(text(*change), "mine.yaml")
    (problem,) = refused.value.problems
    assert f"{problem.file}: {problem.key}: {problem.message}".startswith(said)


@pytest.mark.parametrize("document", ["[]", "", "just words", "7"])
def test_what_is_no_contract_at_all_is_refused(document: str) -> None:
    with pytest.raises(ContractError, match=r"^mine\.yaml(:1)?: the document: "):
        load_contract(document, "mine.yaml")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            "name: x\nroles: [unclosed",
            "2: cannot be read as YAML: expected ',' or ']', but got '<stream end>'",
        ),
        ("name: !!python/name:os.system", "1: tags (!name) are not allowed"),
        ("name: &canary x", "1: anchors (&name) are not allowed"),
        ("name: *canary", " aliases (*name) are not allowed"),
        (
            "name: \x00",
            " cannot be read as YAML: an unknown tag or alias, or a character YAML does not allow",
        ),
        ("name: 'canary\n  : {", "2: cannot be read as YAML: found unexpected end of stream"),
        ("name: x\nname: y", "2: the key 'name' is there twice"),
        ("[" * 20, " nothing in it is so deep"),
        ("#" * 1_000_000, " is larger than 65,536 bytes"),
    ],
)
def test_what_is_no_yaml_is_refused_with_its_line_and_not_quoted(document: str, said: str) -> None:
    with pytest.raises(ContractError) as refused:
        load_contract(document, "mine.yaml")
    assert str(refused.value) == f"mine.yaml:{said}"


def test_a_phase_or_role_that_does_not_exist_is_named() -> None:
    with pytest.raises(ContractError, match="contract default has no phase 'ship'"):
        contract().phase("ship")
    with pytest.raises(ContractError, match="contract default has no role 'writer'"):
        contract().role("writer")


def test_the_packaged_text_is_what_the_engine_loads() -> None:
    assert load_contract(packaged("contracts/default.yaml"), "x") == contract()


def test_a_role_may_want_a_persons_word_where_nothing_says_what_may_be_written() -> None:
    asking = load_contract(packaged("contracts/approve-scope.yaml"), "x").role("minion").scope
    usual = contract().role("minion").scope
    assert asking is not None and usual is not None
    assert (asking.asks_first, usual.asks_first) == (True, False)
    assert asking.scope() == Scope.unrestricted()


def test_a_role_may_write_its_scope_what_is_shared_and_what_it_is_given_beside() -> None:
    crew = read_contract({"crew.yaml": CREW.replace("also_writes: []", "also_writes: [db/**]").encode()})
    backend = Turn.in_phase(crew, "build", "backend").scope()
    places = ("src/api/x.py", "package.json", "db/x.sql", "src/web/x.js", "plan/x.md", ".nebulus/x")
    assert [backend.allows(path) for path in places] == [True, True, True, False, False, False]
    architect = Turn.in_phase(crew, "plan").scope()
    assert [architect.allows(path) for path in ("docs/x.md", "plan/x.md", "package.json")] == [
        True,
        True,
        False,
    ]
    shared = CREW.replace("roles: [backend, frontend]", "roles: [backend, frontend, tester]")
    tester = Turn.in_phase(read_contract({"crew.yaml": shared.encode()}), "red").scope()
    assert tester.allows("package.json")
    explicit = changed(("roles", "coder", "scope", {"mode": "explicit", "patterns": ["src/x.py"]}))
    exact = Turn.in_phase(read_contract({"x": written(explicit)}), "build").scope()
    assert [exact.allows(path) for path in ("src/x.py", "src/x.py/y")] == [True, False]


def test_the_first_phase_is_the_one_that_is_named_or_written_first() -> None:
    assert parse_contract(written(SMALL).decode(), "x").start == "plan"
    assert parse_contract(written(changed(("start", "build"))).decode(), "x").start == "build"


def test_the_edges_of_a_contract_are_its_transitions_and_the_way_to_the_end() -> None:
    small = parse_contract(written(changed(("phases", "build", "next", "blocked", "ship"))).decode(), "x")
    assert list(small.edges()) == [
        ("plan", "done", "build"),
        ("build", "done", "ship"),
        ("build", "blocked", "ship"),
        ("ship", "done", "end"),
    ]
    assert [small.gate_on("plan", "build"), small.gate_on("build", "ship")] == [
        ("approval", small.gates["approval"]),
        None,
    ]
    assert small.gate_on("ship", "end") == ("merge", small.gates["merge"])
