"""Commands in comments: read once, carried out when whoever gives them may write to the repository, and acknowledged.

What a command does and that it was read are one transaction; the reaction and the reply follow, also after a crash.
"""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import structlog

from minion.protocol import Issue
from overlord.domain.chat.hint import in_chat
from overlord.domain.contracts.contract import Contract
from overlord.domain.conversation.comment import PostedComment, Reaction
from overlord.domain.conversation.comment_command import CommentCommand, CommentCommandError, CommentVerb
from overlord.domain.conversation.comment_request import CommentRequest
from overlord.domain.conversation.decision_words import OPENS, answer_in
from overlord.domain.conversation.pull_card import evidence_card, state_in_words
from overlord.domain.decision import Decision, DecisionKind, Verb
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job
from overlord.domain.text.plain import defused_line
from overlord.engine.conversation import pull_comments
from overlord.engine.issues import claim
from overlord.engine.issues.job_summary import story_of
from overlord.engine.issues.writers import OURS, Writers
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.poll_errors import LOOKS_BACK, PollErrors, through
from overlord.engine.runtime.progress import Progress
from overlord.errors import ForgeMissing, ForgeRefused, NotFound, Refused
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs, ledger
from overlord.store.conversation import processed_comments, steering
from overlord.store.conversation.processed_comments import ProcessedComment
from overlord.store.spaces import spaces
from overlord.verbs import commands, message

log = structlog.get_logger()

REPLY = "<!-- overlord:reply {} -->"


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
        await _remember(parts, processed)
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
    act, at = _ACTS[command.verb], parts.clock.now()
    issue, base = (
        await _evaluation_input(parts, name, processed.number)
        if command.verb is CommentVerb.WORK
        else (None, "")
    )
    # Asked after the text was read: an edit between the two is one too.
    if issue is not None and await _is_edited_since(parts, name, processed.number, written_at):
        reply = "The issue was edited after that was written. Say it again if it is meant as the issue stands now."
        await _remember(parts, replace(processed, reaction=Reaction.CONFUSED, reply=reply, is_owed=True))
        return

    def carry_out(connection: sqlite3.Connection) -> None:
        context = _CommandContext(
            contract=parts.contract(name),
            processed=processed,
            command=command,
            written_at=written_at,
            live=jobs.live_at(connection, name, processed.number),
            at=at,
            issue=issue,
            base=base,
            priority=parts.settings.space(name).labels.priority,
            four_eyes=parts.settings.space(name).four_eyes,
        )
        connection.execute("SAVEPOINT command")
        try:
            reply = act(connection, context)
            done = replace(processed, reaction=Reaction.DONE, reply=reply, is_owed=True)
        except (Refused, NotFound) as error:
            connection.execute("ROLLBACK TO command")
            text = f"That cannot be done: {defused_line(in_chat(str(error)))}."
            done = replace(processed, reaction=Reaction.CONFUSED, reply=text, is_owed=True)
        connection.execute("RELEASE command")
        processed_comments.add(connection, done)

    await parts.database.write(Failpoint.COMMENT_PROCESSED, carry_out)


