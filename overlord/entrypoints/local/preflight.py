"""Before a run is begun: whether its model and its agent can be used, so that a wrong key is said in seconds and not after the setup."""

import asyncio

from minion.protocol import WITHOUT_TOOLS
from overlord.domain.model_fault import FaultKind, ModelFault
from overlord.entrypoints.doctor.model import check_endpoint
from overlord.entrypoints.local.local_session import LocalSession
from overlord.errors import ModelUnavailable, Refused, RunnerRefused, RunnerUnavailable, SettingsError
from overlord.failpoints import Failpoint
from overlord.ports.runner import Runner
from overlord.session_api.gateway.model_watch import models_in_use
from overlord.settings.agents import program_of, resolved
from overlord.settings.load import Settings
from overlord.settings.model import Candidate
from overlord.store.budgets import model_outages


async def check_models(local_session: LocalSession, settings: Settings) -> None:
    """Raises SettingsError for what only a person can change, ModelUnavailable where nobody answers, and Refused on Ctrl-C.

    A model that answers and is busy is waited for by the run itself.
    """
    checking = asyncio.create_task(_check(local_session, settings))
    stopped = asyncio.create_task(local_session.interruption.came.wait())
    try:
        await asyncio.wait({checking, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not checking.done():
            raise Refused("stopped before the work began")
        checking.result()
    finally:
        for task in (checking, stopped):
            task.cancel()
        await asyncio.gather(checking, stopped, return_exceptions=True)


async def check_agent(settings: Settings, runner: Runner, name: str) -> None:
    """Raises SettingsError, with the remedy, where the program of the agent of this name is not to be had."""
    choice = resolved(name, settings.agents)
    program = program_of(choice, settings.agents, base=settings.docker.image)
    try:
        if program is not None:
            await runner.agent_version(program)
    except (RunnerRefused, RunnerUnavailable) as error:
        raise SettingsError(f"agent {name}: {error}") from error


def check_takes_tools(settings: Settings, agent: str) -> None:
    """Raises SettingsError for an agent that cannot answer with a tool of ours, as the architect of a contract does."""
    if resolved(agent, settings.agents).program in WITHOUT_TOOLS:
        raise SettingsError(
            f"agent {agent}: it takes no tools of Overlord's, and an architect answers with them; name another one in --agent, as"
            " native, claude-code or codex"
        )


async def _check(local_session: LocalSession, settings: Settings) -> None:
    for candidates in models_in_use(settings):
        faults = [(item, await check_endpoint(settings, item)) for item in candidates]
        for candidate, fault in faults:
            _judge(
                local_session,
                settings,
                candidate,
                fault,
                is_alone=all(other is not None for _, other in faults),
            )


def _judge(
    local_session: LocalSession,
    settings: Settings,
    candidate: Candidate,
    fault: ModelFault | None,
    *,
    is_alone: bool,
) -> None:
    name, address = settings.model_name(candidate), settings.endpoint(candidate.endpoint).base_url
    if fault is None:
        if local_session.read(lambda c: model_outages.of(c, name)) is not None:
            now = local_session.now()
            local_session.write(Failpoint.MODEL_OUTAGE_NOTED, lambda c: model_outages.end(c, name, at=now))
        return
    text = f"{fault.describe(name)} at {address}. {fault.advice}"
    if not fault.passes:
        raise SettingsError(text)
    if fault.kind is FaultKind.UNREACHABLE and is_alone:
        raise ModelUnavailable(text)
    local_session.screen.write(f"{text[:1].upper()}{text[1:]} The run goes on, and tries it again.")
