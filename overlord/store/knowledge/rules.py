"""Rules: made, used and revoked, each with its ledger event in the same transaction."""

import sqlite3
from datetime import datetime

from overlord.command_ref import CommandRef, hint
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.knowledge.rule import Rule
from overlord.errors import NotFound, Refused
from overlord.store import ledger
from overlord.store.rows import insert, select, update


def add(connection: sqlite3.Connection, rule: Rule) -> Rule:
    """Keep a new one."""
    columns = {name: getattr(rule, name) for name in rule.__dataclass_fields__ if name != "id"}
    made = get(connection, insert(connection, "rules", columns))
    data: dict[str, Json] = {"question": made.question[:300], "answer": made.answer[:300]}
    _append(connection, EventName.RULE_ADDED, made, data, actor=made.actor, at=made.created_at)
    return made


def get(connection: sqlite3.Connection, number: int) -> Rule:
    """Raises NotFound."""
    found = select(connection, Rule, "SELECT * FROM rules WHERE id = ?", number)
    if not found:
        raise NotFound(
            f"there is no rule r{number}", hint=hint(CommandRef("rules"), " shows those there are")
        )
    return found[0]


def every(connection: sqlite3.Connection) -> list[Rule]:
    """All of them, newest first: those that are over too."""
    return select(connection, Rule, "SELECT * FROM rules ORDER BY id DESC")


def counting_in(connection: sqlite3.Connection, space: str, *, at: datetime) -> list[Rule]:
    """Those that count in a repository now, the newest first; its own before those of all."""
    query = "SELECT * FROM rules WHERE revoked_at IS NULL AND space IN ('', ?) ORDER BY space = '', id DESC"
    return [rule for rule in select(connection, Rule, query, space) if rule.counts(at)]


def revoke(connection: sqlite3.Connection, number: int, *, actor: str, at: datetime) -> Rule:
    """It answers nothing any more. Raises NotFound, Refused where it was revoked before."""
    rule = get(connection, number)
    if rule.revoked_at is not None:
        raise Refused(f"rule {rule.ref} was revoked before, by {rule.revoked_by}")
    update(connection, "rules", number, {"revoked_at": at, "revoked_by": actor})
    _append(connection, EventName.RULE_REVOKED, rule, {}, actor=actor, at=at)
    return get(connection, number)


def used(connection: sqlite3.Connection, number: int, *, at: datetime) -> None:
    """It has answered a question."""
    rule = get(connection, number)
    update(connection, "rules", number, {"used": rule.used + 1, "used_at": at})


def _append(
    connection: sqlite3.Connection,
    name: EventName,
    rule: Rule,
    data: dict[str, Json],
    *,
    actor: str,
    at: datetime,
) -> None:
    whole: dict[str, Json] = {"rule": rule.ref, "space": rule.space, **data}
    ledger.append(connection, LedgerEvent(name=name, at=at, actor=actor, data=whole))
