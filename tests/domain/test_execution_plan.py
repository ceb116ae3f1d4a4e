"""What a job would do under a contract, told beforehand."""

from typing import Any

import pytest

from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.execution_plan import plan_of
from tests.contracts import CREW, crew


def changed(**values: Any) -> Contract:
    return crew().model_copy(update=values)


def test_phases_are_in_the_order_of_the_work_with_roles_and_who_decides() -> None:
    plan = plan_of(crew())
    assert [phase.name for phase in plan.phases] == ["plan", "red", "build", "ship"]
    build = plan.phases[2]
    assert [role.name for role in build.roles] == ["backend", "frontend"]
    assert build.criteria == ("evaluation_passed",)
    assert plan.phases[0].gates == (
        "gate plan_approval: a person decides and is shown plan/acceptance.md; approved it goes on to red, rejected to plan",
    )
    assert plan.phases[3].gates == ("gate merge: a person merges the result, or does not",)
    assert plan.lifetime == "24 h, 20 USD"


def test_a_phase_that_not_every_job_comes_to_says_when() -> None:
    text = CREW.replace(
        "next: {done: red, blocked: ship}", "next: {done: red, blocked: help, unclear: help}"
    ).replace(
        "  ship: {actors: [], terminal: true}",
        "  help: {actors: [architect], inputs: [issue], outputs: [docs/**], criteria: [diff_non_empty], next: {done: red}}\n"
        "  ship: {actors: [], terminal: true}",
    )
    plan = plan_of(
        load_contract(text.replace("roles:\n", "events: {unclear: architect}\nroles:\n", 1), "crew.yaml")
    )
    assert [phase.name for phase in plan.phases] == ["plan", "red", "build", "ship", "help"]
    assert plan.phases[4].only_after == "plan is blocked or plan says 'unclear'"


def test_a_gates_other_audiences_are_named() -> None:
    gates = {
        "plan_approval": crew()
        .gates["plan_approval"]
        .model_copy(update={"audience": "architect", "inputs": ()}),
        "again": crew()
        .gates["plan_approval"]
        .model_copy(update={"on": "red->build", "audience": "approver", "approve": "ship", "inputs": ()}),
    }
    plan = plan_of(changed(gates=gates))
    assert [phase.name for phase in plan.phases] == ["plan", "red", "ship"]
    assert plan.phases[0].gates[0].startswith("gate plan_approval: role architect decides; approved")
    assert plan.phases[1].gates[0].startswith("gate again: an approver decides; approved it goes on to ship")


@pytest.mark.parametrize(
    ("session_usd", "job_usd", "cost"),
    [
        (
            None,
            None,
            "11 sessions of work at most, if no gate sends it back, which may cost 22.00 USD. The job ends at 20.00 USD (lifetime.usd of the contract).",
        ),
        (
            1.0,
            5.0,
            "11 sessions of work at most, if no gate sends it back, which may cost 11.00 USD. The job ends at 5.00 USD (the budget of the job).",
        ),
    ],
)
def test_what_it_may_cost_is_the_least_of_what_caps_it(
    session_usd: float | None, job_usd: float | None, cost: str
) -> None:
    assert plan_of(crew(), session_usd=session_usd, job_usd=job_usd).cost == cost


def test_without_a_cap_it_is_said_that_nothing_caps_it() -> None:
    roles = {name: role.model_copy(update={"budget": None}) for name, role in crew().roles.items()}
    plan = plan_of(changed(roles=roles, lifetime=None))
    assert (plan.sessions_usd, plan.most_usd, plan.lifetime) == (None, None, "no end")
    assert plan.cost.endswith("sends it back. Nothing caps the job in USD.")


def test_a_circle_is_gone_through_once() -> None:
    phases = {**crew().phases, "build": crew().phases["build"].model_copy(update={"next": {"done": "red"}})}
    assert [phase.name for phase in plan_of(changed(phases=phases, gates={})).phases][:3] == [
        "plan",
        "red",
        "build",
    ]
