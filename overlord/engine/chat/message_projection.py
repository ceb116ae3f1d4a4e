"""Messages in the chat are projections of rows: posted once, edited in place, looked for before they are posted again.

One message a step, the most urgent first; whatever happened meanwhile is in the next look at its row.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from json import loads

import structlog

from overlord.domain.chat.account import Posted
from overlord.domain.chat.card import decision_card, job_card, notice, story_message
from overlord.domain.chat.draft_card import draft_card
from overlord.domain.chat.proposal_card import proposal_card
from overlord.domain.decision import ApprovalKind, ApprovalRef, Decision, DecisionState, Subject
from overlord.domain.event import EventName
from overlord.domain.event_description import describe_event
from overlord.domain.proposals.proposal import ProposalStatus
from overlord.domain.skills.draft import DraftState
from overlord.domain.view.view import View
from overlord.engine.chat import briefing
from overlord.engine.chat.chat_view import worded
from overlord.engine.runtime.chat_output import ChatOutput
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import ChatRefused, ChatUnavailable, MessageMissing
from overlord.failpoints import Failpoint
from overlord.queries.job_story import story_of
from overlord.store import decisions, jobs, ledger
from overlord.store.chat import buttons, messages
from overlord.store.chat.messages import Behind, Message, MessageKind
from overlord.store.ledger import Entry
from overlord.store.proposals import proposals
from overlord.store.skills import drafts
from overlord.verbs import registry

log = structlog.get_logger()

LOOKS_BACK = timedelta(minutes=10)
"""Before a message was ordered: the chat's clock is another one."""
MOST_ENTRIES = 20
"""Events in one message of a thread."""
UNTOLD = frozenset({EventName.SESSION_PREPARED, EventName.SESSION_ENDED, EventName.DECISION_RAISED})
"""What is to be seen at once elsewhere in the chat, or says nothing to people."""


def is_behind(connection: sqlite3.Connection, chat_output: ChatOutput) -> bool:
    """Whether there is something to say that can be said now."""
    return _is_wanting(connection, chat_output) or next(_due(connection, chat_output), None) is not None


def _is_wanting(connection: sqlite3.Connection, chat_output: ChatOutput) -> bool:
    """Whether something has no message yet, or has it in a channel that we spoke in before."""
    return any(numbers for _, numbers in messages.unwanted_yet(connection)) or messages.is_elsewhere(
        connection, chat_output.channel
    )


async def step(parts: Parts, chat_output: ChatOutput) -> Progress:
    """Have a message for everything that needs one, then post or edit the one that is most due; whether there was one.

    Raises ChatUnavailable, after which others go first for a while unless the chat asked all to wait, and ChatRefused for a
    message that is put aside for longer.
    """
    if await parts.database.read(lambda c: _is_wanting(c, chat_output)):
        await parts.database.write(Failpoint.MESSAGE_WANTED, partial(_want, chat_output=chat_output))
    due = await parts.database.read(lambda c: next(_due(c, chat_output), None))
    if due is None:
        return Progress.IDLE
    at = parts.clock.now()
    order = partial(_ordered, parts=parts, chat_output=chat_output, due=due, at=at)
    posting = await parts.database.write(Failpoint.MESSAGE_ORDERED, order)
    if posting is None:
        return Progress.MOVED
    try:
        await _post_or_edit(parts, chat_output, posting)
    except MessageMissing as error:
        await _lost(parts, due.message, error)
    except ChatRefused:
        chat_output.put_aside(due.message.id)
        raise
    except ChatUnavailable as error:
        if error.retry_after_s is None:
            chat_output.put_last(due.message.id)
        raise
    return Progress.MOVED


def _want(connection: sqlite3.Connection, *, chat_output: ChatOutput) -> None:
    messages.move(connection, chat_output.channel)
    for kind, numbers in messages.unwanted_yet(connection):
        for number in numbers:
            messages.want(connection, kind, number, channel=chat_output.channel)


