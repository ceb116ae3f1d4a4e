"""Comments made at an issue since its job began: those of writers stand in the next brief, after those that the
job began with.

They are read when a later session is prepared, not when they are polled: a comment made a moment before *Try again* is to be in that
brief. A stranger's comment is none of them: whoever let the work begin has not seen it.
"""

import asyncio
from dataclasses import replace

from minion.protocol import Comment, Issue
from overlord.domain.job import Job
from overlord.domain.text.hidden_text import issue_without_hidden
from overlord.engine.conversation.comment_command import CommentCommandError, command_in
from overlord.engine.issues.writers import OURS, Writers
from overlord.engine.runtime.parts import Parts
from overlord.errors import ForgeRefused
from overlord.store.conversation import processed_comments

MOST = 20
"""The newest that a brief holds."""


async def with_later_comments(parts: Parts, job: Job) -> Issue:
    """The text the job works on, with what was said since. What the forge refuses to show is left out."""
    name = job.space
    try:
        posted = await parts.forge.comments(name, job.issue.number)
    except ForgeRefused:
        return job.issue
    processed = await parts.database.read(lambda c: processed_comments.of_issue(c, name, job.issue.number))
    plain = tuple(
        posted_comment
        for number, posted_comment in posted
        if not _is_delivered(posted_comment, is_processed=number in processed)
    )
    shown = replace(job.issue, comments=plain)
    clean = await asyncio.to_thread(issue_without_hidden, shown)  # as they stand in the text it began with
    known, writers, found = set(job.issue.comments), Writers(parts, name), list[Comment]()
    for comment in reversed([item for item in clean.comments if item not in known]):
        is_bot = comment.author.endswith("[bot]")
        if len(found) < MOST and await writers.counts(comment.author, is_bot=is_bot, text=comment.body):
            found.append(comment)
    return replace(job.issue, comments=(*job.issue.comments, *reversed(found)))


def _is_delivered(comment: Comment, *, is_processed: bool) -> bool:
    """Whether it is Overlord's own, or reaches a session in another way: as an answer, or as a message."""
    try:
        command = command_in(comment.body)
    except CommentCommandError:
        return True
    if command is None:
        return OURS in comment.body or is_processed  # that was a mention
    return command.is_delivered
