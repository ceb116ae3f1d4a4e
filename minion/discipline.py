"""What a session of a discipline is told: one of the tools that other agents call over MCP. Part of the brief (`minion/protocol.py`)."""

from dataclasses import dataclass

GIVE_RESULT = "give_result"
"""The tool that ends such a session."""
EDITING = ("write_file", "edit_file")
RUNNING = "run_command"


@dataclass(frozen=True, slots=True, kw_only=True)
class DisciplineTask:
    """A discipline's page of laws, what is asked, and what the session may do. It ends with a result, as `Report.answer`."""

    name: str
    """The tool that was called: `tdd_red`, `review`, …"""
    phase: str
    skill: str
    page: str
    """The discipline's laws, output contract and rules, as Markdown. Ours."""
    task: str
    """What whoever called wants, a line for each argument. Untrusted where it quotes."""
    history: str = ""
    """What earlier phases of the caller's session did. Untrusted."""
    tools: tuple[str, ...] = ()
    """The tools it has beside the one that gives its result."""

    @property
    def writes(self) -> bool:
        """Whether its work is kept. Of one that reads nothing is, whatever its commands change."""
        return any(name in self.tools for name in EDITING)
