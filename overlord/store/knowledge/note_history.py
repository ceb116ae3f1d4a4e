"""What happened to a note, by the ledger."""

import sqlite3

from overlord.domain.event import EventName
from overlord.store.ledger import Entry

_OF_NOTES = (
    *(EventName.NOTE_DRAFTED, EventName.NOTE_ACCEPTED, EventName.NOTE_CHANGED, EventName.NOTE_REJECTED),
    *(EventName.NOTE_WITHDRAWN, EventName.NOTE_CONTRADICTED),
)


def about_note(connection: sqlite3.Connection, ref: str) -> list[Entry]:
    """Its events, oldest first."""
    marks = ", ".join("?" * len(_OF_NOTES))
    query = f"""SELECT ledger.* FROM ledger_about JOIN ledger ON ledger.seq = ledger_about.seq
                WHERE about = ? AND name IN ({marks}) ORDER BY ledger.seq"""  # noqa: S608 - marks
    return [Entry(**dict(row)) for row in connection.execute(query, (ref, *map(str, _OF_NOTES)))]
