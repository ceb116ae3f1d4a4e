"""What `overlord doctor` finds of coding agents: the programs that settings ask for, and those that are there all the same."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence

from minion.protocol import NATIVE, PROGRAMS
from overlord.adapters.docker.agents import DockerAgents
from overlord.adapters.docker.engine import DockerEngine
from overlord.adapters.process.agents import find_program, program_version, search_path
from overlord.domain.launch import AgentProgram
from overlord.entrypoints.doctor.finding import Finding, bad, well
from overlord.errors import ExternalServiceError, RunnerRefused
from overlord.home import Home
from overlord.settings.agents import program_of, resolved
from overlord.settings.load import Settings

IN_SESSIONS = "looked for in the image of each session, which has to bring it"

Look = Callable[[AgentProgram], Awaitable[str]]
"""What is said of a program that is there. Raises RunnerRefused, with how to get it, when it is not."""


async def examine_agents(settings: Settings) -> Sequence[Finding]:
    """A finding for each agent that is used or there; none where there is no runner, which is a finding of its own."""
    programs, problems = _programs(settings)
    if settings.runner == "process":
        return [*problems, *await _findings(programs, settings, _on_this_machine(settings))]
    if settings.runner in {"kubernetes", "swarm"}:
        return problems  # only a session sees what its image has
    engine = DockerEngine(address=settings.docker.host or None)
    try:
        await engine.info()
        return [*problems, *await _findings(programs, settings, _in_images(engine))]
    except ExternalServiceError:
        if settings.runner == "auto" and Home(settings.home).processes_agreed.exists():
            return [*problems, *await _findings(programs, settings, _on_this_machine(settings))]
        return problems
    finally:
        engine.close()


def _used(settings: Settings) -> Sequence[str]:
    """The agents that settings name: for all, for a repository, or in a section of their own."""
    spaces = [settings.space(name).agent for name in settings.repositories]
    return list(dict.fromkeys([settings.agent, *spaces, *settings.agents]))


def _programs(settings: Settings) -> tuple[Mapping[str, AgentProgram], list[Finding]]:
    """The program of each name, those that are used first; and the names that are no agent's."""
    programs, problems = dict[str, AgentProgram](), list[Finding]()
    for name in dict.fromkeys([*_used(settings), *PROGRAMS]):
        try:
            choice = resolved(name, settings.agents)
        except ValueError as error:
            problems.append(bad(f"agent {name}", str(error)))
            continue
        program = program_of(choice, settings.agents, base=settings.docker.image)
        if name != NATIVE and program is not None:
            programs[name] = program
    return programs, problems


async def _findings(
    programs: Mapping[str, AgentProgram], settings: Settings, look: Look
) -> Sequence[Finding]:
    used = _used(settings)
    found = await asyncio.gather(
        *(_finding(name, program, look, is_used=name in used) for name, program in programs.items())
    )
    return [finding for finding in found if finding is not None]


async def _finding(name: str, program: AgentProgram, look: Look, *, is_used: bool) -> Finding | None:
    try:
        return well(f"agent {name}", await look(program))
    except RunnerRefused as error:
        return bad(f"agent {name}", str(error)) if is_used else None


def _on_this_machine(settings: Settings) -> Look:
    path = search_path(settings.process.python or sys.executable)

    async def look(program: AgentProgram) -> str:
        return f"{await program_version(program, path)}, {find_program(program, path)}"

    return look


def _in_images(engine: DockerEngine) -> Look:
    agents = DockerAgents(engine, address=None)

    async def look(program: AgentProgram) -> str:
        version = await agents.version(program)
        return f"{version}, in {program.image}" if version else IN_SESSIONS

    return look
