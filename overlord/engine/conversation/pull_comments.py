"""Comments in the conversation of a pull request that Overlord opened: who speaks to it there asks for a round, as a reviewer does.
At the issue of an open job it is a message to its Minion, or the answer to what is asked.

They are read where all comments are (`engine/conversation/process_comments.py`), and taken up where reviews are (`engine/delivery/rounds.py`).
"""

import sqlite3
from collections.abc import Collection
from dataclasses import replace
from enum import StrEnum

from overlord.domain.conversation import follow_up
from overlord.domain.conversation.comment import PostedComment, Reaction
from overlord.domain.conversation.follow_up import RequestedChange
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job
from overlord.domain.text.hidden_text import without_hidden
from overlord.engine.conversation.comment_command import CommentCommand, command_in
from overlord.engine.conversation.comment_request import CommentRequest, names_of, request_in, words_in
from overlord.engine.runtime.parts import Parts
from overlord.store import job_history, jobs
from overlord.store.conversation import comment_requests, processed_comments
from overlord.store.conversation.processed_comments import ProcessedComment
from overlord.verbs.declared.message import Message
from overlord.verbs.registry import Command

BODY_CHARS = 20_000


async def understood(
    parts: Parts, name: RepositoryName, posted: PostedComment
) -> CommentCommand | CommentRequest | None:
    """What a comment says to Overlord; None where it says nothing to it. Raises CommentCommandError for what is not understood."""
    body = posted.comment.body
    is_mention = "@" in body
    if not is_mention and "/" not in body:
        return None
    place = await parts.database.read(lambda c: _place(c, name, posted.number))
    if place is _Place.NONE:
        return command_in(body)
    names = names_of(await parts.forge.login(name)) if is_mention else frozenset[str]()
    request = request_in(body, names)
    if place is _Place.ISSUE and isinstance(request, CommentRequest):
        words = Message(job=None, words=words_in(body, names))
        return CommentCommand(command=Command(name="message", arguments=words), is_mention=True)
    return request


class _Place(StrEnum):
    """Where a comment stands."""

    PULL_REQUEST = "pull request"
    """One of Overlord's."""
    ISSUE = "issue"
    """Of a job that is open."""
    NONE = "elsewhere"


def _place(connection: sqlite3.Connection, space: str, number: int) -> _Place:
    if _job_at(connection, space, number) is not None:
        return _Place.PULL_REQUEST
    live = jobs.live_at(connection, space, number)
    return _Place.ISSUE if live is not None and live.issue.number == number else _Place.NONE


def _job_at(connection: sqlite3.Connection, space: str, number: int) -> Job | None:
    """The last job whose pull request has this number."""
    found = job_history.at_number(connection, number, space)
    return next((job for job in found if job.pull_number == number), None)


def take(connection: sqlite3.Connection, processed: ProcessedComment, body: str) -> None:
    """Remember what is asked for, and that it was processed; where nobody works there any more, that is said."""
    job = _job_at(connection, processed.space, processed.number)
    if job is None or not job.is_open:
        text = f" (job {job.id}: {state_in_words(job.state)})" if job is not None else ""
        reply = (
            f"Nobody works on this pull request any more{text}, so nothing is begun. Open an issue for it, or put the work label on"
            " again."
        )
        processed_comments.add(
            connection, replace(processed, reaction=Reaction.CONFUSED, reply=reply, is_owed=True)
        )
        return
    asked = comment_requests.CommentRequest(
        space=processed.space,
        comment_id=processed.comment_id,
        number=processed.number,
        author=processed.author,
        body=without_hidden(body).text[:BODY_CHARS],
    )
    comment_requests.add(connection, asked)
    processed_comments.add(connection, replace(processed, reaction=Reaction.SEEN, is_owed=True))


def asked_at(
    connection: sqlite3.Connection, space: str, number: int, *, known: Collection[str]
) -> list[RequestedChange]:
    """What was asked for at a pull request and is in no round yet."""
    found = (
        follow_up.of_comment(item.comment_id, item.author, item.body)
        for item in comment_requests.at_pull(connection, space, number)
    )
    return [item for item in found if item.key not in known]
