"""The log for people at a terminal: one plain line for each thing that happened, in words, as `overlord demo` shows them.

Facts of the ledger are told as everywhere else (`domain/telling`). What the program logs of itself has a sentence here where it is
seen often; anything else is its name and what it says, so that nothing is ever left out but what the demo leaves out too.
"""

import shutil
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from structlog import DropEvent
from structlog.typing import EventDict

from overlord.domain.text.plain import visible
from overlord.entrypoints.invocation import as_pasted
from overlord.entrypoints.terminal.watch_style import QUIET, colour_of

SENTENCE = "sentence"
"""The key under which a fact of the ledger brings its sentence; programs that read JSON do not get it."""
_ABOUT = frozenset(
    {"event", "level", "timestamp", "seq", "job_id", "session_id", "space", "by", "data", "logger"}
)
"""What is no detail of its own in a line for people."""
_LEVELS = {"warning": ("warning: ", "35"), "error": ("error: ", "31"), "critical": ("error: ", "31")}
_TIME, _DIM = "%H:%M:%SZ", "2"


class PlainLines:
    """The last step of structlog's chain. `is_terminal`: facts are cut to its width."""

    def __init__(self, *, is_terminal: bool, has_colours: bool) -> None:
        self._is_terminal = is_terminal
        self._has_colours = has_colours

    def __call__(self, _logger: Any, _method: str, event: EventDict) -> str:
        """Raises DropEvent for a fact that says nothing to people."""
        name, level = str(event["event"]), str(event.get("level", ""))
        is_fact = SENTENCE in event
        if is_fact and name in QUIET:
            raise DropEvent
        word, colour = _LEVELS.get(level, ("", colour_of(name) if is_fact else ""))
        job = f"job {event['job_id']}  " if event.get("job_id") else ""
        sentence = " ".join(as_pasted(visible(_event_sentence(event))).split())
        begun = f"{time.strftime(_TIME, time.gmtime())}  {job}"
        if self._is_terminal and is_fact and not word:
            sentence = _cut(sentence, shutil.get_terminal_size().columns - cell_len(begun))
        trace = f"\n{visible(str(event['exception']))}" if event.get("exception") else ""
        return f"{self._painted(begun, _DIM)}{self._painted(word + sentence, colour)}{trace}"

    def _painted(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._has_colours and colour else text


def is_terminal() -> bool:
    """Whether somebody reads the log as it is written."""
    return sys.stderr.isatty()


def plain_lines() -> PlainLines:
    """Lines for stderr as it is; `NO_COLOR` and `FORCE_COLOR` are heeded (https://no-color.org)."""
    stderr = Console(stderr=True)
    return PlainLines(is_terminal=is_terminal(), has_colours=stderr.is_terminal and not stderr.no_color)


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else f"{set_cell_size(text, max(width - 1, 1)).rstrip()}…"


def _event_sentence(event: Mapping[str, Any]) -> str:
    if SENTENCE in event:
        return str(event[SENTENCE])
    name = str(event["event"])
    known = _SENTENCES.get(name)
    if known is not None:
        try:
            return known(event)
        except (KeyError, TypeError):
            pass  # logged by another place in another shape: as it is
    details = [f"{key.replace('_', ' ')} {_value(event[key])}" for key in event if _is_detail(key)]
    where = f"{event['space']}: " if event.get("space") and "job_id" not in event else ""
    text = f"{where}{name.replace('_', ' ') if name.isidentifier() else name}"
    return f"{text}: {', '.join(details)}" if details else text


def _is_detail(key: str) -> bool:
    return key not in _ABOUT and key not in {"exception", "exc_info", "stack_info"}


def _value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "talk_here": lambda e: f"Talk with Overlord at {e['page']} (it stands in for Slack)",
    "no_page": lambda e: f"there is no chat page at {e['address']}: {e['reason']}",
    "page_here": lambda e: (
        f"The page: {e['page']} (`overlord open` signs in)"
        + (f", for others {e['others']}" if "others" in e else "")
    ),
    "page_elsewhere": lambda e: f"{e['reason']}; the page is on another port",
    "page_missing": lambda e: f"there is no page at {e['address']}: {e['reason']}",
    "page_refused": lambda e: f"{e['actor']} may not {e['verb']}: {e['reason']}",
    "mcp_refused": lambda e: f"over MCP {e['actor']} may not {e['verb']}: {e['reason']}",
    "mcp_sessions_ended": lambda e: f"the MCP sessions of a token ended: {e['trouble']}",
    "mcp_unread": lambda e: f"a call over MCP was not answered: {e['trouble']}",
    "page_unread": lambda e: f"the page {e['path']} could not be read: {e['trouble']}",
    "page_not_told": lambda e: f"open pages could not be told what is new: {e['trouble']}",
    "github_sign_in_failed": lambda e: f"somebody could not sign in with GitHub: {e['trouble']}",
    "account_not_asked": lambda e: f"what {e['account']} may do on the page is not known: {e['trouble']}",
    "sign_in_refused": lambda e: f"somebody at {e['address']} could not sign in to the page",
    "no_chat": lambda e: f"There is no chat: {e['reason']}. {e['how']}",
    "serving": lambda e: (
        f"Watching {_value(e['repositories']) or 'no repository yet'} with the {e['runner']} runner; state in {e['home']}. "
        "Ctrl-C stops."
    ),
    "stopping": lambda e: (
        f"Stopping: what is in flight has {e['within_s']:g} s to end; sessions go on. Ctrl-C again ends at once."
    ),
    "stopped": lambda _: "Stopped. Nothing is lost: the next start goes on from here.",
    "cut_short": lambda e: f"ended at once: {e['why']}; the next start goes on from here",
    "listening": lambda e: f"Listening at {e['address']}{' for webhooks too' if e['webhooks'] else ''}",
    "talking": lambda e: f"Speaking in the channel {e['channel']}",
    "hinted": lambda e: f"GitHub says that there is something new in {e['space']}",
    "repository_not_reached": lambda e: f"{e['space']} cannot be reached: {e['trouble']}{_again(e)}",
    "repository_read_in_part": lambda e: f"{e['space']} can be read only in part: {e['trouble']}{_again(e)}",
    "repository_reached_again": lambda e: f"{e['space']} can be reached again",
    "step_put_off": lambda e: f"a step failed and is tried again: {e['trouble']}",
    "forge_lacks_feature": lambda e: f"{e['forge']} has no {e['feature']}: work goes on without them",
    "forge_does_not_answer": lambda e: f"GitHub does not answer: {e['trouble']}",
    "settings_changed": lambda e: (
        f"Settings changed: {_value(e['what'])}"
        + (f"; these count after a restart: {_value(e['needs_restart'])}" if e["needs_restart"] else "")
    ),
    "settings_refused": lambda e: f"the settings do not load, the last good ones stay: {e['problem']}",
    "model_without_price": lambda e: (
        f"No price is known for {_value(e['models'])}: budgets count its tokens alone"
    ),
    "mcp_called": lambda e: (
        f"its session used {e['tool']} of the MCP server {e['server']} ({e['duration_s']:.1f} s)"
    ),
    "mcp_server_failed": lambda e: f"its session got no answer to {e['method']}: {e['trouble']}",
    "cycle_left_work": lambda e: f"the portfolio's cycle ended, and left work: {' '.join(e['reasons'])}",
    "hook_failed": lambda e: f"the program {e['program']}, called for {e['hook']}, failed: {e['why']}",
    "no_containers": lambda e: f"No container engine answers: sessions run as processes ({e['reason']})",
    "disk": lambda e: f"the disk: {e['trouble']}",
    "disk_low": lambda _: "the disk runs low: nothing new is begun",
    "disk_has_room": lambda _: "the disk has room again: new work is begun",
}
"""What the program says of itself, by the event's name."""


def _again(event: Mapping[str, Any]) -> str:
    seconds = event.get("again_in_s")
    return f"; asked again in {seconds:.0f} s" if isinstance(seconds, int | float) else ""
