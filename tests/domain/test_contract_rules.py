"""The constitution: each rule that a contract's text can break has contracts that break it and only it, and what shows it."""

from typing import Any

import pytest

from minion.tools.registry import TOOLS
from overlord.domain.contracts.reading import parse_files, read_contract
from overlord.domain.contracts.rules.names import TOOLS as KNOWN_TOOLS
from overlord.domain.contracts.rules.registry import NAMES, RULES, USABLE, changes_since, violations
from overlord.domain.contracts.rules.rule import CONSTITUTION
from overlord.errors import ContractError
from tests.architecture.test_imports import ROOT
from tests.domain.contract_texts import CREW, SMALL, changed, written

BUDGET = {"exhausted": "ask"}
ROLE = {"scope": ["lib/**"], "verification": ["diff_non_empty"], "budget": BUDGET}
CODER, PLAN, BUILD = ("roles", "coder"), ("phases", "plan"), ("phases", "build")

BREAKS: list[tuple[str, tuple[tuple[Any, ...], ...], str, str]] = [
    ("1.1", ((*CODER, "scope", None),), "roles.coder", ""),
    ("1.1", ((*CODER, "scope", {"mode": "directory"}),), "roles.coder.scope", ""),
    ("1.1", ((*CODER, "also_writes", ["../up"]),), "roles.coder.also_writes.0", ""),
    ("1.1", ((*CODER, "scope", ["src/**", "lib/[z-a]"]),), "roles.coder.scope.patterns.1", ""),
    ("1.1", ((*CODER, "scope", ["src/**", "lib/[ab"]),), "roles.coder.scope.patterns.1", ""),
    ("1.1", (("secret_paths", ["!x"]),), "secret_paths.0", ""),
    ("1.1", (("shared", [{"paths": ["/"], "roles": ["coder"]}]),), "shared.0.paths.0", ""),
    (
        "1.1",
        (("secret_paths", [".env*"]), ("roles", "keeper", {**ROLE, "scope": [".env.local"]})),
        "roles.keeper.scope",
        ".env.local",
    ),
    ("1.3", ((*CODER, "scope", ["src/**", "docs/*.md"]),), "roles.coder.scope", "docs/.md"),
    ("1.3", ((*CODER, "scope", {"mode": "unrestricted"}),), "roles.coder.scope", "docs/x"),
    (
        "1.3",
        (("shared", [{"paths": ["src/x.py"], "roles": ["architect"]}]),),
        "roles.coder.scope",
        "src/x.py",
    ),
    ("2.1", ((*BUILD, "inputs", None),), "phases.build", ""),
    ("2.1", ((*BUILD, "outputs", []),), "phases.build", ""),
    ("2.1", ((*BUILD, "outputs", ["src/**", "lib/**"]),), "phases.build.outputs.1", "lib/x"),
    ("2.1", ((*BUILD, "inputs", ["../up"]),), "phases.build.inputs.0", ""),
    (
        "2.1",
        ((*PLAN, "criteria", 0, {"artifact_exists": "plan/todo.md"}), (*PLAN, "outputs", ["docs/**"]),
         (*BUILD, "inputs", ["issue"]), ("gates", "approval", "inputs", None)),
        "phases.plan.criteria.0",
        "plan",
    ),
    (
        "2.1",
        ((*CODER, "verification", [{"artifact_exists": "plan/later.md"}]), (*PLAN, "outputs", ["plan/todo.md"])),
        "roles.coder.verification.0",
        "plan -> build",
    ),
    ("2.2", ((*BUILD, "inputs", 2, "plan/other.md"), (*PLAN, "outputs", ["plan/todo.md"])), "phases.build.inputs.2", "plan -> build"),
    ("2.2", ((*PLAN, "inputs", ["plan/todo.md"]),), "phases.plan.inputs.0", "plan"),
    ("2.2", ((*PLAN, "preconditions", [{"artifact_exists": "plan/x"}]),), "phases.plan.preconditions.0", "plan"),
    ("2.2", (("gates", "approval", "inputs", ["plan/x.md"]), (*PLAN, "outputs", ["plan/todo.md"])), "gates.approval.inputs.0", "plan"),
    ("3.1", ((*BUILD, "criteria", None),), "phases.build", ""),
    ("3.1", ((*CODER, "verification", []),), "roles.coder", ""),
    ("3.3", ((*BUILD, "next", "blocked", "plan"),), "phases.build.next", "plan -> build -> plan"),
    ("3.3", ((*BUILD, "next", "again", "build"),), "phases.build.next", "build -> build"),
    ("3.3", (("phases", "alone", {"terminal": True}), ("gates", "alone", {**SMALL["gates"]["merge"], "on": "alone->end"})), "phases.alone", ""),
    ("3.3", (("phases", "ship", "next", {"done": "last"}), ("phases", "last", {"terminal": True}), ("gates", "last", {**SMALL["gates"]["merge"], "on": "last->end"})), "phases.ship.next", "ship -> last"),
    ("3.3", (("phases", "ship", {"inputs": [], "outputs": []}), ("gates", "merge", None)), "phases.ship", "plan -> build -> ship"),
    ("3.4", (("gates", "approval", "approve", None),), "gates.approval", ""),
    ("3.4", (("gates", "approval", "reject", None),), "gates.approval", ""),
    ("3.4", (("gates", "other", {**SMALL["gates"]["approval"], "on": "plan->ship"}),), "gates.other.on", "plan->ship"),
    ("3.4", (("gates", "other", SMALL["gates"]["approval"]),), "gates.other.on", "plan->build"),
    ("3.4", (("gates", "approval", "reject", "merged"),), "gates.approval.reject", ""),
    ("3.4", (("gates", "approval", "reject", "pr_closed"),), "gates.approval.reject", ""),
    ("3.4", (("gates", "merge", "reject", "plan"),), "gates.merge.reject", ""),
    ("3.4", (("gates", "merge", "approve", "stopped"), ("gates", "merge", "reject", "stopped")), "gates.merge.approve", ""),
    ("4.1", ((*CODER, "budget", None),), "roles.coder", ""),
    ("4.2", ((*CODER, "budget", {}),), "roles.coder.budget", ""),
    ("4.2", (("roles", "architect", "budget", "exhausted", "architect"),), "roles.architect.budget.exhausted", ""),
    (
        "4.2",
        (("roles", "lead", SMALL["roles"]["architect"]), ("roles", "architect", None), (*PLAN, "actors", ["lead"])),
        "roles.coder.budget.exhausted",
        "",
    ),
    ("4.3", (("lifetime", None),), "lifetime", ""),
    ("5.3", ((*CODER, "scope", ["src/**", ".nebulus/contract/**"]),), "roles.coder.scope.patterns.1", ".nebulus/contract/x"),
    ("5.3", ((*CODER, "also_writes", ["src/.GIT/config"]),), "roles.coder.also_writes.0", "src/.GIT/config"),
    ("5.3", ((*CODER, "scope", {"mode": "explicit", "patterns": [".git/hooks/x"]}), (*BUILD, "outputs", ["plan/b"])), "roles.coder.scope.patterns.0", ".git/hooks/x"),
    ("5.3", (("shared", [{"paths": [".n[e]bulus"], "roles": ["coder"]}]),), "shared.0.paths.0", ".nebulus"),
    ("5.3", ((*BUILD, "outputs", ["src/**", ".nebulus/skills/x"]),), "phases.build.outputs.1", ".nebulus/skills/x"),
    ("5.5", (("gates", "approval", None), ("gates", "merge", "audience", "architect")), "gates", "plan -> build -> ship -> end"),
    ("5.5", (("gates", "approval", None), ("gates", "merge", None)), "gates", "plan -> build -> ship -> end"),
    ("5.5", (("gates", "approval", "audience", "robot"),), "gates.approval.audience", ""),
    (
        "5.5",
        (("gates", "merge", None), (*PLAN, "next", "small", "ship")),
        "gates",
        "plan -> ship -> end",
    ),
    ("names", (("start", "begin"),), "start", ""),
    ("names", ((*BUILD, "actors", ["coder", "writer"]),), "phases.build.actors.1", ""),
    ("names", ((*BUILD, "actors", ["coder", "coder"]),), "phases.build.actors.1", ""),
    ("names", ((*BUILD, "next", "blocked", "end"),), "phases.build.next.blocked", ""),
    ("names", (("gates", "approval", "on", "plans->build"),), "gates.approval.on", ""),
    ("names", (("gates", "approval", "on", "plan->biuld"),), "gates.approval.on", ""),
    ("names", (("gates", "approval", "reject", "start"),), "gates.approval.reject", ""),
    ("names", (("shared", [{"paths": ["x"], "roles": ["coder", "writer"]}]),), "shared.0.roles.1", ""),
    ("names", (("roles", "person", ROLE),), "roles.person", ""),
    ("names", (("events", {"too_big": "architect"}), ("roles", "lead", SMALL["roles"]["architect"]), ("roles", "architect", None),
               (*PLAN, "actors", ["lead"]), (*CODER, "budget", BUDGET)), "events.too_big", ""),
    ("names", (("escalation", ["architect"]), ("roles", "lead", SMALL["roles"]["architect"]), ("roles", "architect", None),
               (*PLAN, "actors", ["lead"]), (*CODER, "budget", BUDGET)), "escalation", ""),
    ("usable", (("constitution", CONSTITUTION + 1),), "constitution", ""),
    ("usable", ((*CODER, "tools", ["read_file", "browse"]),), "roles.coder.tools.1", ""),
    ("usable", ((*CODER, "tools", ["mcp__docs", "browse"]),), "roles.coder.tools.1", ""),
    ("usable", (("events", {"needs_escalation": "person"}),), "events.needs_escalation", ""),
    ("usable", (("redact", ["sk-(x"]),), "redact.0", ""),
    ("usable", (("redact", ["ok", "(a+)+b"]),), "redact.1", ""),
    ("usable", (("redact", ["a*"]),), "redact.0", ""),
    ("usable", (("redact", [r"(a)\1"]),), "redact.0", ""),
    ("usable", (("redact", ["a+b+c+d+"]),), "redact.0", ""),
    ("usable", ((*BUILD, "preconditions", ["evaluation_passed"]),), "phases.build.preconditions.0", ""),
    ("usable", (("start", "ready"), ("phases", "ready", {"inputs": ["issue"], "outputs": [], "criteria": ["diff_non_empty"],
               "next": {"done": "plan"}})), "phases.ready", ""),
]  # fmt: skip


