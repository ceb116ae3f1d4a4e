"""Coding agents that are played: programs that say what each agent is documented to say, and do what a test has written down."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from tests.minion import agent_stand_in

Steps = list[list[Any]]
"""What is done for one prompt: `["write", path, text]`, `["words", text]`, `["tool", name, arguments]`, …"""


class PlayedAgent:
    """One agent in a directory of its own. Each prompt it is given, in whatever session, has the next steps."""

    def __init__(self, root: Path, name: str, *prompts: Steps) -> None:
        self.place = root / f"played-{name}"
        self.place.mkdir()
        shutil.copy(agent_stand_in.__file__, self.place / "program.py")
        (self.place / "agent").write_text(name)
        self.will(*prompts)

    def will(self, *prompts: Steps) -> None:
        """Do this from the first prompt on."""
        (self.place / "plays.json").write_text(json.dumps(prompts))

    @property
    def settings(self) -> dict[str, Any]:
        """Its section of the settings."""
        return {"command": [sys.executable, str(self.place / "program.py")]}

    @property
    def started(self) -> list[dict[str, Any]]:
        """What it was started with, prompt by prompt."""
        record = self.place / "started.jsonl"
        return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []

    def prompt(self, number: int) -> str:
        """The words it was given."""
        started = self.started[number]
        return "\n".join([started["stdin"], *started["arguments"]])

    @property
    def told(self) -> str:
        """What the session's own tools answered it."""
        return (self.place / "told.txt").read_text()


def done(summary: str, **more: Any) -> list[Any]:
    """Last words that end a session."""
    return ["words", f"OVERLORD_EVENT {json.dumps({'type': 'PHASE_COMPLETE', 'summary': summary, **more})}"]
