"""The skills of each repository, as they stand at its base. A name keeps its origin, whatever becomes of the file."""

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from overlord.domain.skills.record import Origin, SkillAtBase, SkillRecord, SkillState
from overlord.store.rows import select, to_column

_SEEN = "first_seen_at IS NOT NULL"


def note_base(
    connection: sqlite3.Connection, space: str, found: Iterable[SkillAtBase], *, at: datetime
) -> None:
    """What a repository's base has now, in the transaction of the session that begins there. Whatever else is known is gone."""
    names = []
    for skill in found:
        names.append(skill.name)
        _put_record(connection, space, skill, at)
    marks = ", ".join("?" * len(names))
    connection.execute(
        f"UPDATE skills SET state = ? WHERE space = ? AND name NOT IN ({marks})",  # noqa: S608
        (SkillState.GONE, space, *names),
    )


def _put_record(connection: sqlite3.Connection, space: str, skill: SkillAtBase, at: datetime) -> None:
    columns = {
        "space": space,
        "name": skill.name,
        "state": SkillState.PRESENT,
        "version": skill.version,
        "digest": skill.digest,
        "path": skill.path,
        "description": skill.description,
        "first_seen_at": at,
        "changed_at": at,
        "last_seen_at": at,
    }
    query = f"""INSERT INTO skills ({", ".join(columns)}) VALUES ({", ".join("?" * len(columns))})
        ON CONFLICT (space, name) DO UPDATE SET
            changed_at = CASE WHEN digest = excluded.digest THEN changed_at ELSE excluded.changed_at END,
            state = excluded.state, version = excluded.version, digest = excluded.digest, path = excluded.path,
            description = excluded.description, last_seen_at = excluded.last_seen_at,
            first_seen_at = coalesce(first_seen_at, excluded.first_seen_at)"""  # noqa: S608 - constants
    connection.execute(query, [to_column(value) for value in columns.values()])


def set_origin(connection: sqlite3.Connection, space: str, name: str, origin: Origin) -> None:
    """Who wrote a skill; it may be said before the file is seen at base."""
    connection.execute(
        """INSERT INTO skills (space, name, origin) VALUES (?, ?, ?)
           ON CONFLICT (space, name) DO UPDATE SET origin = excluded.origin""",
        (space, name, Origin(origin)),
    )


def find(connection: sqlite3.Connection, space: str, name: str) -> SkillRecord | None:
    """A skill that was seen at base, now or once."""
    query = f"SELECT * FROM skills WHERE space = ? AND name = ? AND {_SEEN}"  # noqa: S608
    return next(iter(select(connection, SkillRecord, query, space, name)), None)


def spaces_with(connection: sqlite3.Connection, name: str) -> list[str]:
    """The repositories whose base has a skill of this name."""
    query = f"SELECT space FROM skills WHERE name = ? AND state = ? AND {_SEEN} ORDER BY space"  # noqa: S608
    return [row["space"] for row in connection.execute(query, (name, SkillState.PRESENT.value))]


def all_of(connection: sqlite3.Connection, space: str | None = None) -> list[SkillRecord]:
    """Every skill that was seen at base, of one space or of all; by space and name."""
    query = f"SELECT * FROM skills WHERE {_SEEN} AND (? IS NULL OR space = ?) ORDER BY space, name"  # noqa: S608
    return select(connection, SkillRecord, query, space, space)