async def _evaluation_input(parts: Parts, name: RepositoryName, number: int) -> tuple[Issue | None, str]:
    """An open issue as it stands now, and the branch its work is for."""
    state = await parts.forge.issue(name, number)
    if state.is_pull or not state.open:
        return None, ""
    return await claim.snapshot(parts, name, state.issue), await claim.base_branch(parts, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CommandContext:
    """A command with all that carrying it out needs."""

    contract: Contract
    processed: ProcessedComment
    command: CommentCommand
    written_at: datetime
    live: Job | None
    """The open job of the issue or pull request the comment stands at."""
    at: datetime
    issue: Issue | None
    """What there is to work on, where that is asked for and the issue is open."""
    base: str
    priority: str
    """The label of what is urgent."""
    four_eyes: bool

    @property
    def actor(self) -> str:
        return f"github:{self.processed.author}"

    @property
    def job(self) -> Job:
        """The live job; raises Refused when there is none."""
        if self.live is None:
            raise Refused(f"no job works on #{self.processed.number} now")
        return self.live


def _work(connection: sqlite3.Connection, context: _CommandContext) -> str:
    if context.live is not None:
        issue = context.issue or context.live.issue
        command = commands.ResumeJob(job_id=context.live.id, actor=context.actor, issue=issue)
        commands.resume_job(connection, command, at=context.at)
        return ""
    if context.issue is None:
        raise Refused(f"#{context.processed.number} is no open issue")
    jobs.claim(
        connection,
        space=context.processed.space,
        issue=context.issue,
        base_branch=context.base,
        contract=context.contract,
        at=context.at,
        actor=context.actor,
        is_urgent=context.priority in context.issue.labels,
    )
    return ""


def _stop(connection: sqlite3.Connection, context: _CommandContext) -> str:
    commands.stop_job(connection, commands.StopJob(job_id=context.job.id, actor=context.actor), at=context.at)
    return ""


def _retry(connection: sqlite3.Connection, context: _CommandContext) -> str:
    commands.retry_job(
        connection, commands.RetryJob(job_id=context.job.id, actor=context.actor), at=context.at
    )
    return ""


def _scope(connection: sqlite3.Connection, context: _CommandContext) -> str:
    _check_eyes(connection, context)
    command = commands.WidenScope(
        job_id=context.job.id, patterns=context.command.patterns, actor=context.actor
    )
    commands.widen_scope(connection, command, at=context.at)
    return ""


def _answer_decision(connection: sqlite3.Connection, context: _CommandContext) -> str:
    decision = _decision_meant(connection, context)
    verb, text = answer_in(decision, context.command.text)
    is_opened = verb in OPENS and (decision.kind is DecisionKind.APPROVAL or verb is Verb.GRANT)
    if is_opened:
        _check_eyes(connection, context)
    command = commands.AnswerDecision(decision_id=decision.id, verb=verb, text=text, actor=context.actor)
    commands.answer_decision(connection, command, at=context.at)
    return ""


def _send_message(connection: sqlite3.Connection, context: _CommandContext) -> str:
    asked = message.answerable(connection, context.job.id, before=context.written_at)
    if context.command.is_mention and asked is not None:
        return _answer_decision(
            connection, replace(context, command=replace(context.command, decision=asked.id))
        )
    command = message.SendMessage(
        job_id=context.job.id,
        text=context.command.text,
        actor=context.actor,
        comment_id=context.processed.comment_id,
    )
    sent = message.send_message(connection, command, at=context.at)
    if sent.is_under_way:
        return ""  # a reply tells once it was read
    steering.mark_acknowledged(connection, sent.id)
    return f"{sent.outcome()}{in_chat(message.how_to_answer(connection, context.job.id))}"


def _decision_meant(connection: sqlite3.Connection, context: _CommandContext) -> Decision:
    """The one that is named, or the one its job waits for since before the comment. Raises Refused for any other."""
    number, asked = context.command.decision, decisions.waiting(connection, context.job.id)
    if number is not None:
        if not any(item.id == number for item in asked):
            raise Refused(f"job {context.job.id} waits for no decision {number} now")
        return decisions.get(connection, number)
    shown = [item for item in asked if item.created_at.replace(microsecond=0) <= context.written_at]
    if len(shown) != 1:
        which = " or ".join(f"`/overlord answer {item.id} …`" for item in asked)
        raise Refused(f"say which decision that answers: {which}" if asked else "nothing waits for an answer")
    return shown[0]


def _check_eyes(connection: sqlite3.Connection, context: _CommandContext) -> None:
    if context.four_eyes and ledger.asked_for_by(connection, context.job.id) == context.actor:
        raise Refused("you asked for this work, so somebody else is to say that it may write more")


def _explain(connection: sqlite3.Connection, context: _CommandContext) -> str:
    job = context.live or jobs.last_for(connection, context.processed.space, context.processed.number)
    if job is None:
        raise Refused(f"no job has ever worked on #{context.processed.number}")
    story = story_of(connection, job, context.contract)
    reason = f": {defused_line(job.reason)}" if job.reason else ""
    return f"Job {job.id} is {state_in_words(job.state)}{reason}.\n\n{evidence_card(story)}"


_ACTS: Mapping[CommentVerb, Callable[[sqlite3.Connection, _CommandContext], str]] = {
    CommentVerb.WORK: _work,
    CommentVerb.STOP: _stop,
    CommentVerb.RETRY: _retry,
    CommentVerb.SCOPE: _scope,
    CommentVerb.EXPLAIN: _explain,
    CommentVerb.ANSWER: _answer_decision,
    CommentVerb.MESSAGE: _send_message,
}


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