def test_the_small_contract_and_the_crew_break_nothing() -> None:
    assert violations(read_contract({"small.yaml": written(SMALL)})) == []
    crew = read_contract({"crew.yaml": CREW.encode()})
    assert list(crew.roles) == ["architect", "tester", "backend", "frontend"]
    assert crew.gates["plan_approval"].on == "plan->red"


@pytest.mark.parametrize(("rule", "changes", "key", "counterexample"), BREAKS)
def test_each_rule_has_a_contract_that_breaks_it_and_only_it(
    rule: str, changes: tuple[tuple[Any, ...], ...], key: str, counterexample: str
) -> None:
    with pytest.raises(ContractError) as refused:
        read_contract({"mine.yaml": written(changed(*changes))})
    (problem,) = refused.value.problems
    assert (problem.rule, problem.key, problem.counterexample) == (rule, key, counterexample), str(problem)
    assert problem.message and problem.fix
    assert problem.line is not None or key in {"lifetime", "gates"}


def test_no_rule_that_is_held_at_load_goes_without_one() -> None:
    assert {rule for rule, *_ in BREAKS} == {rule.number for rule in (NAMES, USABLE, *RULES) if rule.at_load}


def test_there_are_seventeen_rules_and_each_is_held_somewhere() -> None:
    assert len(RULES) == len({rule.number for rule in RULES}) == 17
    assert [rule.number for rule in RULES if not (rule.at_load or rule.at_run)] == []
    at_load = "1.1 1.3 2.1 2.2 3.1 3.3 3.4 4.1 4.2 4.3 5.3 5.5"
    at_run = "1.2 3.1 3.2 4.1 4.2 4.3 5.1 5.2 5.3 5.4 5.5"
    assert " ".join(rule.number for rule in RULES if rule.at_load) == at_load
    assert " ".join(rule.number for rule in RULES if rule.at_run) == at_run


