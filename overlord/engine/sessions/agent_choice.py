"""Which coding agent works in a session: what is said for the issue, its label, the contract's role, the settings, in this order.

Code decides it, before anything is started: an agent that nobody knows, or that no endpoint of its model can answer, is told to
a person in place of a session that could not work.
"""

from dataclasses import dataclass, replace

from minion.protocol import WITHOUT_TOOLS, AgentChoice
from overlord.domain.contracts.contract import Role
from overlord.domain.job import Job
from overlord.domain.launch import AgentProgram
from overlord.domain.session import Session
from overlord.domain.wires.wire import Wire
from overlord.errors import AgentUnknown
from overlord.settings.agents import program_of, resolved
from overlord.settings.load import Settings

LABEL = "agent:"
"""What a label begins with that names the agent of its issue: `agent:codex`."""
SPEAKS = {"claude-code": Wire.MESSAGES, "codex": Wire.RESPONSES, "gemini": Wire.GEMINI}
"""The wire of agents that do not speak chat completions."""
_AGAIN = "then put the work label on the issue again: labels are read with it"
UNKNOWN_WIRE = frozenset({"acp", "cursor"})
"""Programs of which nobody says what they speak, or that speak to a service of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """An agent, and who chose it."""

    agent: AgentChoice
    model: str = ""
    """The name of models.yaml that answers it; empty for the repository's."""
    by: str = ""
    """For people: `label agent:codex`, `role coder of the contract`, `settings`."""


def chosen(
    settings: Settings, job: Job, role: Role | None, role_name: str, *, needs_tools: bool = False
) -> Chosen:
    """The agent of a job's next session, which `needs_tools` of ours where they are how it answers. Raises AgentUnknown with a sentence
    for a person."""
    name, by = _named(settings, job, role, role_name)
    try:
        agent = resolved(name, settings.agents)
    except ValueError as error:
        again = f" Put the label right, {_AGAIN}." if by.startswith("label ") else ""
        raise AgentUnknown(f"The {by} names an agent that cannot work: {error}.{again}") from None
    if needs_tools and agent.program in WITHOUT_TOOLS:
        raise AgentUnknown(
            f"The {by} names {agent.name}, which takes no tools of Overlord's, and the role {role_name} answers with them. Choose another"
            " agent for it."
        )
    own = settings.agents.get(agent.name)
    model = own.model if own is not None else ""
    candidates = settings.models[model or settings.space(job.space).model]
    _check_wire(settings, agent, candidates_of=model or settings.space(job.space).model)
    upstream = settings.model_name(candidates[0])
    return Chosen(agent=replace(agent, model=upstream), model=model, by=by)


def program(settings: Settings, session: Session) -> AgentProgram | None:
    """What the runner needs to have for a session; None for the Minion's own loop. An agent whose section was taken away since is
    started as its makers say."""
    try:
        agent = resolved(session.agent, settings.agents)
    except ValueError:
        return None
    return program_of(agent, settings.agents, base=settings.docker.image)


def _named(settings: Settings, job: Job, role: Role | None, role_name: str) -> tuple[str, str]:
    space = settings.space(job.space)
    if name := space.issue_agents.get(job.issue.number, ""):
        return name, "settings of this issue"
    labels = sorted({label for label in job.issue.labels if label.casefold().startswith(LABEL)})
    if len(labels) > 1:
        raise AgentUnknown(
            f"The labels {' and '.join(labels)} each name an agent. Take one of them off, {_AGAIN}."
        )
    if labels:
        return labels[0][len(LABEL) :], f"label {labels[0]}"
    if role is not None and role.agent:
        return role.agent, f"role {role_name} of the contract"
    return space.agent, "settings"


def _check_wire(settings: Settings, agent: AgentChoice, *, candidates_of: str) -> None:
    """Raises AgentUnknown when no endpoint of the agent's model can answer what it speaks."""
    if agent.program in UNKNOWN_WIRE:
        return
    wire = SPEAKS.get(agent.program, Wire.CHAT)
    wires = [settings.endpoint(item.endpoint).wire for item in settings.models[candidates_of]]
    if any({wire, Wire.CHAT} & set(spoken) for spoken in wires):
        return
    spoken = ", ".join(sorted({item for own in wires for item in own}))
    raise AgentUnknown(
        f"{agent.name} speaks {wire}, and the model {candidates_of} is at an endpoint that speaks {spoken}. Name a model whose"
        f" endpoint speaks {wire} or {Wire.CHAT} in agents.{agent.name}.model."
    )
