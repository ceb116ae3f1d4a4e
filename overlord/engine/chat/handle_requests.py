"""What people said in the chat: written down before it was acknowledged, it is carried out once and answered once.

An answer that only its reader sees cannot be looked for afterwards: it is noted before it is sent, so that a crash may lose
one and never repeats one. A mention is answered in its thread, where it is found again.
"""

import sqlite3
from collections.abc import Callable
from functools import partial

import structlog
from structlog.contextvars import bound_contextvars

from overlord.domain.chat.answer import done_message, misread_message, refused_message
from overlord.domain.chat.card import EVIDENCE, RETRY, STOP, answer_form, evidence_message, rejection_form
from overlord.domain.chat.message import ChatMessage, Form
from overlord.domain.conversation.command import ChatCommand, ChatCommandError, chat_command
from overlord.domain.decision import DecisionState, Verb
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.identifiers import ChannelId, MessageTs, UserId
from overlord.domain.person import Person
from overlord.engine.chat import approvers, chat_drafts, chat_proposals, chat_replies
from overlord.engine.chat.chat_verbs import (
    ACTS,
    AskedCommand,
    Done,
    GivenCommand,
    NotTheirs,
    check_eyes,
    look,
    space_of,
    space_of_decision,
)
from overlord.engine.chat.message_projection import LOOKS_BACK
from overlord.engine.issues.job_summary import story_of
from overlord.engine.runtime.chat_output import ChatOutput
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import ChatExpired, ChatRefused, ChatUnavailable, NotFound, Refused
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs, ledger
from overlord.store.chat import buttons, messages, requests
from overlord.store.chat.buttons import KnownButton
from overlord.store.chat.messages import Message, MessageKind
from overlord.store.chat.requests import AT_HOME, Request, RequestKind, RequestState
from overlord.store.conversation import steering
from overlord.store.proposals import proposals
from overlord.store.spaces import work_requests
from overlord.store.spaces.work_requests import WorkRequestState
from overlord.verbs import commands

log = structlog.get_logger()

GONE = "That button is from an older card, and means nothing any more. The card as it is now says what can be done."


Act = Callable[[sqlite3.Connection, Person], Done]


async def step(parts: Parts, chat_output: ChatOutput) -> Progress:
    """Take every request a step on; whether anything moved. Raises ChatUnavailable once the others had their turn."""
    moved, trouble = Progress.IDLE, None
    for request in await parts.database.read(requests.unanswered):
        try:
            with bound_contextvars(request_id=request.id):
                moved |= await _STEPS[request.state](parts, chat_output, request)
        except ChatUnavailable as error:
            trouble = error
    if trouble is not None:
        raise trouble
    return moved


async def _handle_message(parts: Parts, chat_output: ChatOutput, request: Request) -> Progress:
    """Do what somebody asks for, if their word counts, or say why not."""
    try:
        await _check_member(chat_output, request)
        planned = await parts.database.read(lambda c: _plan(c, parts, request))
        if planned is None:
            await _note_state(parts, request, RequestState.CARRIED_OUT)
            return Progress.MOVED
        space, act = planned
        by = await _person(parts, chat_output, request, space)
        await parts.database.write(Failpoint.REQUEST_CARRIED_OUT, lambda c: _settle(c, request, act(c, by)))
        parts.notify()
    except NotTheirs as error:
        await _refuse(parts, request, str(error))
    except (Refused, NotFound) as error:
        await _note_state(parts, request, RequestState.CARRIED_OUT, said=refused_message(str(error)).summary)
    return Progress.MOVED


async def _check_member(chat_output: ChatOutput, request: Request) -> None:
    """Raises NotTheirs for who is not talked with at all."""
    if why := await approvers.why_not_a_member(chat_output, request.user, request.team):
        raise NotTheirs(why)


async def _person(parts: Parts, chat_output: ChatOutput, request: Request, space: str) -> Person:
    """Who asks, of whom `_check_member` knows: the one place where the chat makes a person. Raises NotTheirs for whose word
    does not count for a space."""
    if not await approvers.may_decide(parts, chat_output, request.user, space):
        raise NotTheirs(approvers.not_among(parts, request.user, space))
    return Person.of(request.actor)


async def _note_state(parts: Parts, request: Request, state: RequestState, **changes: object) -> None:
    await parts.database.write(
        Failpoint.REQUEST_CARRIED_OUT, lambda c: requests.note(c, request, state, **changes)
    )


def _settle(connection: sqlite3.Connection, request: Request, done: Done) -> None:
    """In the transaction of what was done."""
    state = RequestState.CARRIED_OUT if done.wish_id is None else RequestState.AWAITED
    if state is RequestState.CARRIED_OUT and not done.said:
        state = RequestState.ANSWERED  # the card says it, to everybody
    ids = {"wish_id": done.wish_id, "message_id": done.message_id}
    requests.note(connection, request, state, said=done.said, **ids)


async def _refuse(parts: Parts, request: Request, why: str) -> None:
    """Say no, kindly, and write down that somebody tried."""

    def refuse(connection: sqlite3.Connection) -> None:
        _note_refusal(connection, parts, request, why)
        requests.note(connection, request, RequestState.CARRIED_OUT, said=why)

    await parts.database.write(Failpoint.REQUEST_CARRIED_OUT, refuse)


