"""Commands in comments: read once, carried out when whoever gives them may write to the repository, and acknowledged.

What a command does and that it was read are one transaction; the reaction and the reply follow, also after a crash.
"""

import sqlite3
from dataclasses import replace
from datetime import datetime
from functools import partial

import structlog

from minion.protocol import Issue
from overlord.domain.conversation.comment import PostedComment, Reaction
from overlord.domain.conversation.pull_card import evidence_card, state_of
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.identifiers import RepositoryName
from overlord.domain.interface import Interface
from overlord.domain.text.plain import defused_line
from overlord.domain.view.markdown import markdown
from overlord.engine.conversation import pull_comments
from overlord.engine.conversation.comment_command import CommentCommand, CommentCommandError
from overlord.engine.conversation.comment_request import CommentRequest
from overlord.engine.issues import claim
from overlord.engine.issues.writers import OURS, Writers
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.poll_errors import LOOKS_BACK, PollErrors, through
from overlord.engine.runtime.progress import Progress
from overlord.errors import ForgeMissing, ForgeRefused, NotFound, OverlordError, Refused
from overlord.failpoints import Failpoint
from overlord.queries.job_story import story_of
from overlord.store import jobs, ledger
from overlord.store.conversation import processed_comments
from overlord.store.conversation.processed_comments import ProcessedComment
from overlord.store.spaces import spaces
from overlord.verbs.right import NotAllowed
from overlord.verbs.typed_words import typed_in_comment
from overlord.verbs.verb import CommentPlace, Context

log = structlog.get_logger()

REPLY = "<!-- overlord:reply {} -->"
EDITED = "The issue was edited after that was written. Say it again if it is meant as the issue stands now."


async def comments(parts: Parts, name: RepositoryName, poll_errors: PollErrors) -> Progress:
    """Process what was written in a space since it was last asked; whether that moved anything."""
    space = await parts.database.read(lambda c: spaces.get(c, name))
    since = space.heard_at or parts.clock.now() - LOOKS_BACK  # what is older was not for us
    posted = await parts.forge.comments_since(name, since)
    act = partial(_take_in, parts, name)
    moved, since = await through(posted, act, poll_errors, since=since, at=lambda comment: comment.at)
    for hearing in await parts.database.read(lambda c: processed_comments.owed(c, name)):
        with poll_errors.kept():
            await _acknowledge(parts, name, hearing)
    if since != space.heard_at:
        await parts.database.write(Failpoint.COMMENTS_SEEN, lambda c: spaces.note_heard(c, name, at=since))
    return moved


async def _take_in(parts: Parts, name: RepositoryName, posted: PostedComment) -> Progress:
    body, author = posted.comment.body, posted.comment.author
    if OURS in body or (posted.is_bot and author not in parts.settings.space(name).intake.bots):
        return Progress.IDLE  # there are many, and they are to leave no trace
    asked, complaint = await _understood(parts, name, posted)
    if asked is None and not complaint:
        return Progress.IDLE
    if await parts.database.read(lambda c: processed_comments.is_known(c, name, posted.id)):
        return Progress.IDLE
    processed = ProcessedComment(
        space=name, comment_id=posted.id, number=posted.number, author=author, at=parts.clock.now()
    )
    if not await Writers(parts, name).counts(author, is_bot=posted.is_bot, text=body):
        await _refuse(parts, processed, asked)
        return Progress.IDLE
    if asked is None:
        await _remember(parts, replace(processed, reaction=Reaction.CONFUSED, reply=complaint, is_owed=True))
        return Progress.MOVED
    if isinstance(asked, CommentRequest):
        await parts.database.write(
            Failpoint.COMMENT_PROCESSED, lambda c: pull_comments.take(c, processed, body)
        )
    else:
        await _carry_out(parts, name, processed, asked, posted.at)
    parts.notify()
    return Progress.MOVED


async def _understood(
    parts: Parts, name: RepositoryName, posted: PostedComment
) -> tuple[CommentCommand | CommentRequest | None, str]:
    try:
        return await pull_comments.understood(parts, name, posted), ""
    except CommentCommandError as error:
        return None, str(error)


async def _remember(parts: Parts, processed: ProcessedComment) -> None:
    await parts.database.write(Failpoint.COMMENT_PROCESSED, lambda c: processed_comments.add(c, processed))


async def _refuse(
    parts: Parts, processed: ProcessedComment, asked: CommentCommand | CommentRequest | None
) -> None:
    """A command of somebody who may not give one: why is said, and written down, once to each at an issue and a few times a day. Words that
    only mention Overlord are nothing to be refused."""
    is_command = isinstance(asked, CommentCommand) and not asked.is_mention
    why = f"only people who may write to {processed.space} can give Overlord commands"

    def refuse(connection: sqlite3.Connection) -> None:
        done = processed
        if is_command and processed_comments.may_be_refused(connection, processed):
            _note_refusal(connection, processed, why)
            reply = _refusal(NotAllowed(why))
            done = replace(processed, reaction=Reaction.CONFUSED, reply=reply, is_owed=True)
        processed_comments.add(connection, done)

    await parts.database.write(Failpoint.COMMENT_PROCESSED, refuse)