def _due(connection: sqlite3.Connection, chat_output: ChatOutput) -> Iterator[Behind]:
    """What is to be said, the most urgent first: questions to people, new jobs, proposals, what happened, what a job is at.
    What failed lately comes last."""
    failed = list[Behind]()
    for behind in _in_order(connection):
        if not chat_output.is_aside(behind.message.id) and _is_placed(connection, behind.message):
            if chat_output.is_last(behind.message.id):
                failed.append(behind)
            else:
                yield behind
    yield from failed


def _in_order(connection: sqlite3.Connection) -> Iterator[Behind]:
    yield from messages.decisions_behind(connection)
    for kind in (MessageKind.NOTICE, MessageKind.BRIEFING):
        for message in messages.unposted(connection, kind):
            yield Behind(message=message, now="")
    working = messages.jobs_behind(connection)
    yield from (behind for behind in working if behind.message.ts is None)
    yield from messages.proposals_behind(connection)
    yield from messages.drafts_behind(connection)
    for message in messages.threads_behind(connection):
        yield Behind(message=_part_of(connection, message), now="")
    yield from (behind for behind in working if behind.message.ts is not None)


def _part_of(connection: sqlite3.Connection, root: Message) -> Message:
    """The part of a job's story that is next; one that was begun goes first, as it was."""
    begun = [item for item in messages.unposted(connection, MessageKind.STORY) if item.ref == root.ref]
    return begun[0] if begun else root


def _is_placed(connection: sqlite3.Connection, message: Message) -> bool:
    """Whether it is known where it goes: what belongs into a job's thread waits for that."""
    if message.kind is not MessageKind.DECISION:
        return True
    decision = decisions.get(connection, message.ref)
    return not _is_in_thread(decision) or message.ts is not None or _root_of(connection, decision) is not None


def _is_in_thread(decision: Decision) -> bool:
    """Whether it is asked in its job's thread: what a Minion asks, and an architect."""
    return decision.session_id is not None or decision.subject is Subject.DISCOVERY


def _root_of(connection: sqlite3.Connection, decision: Decision) -> Message | None:
    """The message whose thread a question is asked in."""
    root = messages.of(connection, MessageKind.JOB, decision.job_id or 0)
    return root if root is not None and root.ts is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Posting:
    """A message to be shown, its row as it was before, and what to remember once it stands."""

    message: Message
    shown: View
    was_ordered: bool
    stamp: str
    shown_until: int = 0


def _ordered(
    connection: sqlite3.Connection, *, parts: Parts, chat_output: ChatOutput, due: Behind, at: datetime
) -> _Posting | None:
    """Make what is to be shown, from the rows as they are now; None when nothing has to be sent after all."""
    posting = _MAKERS[due.message.kind](connection, parts, chat_output, due)
    if posting is None:
        return None
    if posting.message.ts is not None and posting.shown.fingerprint == posting.message.shown:
        _note_posted(connection, posting, ts=posting.message.ts)
        return None
    messages.order(connection, posting.message, at=at)
    return posting


def _job(
    connection: sqlite3.Connection, parts: Parts, chat_output: ChatOutput, due: Behind
) -> _Posting | None:
    """A job's own message, or, where that stands as it should, the next part of its story."""
    message = due.message
    if not due.now:
        return _next_part(connection, message)
    job = jobs.get(connection, message.ref)
    story = story_of(connection, job, parts.contract(job.space))
    shown = job_card(
        story,
        chat_output.place,
        lambda verb, text: buttons.make(connection, message.id, verb, text=text),
        stopping=registry.find("stop").confirm,
    )
    return _shown_message(message, shown, stamp=due.now)


def _shown_message(message: Message, shown: View, *, stamp: str = "", shown_until: int = 0) -> _Posting:
    was_ordered = message.ordered_at is not None
    return _Posting(
        message=message, shown=worded(shown), was_ordered=was_ordered, stamp=stamp, shown_until=shown_until
    )


