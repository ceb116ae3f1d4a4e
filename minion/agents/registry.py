"""Which file speaks to which agent. Each is imported only by a session it works in."""

from importlib import import_module

from minion.agents.agent import CodingAgent, Conversation
from minion.agents.drive import ProgramConversation
from minion.agents.surroundings import Surroundings
from minion.errors import AgentFailed
from minion.protocol import ACP, AgentChoice

AGENTS = {
    "claude-code": ("minion.agents.claude_code", "ClaudeCode"),
    "codex": ("minion.agents.codex", "Codex"),
    "opencode": ("minion.agents.opencode", "OpenCode"),
    "aider": ("minion.agents.aider", "Aider"),
    "cursor": ("minion.agents.cursor", "Cursor"),
    "gemini": ("minion.agents.gemini", "Gemini"),
}
"""The module and the class of each, by its program. An agent that is added is one line here, and one of `PROGRAMS`."""


def agent_of(program: str) -> CodingAgent:
    """The agent of a program. Raises AgentFailed for one that is not known."""
    if program not in AGENTS:
        raise AgentFailed(f"There is no agent {program[:60]!r}; known: {', '.join((*AGENTS, ACP))}.")
    module, name = AGENTS[program]
    try:
        agent: CodingAgent = getattr(import_module(module), name)()
    except ModuleNotFoundError as error:
        raise AgentFailed(f"The agent {program} is not part of this Minion: {error}.") from error
    return agent


def conversation_with(choice: AgentChoice, around: Surroundings) -> Conversation:
    """The conversation of a session with its agent. Raises AgentFailed for one that is not known."""
    if choice.program == ACP:
        conversation: Conversation = import_module("minion.agents.acp.conversation").AcpConversation(around)
        return conversation
    return ProgramConversation(agent_of(choice.program), around)


def takes_servers(choice: AgentChoice) -> bool:
    """Whether an agent can be given MCP servers, the session's own tools among them."""
    return choice.program == ACP or agent_of(choice.program).capabilities.mcp