def _note_refusal(connection: sqlite3.Connection, parts: Parts, request: Request, why: str) -> None:
    data: dict[str, Json] = {"user": request.user, "team": request.team, "reason": why}
    event = LedgerEvent(name=EventName.CHAT_REFUSED, at=parts.clock.now(), actor=request.actor, data=data)
    ledger.append(connection, event)


# What is asked for


def _plan(connection: sqlite3.Connection, parts: Parts, request: Request) -> tuple[str, Act] | None:
    """The space a request is about and what it does; None where it only looks. Raises Refused, NotFound."""
    if request.kind in {RequestKind.COMMAND, RequestKind.MENTION}:
        return _plan_command(connection, parts, request)
    if request.kind is RequestKind.REPLY:
        return chat_replies.plan(connection, parts, request)
    return _plan_press(connection, parts, request)


def _asked(connection: sqlite3.Connection, parts: Parts, command: ChatCommand) -> AskedCommand:
    return AskedCommand(connection=connection, parts=parts, command=command, at=parts.clock.now())


def _plan_command(connection: sqlite3.Connection, parts: Parts, request: Request) -> tuple[str, Act] | None:
    try:
        command = chat_command(request.text)
    except ChatCommandError:
        return None  # what to type instead is said with the answer
    if command.verb not in ACTS:
        return None
    asked = _asked(connection, parts, command)
    verb = ACTS[command.verb]

    def act(connection: sqlite3.Connection, by: Person) -> Done:
        at = parts.clock.now()
        return verb(GivenCommand(connection=connection, parts=parts, command=command, at=at, by=by))

    return space_of(asked), act


def _pressed(connection: sqlite3.Connection, request: Request) -> tuple[KnownButton, Message]:
    """What a press means, of a button that stands in that message. Raises Refused for anything else."""
    button = buttons.find(connection, request.value) if request.value else None
    if button is None:
        raise Refused(GONE)
    message = messages.get(connection, button.message_id)
    is_form = request.kind is RequestKind.FORM  # it was opened from there
    if request.channel == AT_HOME and not is_form:
        if message.kind is not MessageKind.DECISION:  # only these are shown there
            raise Refused(GONE)
        return button, message
    if not is_form and (message.channel, message.ts) != (request.channel, request.ts):
        raise Refused(GONE)
    return button, message


def _plan_press(connection: sqlite3.Connection, parts: Parts, request: Request) -> tuple[str, Act] | None:
    button, message = _pressed(connection, request)
    if button.decision_id is not None:
        decision = decisions.get(connection, button.decision_id)
        return space_of_decision(connection, decision), partial(
            chat_replies.answer,
            parts=parts,
            decision=decision,
            verb=Verb(button.verb),
            text=request.text or button.text,
            digest=button.digest,
        )
    at = parts.clock.now()
    if message.kind is MessageKind.PROPOSAL:
        space, decide = chat_proposals.pressed(connection, request, button, message, at)
        return space, lambda c, by: _quietly(decide(c, by))
    if message.kind is MessageKind.DRAFT:
        space, answer = chat_drafts.pressed(connection, request, button, message, at)
        return space, lambda c, by: Done(said=answer(c, by))
    job = jobs.get(connection, message.ref)
    if button.verb == EVIDENCE:
        return None
    if button.verb == STOP:
        return job.space, lambda c, by: _quietly(
            commands.stop_job(c, commands.StopJob(job_id=job.id, actor=by.actor), at=at)
        )
    if button.verb == RETRY:
        return job.space, lambda c, by: _quietly(
            commands.retry_job(c, commands.RetryJob(job_id=job.id, actor=by.actor), at=at)
        )
    raise Refused(GONE)


def _quietly(_done: object) -> Done:
    """What was done is seen in the card."""
    return Done(said="")


async def form_for(parts: Parts, chat_output: ChatOutput, request: Request) -> Form:
    """The form behind a button. Raises Refused with what to say to who pressed it, NotFound, ChatUnavailable."""

    def found(connection: sqlite3.Connection) -> tuple[str, Form]:
        button, message = _pressed(connection, request)
        if message.kind is MessageKind.PROPOSAL:
            chat_proposals.check_pending(connection, message.ref)
            proposal = proposals.get(connection, message.ref)
            return proposal.space, rejection_form(proposal.name, proposal.title, button.nonce)
        if message.kind is MessageKind.DRAFT:
            return chat_drafts.form_for(connection, button, message)
        decision = decisions.get(connection, button.decision_id or 0)
        if decision.state is not DecisionState.OPEN:
            raise Refused(f"decision {decision.id} is {decision.state} and takes no answer any more")
        check_eyes(connection, parts, decision, Verb(button.verb), request.actor)
        form = answer_form(decision, Verb(button.verb), button.nonce)
        return space_of_decision(connection, decision), form

    try:
        await _check_member(chat_output, request)
        space, form = await parts.database.read(found)
        await _person(parts, chat_output, request, space)
    except NotTheirs as error:
        why = str(error)
        await parts.database.write(
            Failpoint.REQUEST_CARRIED_OUT, lambda c: _note_refusal(c, parts, request, why)
        )
        raise
    return form


