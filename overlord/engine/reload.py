"""The settings, taken anew between two passes: when their file says something else, and when a command put a repository into
Overlord's care or took one out.

A file that does not load changes nothing, and is told of once. One that was changed a moment ago may still be being written: it is
read when it has rested from one look to the next, or at once when somebody asks (SIGHUP).
"""

import sqlite3
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import structlog
from pydantic import BaseModel

from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.engine.runtime.chat_output import ChatOutput
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import ContractError, SettingsError
from overlord.failpoints import Failpoint
from overlord.settings.load import Settings, file_read, reloaded, with_added, with_earlier
from overlord.store import ledger
from overlord.store.chat import messages
from overlord.store.chat.messages import MessageKind
from overlord.store.spaces import managed, settings_notes
from overlord.store.spaces.settings_notes import SettingsNote

log = structlog.get_logger()

LOOK_S = 3.0
FIXED = (
    *(
        "runner",
        "forge",
        "listen",
        "session_listener",
        "page",
        "docker",
        "process",
        "endpoints",
        "log",
        "tracing",
    ),
    *("model.base_url", "model.api_key", "model.timeout_s"),
    *("slack.api_url", "slack.bot_token", "slack.app_token", "slack.signing_secret", "slack.channel"),
    *("slack.timeout_s", "slack.page", "environments.network", "environments.memory_mb"),
)
"""What the parts of a running Overlord were built with: it counts after a restart."""
_Stamp = tuple[int, int, int] | None


class Renewal:
    """`base` are the settings as they were loaded; what people added by command goes over them."""

    def __init__(self, parts: Parts, base: Settings) -> None:
        self._parts = parts
        self._began = self._base = base
        self._word = -1
        self._looked_at = -LOOK_S
        self._path = file_read(base)
        self._stamp = self._rested = _stamp_of(self._path)
        self._digest = _digest_of(self._path)
        self._is_asked = self._has_failed = False
        self.note: SettingsNote | None = None
        self.before_taken: Callable[[Settings], None] | None = None
        """Is told of the settings that are about to be gone by, as whoever keeps their secrets out of the log wants to be."""

    def ask(self) -> None:
        """Read the file anew in the next pass, whatever it looks like."""
        self._is_asked = True

    async def look(self) -> Progress:
        """Take what is new; whether there was anything."""
        word = await self._parts.database.read(managed.last)
        is_read = self._is_asked or self._is_due() or (self._has_failed and word != self._word)
        self._is_asked = False
        if word == self._word and not is_read:
            return Progress.IDLE
        added = await self._parts.database.read(managed.added)
        try:
            base, restart = (await self._read()) if is_read else (self._base, self._restart())
            new = with_added(base, added)
            before = self._parts.settings
            if self.before_taken is not None:
                self.before_taken(new)
            self._parts.current.take(new)
        except (SettingsError, ContractError) as error:
            self._word, self._has_failed = word, is_read
            await self._refuse(str(error))
            return Progress.MOVED
        self._base, self._word, self._has_failed = base, word, False
        await self._accept(before, new, restart)
        return Progress.MOVED

    def _is_due(self) -> bool:
        """Whether the file says something else than it did, and is not being written."""
        now = self._parts.clock.monotonic()
        if now - self._looked_at < LOOK_S:
            return False
        self._looked_at = now
        before, self._rested = self._rested, _stamp_of(self._path)
        if self._rested != before or self._rested == self._stamp:
            return False
        self._stamp = self._rested
        digest, known = _digest_of(self._path), self._digest
        return digest != known

    async def _read(self) -> tuple[Settings, tuple[str, ...]]:
        """The settings as they are by now, but for what counts after a restart; and what that is."""
        self._stamp, self._digest = _stamp_of(self._path), _digest_of(self._path)
        loaded = reloaded(self._base)
        restart = tuple(_differing(self._began, loaded, FIXED))
        fixed = {
            tuple(key.split("."))
            for key in FIXED
            if any(f"{name}.".startswith(f"{key}.") for name in restart)
        }
        try:
            return with_earlier(loaded, self._began, sorted(fixed)), restart
        except SettingsError as error:
            waits = ", ".join(restart)
            raise SettingsError(f"{error}; start Overlord again: {waits} cannot change under it") from None

    def _restart(self) -> tuple[str, ...]:
        return self.note.restart if self.note is not None else ()

    async def _accept(self, before: Settings, new: Settings, restart: tuple[str, ...]) -> None:
        what = tuple(_differing(before, new, tuple(Settings.model_fields)))
        note = SettingsNote(trouble="", restart=restart, at=self._parts.clock.now()) if restart else None
        if not what and _note_lines(note) == _note_lines(self.note):
            return
        self.note = note
        log.info("settings_changed", what=list(what), needs_restart=list(restart))
        data: dict[str, Json] = {"what": list(what), "restart": list(restart)}
        await self._write(EventName.SETTINGS_CHANGED, data, is_announced=False)

    async def _refuse(self, problem: str) -> None:
        at, restart = self._parts.clock.now(), self._restart()
        if self.note is not None and self.note.trouble == problem:
            return
        self.note = SettingsNote(trouble=problem, restart=restart, at=at)
        log.error("settings_refused", problem=problem, kept="the last good ones")
        await self._write(EventName.SETTINGS_REFUSED, {"problem": problem}, is_announced=True)

    async def _write(self, name: EventName, data: Mapping[str, Json], *, is_announced: bool) -> None:
        event = LedgerEvent(name=name, at=self._parts.clock.now(), data=data)
        act = partial(
            _note_settings,
            note=self.note,
            event=event,
            chat_output=self._parts.chat_output if is_announced else None,
        )
        await self._parts.database.write(Failpoint.SETTINGS_TAKEN, act)


def _note_settings(
    connection: sqlite3.Connection,
    *,
    note: SettingsNote | None,
    event: LedgerEvent,
    chat_output: ChatOutput | None,
) -> None:
    """`speech`: the chat, where it is told there."""
    settings_notes.put(connection, note)
    ledger.append(connection, event)
    if chat_output is not None:
        messages.want(
            connection, MessageKind.NOTICE, ledger.last_number(connection), channel=chat_output.channel
        )


def _note_lines(note: SettingsNote | None) -> tuple[str, ...]:
    return note.lines if note is not None else ()


def _differing(one: Settings, other: Settings, keys: tuple[str, ...]) -> list[str]:
    """Those of the keys under which two settings say something else, down to the single value."""
    return [name for key in keys for name in _differences(key, _value(one, key), _value(other, key))]


def _differences(key: str, one: Any, other: Any) -> list[str]:
    if one == other:
        return []
    if isinstance(one, BaseModel) and type(one) is type(other):
        names = type(one).model_fields
        return [
            name
            for field in names
            for name in _differences(f"{key}.{field}", getattr(one, field), getattr(other, field))
        ]
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        both = sorted({*one, *other}, key=str)
        return [f"{key}.{name}" for name in both if one.get(name) != other.get(name)]
    return [key]


def _value(settings: Settings, key: str) -> Any:
    found: Any = settings
    for name in key.split("."):
        found = getattr(found, name)
    return found


def _stamp_of(path: Path) -> _Stamp:
    """What tells that a file was written to; None while it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _digest_of(path: Path) -> str:
    """What tells one content from another; empty when it cannot be read."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
