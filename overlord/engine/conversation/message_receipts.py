"""Whoever said something to a Minion in a comment is told there, once, what became of it: that it was read, or goes into the next
brief. In the chat the job's thread tells it, on the command line the command that said it."""

import structlog

from overlord.domain.text.plain import defused_line
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import ForgeRefused
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.store.conversation import processed_comments, steering

log = structlog.get_logger()

MARK = "<!-- overlord:message {} -->"


async def acknowledge(parts: Parts, number: int) -> Progress:
    """Reply where a message was said; a reply that a crash kept from being noted is found again. What the forge refuses is left:
    the ledger tells it."""
    message = await parts.database.read(lambda c: steering.get(c, number))
    if message.is_told:
        return Progress.IDLE
    job = await parts.database.read(lambda c: jobs.get(c, message.job_id))
    name, mark = job.space, MARK.format(number)
    place = await parts.database.read(lambda c: processed_comments.place_of(c, name, message.comment_id or 0))
    try:
        present = await parts.forge.comments(name, place)
        if not any(mark in comment.body for _, comment in present):
            text = defused_line(message.outcome(is_open=job.is_open))
            await parts.forge.add_comment(name, place, f"{text}\n\n{mark}")
    except ForgeRefused as error:
        log.warning("not_acknowledged", space=name, comment=message.comment_id, reason=str(error))
    await parts.database.write(Failpoint.STEERING_TOLD, lambda c: steering.mark_acknowledged(c, number))
    return Progress.IDLE
