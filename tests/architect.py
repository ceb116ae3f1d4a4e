"""The architect of `overlord init` as a scripted model plays it: what it records, which documents it writes, which contract it proposes."""

from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from overlord.config_files import packaged
from overlord.domain.discovery.bank import questions
from overlord.domain.discovery.question import Kind, ProjectKind
from overlord.embedded.play import Turn, call, submit, write

VISION = "# Calc\n\n## Problem\n\nSums.\n\n## Users\n\nPeople.\n\n## Solution\n\nA calculator.\n\n## Scope\n\nadd.\n\n## Success\n\nRight sums.\n"
ROLE: dict[str, Any] = {
    "scope": ["calc.py", "tests/**"],
    "outputs": ["a change"],
    "verification": ["diff_non_empty"],
    "budget": {"iterations": 3, "exhausted": "ask"},
}
CONTRACT: dict[str, Any] = {
    "name": "calc",
    "version": 2,
    "lifetime": {"hours": 48},
    "roles": {"developer": ROLE},
    "phases": {
        "build": {
            "actors": ["developer"],
            "inputs": ["issue"],
            "outputs": ["calc.py", "tests/**"],
            "criteria": ["evaluation_passed"],
            "next": {"done": "ship"},
        },
        "ship": {"actors": [], "terminal": True},
    },
    "gates": {"merge": {"on": "ship->end", "audience": "person", "approve": "merged", "reject": "pr_closed"}},
}
"""One role and no gate before the merge, for the repository `tests.world.CALC`."""


def recorded(kind: ProjectKind = ProjectKind.OTHER, found: Sequence[dict[str, Any]] = ()) -> Turn:
    """The architect looked at everything, and found these answers."""
    known = {item["id"] for item in found}
    nothing = [{"id": item.id, "confidence": "low"} for item in questions(kind) if item.id not in known]
    return call("record_discovery", answers=[*found, *nothing])


def architecture(decided: Iterable[tuple[str, str, str]] | None = None) -> str:
    """The document, with an entry for each (id, section, decision): by default for every decision that any kind of project makes."""
    made = decided if decided is not None else _every_decision()
    entries = "".join(
        f"### {section} `{name}`\n\nDecision: {decision}\nRationale: it fits.\nAlternatives: none.\n\n"
        for name, section, decision in made
    )
    return f"# Architecture\n\n## Overview\n\nOne file.\n\n## Structure\n\ncalc.py\n\n## Decisions\n\n{entries}\n## Tests\n\npytest\n"


def _every_decision() -> list[tuple[str, str, str]]:
    found = {item.id: item for kind in ProjectKind for item in questions(kind) if item.kind is Kind.DECISION}
    return [(item.id, item.section, item.proposed) for item in found.values()]


def documented() -> tuple[Turn, ...]:
    """The session that writes both documents."""
    return (
        write("vision.md", VISION),
        write("architecture.md", architecture()),
        submit("The documents are written."),
    )


def proposed(*contracts: dict[str, Any]) -> tuple[Turn, ...]:
    """The session that proposes a contract, each after the first because the one before was refused."""
    return *(call("propose_contract", contract=item) for item in contracts), submit(
        "The contract is proposed."
    )


def example(name: str) -> dict[str, Any]:
    """An example of ours that the architect proposes as it is."""
    contract: dict[str, Any] = yaml.safe_load(packaged(f"bootstrap/examples/{name}.yaml"))
    return contract


def without_usd(contract: dict[str, Any]) -> dict[str, Any]:
    """The same for a model that nobody named a price of."""
    return {
        key: without_usd(value) if isinstance(value, dict) else value
        for key, value in contract.items()
        if key != "usd"
    }


def planned(name: str, writes: Sequence[str]) -> dict[str, Any]:
    """A plan that a person approves, then one role that may write these paths."""
    architect = {**ROLE, "scope": ["plan/**"], "verification": [{"artifact_exists": "plan/plan.md"}]}
    plan = {
        "actors": ["architect"],
        "inputs": ["issue"],
        "outputs": ["plan/**"],
        "criteria": [{"artifact_exists": "plan/plan.md"}],
        "next": {"done": "build"},
    }
    build = {**CONTRACT["phases"]["build"], "inputs": ["issue", "plan/**"], "outputs": list(writes)}
    approval = {"on": "plan->build", "audience": "person", "inputs": ["plan/plan.md"]}
    return {
        **CONTRACT,
        "name": name,
        "roles": {"architect": architect, "developer": {**ROLE, "scope": list(writes)}},
        "phases": {"plan": plan, **CONTRACT["phases"], "build": build},
        "gates": {"plan_approval": {**approval, "approve": "build", "reject": "plan"}, **CONTRACT["gates"]},
    }
