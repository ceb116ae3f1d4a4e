"""Who works in a session: the issue's own setting, its label, the role, the settings, in this order; and what cannot be, is asked about."""

from typing import Any

import pytest

from minion.protocol import AgentChoice
from overlord.domain.decision import Subject
from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.engine.sessions import dispatch
from overlord.store import ledger, sessions
from tests.engine.stage import Stage, made_stage
from tests.engine.test_dispatch import brief, opened
from tests.world import CALC, REPO

CONTRACT = """\
name: small
version: 2
roles:
  coder: {scope: ["**"], agent: aider, verification: [diff_non_empty], budget: {iterations: 2, turns: 20, exhausted: ask}}
phases:
  build: {actors: [coder], inputs: [issue], outputs: ["**"], criteria: [evaluation_passed], next: {done: ship}}
  ship: {terminal: true}
lifetime: {hours: 24}
gates:
  merge: {"on": ship->end, audience: person, approve: merged, reject: pr_closed}
"""
ELSEWHERE = {"claude": {"base_url": "http://model.test/v1", "name": "claude-opus-5-5", "wire": "messages"}}


async def chosen(stage: Stage, *labels: str) -> dict[str, Any]:
    """The agent in the brief of an issue with these labels."""
    await stage.claimed(labels=labels)
    await stage.step(dispatch.step)
    found: dict[str, Any] = (await brief(stage))["agent"]
    return found


async def refused(stage: Stage, *labels: str) -> str:
    """What a person is asked in place of a session for an issue with these labels."""
    await stage.claimed(labels=labels)
    job = await stage.step(dispatch.step)
    decision = await stage.asked()
    assert (job.state, decision.subject) == (JobState.WAITING, Subject.DISPATCH_REFUSED)
    return str(decision.body)


async def test_without_a_word_the_native_agent_works(stage: Stage) -> None:
    assert await chosen(stage) == {
        "name": "native",
        "program": "native",
        "command": [],
        "arguments": [],
        "model": "scripted",
    }
    assert (await stage.read(sessions.get, "j1-work-1")).agent == "native"


async def test_the_settings_name_the_agent_of_a_repository() -> None:
    async with made_stage(agent="codex", spaces={REPO: {"agent": "OpenCode"}}) as stage:
        assert (await chosen(stage))["program"] == "opencode"


async def test_a_role_goes_before_the_settings_and_a_label_before_the_role() -> None:
    own = {**CALC, ".nebulus/contract/contract.yaml": CONTRACT}
    async with made_stage(own, agent="codex") as stage:
        assert (await chosen(stage))["name"] == "aider"
    async with made_stage(own, agent="codex") as stage:
        assert (await chosen(stage, "Agent:Gemini"))["name"] == "gemini"


async def test_what_is_said_for_one_issue_goes_before_all() -> None:
    async with made_stage(spaces={REPO: {"issue_agents": {1: "aider"}}}) as stage:
        assert (await chosen(stage, "agent:codex"))["name"] == "aider"


async def test_a_name_of_the_settings_has_its_program_its_model_and_its_arguments() -> None:
    agents = {"team": {"program": "claude-code", "model": "big", "arguments": ["--effort", "high"]}}
    models = {"default": [{}], "big": [{"endpoint": "claude"}]}
    async with made_stage(agents=agents, models=models, endpoints=ELSEWHERE) as stage:
        found = await chosen(stage, "agent:team")
        assert found["program"], found["arguments"] == ("claude-code", ["--effort", "high"])
        assert found["model"] == "claude-opus-5-5"
        session = await stage.read(sessions.get, "j1-work-1")
        assert (session.agent, session.model, session.account(REPO).model) == ("team", "big", "big")


async def test_any_agent_that_speaks_acp_is_named_by_its_command(stage: Stage) -> None:
    found = await chosen(stage, "agent:acp:goose  acp")
    assert (found["name"], found["program"], found["command"]) == ("acp:goose acp", "acp", ["goose", "acp"])


async def test_the_ledger_says_which_agent_works_and_who_chose_it(stage: Stage) -> None:
    await stage.claimed(labels=("agent:codex",))
    await stage.step(dispatch.step)
    await opened(stage)
    await stage.step(dispatch.step)
    prepared, started = [
        await stage.read(ledger.last, 1, name)
        for name in (EventName.SESSION_PREPARED, EventName.SESSION_STARTED)
    ]
    assert prepared is not None and started is not None
    assert (prepared["agent"], prepared["agent_by"]) == ("codex", "label agent:codex")
    assert (started["agent"], started["model"]) == ("codex", "scripted")


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (
            ("agent:devin",),
            "The label agent:devin names an agent that cannot work: there is no agent 'devin'; there is native,",
        ),
        (("agent:",), "The label agent: names an agent that cannot work: '' is no agent's name"),
        (("agent:acp:",), "acp: needs the command that starts the agent"),
        (
            ("agent:codex", "agent:aider"),
            "The labels agent:aider and agent:codex each name an agent. Take one of them off, then put the work label on",
        ),
    ],
)
async def test_a_label_that_names_nobody_is_told_to_a_person(
    stage: Stage, labels: tuple[str, ...], why: str
) -> None:
    assert why in await refused(stage, *labels)


async def test_an_agent_that_no_endpoint_can_answer_is_told_to_a_person() -> None:
    async with made_stage(models={"default": [{"endpoint": "claude"}]}, endpoints=ELSEWHERE) as stage:
        told = await refused(stage, "agent:codex")
    assert told.startswith(
        "codex speaks responses, and the model default is at an endpoint that speaks messages."
    )


async def test_the_runner_is_told_which_program_a_session_needs() -> None:
    async with made_stage(agents={"team": {"program": "codex", "image": "registry.test/codex:1"}}) as stage:
        await stage.claimed(labels=("agent:team",))
        await stage.step(dispatch.step)
        await opened(stage)
        await stage.step(dispatch.step)
        launch = stage.runner.state.sessions["j1-work-1"].launch  # type: ignore[index]
        assert launch.agent is not None
        assert (launch.agent.program, launch.agent.image) == ("codex", "registry.test/codex:1")


def test_an_agent_is_native_where_nothing_is_said() -> None:
    assert AgentChoice() == AgentChoice(name="native", program="native")