async def _is_edited_since(parts: Parts, name: RepositoryName, number: int, at: datetime) -> bool:
    """Whether an issue's text is another one than what somebody saw at this time, or may be."""
    edited_at = await parts.forge.edited_at(name, number)
    return edited_at is not None and edited_at >= at


async def _carry_out(
    parts: Parts,
    name: RepositoryName,
    processed: ProcessedComment,
    command: CommentCommand,
    written_at: datetime,
) -> None:
    """Do it and remember it, or remember why not."""
    is_work = command.command is not None and command.command.name == "work"
    issue, base = await _evaluation_input(parts, name, processed.number) if is_work else (None, "")
    # Asked after the text was read: an edit between the two is one too.
    if issue is not None and await _is_edited_since(parts, name, processed.number, written_at):
        await _remember(parts, replace(processed, reaction=Reaction.CONFUSED, reply=EDITED, is_owed=True))
        return

    def carry_out(connection: sqlite3.Connection) -> None:
        place = CommentPlace(
            space=name,
            number=processed.number,
            comment_id=processed.comment_id,
            written_at=written_at,
            live=jobs.live_at(connection, name, processed.number),
            issue=issue,
            base_branch=base,
            is_mention=command.is_mention,
        )
        context = Context(
            connection=connection,
            current_settings=lambda: parts.settings,
            contract=parts.contract,
            interface=Interface.COMMENT,
            at=parts.clock.now(),
            actor=f"github:{processed.author}",
            comment=place,
        )
        connection.execute("SAVEPOINT command")
        try:
            reply = _done(connection, context, command)
            done = replace(processed, reaction=Reaction.DONE, reply=reply, is_owed=True)
        except (Refused, NotFound) as error:
            connection.execute("ROLLBACK TO command")
            done = replace(processed, reaction=Reaction.CONFUSED, reply=_refusal(error), is_owed=True)
            if isinstance(error, NotAllowed):
                _note_refusal(connection, done, str(error))
        connection.execute("RELEASE command")
        processed_comments.add(connection, done)

    await parts.database.write(
        Failpoint.ISSUE_REQUESTED if command.opens_issue else Failpoint.COMMENT_PROCESSED, carry_out
    )


def _refusal(error: OverlordError) -> str:
    text = error.worded(typed_in_comment).rstrip(".")
    return f"That cannot be done: {defused_line(f'{text[:1].lower()}{text[1:]}')}."


def _note_refusal(connection: sqlite3.Connection, processed: ProcessedComment, why: str) -> None:
    data: dict[str, Json] = {"space": processed.space, "number": processed.number, "reason": why}
    event = LedgerEvent(
        name=EventName.COMMENT_REFUSED, at=processed.at, actor=f"github:{processed.author}", data=data
    )
    ledger.append(connection, event)


async def _evaluation_input(parts: Parts, name: RepositoryName, number: int) -> tuple[Issue | None, str]:
    """An open issue as it stands now, and the branch its work is for."""
    state = await parts.forge.issue(name, number)
    if state.is_pull or not state.open:
        return None, ""
    return await claim.snapshot(parts, name, state.issue), await claim.base_branch(parts, name)


def _done(connection: sqlite3.Connection, context: Context, asked: CommentCommand) -> str:
    """What is said of it, where a reaction is too little. Raises NotFound, Refused."""
    if asked.question is not None:
        return markdown(asked.question.view(context), typed_in_comment)
    if asked.command is None:
        return _explain(connection, context)
    done = asked.command.act(context)
    return done.worded(typed_in_comment) if done.needs_reply else ""


def _explain(connection: sqlite3.Connection, context: Context) -> str:
    place = context.comment
    assert place is not None, "it is asked in a comment"
    job = place.live or jobs.last_for(connection, place.space, place.number)
    if job is None:
        raise Refused(f"no job has ever worked on #{place.number}")
    story = story_of(connection, job, context.contract(place.space))
    reason = f": {defused_line(job.reason)}" if job.reason else ""
    return f"Job {job.id} is {state_of(job)}{reason}.\n\n{evidence_card(story)}"


async def _acknowledge(parts: Parts, name: RepositoryName, hearing: ProcessedComment) -> None:
    """React, and reply where there is something to say; a reply that a crash kept from being noted is found again.

    What the forge refuses keeps nothing else from being said. Where neither is possible (the comment is deleted, the
    conversation locked) the ledger alone tells what was done.
    """
    for act in (_react, _reply):
        try:
            await act(parts, name, hearing)
        except ForgeRefused as error:
            log.warning("not_acknowledged", space=name, comment=hearing.comment_id, reason=str(error))
            if isinstance(error, ForgeMissing):
                break  # whoever took the comment back waits for no answer
    await parts.database.write(
        Failpoint.COMMENT_ACKNOWLEDGED, lambda c: processed_comments.settle(c, hearing)
    )


async def _react(parts: Parts, name: RepositoryName, hearing: ProcessedComment) -> None:
    await parts.forge.react(name, hearing.comment_id, Reaction(hearing.reaction))


async def _reply(parts: Parts, name: RepositoryName, hearing: ProcessedComment) -> None:
    mark = REPLY.format(hearing.comment_id)
    if not hearing.reply:
        return
    present = await parts.forge.comments(name, hearing.number)
    if not any(mark in comment.body for _, comment in present):
        await parts.forge.add_comment(name, hearing.number, f"{hearing.reply}\n\n{mark}")
