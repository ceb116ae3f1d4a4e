"""What is written into review threads once the work they asked for is delivered."""

import contextlib
from collections.abc import Sequence
from functools import partial

from minion.protocol import Report, SessionKind
from overlord.domain import follow_up
from overlord.domain.job import Job
from overlord.domain.session import Session
from overlord.engine.parts import Parts
from overlord.errors import ForgeMissing
from overlord.points import Point
from overlord.ports import RepositoryName
from overlord.store import follow_ups, sessions

ANSWER = "<!-- overlord:answer {} -->"


async def answer(parts: Parts, job: Job) -> None:
    """Write into each review thread what became of it, once the work on it stands in the pull request."""
    owed = await parts.database.read(lambda c: follow_ups.owed(c, job.id))
    if not owed or job.pull_number is None:
        return
    name = RepositoryName(job.space)
    worked = [
        session
        for session in await parts.database.read(lambda c: sessions.of_job(c, job.id))
        if session.kind is SessionKind.WORK
    ]
    numbers = {
        item.id: number
        for number, item in enumerate(await parts.database.read(lambda c: follow_ups.of_round(c, job)), 1)
    }
    present = await parts.forge.review_comments(name, job.pull_number)
    for item in owed:
        mark = ANSWER.format(item.id)
        reply = _reply(worked[item.sessions :], numbers.get(item.id, 0))
        body = follow_up.answer(job.head_sha or "", reply, is_changed=job.head_sha != item.head_sha)
        if item.thread is not None and not any(mark in comment.body for comment in present):
            with contextlib.suppress(ForgeMissing):  # the thread was deleted
                await parts.forge.answer_review_comment(
                    name, job.pull_number, item.thread, f"{body}\n\n{mark}"
                )
        await parts.database.write(Point.REVIEW_ANSWERED, partial(follow_ups.settle, item=item))


def _reply(worked: Sequence[Session], number: int) -> str:
    """What the last of these sessions that spoke of a finding said of it."""
    said = [follow_up.replies(item.report.replies) for item in worked if isinstance(item.report, Report)]
    return next((found[number] for found in reversed(said) if number in found), "")
