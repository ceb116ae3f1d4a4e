"""Live progress on a terminal: each new fact of the ledger, and what the Minions are doing, a line each."""

import json

from rich.text import Text

from overlord.app import Overlord
from overlord.domain.event import EventName
from overlord.domain.telling import tell
from overlord.entrypoints.cli.show import console
from overlord.store import ledger, sessions

_QUIET = {EventName.DAEMON_STARTED, EventName.SESSION_PREPARED, EventName.SESSION_ENDED}
_STYLES = {
    EventName.DELIVERED: "bold green",
    EventName.PASSED: "green",
    EventName.REVISION_ORDERED: "yellow",
    EventName.DECISION_RAISED: "bold yellow",
    EventName.STEP_FAILED: "red",
}


class Watch:
    """Remembers what it has told."""

    def __init__(self, running: Overlord) -> None:
        self._running = running
        self._told = 0
        self._doing: dict[str, tuple[int, str]] = {}

    async def tell_news(self) -> None:
        """Print what is new since the last call."""
        entries = await self._running.parts.database.read(lambda c: list(ledger.entries(c, after=self._told)))
        live = await self._running.parts.database.read(sessions.live)
        for session in live:
            doing = (session.turn, session.last_action)
            if session.turn and self._doing.get(session.id) != doing:
                self._doing[session.id] = doing
                self._line(session.job_id, f"  turn {session.turn}: {session.last_action}", "dim")
        for entry in entries:
            self._told = entry.seq
            name = EventName(entry.name)
            if name not in _QUIET:
                self._line(entry.job_id, tell(name, json.loads(entry.data)), _STYLES.get(name, ""))

    def _line(self, job: int | None, text: str, style: str) -> None:
        line = Text.assemble((f"job {job}  " if job else "", "dim"), (text, style))
        console.print(line, no_wrap=True, overflow="ellipsis")
