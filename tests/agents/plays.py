"""What the scripted model says to each real agent, in the agent's own tools, and the issue all of them work on: the demo's."""

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from overlord.embedded.play import Turn, call, say
from overlord.entrypoints.demo.story import STORIES, DemoContract

ROOT = "/work/workspace"
"""Where a container has the working copy."""
REPOSITORY = Path(__file__).parents[2] / "config" / "demo" / "repository"
FILES = {
    path.relative_to(REPOSITORY).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(REPOSITORY.rglob("*"))
    if path.is_file() and "__pycache__" not in path.parts
}
ISSUE = STORIES[DemoContract.DEFAULT].issues[0]
"""Title and text."""
WRONG, RIGHT = "    return full - full * discount // 10\n", "    return full - full * discount // 100\n"
MENDED = FILES["till.py"].replace(WRONG, RIGHT)
SUMMARY = "The discount was divided by 10 instead of 100."


def asked_for() -> frozenset[str]:
    """The agents that this run tries, by REAL_AGENTS: names with commas between them, or `all`."""
    names = os.environ.get("REAL_AGENTS", "")
    return frozenset(name.strip() for name in names.split(",") if name.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class RealAgent:
    """How a model works through one agent."""

    name: str
    """As a label chooses it."""
    program: str
    shell: tuple[str, str] = ("", "")
    """Its tool that starts programs, and what that calls the command. Empty where its model only writes text."""
    tools: str = ""
    """What it puts before the names of the session's own tools."""
    reading: str = ""
    editing: tuple[str, ...] = ()
    """Its tool that edits, and what that calls the file, the old and the new text. Empty where it edits by its shell."""
    more: Mapping[str, str] = field(default_factory=dict)
    """What else its tools want to be told."""

    def run(self, command: str) -> Turn:
        """Start a program."""
        tool, argument = self.shell
        return call(tool, **{argument: command, **self.more})

    def edit(self, path: str, old: str, new: str) -> tuple[Turn, ...]:
        """Replace lines of a file that has them once."""
        if not self.shell[0]:
            words = f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE"
            return (say(f"I change it.\n\n{path}\n```\n{words}\n```\n"),)
        if not self.editing:
            script = f"import pathlib; p = pathlib.Path({path!r}); p.write_text(p.read_text().replace({old!r}, {new!r}))"
            return (self.run(f"python3 -c {shlex.quote(script)}"),)
        tool, file, before, after = self.editing
        edit = call(tool, **{file: f"{ROOT}/{path}", before: old, after: new}, **self.more)
        return (call(self.reading, **{file: f"{ROOT}/{path}"}), edit)

    def session_tool(self, tool: str, **arguments: object) -> Turn:
        """Call a tool of the session's own."""
        return call(f"{self.tools}{tool}", **arguments)


REAL = (
    RealAgent(
        name="claude-code",
        program="claude-code",
        shell=("Bash", "command"),
        tools="mcp__overlord__",
        reading="Read",
        editing=("Edit", "file_path", "old_string", "new_string"),
    ),
    RealAgent(name="codex", program="codex", shell=("exec_command", "cmd"), tools="mcp__overlord__"),
    RealAgent(
        name="opencode",
        program="opencode",
        shell=("bash", "command"),
        tools="overlord_",
        reading="read",
        editing=("edit", "filePath", "oldString", "newString"),
    ),
    RealAgent(
        name="gemini",
        program="gemini",
        shell=("run_shell_command", "command"),
        tools="mcp_overlord_",
        reading="read_file",
        editing=("replace", "file_path", "old_string", "new_string"),
        more={"instruction": "Divide by 100, since it is a percentage.", "description": "look"},
    ),
    RealAgent(name="aider", program="aider"),
)
OVER_ACP = (
    RealAgent(name="acp:opencode acp", program="opencode", shell=("bash", "command"), tools="overlord_"),
    RealAgent(name="acp:gemini --acp", program="gemini", shell=("run_shell_command", "command"), tools="mcp_overlord_"),
)  # fmt: skip
BY_NAME = {agent.name: agent for agent in REAL}


def sentinel(kind_of_event: str, /, **more: object) -> str:
    """A line by which any agent says how its work stands."""
    return f"OVERLORD_EVENT {json.dumps({'type': kind_of_event, **more})}"


def done(summary: str = SUMMARY) -> Turn:
    """The last words of a session that did its task."""
    return say(f"It is done.\n\n{sentinel('PHASE_COMPLETE', summary=summary)}")