def test_the_page_for_what_is_wrong_has_every_rule() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    rows = [f"| {rule.number} | {rule.title} | {rule.advice} |" for rule in (NAMES, USABLE, *RULES)]
    assert [row for row in rows if row not in page.splitlines()] == []


def test_the_set_of_rules_says_what_is_new_since_a_version() -> None:
    assert changes_since(0) == RULES
    assert changes_since(CONSTITUTION) == ()


def test_an_input_that_is_no_artifact_has_to_be_at_base_or_made_where_the_base_is_known() -> None:
    document = changed(
        (*BUILD, "inputs", ["issue", "docs/**", "README.md"]), (*PLAN, "inputs", ["*.md", ".nebulus/idea.md"])
    )
    files = {"mine.yaml": written(document)}
    assert read_contract(files)
    assert read_contract(files, existing=["README.md", ".nebulus/idea.md"])
    with pytest.raises(ContractError) as refused:
        read_contract(files, existing=["setup.py", ".nebulus/idea.md"])
    found = [(item.rule, item.key, item.counterexample) for item in refused.value.problems]
    assert found == [
        ("2.2", "phases.plan.inputs.0", "plan"),
        ("2.2", "phases.build.inputs.2", "plan -> build"),
    ]


def test_an_artifact_has_to_be_made_on_every_way() -> None:
    sideways = changed(
        (
            "phases",
            "ask",
            {**SMALL["phases"]["plan"], "outputs": ["docs/**"], "criteria": ["diff_non_empty"]},
        ),
        (*PLAN, "next", {"done": "build"}),
        (*PLAN, "outputs", ["docs/**"]),
        (*PLAN, "criteria", ["diff_non_empty"]),
        (*PLAN, "next", {"done": "write", "small": "ask"}),
        ("phases", "write", {**SMALL["phases"]["plan"], "next": {"done": "build"}}),
        ("gates", "approval", None),
    )
    with pytest.raises(ContractError) as refused:
        read_contract({"mine.yaml": written(sideways)})
    (problem,) = refused.value.problems
    assert (problem.rule, problem.counterexample) == ("2.2", "plan -> ask -> build")


