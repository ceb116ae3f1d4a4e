"""What it takes to read a contract of 20 roles and 20 phases and to hold it against every rule, beside reading its YAML alone.

python -m bench.contracts
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import yaml

from bench.table import Figure, publish
from overlord.domain.contracts.reading import parse_files, read_contract
from overlord.domain.text.plain_yaml import load_yaml

COUNT, TIMES = 20, 40
GOAL_MS = 20.0


def main() -> None:
    """Print the table."""
    text = yaml.safe_dump(_contract(), sort_keys=False)
    files = {"contract.yaml": text.encode()}
    existing = [f"src/part{number % 40}/module{number}.py" for number in range(5_000)]
    read_contract(files, existing=existing)
    alone = _spent(lambda: load_yaml(text))
    publish([
        Figure(part="contracts", name="20 roles, 20 phases: read and checked", unit="ms", measured=_spent(lambda: read_contract(files)), goal=GOAL_MS, yardstick="YAML alone", beside=alone),
        Figure(part="contracts", name="with the 5,000 files at base", unit="ms", measured=_spent(lambda: read_contract(files, existing=existing)), yardstick="YAML alone", beside=alone),
        Figure(part="contracts", name="read, no rule checked", unit="ms", measured=_spent(lambda: parse_files(files)), yardstick="YAML alone", beside=alone),
    ])  # fmt: skip


def _spent(act: Callable[[], object]) -> float:
    """The median of some runs, in ms. Nothing is kept between them but what a daemon keeps."""
    found = []
    for _ in range(TIMES):
        began = time.perf_counter()
        act()
        found.append(time.perf_counter() - began)
    return median(found) * 1000


def _contract() -> dict[str, Any]:
    """Each role with a place of its own, and one file that all share."""
    names = [f"role{number}" for number in range(COUNT)]
    budget = {"iterations": 3, "minutes": 30, "turns": 50, "usd": 2, "exhausted": "ask"}
    roles = {
        name: {
            "scope": [f"src/part{number}/**", f"tests/part{number}/**/test_*.py", "package.json"],
            "outputs": ["a change"],
            "verification": ["diff_non_empty", {"command_succeeds": f"pytest -q tests/part{number}"}],
            "budget": dict(budget),
        }
        for number, name in enumerate(names)
    }
    phases = {
        f"phase{number}": {
            "actors": [name],
            "inputs": ["issue", f"plan/step{number - 1}.md" if number else f"src/part{number}/**"],
            "outputs": [f"src/part{number}/**", f"plan/step{number}.md"],
            "criteria": ["evaluation_passed", {"artifact_exists": f"plan/step{number}.md"}],
            "next": {"done": f"phase{number + 1}" if number + 1 < COUNT else "ship"},
        }
        for number, name in enumerate(names)
    }
    person = {"audience": "person", "approve": "merged", "reject": "pr_closed"}
    return {
        "name": "large",
        "version": 2,
        "lifetime": {"hours": 48},
        "secret_paths": [".env*", "**/*.pem"],
        "shared": [{"paths": ["package.json"], "roles": list(names)}],
        "roles": roles,
        "phases": {**phases, "ship": {"terminal": True}},
        "gates": {"merge": {"on": "ship->end", **person}},
    }


if __name__ == "__main__":
    main()
