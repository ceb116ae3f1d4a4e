"""Contracts as tests of looks need them."""

from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.contract import Contract

CREW = """\
name: crew
version: 2
lifetime: {hours: 24, usd: 20}
shared: [{paths: [package.json], roles: [backend, frontend]}]
secret_paths: [".env*"]
roles:
  architect: {scope: [docs/**], verification: [diff_non_empty], budget: {iterations: 2, turns: 40, usd: 2, exhausted: ask}}
  tester: {scope: [tests/**], verification: [diff_non_empty], budget: {turns: 50, usd: 2, exhausted: ask}}
  backend:
    scope: [src/api/**]
    also_writes: [Makefile]
    commands: [pytest, ruff]
    verification: [diff_non_empty]
    budget: {turns: 50, usd: 2, diff_files: 40, exhausted: gate}
  frontend: {scope: [src/web/**], verification: [diff_non_empty], budget: {turns: 60, usd: 2, exhausted: ask}}
  auditor: {scope: [audit/**], verification: [diff_non_empty], budget: {exhausted: ask}}
phases:
  plan: {actors: [architect], inputs: [issue], outputs: [plan/**], criteria: [diff_non_empty], next: {done: red, blocked: ship}}
  red: {actors: [tester], inputs: [plan/**], outputs: [tests/**], criteria: [diff_non_empty], next: {done: build}}
  build: {actors: [backend, frontend], inputs: [tests/**], outputs: [src/**], criteria: [evaluation_passed], next: {done: ship}}
  ship: {actors: [], terminal: true}
gates:
  plan_approval: {on: plan->red, audience: person, inputs: [plan/acceptance.md], approve: red, reject: plan}
  merge: {on: ship->end, audience: person, approve: merged, reject: pr_closed}
"""


def crew() -> Contract:
    """An architect, a tester, two builders, and one who works in no phase."""
    return load_contract(CREW, "crew.yaml")
