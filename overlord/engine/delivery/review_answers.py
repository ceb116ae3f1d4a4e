"""What is written into review threads, and into the conversation, once the work that was asked for there is delivered."""

import contextlib
from collections.abc import Sequence
from functools import partial

from minion.protocol import Report, SessionKind
from overlord.domain.conversation import follow_up
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job
from overlord.domain.session import Session
from overlord.domain.text.plain import quoted
from overlord.engine.runtime.parts import Parts
from overlord.errors import ForgeMissing, ForgeRefused
from overlord.failpoints import Failpoint
from overlord.store import sessions
from overlord.store.conversation import follow_ups
from overlord.store.conversation.follow_ups import FollowUp

ANSWER = "<!-- overlord:answer {} -->"
QUOTED_CHARS = 200


async def answer(parts: Parts, job: Job) -> None:
    """Write where each thing was asked for what became of it, once the work on it stands in the pull request."""
    owed = await parts.database.read(lambda c: follow_ups.owed(c, job.id))
    if not owed or job.pull_number is None:
        return
    name = job.space
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
    conversation = await _conversation(parts, name, job.pull_number, owed)
    for item in owed:
        mark = ANSWER.format(item.id)
        reply = _reply(worked[item.sessions :], numbers.get(item.id, 0))
        body = follow_up.answer(job.head, reply, is_changed=job.head_sha != item.head_sha)
        if item.thread is not None and not any(mark in comment.body for comment in present):
            with contextlib.suppress(ForgeMissing):  # the thread was deleted
                await parts.forge.answer_review_comment(
                    name, job.pull_number, item.thread, f"{body}\n\n{mark}"
                )
        if item.key.startswith(follow_up.COMMENT_KEY) and not any(mark in text for text in conversation):
            with contextlib.suppress(ForgeRefused):  # the conversation is locked
                message = quoted(item.finding.message, limit=QUOTED_CHARS)
                await parts.forge.add_comment(name, job.pull_number, f"{message}\n\n{body}\n\n{mark}")
        await parts.database.write(Failpoint.REVIEW_ANSWERED, partial(follow_ups.settle, item=item))


async def _conversation(
    parts: Parts, name: RepositoryName, number: int, owed: Sequence[FollowUp]
) -> list[str]:
    """What stands in the conversation, where something is to be answered there."""
    if not any(item.key.startswith(follow_up.COMMENT_KEY) for item in owed):
        return []
    return [comment.body for _, comment in await parts.forge.comments(name, number)]


def _reply(worked: Sequence[Session], number: int) -> str:
    """What the last of these sessions that spoke of a finding said of it."""
    lines = [follow_up.replies(item.report.replies) for item in worked if isinstance(item.report, Report)]
    return next((found[number] for found in reversed(lines) if number in found), "")
