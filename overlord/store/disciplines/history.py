"""The histories of callers' sessions: appended, never changed."""

import sqlite3

from overlord.domain.disciplines.history import HistoryEntry
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.store import ledger
from overlord.store.rows import insert, select


def append(connection: sqlite3.Connection, entry: HistoryEntry) -> HistoryEntry:
    """Keep an entry. What a caller wrote is a fact of its own; the result of a call is one already."""
    columns = {name: getattr(entry, name) for name in entry.__dataclass_fields__ if name != "id"}
    number = insert(connection, "session_entries", columns)
    if entry.call_id is None:
        data: dict[str, Json] = {
            "space": entry.space,
            "session": entry.session_key,
            "phase": entry.phase,
            "status": entry.final_status,
        }
        event = LedgerEvent(name=EventName.HISTORY_APPENDED, at=entry.at, actor=entry.actor, data=data)
        ledger.append(connection, event)
    [made] = select(connection, HistoryEntry, "SELECT * FROM session_entries WHERE id = ?", number)
    return made


def read(
    connection: sqlite3.Connection, space: str, session_key: str, *, limit: int = 200
) -> list[HistoryEntry]:
    """The newest entries of a session, oldest first."""
    query = """SELECT * FROM (SELECT * FROM session_entries WHERE space = ? AND session_key = ?
               ORDER BY id DESC LIMIT ?) ORDER BY id"""
    return select(connection, HistoryEntry, query, space, session_key, limit)
