"""Models that give no replies, one row for each. Its begin and its end are facts of the ledger, and are told in the chat once."""

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.identifiers import ChannelId
from overlord.domain.model_fault import ModelOutage, minutes_text
from overlord.store import ledger
from overlord.store.chat import messages
from overlord.store.chat.messages import MessageKind
from overlord.store.rows import select, to_column


def every(connection: sqlite3.Connection) -> list[ModelOutage]:
    """All of them, the longest first."""
    return select(connection, ModelOutage, "SELECT * FROM model_outages ORDER BY since, model")


def of(connection: sqlite3.Connection, model: str) -> ModelOutage | None:
    """That of one model, by the name its endpoint knows it by."""
    query = "SELECT * FROM model_outages WHERE model = ?"
    return next(iter(select(connection, ModelOutage, query, model)), None)


def of_session(connection: sqlite3.Connection, session_id: str) -> ModelOutage | None:
    """That of the model which a session asked last."""
    query = """SELECT model_outages.* FROM model_outages JOIN exchanges ON exchanges.model = model_outages.model
               WHERE exchanges.id = (SELECT max(id) FROM exchanges WHERE session_id = ?)"""
    return next(iter(select(connection, ModelOutage, query, session_id)), None)


def put(connection: sqlite3.Connection, outage: ModelOutage, *, at: datetime, channel: str = "") -> None:
    """Remember how it is with a model now. It is a fact when it begins, or when no waiting helps any more."""
    before = of(connection, outage.model)
    if before is not None:
        outage = replace(outage, since=min(before.since, outage.since), until=_later(before, outage))
    names = tuple(ModelOutage.__dataclass_fields__)
    values = [to_column(getattr(outage, name)) for name in names]
    statement = f"INSERT OR REPLACE INTO model_outages ({', '.join(names)}) VALUES (?, ?, ?, ?, ?)"  # noqa: S608
    connection.execute(statement, values)
    if before is None or (before.fault.passes and not outage.fault.passes):
        data: dict[str, Json] = {
            "model": outage.model,
            "fault": outage.kind,
            "said": outage.fault.describe(outage.model),
            "advice": outage.fault.advice,
            "tried_for": _tried_for(outage, at),
        }
        _append_outage_event(connection, EventName.MODEL_FAILED, data, at=at, channel=channel)


def _later(before: ModelOutage, now: ModelOutage) -> datetime | None:
    """Sessions wait each for themselves; what is said is when the last of them gives up."""
    if not now.fault.passes or before.until is None or now.until is None:
        return now.until
    return max(before.until, now.until)


def _tried_for(outage: ModelOutage, at: datetime) -> str:
    return minutes_text((outage.until - at).total_seconds()) if outage.until is not None else ""


def end(connection: sqlite3.Connection, model: str, *, at: datetime, channel: str = "") -> bool:
    """A model answers again; whether it did not before."""
    outage = of(connection, model)
    if outage is None:
        return False
    forget(connection, model)
    lasted = minutes_text((at - outage.since).total_seconds())
    _append_outage_event(
        connection, EventName.MODEL_RECOVERED, {"model": model, "lasted": lasted}, at=at, channel=channel
    )
    return True


def forget(connection: sqlite3.Connection, model: str) -> None:
    """Nobody works with this model any more."""
    connection.execute("DELETE FROM model_outages WHERE model = ?", (model,))


def _append_outage_event(
    connection: sqlite3.Connection, name: EventName, data: Mapping[str, Json], *, at: datetime, channel: str
) -> None:
    ledger.append(connection, LedgerEvent(name=name, at=at, data=data))
    if channel:
        number = ledger.last_number(connection)
        messages.want(connection, MessageKind.NOTICE, number, channel=ChannelId(channel))
