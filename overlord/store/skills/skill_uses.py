"""Which session was offered which skill, which it loaded, and how the jobs went that did."""

import sqlite3
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from minion.protocol import ScopeMode, SessionKind
from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.domain.session import Session
from overlord.domain.skills.record import SkillRecord, SkillStatistics, text_digest
from overlord.store import jobs
from overlord.store.rows import insert, select

if TYPE_CHECKING:
    from overlord.domain.skills.file import Skill

_WELL = """jobs.state = ? AND NOT EXISTS (
    SELECT 1 FROM decisions WHERE decisions.job_id = jobs.id AND decisions.kind != 'approval')"""
"""It was merged, and stood still for nobody on the way; a gate that its contract has is no trouble."""
_WRITES_SKILL = f'instr(sessions.scope, \'"mode": "{ScopeMode.SKILL}"\')'
"""Its one file is a skill, which a person approved: how that went says nothing of work that could have loaded one."""
_LOADED = "SELECT job_id FROM skill_uses WHERE space = ? AND name = ? AND loaded_at IS NOT NULL"


def offer(connection: sqlite3.Connection, space: str, session: Session, skills: "Iterable[Skill]") -> None:
    """What a session may load, in the transaction that prepares it: nothing else of it counts as loaded."""
    for skill in skills:
        values = {
            "space": space,
            "name": skill.name,
            "version": skill.version,
            "digest": text_digest(skill),
            "session_id": session.id,
            "job_id": session.job_id,
            "offered_at": session.prepared_at,
        }
        insert(connection, "skill_uses", values)


def load(connection: sqlite3.Connection, session: str, names: Iterable[str], *, at: datetime) -> None:
    """The model of a session asked for these skills; what it was not offered, or has loaded, is not counted."""
    query = """UPDATE skill_uses SET loaded_at = ? WHERE session_id = ? AND name = ? AND loaded_at IS NULL
        RETURNING job_id, version"""
    for name in names:
        for row in connection.execute(query, (at.isoformat(), session, name)).fetchall():
            skill = f"{name} {row['version']}"
            data = {"session": session, "skill": skill}
            jobs.note(connection, row["job_id"], EventName.SKILL_LOADED, at=at, data=data)


def loaded_by(connection: sqlite3.Connection, job: int) -> tuple[str, ...]:
    """The skills a job's sessions loaded, with their versions."""
    query = "SELECT DISTINCT name, version FROM skill_uses WHERE job_id = ? AND loaded_at IS NOT NULL ORDER BY name, version"
    return tuple(f"{row['name']} {row['version']}" for row in connection.execute(query, (job,)))


def statistics(connection: sqlite3.Connection, skill: SkillRecord) -> SkillStatistics:
    """How the jobs went that loaded a skill as it is now, beside its repository's others since the first of them. Jobs that only
    write a skill are none of these, nor are calls of disciplines."""
    key = (skill.space, skill.name)
    mine = (*key, skill.digest)
    offered = connection.execute(
        "SELECT count(DISTINCT job_id) AS n FROM skill_uses WHERE space = ? AND name = ? AND digest = ?",
        mine,
    ).fetchone()["n"]
    ended, well = _count(connection, f"jobs.id IN ({_LOADED} AND digest = ?)", mine)
    others, others_well = _count(
        connection,
        f"""jobs.space = ? AND jobs.id >= (SELECT min(job_id) FROM ({_LOADED} AND digest = ?))
            AND jobs.id NOT IN ({_LOADED}) AND jobs.issue_number >= 0
            AND EXISTS (SELECT 1 FROM sessions WHERE sessions.job_id = jobs.id AND sessions.kind = ? AND NOT {_WRITES_SKILL})""",  # noqa: S608 - constants
        (skill.space, *mine, *key, SessionKind.WORK.value),
    )
    loaded = connection.execute(
        f"SELECT count(DISTINCT job_id) AS n FROM ({_LOADED} AND digest = ?)",  # noqa: S608 - constants
        mine,
    ).fetchone()["n"]
    return SkillStatistics(
        offered=offered, loaded=loaded, ended=ended, well=well, others=others, others_well=others_well
    )


def blamed(connection: sqlite3.Connection, job: int) -> list[SkillRecord]:
    """The skills a job loaded that ended and did not go well: as they are known now, where that is what it loaded."""
    query = f"""SELECT skills.* FROM skills JOIN skill_uses AS uses USING (space, name, digest)
        JOIN jobs ON jobs.id = uses.job_id
        WHERE jobs.id = ? AND NOT jobs.is_open AND uses.loaded_at IS NOT NULL AND NOT ({_WELL}) GROUP BY skills.name"""  # noqa: S608 - constants
    return select(connection, SkillRecord, query, job, JobState.COMPLETED.value)


def _count(connection: sqlite3.Connection, which: str, arguments: tuple[object, ...]) -> tuple[int, int]:
    query = (
        f"SELECT count(*) AS ended, coalesce(sum({_WELL}), 0) AS well FROM jobs WHERE NOT is_open AND {which}"  # noqa: S608 - constants
    )
    row = connection.execute(query, (JobState.COMPLETED.value, *arguments)).fetchone()
    return row["ended"], row["well"]
