"""The disk runs low: nothing new is begun, what runs goes on, and people are told once; then the same of its end."""

import sqlite3
from datetime import datetime
from functools import partial

from overlord.domain.disk import FreeSpace
from overlord.domain.event import EventName, LedgerEvent
from overlord.engine.runtime.chat_output import ChatOutput
from overlord.engine.runtime.parts import Parts
from overlord.failpoints import Failpoint
from overlord.store import ledger
from overlord.store.chat import messages
from overlord.store.chat.messages import MessageKind
from overlord.store.spaces import shortages


async def look(parts: Parts, *, was_low: bool | None) -> bool:
    """Whether the disk is low now; what is new is written down. `was_low` is None for who does not know."""
    if was_low is None:
        was_low = await parts.database.read(shortages.now) is not None
    room = parts.home.room()
    missing = parts.settings.disk.least.missing(room, is_low=was_low)
    if bool(missing) != was_low:
        note = partial(
            _note_shortage, missing=missing, room=room, at=parts.clock.now(), chat_output=parts.chat_output
        )
        await parts.database.write(Failpoint.DISK_NOTED, note)
    return bool(missing)


def _note_shortage(
    connection: sqlite3.Connection,
    *,
    missing: str,
    room: FreeSpace,
    at: datetime,
    chat_output: ChatOutput | None,
) -> None:
    if missing:
        shortages.begin(connection, at=at, reason=missing)
        event = LedgerEvent(name=EventName.DISK_RAN_LOW, at=at, data={"reason": missing})
    else:
        shortages.end(connection)
        event = LedgerEvent(name=EventName.DISK_RECOVERED, at=at, data={"room": str(room)})
    ledger.append(connection, event)
    if chat_output is not None:
        messages.want(
            connection, MessageKind.NOTICE, ledger.last_number(connection), channel=chat_output.channel
        )
