"""Open pull requests that were looked at for skills: one row each, gone with it."""

import sqlite3
from collections.abc import Collection, Mapping
from datetime import datetime

from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.skills.pull_review import SkillPullReview, sentence
from overlord.store import ledger
from overlord.store.rows import select, to_column

_KEPT = ("head_sha", "outcome", "base_branch", "beside", "files", "trouble", "is_marked", "noticed")


def of_space(connection: sqlite3.Connection, space: str) -> Mapping[int, SkillPullReview]:
    """Those of a space, by the number of the pull request."""
    found = select(connection, SkillPullReview, "SELECT * FROM vettings WHERE space = ?", space)
    return {item.number: item for item in found}


def about_skills(connection: sqlite3.Connection, space: str | None = None) -> list[SkillPullReview]:
    """Those that change skills, of one space or of all; by space and number."""
    query = """SELECT * FROM vettings WHERE outcome != 'untouched' AND (? IS NULL OR space = ?)
               ORDER BY space, number"""
    return select(connection, SkillPullReview, query, space, space)


def note(connection: sqlite3.Connection, pull_review: SkillPullReview, *, at: datetime) -> None:
    """What a head was found to be, and the fact of it where it is about skills."""
    columns = {name: getattr(pull_review, name) for name in ("space", "number", *_KEPT)}
    query = f"""INSERT INTO vettings ({", ".join(columns)}) VALUES ({", ".join("?" * len(columns))})
        ON CONFLICT (space, number) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _KEPT)}"""  # noqa: S608
    connection.execute(query, [to_column(value) for value in columns.values()])
    if pull_review.is_about_skills:
        data: dict[str, Json] = {
            "space": pull_review.space,
            "pull": pull_review.number,
            "head": pull_review.head_sha,
            "outcome": pull_review.outcome,
            "said": sentence(pull_review),
        }
        ledger.append(connection, LedgerEvent(name=EventName.SKILLS_REVIEWED, at=at, data=data))


def note_published(
    connection: sqlite3.Connection, pull_review: SkillPullReview, *, stamp: str, comment_id: int | None
) -> None:
    """What stands at the forge now."""
    connection.execute(
        "UPDATE vettings SET told = ?, comment_id = ? WHERE space = ? AND number = ?",
        (stamp, comment_id, pull_review.space, pull_review.number),
    )


def forget(connection: sqlite3.Connection, space: str, numbers: Collection[int]) -> None:
    """These are not open any more."""
    connection.executemany(
        "DELETE FROM vettings WHERE space = ? AND number = ?", [(space, number) for number in numbers]
    )