def test_patterns_too_intricate_to_be_compared_are_refused_and_not_waited_for() -> None:
    document = changed(
        (*CODER, "scope", [f"*a{'?' * 60}b"]),
        (*BUILD, "outputs", ["plan/b"]),
        ("roles", "architect", "scope", [f"*b{'?' * 61}c"]),
        (*PLAN, "outputs", ["plan/**"]),
        ("secret_paths", [f"*{'a?' * 40}"]),
    )
    with pytest.raises(ContractError, match="too intricate") as refused:
        read_contract({"mine.yaml": written(document)})
    assert {item.rule for item in refused.value.problems} == {"usable"}


def test_what_a_session_can_be_offered_is_what_the_minion_has() -> None:
    assert set(KNOWN_TOOLS) == set(TOOLS)


@pytest.mark.parametrize(
    "expression", ["sk-[a-z0-9]{20,}", r"\bAKIA[0-9A-Z]{16}\b", "ghp_(?:a|b)c", "[(+]x", r"a\)+", "token: .+"]
)
def test_an_expression_that_one_pass_can_bear_is_taken(expression: str) -> None:
    assert read_contract({"mine.yaml": written(changed(("redact", [expression])))}).redact == (expression,)


def test_version_1_is_held_against_what_it_could_say() -> None:
    text = b"""
name: old
version: 1
lifetime_h: 24
start: a
roles:
  one: {scope: {mode: directory, patterns: [src/**]}, budget: {}}
  two: {scope: {mode: directory, patterns: [src/**]}, budget: {}}
phases:
  a: {role: one, next: b}
  b: {role: two, next: a}
"""
    assert violations(parse_files({"old.yaml": text.replace(b", next: a", b"")})) == []
    with pytest.raises(ContractError) as refused:
        read_contract({"old.yaml": text})
    assert str(refused.value) == (
        "old.yaml:11: rule 3.3: phases.b.next: phases lead back to where they came from (for example a -> b -> a); "
        "take one of these transitions out; work goes back by the `reject` of a gate"
    )
