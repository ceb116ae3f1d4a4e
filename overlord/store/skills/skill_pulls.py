"""Open pull requests that were looked at for skills: one row each, gone with it."""

import sqlite3
from collections.abc import Collection, Mapping
from datetime import datetime

from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.skills.pull_review import Vetting, told
from overlord.store import ledger
from overlord.store.rows import select, to_column

_KEPT = ("head_sha", "outcome", "base_branch", "beside", "files", "trouble", "is_marked", "noticed")


def of_space(connection: sqlite3.Connection, space: str) -> Mapping[int, Vetting]:
    """Those of a space, by the number of the pull request."""
    found = select(connection, Vetting, "SELECT * FROM vettings WHERE space = ?", space)
    return {item.number: item for item in found}


def about_skills(connection: sqlite3.Connection, space: str | None = None) -> list[Vetting]:
    """Those that change skills, of one space or of all; by space and number."""
    query = """SELECT * FROM vettings WHERE outcome != 'untouched' AND (? IS NULL OR space = ?)
               ORDER BY space, number"""
    return select(connection, Vetting, query, space, space)


def note(connection: sqlite3.Connection, vetting: Vetting, *, at: datetime) -> None:
    """What a head was found to be, and the fact of it where it is about skills."""
    columns = {name: getattr(vetting, name) for name in ("space", "number", *_KEPT)}
    query = f"""INSERT INTO vettings ({", ".join(columns)}) VALUES ({", ".join("?" * len(columns))})
        ON CONFLICT (space, number) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _KEPT)}"""  # noqa: S608
    connection.execute(query, [to_column(value) for value in columns.values()])
    if vetting.is_about_skills:
        data: dict[str, Json] = {
            "space": vetting.space,
            "pull": vetting.number,
            "head": vetting.head_sha,
            "outcome": vetting.outcome,
            "said": told(vetting),
        }
        ledger.append(connection, LedgerEvent(name=EventName.SKILLS_VETTED, at=at, data=data))


def tell(connection: sqlite3.Connection, vetting: Vetting, *, stamp: str, comment_id: int | None) -> None:
    """What stands at the forge now."""
    connection.execute(
        "UPDATE vettings SET told = ?, comment_id = ? WHERE space = ? AND number = ?",
        (stamp, comment_id, vetting.space, vetting.number),
    )


def forget(connection: sqlite3.Connection, space: str, numbers: Collection[int]) -> None:
    """These are not open any more."""
    connection.executemany(
        "DELETE FROM vettings WHERE space = ? AND number = ?", [(space, number) for number in numbers]
    )
