"""Programs that play agents, in the place where a session looks for the agent."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minion.protocol import AgentChoice
from tests.minion import agent_stand_in
from tests.minion.session_api import SessionApi

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]

FILES = {"calc.py": "def add(a, b):\n    return a - b\n", "README.md": "Calc\n", ".gitignore": "*.tmp\n"}
FIXED = "def add(a, b):\n    return a + b\n"
FIX = ("write", "calc.py", FIXED)


@dataclass(frozen=True)
class StandIn:
    """An agent's place, and the door of a session that it works in."""

    name: str
    place: Path
    make_door: MakeDoor

    def door(self, *plays: list[tuple[Any, ...]], **brief: Any) -> SessionApi:
        """The session of an agent that does this, prompt by prompt."""
        self.place.mkdir(exist_ok=True)
        program = self.place / "program"
        program.write_text(f"#!{sys.executable} -I\n{Path(agent_stand_in.__file__).read_text()}")
        program.chmod(0o755)
        (self.place / "agent").write_text(self.name)
        (self.place / "plays.json").write_text(json.dumps(plays))
        choice = AgentChoice(name=self.name, program=self.name, command=(str(program),))
        return self.make_door(FILES, agent=choice, **brief)

    @property
    def started(self) -> list[dict[str, Any]]:
        """What it was started with, each time."""
        return [json.loads(line) for line in (self.place / "started.jsonl").read_text().splitlines()]

    def told(self, prompt: int) -> str:
        """All it was told with a prompt, by whichever way."""
        started = self.started[prompt]
        return "\n".join((*started["arguments"], started["stdin"], *started["files"].values()))


def sentinel(what: str, /, **more: Any) -> tuple[str, str]:
    event = json.dumps({"type": what, **more})
    return "words", f"I am at an end.\nOVERLORD_EVENT {event}"
