"""What is new: each fact of the ledger, and what the Minions are doing, in the order they came."""

import json
import sqlite3
from dataclasses import dataclass

from rich.text import Text

from minion.protocol import SessionKind
from overlord.app import Overlord
from overlord.domain.event import EventName
from overlord.domain.event_description import describe_event
from overlord.entrypoints.invocation import as_pasted
from overlord.entrypoints.terminal.show import console
from overlord.entrypoints.terminal.watch_style import QUIET, STYLES
from overlord.store import ledger, sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """One thing to tell. `name` is the ledger's, or `progress` for what a Minion does; `at` is empty for that."""

    name: str
    job: int | None
    text: str
    at: str = ""
    turn: int = 0

    @property
    def is_progress(self) -> bool:
        return self.name == PROGRESS

    def line(self) -> Text:
        """For a terminal: safe, and in the colour of its meaning."""
        style = "dim" if self.is_progress else STYLES.get(EventName(self.name), "")
        return Text.assemble((f"job {self.job}  " if self.job else "", "dim"), (as_pasted(self.text), style))


PROGRESS = "progress"


class LedgerTail:
    """Remembers what it has told. `after` is the ledger's last event that is known already; `is_local`: see `tell`."""

    def __init__(self, *, after: int = 0, is_local: bool = False) -> None:
        self._is_local = is_local
        self._told = after
        self._doing: dict[str, tuple[int, str]] = {}

    def news(self, connection: sqlite3.Connection) -> list[News]:
        """Everything that is new since the last call."""
        found = []
        for session in sessions.live(connection):
            doing = (session.turn, session.last_action)
            if session.turn and self._doing.get(session.id) != doing:
                self._doing[session.id] = doing
                step = "setup" if session.kind is SessionKind.SETUP else "turn"
                text = f"  {step} {session.turn}: {session.last_action}"
                found.append(News(name=PROGRESS, job=session.job_id, text=text, turn=session.turn))
        for entry in ledger.entries(connection, after=self._told):
            self._told = entry.seq
            if EventName(entry.name) not in QUIET:
                text = describe_event(entry.name, json.loads(entry.data), is_local=self._is_local)
                if text:
                    found.append(News(name=entry.name, job=entry.job_id, text=text, at=entry.at))
        return found


class Watch:
    """The news of an Overlord that runs in this process."""

    def __init__(self, running: Overlord, *, after: int = 0, is_local: bool = False) -> None:
        self._running = running
        self._tail = LedgerTail(after=after, is_local=is_local)

    async def news(self) -> list[News]:
        """Everything that is new since the last call."""
        return await self._running.parts.database.read(self._tail.news)

    async def show_news(self) -> None:
        """Print what is new since the last call."""
        for news in await self.news():
            console.print(news.line(), no_wrap=True, overflow="ellipsis")