# What is answered


async def _awaited(parts: Parts, _chat_output: ChatOutput, request: Request) -> Progress:
    """See whether the forge was asked about what somebody wants worked on; or a message was read."""
    if request.message_id is not None:
        return await _read_or_not(parts, request, request.message_id)
    work_request = await parts.database.read(lambda c: work_requests.get(c, request.wish_id or 0))
    if work_request.state is WorkRequestState.OPEN:
        return Progress.IDLE
    await _note_state(parts, request, RequestState.CARRIED_OUT, said=work_request.answer)
    return Progress.MOVED


async def _read_or_not(parts: Parts, request: Request, number: int) -> Progress:
    """Whether it is known what became of a message: then that is said as well."""
    message = await parts.database.read(lambda c: steering.get(c, number))
    is_open = await parts.database.read(lambda c: jobs.get(c, message.job_id).is_open)
    if message.is_under_way and is_open:
        return Progress.IDLE
    await _note_state(
        parts, request, RequestState.CARRIED_OUT, said=message.outcome(is_open=is_open), message_id=None
    )
    return Progress.MOVED


def _next(request: Request) -> RequestState:
    """What a request is once it is answered: one whose message is still to be read is answered again."""
    return RequestState.ANSWERED if request.message_id is None else RequestState.AWAITED


async def _carried_out(parts: Parts, chat_output: ChatOutput, request: Request) -> Progress:
    """Answer, unless there is nothing to say that the cards do not show."""
    message = await parts.database.read(lambda c: _handle_command(c, parts, chat_output, request))
    if message is None:
        await _done(parts, request, RequestState.ANSWERED)
    elif request.kind is RequestKind.MENTION:
        await _in_thread(parts, chat_output, request, message)
    else:
        await _in_private(parts, chat_output, request, message)
    return Progress.MOVED


async def _done(parts: Parts, request: Request, state: RequestState) -> None:
    await parts.database.write(Failpoint.REQUEST_ANSWERED, lambda c: requests.note(c, request, state))


def _handle_command(
    connection: sqlite3.Connection, parts: Parts, chat_output: ChatOutput, request: Request
) -> ChatMessage | None:
    if request.said:
        return done_message(request.said)
    if request.kind is RequestKind.PRESS:
        return _evidence(connection, parts, chat_output, request)
    if request.kind not in {RequestKind.COMMAND, RequestKind.MENTION}:
        return None
    try:
        asked = _asked(connection, parts, chat_command(request.text))
        return look(asked, chat_output.place.web)
    except ChatCommandError as error:
        return misread_message(error)
    except (Refused, NotFound) as error:
        return refused_message(str(error))


def _evidence(
    connection: sqlite3.Connection, parts: Parts, chat_output: ChatOutput, request: Request
) -> ChatMessage | None:
    button = buttons.find(connection, request.value)
    if button is None or button.verb != EVIDENCE:
        return None
    job = jobs.get(connection, messages.get(connection, button.message_id).ref)
    return evidence_message(story_of(connection, job, parts.contract(job.space)), chat_output.place)


async def _in_thread(parts: Parts, chat_output: ChatOutput, request: Request, message: ChatMessage) -> None:
    channel, thread = ChannelId(request.channel), MessageTs(request.thread or request.ts)
    key = chat_output.key(f"request {request.id}{'' if request.message_id is None else ' sent'}")
    try:
        if await chat_output.chat.find(channel, key, since=request.at - LOOKS_BACK, thread=thread) is None:
            await chat_output.chat.post(channel, message, key=key, thread=thread)
            chat_output.spoke()
    except ChatRefused as error:
        log.warning("not_answered", reason=str(error))
    await _done(parts, request, _next(request))


async def _in_private(parts: Parts, chat_output: ChatOutput, request: Request, message: ChatMessage) -> None:
    await _done(parts, request, _next(request))
    try:
        await _send_answer(chat_output, request, message)
    except ChatUnavailable:
        await _done(parts, request, RequestState.CARRIED_OUT)
        raise
    except ChatRefused as error:
        log.warning("not_answered", reason=str(error))


async def _send_answer(chat_output: ChatOutput, request: Request, message: ChatMessage) -> None:
    """Where it was asked; for who asks too late for that, in the channel, for their eyes alone."""
    if request.address:
        try:
            await chat_output.chat.respond(request.address, message)
        except ChatExpired:
            pass
        else:
            return
    await chat_output.chat.ephemeral(where_seen(chat_output, request), UserId(request.user), message)


def where_seen(chat_output: ChatOutput, request: Request) -> ChannelId:
    """The channel where somebody sees an answer for their eyes alone: a Home tab has none of its own."""
    return chat_output.channel if request.channel == AT_HOME else ChannelId(request.channel)


_STEPS = {
    RequestState.HEARD: _handle_message,
    RequestState.AWAITED: _awaited,
    RequestState.CARRIED_OUT: _carried_out,
}
