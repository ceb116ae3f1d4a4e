"""What a running session holds, given to every tool."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minion.discipline import GIVE_RESULT
from minion.interrupt import Interrupts
from minion.protocol import Brief
from minion.session_api import SessionApi
from minion.workspace.scope import Territory
from minion.workspace.workspace import Workspace

if TYPE_CHECKING:
    from minion.heartbeat import Heartbeat
    from minion.tools.tool import Tool


@dataclass(slots=True, kw_only=True)
class Session:
    """One session. Only the fields with defaults change while it runs."""

    brief: Brief
    session_api: SessionApi
    territory: Territory
    workspace: Workspace
    command_environment: Mapping[str, str]
    interrupts: Interrupts
    turn: int = 0
    questions: int = 0
    explorations: int = 0
    refusals: int = 0
    """How often it wanted to end and was told why it may not yet."""
    warned: bool = False
    """Whether the model was told once that its finished work looks wrong."""
    is_contract_settled: bool = False
    """Whether the contract it proposed last is valid, or no proposal is left to it."""
    server_tools: "Mapping[str, Tool]" = field(default_factory=dict)
    """Tools of MCP servers, where the native agent has some."""
    beat: "Heartbeat | None" = None
    """What tells people how far it is."""

    @property
    def ending(self) -> str:
        """The tool that ends a session which did what it was there for."""
        if self.brief.discipline is not None:
            return GIVE_RESULT
        terms = self.brief.terms
        return "task_complete" if terms is None or terms.consultation is None else "give_answer"
