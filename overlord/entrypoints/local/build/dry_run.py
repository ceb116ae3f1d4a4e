"""`overlord build --dry-run`: what would be done, printed; no session, no model, no issue, and nothing is written."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from overlord.domain.contracts.execution_plan import ExecutionPlan, PlannedPhase, plan_of
from overlord.domain.contracts.outline import RoleOutline
from overlord.entrypoints.local.build import contract_at
from overlord.entrypoints.local.build.contract_at import FoundContract
from overlord.entrypoints.local.place import Place
from overlord.entrypoints.terminal.show import as_json, line, show_text

MOST_SHOWN = 6
"""Patterns of what a role may write; JSON has all."""


async def show(
    place: Place,
    environment: Mapping[str, str],
    *,
    title: str,
    base: str,
    budget_usd: float | None,
    json: bool,
) -> None:
    """Print the plan of execution. Raises ContractError for a contract that cannot be gone by."""
    settings = place.settings(environment)
    found = await contract_at.find(place, settings, base)
    limits = settings.space(place.repository).budget
    plan = plan_of(
        found.contract,
        session_usd=limits.session_usd,
        job_usd=budget_usd if budget_usd is not None else limits.job_usd,
    )
    if json:
        as_json(_data(found, plan, title))
        return
    for text in _lines(found, plan, title):
        show_text(text)


def _data(found: FoundContract, plan: ExecutionPlan, title: str) -> dict[str, Any]:
    about = {"title": title, "base": found.commit, "onto": found.onto, "source": found.source}
    return {**about, "own": found.is_own, **asdict(plan), "cost": plan.cost}


def _lines(found: FoundContract, plan: ExecutionPlan, title: str) -> Iterator[str]:
    yield f"Would build: {line(title)}"
    yield f"  from      {line(found.onto)} {found.commit[:12]}"
    yield f"  contract  {line(plan.contract)} ({line(found.source)})"
    if not found.is_own:
        yield "            The repository has none of its own; `overlord init` proposes one."
    yield f"  lifetime  {plan.lifetime}"
    yield f"  cost      {plan.cost}"
    for number, phase in enumerate(plan.phases, start=1):
        yield ""
        yield from _phase(number, phase)
    yield ""
    yield "Then the result is a branch, and you are asked whether to merge it. Nothing was done, and nothing was written."


def _phase(number: int, phase: PlannedPhase) -> Iterator[str]:
    aside = f", only if {line(phase.only_after)}" if phase.only_after else ""
    nobody = "" if phase.roles else ": nobody works"
    yield f"{number}. {phase.name}{aside}{nobody}"
    for role in phase.roles:
        yield from _role(role)
    if phase.criteria:
        yield f"   has to be so: {line('; '.join(phase.criteria))}"
    for sentence in phase.gates:
        yield f"   {line(sentence)}"


def _role(role: RoleOutline) -> Iterator[str]:
    model = f", model {line(role.model)}" if role.model else ""
    more = len(role.writes) - MOST_SHOWN
    writes = ", ".join(role.writes[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
    yield f"   {role.name}: may write {line(writes) or 'nothing'}"
    yield f"      {role.budget}{model}; when that is used up: {role.exhausted}"
