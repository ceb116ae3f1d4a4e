"""How a run is shown while it goes on: a status line under the news on a terminal, plain lines into a pipe, JSON lines for programs."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from overlord.domain.budgets.budget import usd_text
from overlord.domain.text.json_text import json_text
from overlord.domain.text.plain import visible
from overlord.entrypoints.terminal.show import console, show_line, show_text
from overlord.entrypoints.terminal.watch import News

REFRESH_HZ = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """Where a run stands now. `cost_nusd` is None for a model without a price."""

    phase: str
    turn: int = 0
    action: str = ""
    trouble: str = ""
    """What keeps it from going on just now; it stands in front of everything else."""
    tokens: int = 0
    cost_nusd: int | None = None

    @property
    def spent(self) -> str:
        return f"{self.tokens:,} tokens" if self.cost_nusd is None else usd_text(self.cost_nusd)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One line of a live session's transcript: words of its model, or a call of a tool. Untrusted."""

    session: str
    text: str


class Screen(Protocol):
    """Where a run is shown."""

    def show_news(self, news: News) -> None: ...
    def show(self, status: RunStatus) -> None: ...
    def show_spoken(self, spoken: Spoken) -> None: ...
    def write(self, text: str) -> None:
        """A sentence for the user."""
        ...

    def end(self, result: dict[str, Any]) -> None:
        """What came of it, for programs."""
        ...

    def live(self) -> AbstractContextManager[None]:
        """Show the status while the block runs."""
        ...

    def hidden(self) -> AbstractContextManager[None]:
        """Take the status away while somebody types."""
        ...


class Lines:
    """Plain lines: everything that happens, once."""

    def show_news(self, news: News) -> None:
        console.print(news.line(), soft_wrap=True)

    def show(self, status: RunStatus) -> None:
        """A pipe has no status line."""

    def show_spoken(self, spoken: Spoken) -> None:
        show_line(_spoken(spoken))

    def write(self, text: str) -> None:
        show_text(text)

    def end(self, result: dict[str, Any]) -> None:
        """People have read it."""

    def live(self) -> AbstractContextManager[None]:
        return nullcontext()

    def hidden(self) -> AbstractContextManager[None]:
        return nullcontext()


class Terminal(Lines):
    """News above, and one line below that is always now."""

    def __init__(self) -> None:
        self._live: Live | None = None
        self._status = _Status()

    def show_news(self, news: News) -> None:
        if news.job is None:  # of everything, not only of this run: all of it is to be read
            console.print(news.line())
        elif not news.is_progress:  # the status line has it
            console.print(news.line(), no_wrap=True, overflow="ellipsis")

    def show(self, status: RunStatus) -> None:
        self._status.standing = status

    def show_spoken(self, spoken: Spoken) -> None:
        console.print(_spoken(spoken), no_wrap=True, overflow="ellipsis")

    @contextmanager
    def live(self) -> Iterator[None]:
        with Live(self._status, console=console, refresh_per_second=REFRESH_HZ, transient=True) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    @contextmanager
    def hidden(self) -> Iterator[None]:
        live = self._live
        if live is not None:
            live.stop()
        try:
            yield
        finally:
            if live is not None:
                live.start()


class _Status:
    """Drawn again and again, so that the time moves."""

    def __init__(self) -> None:
        self.standing = RunStatus(phase="starting")
        self._began = time.monotonic()
        self._spinner = Spinner("dots")

    def __rich__(self) -> Table:
        now = self.standing
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        parts = [
            now.trouble or now.phase,
            f"turn {now.turn}" if now.turn else "",
            f"{minutes}:{seconds:02}",
            now.spent,
            now.action,
        ]
        text = " · ".join(" ".join(visible(part).split()) for part in parts if part)
        drawn = Table.grid(padding=(0, 1))
        drawn.add_row(self._spinner, Text(text, style="cyan", no_wrap=True, overflow="ellipsis"))
        return drawn


class JsonLines:
    """One JSON object a line."""

    def __init__(self) -> None:
        self._last: RunStatus | None = None

    def show_news(self, news: News) -> None:
        data = {"event": news.name, "at": news.at, "job": news.job, "text": news.text.strip()}
        if not news.is_progress:
            self._print(data)

    def show(self, status: RunStatus) -> None:
        if status != self._last:
            self._last = status
            self._print({"event": "progress", **asdict(status)})

    def show_spoken(self, spoken: Spoken) -> None:
        self._print({"event": "transcript", "session": spoken.session, "text": spoken.text})

    def write(self, text: str) -> None:
        self._print({"event": "note", "text": text})

    def end(self, result: dict[str, Any]) -> None:
        self._print({"event": "result", **result})

    def live(self) -> AbstractContextManager[None]:
        return nullcontext()

    def hidden(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _print(self, value: dict[str, Any]) -> None:
        print(json_text(value), flush=True)


def _spoken(spoken: Spoken) -> Text:
    return Text(f"  {' '.join(visible(spoken.text).split())}", "dim")


def choose(*, json: bool) -> Screen:
    if json:
        return JsonLines()
    return Terminal() if console.is_terminal else Lines()
