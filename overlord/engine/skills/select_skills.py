"""The skills of a repository: read at base, judged, and those that fit an issue put into a session's brief.

A file that is no skill, or one that the judge rejects, is told and left out. It never stops work.
"""

import asyncio
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from minion.protocol import Scope, ScopeMode
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.scope.check import GITLINK_MODE, SYMLINK_MODE, Change
from overlord.domain.session import Session
from overlord.domain.skills.file import is_skill_path, touches_skills
from overlord.domain.skills.match import Chosen, at_base_of, choose
from overlord.domain.skills.review import SkillReview, review_changed, review_skills, unreadable
from overlord.domain.text.plain import visible
from overlord.domain.text.untrusted_yaml import MAX_BYTES
from overlord.engine.runtime.parts import Parts
from overlord.store import jobs
from overlord.store.skills import skill_uses, skills

MOST_FILES = 200
"""Skill files of one repository that are read; the others are told."""
MOST_CHANGED = 20
"""Files beside the skills that one change may touch: what nobody would read is not judged at length either."""


async def skills_for(
    parts: Parts, job: Job, base: Sha, listing: Mapping[str, str], *, files: Collection[str], scope: Scope
) -> Chosen:
    """The skills a work session of this job is offered. `listing` is what base has, `files` what the issue
    names and a revision is about. One that writes a skill is offered none: its text is written already."""
    limits = parts.settings.skills
    paths = sorted(path for path in listing if is_skill_path(path))
    if not limits.most:
        return Chosen()
    if not paths:
        return Chosen(at_base=())
    contents = await parts.git.read_files(job.space, base, paths[:MOST_FILES], limit_bytes=MAX_BYTES + 1)
    reviews = await asyncio.to_thread(review_skills, contents)
    if scope.mode is ScopeMode.SKILL:
        return Chosen(at_base=at_base_of(reviews))
    chosen = choose(reviews, job.issue, files, most=limits.most, most_chars=limits.chars)
    if len(paths) <= MOST_FILES:
        return chosen
    more = f"There are {len(paths):,} skills; only the first {MOST_FILES} are read"
    return replace(chosen, left_out=(*chosen.left_out, more))


def note(connection: sqlite3.Connection, job: Job, session: Session, chosen: Chosen) -> None:
    """Write down what a session is offered and what was left out, where there is anything; and in the registry what base has.

    A job that has work already stands on the base it began at, which tells nothing new.
    """
    if chosen.at_base is not None and job.head_sha is None:
        skills.note_base(connection, job.space, chosen.at_base, at=session.prepared_at)
    skill_uses.offer(connection, job.space, session, chosen.offered)
    if not chosen.offered and not chosen.left_out:
        return
    offered: list[Json] = [f"{skill.name} {skill.version}" for skill in chosen.offered]
    left_out: list[Json] = [visible(why) for why in chosen.left_out]
    data: dict[str, Json] = {"session": session.id, "offered": offered, "left_out": left_out}
    jobs.note(connection, session.job_id, EventName.SKILLS_CHOSEN, at=session.prepared_at, data=data)


async def changed_skills(
    parts: Parts, job: Job, head: Sha, changes: Sequence[Change]
) -> tuple[SkillReview, ...]:
    """What is held against the skills that a change leaves at its head, beside those it does not touch."""
    touched = {path for change in changes for path in change.paths if touches_skills(path)}
    if not touched:
        return ()
    name = job.space
    there = [path for path in await parts.git.listing(name, head) if touches_skills(path)]
    there = sorted(there, key=lambda path: path not in touched)[: MOST_FILES + len(touched)]
    contents = await parts.git.read_files(name, head, there, limit_bytes=MAX_BYTES + 1)
    odd = {change.path for change in changes if change.new_mode in (SYMLINK_MODE, GITLINK_MODE)}
    changed = sorted(path for path in there if path in touched)
    files = {path: None if path in odd else contents.get(path) for path in changed[:MOST_CHANGED]}
    others = {path: content for path, content in contents.items() if path not in touched}
    reviews = await asyncio.to_thread(review_changed, files, others)
    if len(changed) <= MOST_CHANGED:
        return reviews
    message = f"{len(changed):,} files of skills are changed at once; {MOST_CHANGED} are the limit, and no more were looked at."
    return (*reviews, unreadable(changed[MOST_CHANGED], message))
