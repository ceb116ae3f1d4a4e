"""Say something to a job's Minion: it reads it before its next turn; where none is at work, the next one's brief has it."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import JobArgument, WordsArgument
from overlord.domain.conversation.decision_words import answer_in
from overlord.domain.text.reference import Target
from overlord.failpoints import Failpoint
from overlord.store.conversation import steering
from overlord.verbs import answering, message
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Which job, and the words."""

    job: Annotated[Target | None, JobArgument()]
    words: Annotated[
        str, WordsArgument(missing="Say what its Minion is to read.", help="What it is to read.")
    ]


def _send(context: Context, arguments: Message) -> Done:
    """A comment that only mentions Overlord is the answer to what its job asks; else a message."""
    job, comment = context.job(arguments.job), context.comment
    if comment is not None and comment.is_mention:
        asked = message.answerable(context.connection, job.id, before=comment.written_at)
        if asked is not None:
            return answering.answer(context, asked, *answer_in(asked, arguments.words))
    sent = message.send_message(
        context.connection,
        job.id,
        arguments.words,
        actor=context.actor,
        comment_id=comment.comment_id if comment is not None else None,
        at=context.at,
    )
    if comment is not None and not sent.is_under_way:
        steering.mark_acknowledged(context.connection, sent.id)
    return Done(
        text=sent.outcome(),
        hint=message.way_on(context.connection, job.id),
        message_id=sent.id if sent.is_under_way else None,
        needs_reply=not sent.is_under_way,
    )


VERB = Verb(
    arguments=Message,
    act=_send,
    space=lambda context, arguments: context.job(arguments.job).space,
    right=Right.WRITER,
    usage="message #42 use port 8080",
    means="say something to its Minion, which reads it as it works",
    position=11,
    failpoint=Failpoint.STEERING_SENT,
    makes_new=True,
    is_delivered=True,
    wait_s=60.0,
)
