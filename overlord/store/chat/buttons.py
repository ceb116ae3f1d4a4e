"""Buttons: what a press of each means, by a word that tells whoever presses nothing and cannot be guessed.

A button is bound to its message, and where it answers a decision to the digest of what was shown.
"""

import secrets
import sqlite3
from dataclasses import dataclass

from overlord.store.rows import insert, select


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownButton:
    """A row."""

    nonce: str
    message_id: int
    decision_id: int | None = None
    """What it answers; None for a job's own buttons."""
    verb: str
    """A decision's verb, or what to do with a job."""
    text: str = ""
    """What goes with the verb: an amount, one of the offered replies."""
    digest: str = ""


def make(
    connection: sqlite3.Connection,
    message_id: int,
    verb: str,
    *,
    decision_id: int | None = None,
    text: str = "",
    digest: str = "",
) -> str:
    """The value of a button; the same one as long as it means the same."""
    columns = {
        "message_id": message_id,
        "decision_id": decision_id,
        "verb": verb,
        "text": text,
        "digest": digest,
    }
    known = select(connection, KnownButton, "SELECT * FROM buttons WHERE message_id = ?", message_id)
    meant = (decision_id, verb, text, digest)
    for button in known:
        if (button.decision_id, button.verb, button.text, button.digest) == meant:
            return button.nonce
    nonce = secrets.token_urlsafe(16)
    insert(connection, "buttons", {"nonce": nonce, **columns})
    return nonce


def find(connection: sqlite3.Connection, nonce: str) -> KnownButton | None:
    """What a press means; None for what no button of ours ever carried."""
    return next(iter(select(connection, KnownButton, "SELECT * FROM buttons WHERE nonce = ?", nonce)), None)
