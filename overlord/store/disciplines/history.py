"""The histories of callers' sessions: appended, never changed."""

import sqlite3

from overlord.domain.disciplines.history import HistoryEntry
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.errors import Refused
from overlord.store import ledger
from overlord.store.rows import insert, select

MOST_ENTRIES = 1_000
MOST_BYTES = 2_000_000
"""Of one session: what callers write is refused beyond them, and what calls came to is kept all the same."""


def append(connection: sqlite3.Connection, entry: HistoryEntry) -> HistoryEntry:
    """Keep an entry. What a caller wrote is a fact of its own; the result of a call is one already. Raises Refused for what a caller writes
    into a session that is full."""
    if entry.call_id is None:
        _check_room(connection, entry)
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


def _check_room(connection: sqlite3.Connection, entry: HistoryEntry) -> None:
    texts = ("skill", "final_status", "file_path", "message")
    size = " + ".join(f"length(CAST({name} AS BLOB))" for name in texts)
    query = (
        f"SELECT count(*), coalesce(sum({size}), 0) FROM session_entries WHERE space = ? AND session_key = ?"  # noqa: S608 - words of ours
    )
    number, taken = connection.execute(query, (entry.space, entry.session_key)).fetchone()
    new = sum(len(str(getattr(entry, name)).encode(errors="replace")) for name in texts)
    if number >= MOST_ENTRIES or taken + new > MOST_BYTES:
        raise Refused(
            f"the history of this session is full ({MOST_ENTRIES:,} entries, or {MOST_BYTES:,} bytes):"
            " write shorter entries, or begin another session_id"
        )


def read(
    connection: sqlite3.Connection, space: str, session_key: str, *, limit: int = 200
) -> list[HistoryEntry]:
    """The newest entries of a session, oldest first."""
    query = """SELECT * FROM (SELECT * FROM session_entries WHERE space = ? AND session_key = ?
               ORDER BY id DESC LIMIT ?) ORDER BY id"""
    return select(connection, HistoryEntry, query, space, session_key, limit)