def _next_part(connection: sqlite3.Connection, root: Message) -> _Posting | None:
    """Begin the next part of a story: what happened since the thread was last told."""
    news = list(ledger.entries(connection, job_id=root.ref, after=root.told))[:MOST_ENTRIES]
    if not any(entry.name not in UNTOLD for entry in news):
        messages.note(connection, root, told=news[-1].seq, is_final=_is_over(connection, root, news[-1].seq))
        return None
    part = messages.want(
        connection,
        MessageKind.STORY,
        root.ref,
        part=news[-1].seq,
        channel=root.channel,
        thread=root.ts,
    )
    return _shown_message(part, _thread_message(news), shown_until=news[-1].seq)


def _story(
    connection: sqlite3.Connection, _parts: Parts, _chat_output: ChatOutput, due: Behind
) -> _Posting | None:
    """A part of a story that was begun and is not known to stand: the same words again."""
    part = due.message
    root = messages.of(connection, MessageKind.JOB, part.ref)
    assert root is not None, "a story is told in the thread of its job's message"
    entries = ledger.entries(connection, job_id=part.ref, after=root.told)
    news = [entry for entry in entries if entry.seq <= part.part]
    return _shown_message(part, _thread_message(news), shown_until=part.part)


def _thread_message(news: list[Entry]) -> View:
    return story_message(
        [
            (datetime.fromisoformat(entry.at), describe_event(entry.name, loads(entry.data)))
            for entry in news
            if entry.name not in UNTOLD
        ]
    )


def _decision(
    connection: sqlite3.Connection, _parts: Parts, chat_output: ChatOutput, due: Behind
) -> _Posting | None:
    message, decision = due.message, decisions.get(connection, due.message.ref)
    if decision.state is not DecisionState.OPEN and message.ordered_at is None:
        messages.drop(connection, [message])  # nobody has seen it, and nobody has to
        return None
    job = jobs.get(connection, decision.job_id) if decision.job_id is not None else None
    value = partial(_value, connection, message, decision)
    shown = decision_card(decision, job, chat_output.place, value)
    if _is_in_thread(decision) and message.thread is None and message.ts is None:
        root = _root_of(connection, decision)
        messages.note(connection, message, thread=root.ts if root else None)
        message = messages.get(connection, message.id)
    return _shown_message(message, shown, stamp=decision.state)


def _value(connection: sqlite3.Connection, message: Message, decision: Decision, verb: str, text: str) -> str:
    return buttons.make(
        connection, message.id, verb, decision_id=decision.id, text=text, digest=decision.digest
    )


def _proposal(
    connection: sqlite3.Connection, _parts: Parts, chat_output: ChatOutput, due: Behind
) -> _Posting | None:
    message, proposal = due.message, proposals.get(connection, due.message.ref)
    if proposal.status is not ProposalStatus.PENDING and message.ordered_at is None:
        messages.drop(connection, [message])  # it was decided elsewhere before anybody saw it here
        return None
    asked = decisions.meant(connection, ApprovalRef(kind=ApprovalKind.PROPOSAL, number=proposal.id))
    value = partial(_value, connection, message, asked)
    return _shown_message(message, proposal_card(proposal, chat_output.place, value), stamp=due.now)


def _draft(
    connection: sqlite3.Connection, _parts: Parts, chat_output: ChatOutput, due: Behind
) -> _Posting | None:
    message, draft = due.message, drafts.get(connection, due.message.ref)
    value = partial(_value, connection, message, drafts.asked_about(connection, draft))
    return _shown_message(message, draft_card(draft, chat_output.place, value), stamp=due.now)


def _briefing(
    connection: sqlite3.Connection, _parts: Parts, chat_output: ChatOutput, due: Behind
) -> _Posting | None:
    return _shown_message(due.message, briefing.message(connection, chat_output, due.message))


