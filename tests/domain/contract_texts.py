"""Contracts as people would write them, for tests: a small one without a fault, and a whole crew."""

import json
from copy import deepcopy
from typing import Any

import yaml

SMALL: dict[str, Any] = {
    "name": "small",
    "version": 2,
    "lifetime": {"hours": 24},
    "roles": {
        "architect": {
            "scope": ["docs/**"],
            "verification": ["diff_non_empty"],
            "budget": {"exhausted": "ask"},
        },
        "coder": {
            "scope": ["src/**"],
            "verification": ["diff_non_empty"],
            "budget": {"exhausted": "architect"},
        },
    },
    "phases": {
        "plan": {
            "actors": ["architect"],
            "inputs": ["issue"],
            "outputs": ["plan/**", "docs/**"],
            "criteria": [{"artifact_exists": "plan/todo.md"}],
            "next": {"done": "build"},
        },
        "build": {
            "actors": ["coder"],
            "inputs": ["issue", "plan/todo.md"],
            "outputs": ["src/**"],
            "criteria": ["evaluation_passed"],
            "next": {"done": "ship"},
        },
        "ship": {"terminal": True},
    },
    "gates": {
        "approval": {
            "on": "plan->build",
            "audience": "person",
            "inputs": ["plan/todo.md"],
            "approve": "build",
            "reject": "plan",
        },
        "merge": {"on": "ship->end", "audience": "person", "approve": "merged", "reject": "pr_closed"},
    },
}
"""Two roles that work after each other. Every rule holds."""


def changed(*changes: tuple[Any, ...]) -> dict[str, Any]:
    """The small contract with values put at places; None takes out what is there."""
    document: dict[str, Any] = deepcopy(SMALL)
    for *way, last, value in changes:
        place: Any = document
        for part in way:
            place = place[part]
        if value is None:
            del place[last]
        elif isinstance(last, int) and last == len(place):
            place.append(value)
        else:
            place[last] = value
    return document


def written(document: dict[str, Any]) -> bytes:
    """As a file, with its keys in the order they have, and no aliases."""
    return yaml.safe_dump(json.loads(json.dumps(document)), sort_keys=False).encode()


CREW = """\
name: crew
version: 2
constitution: 1                      # the set of rules it was checked against
lifetime: {hours: 24, usd: 20}
escalation: [architect, person]
shared: [{paths: [package.json], roles: [backend, frontend]}]
secret_paths: [".env*"]              # outside every scope and every brief
redact: ["sk-[a-z0-9]{20,}"]         # taken out of evidence, beside what is always taken out
guidance: "Small commits. Say what you did not do."        # for every role
roles:
  architect: {scope: [docs/**], outputs: [a plan], verification: [{artifact_exists: plan/acceptance.md}],
              budget: {iterations: 2, minutes: 20, turns: 40, usd: 2, exhausted: ask}}
  tester:    {scope: [tests/**], outputs: [failing tests], verification: [diff_non_empty],
              budget: {iterations: 3, minutes: 30, turns: 50, usd: 2, exhausted: architect}}
  backend:
    scope: [src/api/**, package.json]
    also_writes: []                  # authority beyond the own scope
    commands: [pytest, ruff]         # what run_command may start; absent: any
    outputs: [a change]
    verification: [{command_succeeds: pytest -q tests/api}]
    budget: {iterations: 3, minutes: 30, turns: 50, usd: 2, diff_files: 40, diff_lines: 1500, exhausted: architect}   # architect | gate | terminate | ask
    agent: native                    # claude-code | codex | opencode | aider | cursor | acp:…
    model: careful
  frontend:  {scope: [src/web/**, package.json], outputs: [a change], verification: [{command_succeeds: npm test}],
              budget: {iterations: 3, minutes: 30, turns: 50, usd: 2, exhausted: gate}}
phases:
  plan:  {actors: [architect], preconditions: [{artifact_exists: vision.md}], inputs: [issue], outputs: [plan/**],
          criteria: [{artifact_exists: plan/acceptance.md}, {markdown_has_headings: {path: plan/acceptance.md, headings: [Acceptance]}},
                     {delegation_coverage: plan/delegation.yaml}], next: {done: red}}
  red:   {actors: [tester], inputs: [plan/**], outputs: [tests/**], criteria: [{command_fails: pytest -q tests}, diff_non_empty], next: {done: build}}
  build: {actors: [backend, frontend], inputs: [plan/**, tests/**], outputs: [src/**],
          criteria: [evaluation_passed, {diff_within_budget: {files: 60, lines: 2000}}], next: {done: ship}}
  ship:  {actors: [], terminal: true}
gates:
  plan_approval: {on: plan->red, audience: person, inputs: [plan/acceptance.md], approve: red, reject: plan}
  merge:         {on: ship->end, audience: person, approve: merged, reject: pr_closed}
"""
"""Four roles by delegation, with most of what a contract can say."""
