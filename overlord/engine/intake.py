"""Taking up what people labelled: poll each space, claim each labelled issue once, resume what was labelled again."""

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from minion.protocol import Issue
from overlord.domain.decision import DecisionState
from overlord.domain.event import EventName
from overlord.domain.job import Job, JobState
from overlord.engine import follow, reap
from overlord.engine.parts import Parts
from overlord.errors import FarEndError
from overlord.ports import IssueState, RepositoryName
from overlord.store import decisions, jobs, spaces


async def poll(parts: Parts, name: RepositoryName) -> bool:
    """Ask a space whose turn it is for labelled issues and for the fate of its pull requests."""
    now = parts.clock.now()
    space = await parts.database.read(lambda c: spaces.get(c, name))
    if space.paused or not is_due(space.polled_at, now, parts.settings.poll_s):
        return False
    moved, trouble = False, ""
    try:
        moved = await _poll_space(parts, name)
    except FarEndError as error:
        trouble = str(error)
    await parts.database.write(lambda c: spaces.note_poll(c, name, at=now, trouble=trouble))
    await reap.orphans(parts)
    return moved


def is_due(polled_at: datetime | None, now: datetime, poll_s: int) -> bool:
    """Whether a space is to be asked again; a clock that was set back does not stop the polling."""
    return polled_at is None or not timedelta(0) <= now - polled_at < timedelta(seconds=poll_s)


def in_order(issues: Iterable[IssueState], priority_label: str) -> list[IssueState]:
    """The order of claims: high priority first, then oldest."""
    return sorted(
        issues,
        key=lambda item: (priority_label not in item.issue.labels, item.created_at, item.issue.number),
    )


async def _poll_space(parts: Parts, name: RepositoryName) -> bool:
    labels = parts.settings.labels
    labelled = await parts.forge.issues_labelled(name, labels.work)
    moved = False
    for state in in_order(labelled, labels.priority):
        moved |= await _take_up(parts, name, state.issue)
    return await follow.pulls(parts, name) or moved


async def _take_up(parts: Parts, name: RepositoryName, issue: Issue) -> bool:
    live = await parts.database.read(lambda c: jobs.live_for(c, name, issue.number))
    if live is not None:
        return await _resume_if_labelled_again(parts, live)
    if await parts.database.read(lambda c: _open_pulls(c, name)) >= parts.settings.delivery.open_pulls:
        return False
    repository = await parts.forge.repository(name)
    comments = await parts.forge.comments(name, issue.number)
    snapshot = replace(issue, comments=tuple(comment for _, comment in comments))
    contract = parts.contract(name)
    base = parts.settings.space(name).base_branch or repository.default_branch
    at = parts.clock.now()
    claimed = await parts.database.write(
        lambda c: jobs.claim(c, space=name, issue=snapshot, base_branch=base, contract=contract, at=at)
    )
    return claimed is not None


async def _resume_if_labelled_again(parts: Parts, job: Job) -> bool:
    # A waiting job whose labels are known to be ours carries the work label only if a person put it on since.
    if job.state is not JobState.WAITING or not job.projected.startswith(JobState.WAITING):
        return False
    at = parts.clock.now()

    def resume(connection: sqlite3.Connection) -> Job:
        decisions.close_waiting(connection, job.id, DecisionState.SUPERSEDED, at=at)
        return jobs.move(
            connection, job.id, EventName.WORK_RESUMED, at=at, actor="forge", data={"by": "label"}, losses=0
        )

    await parts.database.write(resume)
    return True


def _open_pulls(connection: sqlite3.Connection, name: str) -> int:
    query = "SELECT count(*) FROM jobs WHERE space = ? AND is_open AND pull_number IS NOT NULL"
    return int(connection.execute(query, (name,)).fetchone()[0])