def _notice(
    connection: sqlite3.Connection, _parts: Parts, _chat_output: ChatOutput, due: Behind
) -> _Posting | None:
    """What happened, once: to everybody's work and to no job."""
    event = next(ledger.entries(connection, after=due.message.ref - 1))
    return _shown_message(due.message, notice(describe_event(event.name, loads(event.data))))


_MAKERS = {
    MessageKind.JOB: _job,
    MessageKind.STORY: _story,
    MessageKind.DECISION: _decision,
    MessageKind.PROPOSAL: _proposal,
    MessageKind.DRAFT: _draft,
    MessageKind.BRIEFING: _briefing,
    MessageKind.NOTICE: _notice,
}


async def _post_or_edit(parts: Parts, chat_output: ChatOutput, posting: _Posting) -> None:
    """Post or edit it, and note where it stands. What may have been posted before a crash is looked for first."""
    message, chat, ts = posting.message, chat_output.chat, posting.message.ts
    key = chat_output.key(message.key)
    if ts is None and posting.was_ordered and message.ordered_at is not None:
        since = message.ordered_at - LOOKS_BACK
        ts = await chat.find(message.channel, key, since=since, thread=message.thread)
    try:
        if ts is None:
            ts = (await chat.post(message.channel, posting.shown, key=key, thread=message.thread)).ts
        else:
            await chat.edit(Posted(channel=message.channel, ts=ts), posting.shown)
    finally:
        chat_output.spoke()
    await parts.database.write(Failpoint.MESSAGE_NOTED, lambda c: _note_posted(c, posting, ts=ts))


def _note_posted(connection: sqlite3.Connection, posting: _Posting, *, ts: object) -> None:
    message = posting.message
    changes = {"ts": ts, "shown": posting.shown.fingerprint, "stamp": posting.stamp}
    messages.note(connection, message, **changes)
    if message.kind is MessageKind.DECISION:
        messages.note(connection, message, is_final=posting.stamp != DecisionState.OPEN)
        return
    if message.kind is MessageKind.PROPOSAL:
        is_over = posting.stamp.startswith((ProposalStatus.REJECTED, ProposalStatus.IMPLEMENTED))
        messages.note(connection, message, is_final=is_over)
        return
    if message.kind is MessageKind.DRAFT:
        is_over = posting.stamp.startswith((DraftState.REJECTED, DraftState.DEPLOYED))
        messages.note(connection, message, is_final=is_over)
        return
    if message.kind in {MessageKind.STORY, MessageKind.BRIEFING, MessageKind.NOTICE}:
        messages.note(connection, message, is_final=True)
    root = messages.of(connection, MessageKind.JOB, message.ref)
    if root is not None and message.kind in {MessageKind.JOB, MessageKind.STORY}:
        shown_until = max(root.told, posting.shown_until)
        messages.note(connection, root, told=shown_until, is_final=_is_over(connection, root, shown_until))


def _is_over(connection: sqlite3.Connection, root: Message, shown_until: int) -> bool:
    """Whether nothing of a job can change any more, and its thread has told all of it."""
    job = jobs.get(connection, root.ref)
    if job.is_open or messages.is_stirring(connection, job.id):
        return False
    is_up_to_date = next(ledger.entries(connection, job_id=job.id, after=shown_until), None) is None
    return is_up_to_date and messages.get(connection, root.id).stamp == messages.job_now(connection, job.id)


async def _lost(parts: Parts, message: Message, error: MessageMissing) -> None:
    """What we edit was deleted in the chat, or the message whose thread it belongs to."""
    log.warning("message_missing", message=message.key, reason=str(error))
    act = messages.forget_place if message.ts is not None else _give_up
    await parts.database.write(Failpoint.MESSAGE_NOTED, lambda c: act(c, message))


def _give_up(connection: sqlite3.Connection, message: Message) -> None:
    """The thread it belongs to is gone."""
    messages.note(connection, message, is_final=True)
    root = messages.of(connection, MessageKind.JOB, message.ref)
    if message.kind is MessageKind.STORY and root is not None:
        messages.note(connection, root, told=message.part)
