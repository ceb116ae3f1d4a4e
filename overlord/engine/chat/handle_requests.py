"""What people said in the chat: written down before it was acknowledged, it is carried out once and answered once.

An answer that only its reader sees cannot be looked for afterwards: it is noted before it is sent, so that a crash may lose
one and never repeats one. A mention is answered in its thread, where it is found again.
"""

import sqlite3

import structlog
from structlog.contextvars import bound_contextvars

from overlord.domain.chat.answer import (
    done_message,
    help_message,
    misread_message,
    opened_message,
    refused_message,
)
from overlord.domain.chat.answer_words import as_understood, offer_message
from overlord.domain.chat.card import EVIDENCE, evidence_message
from overlord.domain.conversation.argument import CommandError
from overlord.domain.conversation.decision_words import NotAnAnswer
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.identifiers import ChannelId, MessageTs, UserId
from overlord.domain.person import Person
from overlord.domain.view.form import Form
from overlord.domain.view.view import View
from overlord.engine.chat import approvers, plain_language, plan_request
from overlord.engine.chat.chat_command import Help, chat_command, usages
from overlord.engine.chat.chat_view import chat_view, worded
from overlord.engine.chat.message_projection import LOOKS_BACK
from overlord.engine.runtime.chat_output import ChatOutput
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import ChatExpired, ChatRefused, ChatUnavailable, NotFound, Refused
from overlord.failpoints import Failpoint
from overlord.queries.job_story import story_of
from overlord.queries.registry import Question
from overlord.store import jobs, ledger
from overlord.store.bootstrap import issue_requests
from overlord.store.chat import buttons, messages, requests
from overlord.store.chat.requests import AT_HOME, Request, RequestKind, RequestState
from overlord.store.conversation import steering
from overlord.store.spaces import work_requests
from overlord.store.spaces.work_requests import WorkRequestState
from overlord.verbs import registry
from overlord.verbs.outcome import of_issue
from overlord.verbs.registry import Command
from overlord.verbs.right import NotAllowed, Right, check_right
from overlord.verbs.typed_words import typed_in_chat
from overlord.verbs.verb import Done

log = structlog.get_logger()


async def step(parts: Parts, chat_output: ChatOutput) -> Progress:
    """Take every request a step on; whether anything moved. Raises ChatUnavailable once the others had their turn."""
    moved, trouble = Progress.IDLE, None
    for request in await parts.database.read(requests.unanswered):
        if request.state is RequestState.READING:
            continue  # `read_words`, which takes its time
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
        if await parts.database.read(lambda c: _is_unread(c, parts, request)):
            await _note_state(parts, request, RequestState.READING)
            return Progress.MOVED
        planned = await parts.database.read(lambda c: plan_request.plan(c, parts, request))
        if planned is None:
            await _note_state(parts, request, RequestState.CARRIED_OUT)
            return Progress.MOVED
        by = await _person(parts, chat_output, request, planned.space, planned.right)
        await parts.database.write(
            Failpoint.REQUEST_CARRIED_OUT, lambda c: _settle(c, request, planned.act(c, by))
        )
        parts.notify()
    except NotAllowed as error:
        await _refuse(parts, request, str(error))
    except (Refused, NotFound) as error:
        is_read = isinstance(error, NotAnAnswer) and await parts.database.read(
            lambda c: plain_language.is_readable(c, parts, request)
        )
        state = RequestState.READING if is_read else RequestState.CARRIED_OUT
        await _note_state(parts, request, state, said=refused_message(error.worded(typed_in_chat)).summary)
    return Progress.MOVED


def _is_unread(connection: sqlite3.Connection, parts: Parts, request: Request) -> bool:
    """Whether somebody speaks to Overlord in words that are no command, and a model may read them."""
    is_spoken = request.kind in {RequestKind.COMMAND, RequestKind.MENTION}
    return (
        is_spoken
        and not plain_language.is_command(request.text)
        and plain_language.is_readable(connection, parts, request)
    )


async def read_words(parts: Parts, chat_output: ChatOutput, number: int) -> Progress:
    """Have a model read what somebody said: a look is answered then, a verb offered to whoever may give it."""
    request = await parts.database.read(lambda c: requests.get(c, number))
    if request.state is not RequestState.READING:
        return Progress.IDLE
    words = request.understood
    if words is None:
        words = await plain_language.read(parts, request)
        # Once and for all: a chat that fails while the writer is looked up costs no second call.
        await _note_state(parts, request, RequestState.READING, understood=words)
    command = chat_command(words) if words else None
    if command is not None and not isinstance(command, Question | Help):
        return await _offer(parts, chat_output, request, command, words)
    said = "" if words else request.said
    await _note_state(parts, request, RequestState.CARRIED_OUT, understood=words, said=said)
    return Progress.MOVED


async def _offer(
    parts: Parts, chat_output: ChatOutput, request: Request, command: Command, words: str
) -> Progress:
    """Offer what somebody's words ask for, if they may give it: what they may not, their words do not reach either."""

    def note(connection: sqlite3.Connection) -> None:
        value = plan_request.offer(connection, parts, request, command, words)
        changes = {"understood": words, "value": value, "said": ""}
        requests.note(connection, request, RequestState.CARRIED_OUT, **changes)

    try:
        space = await parts.database.read(lambda c: command.space(plan_request.context_of(c, parts)))
        await _person(parts, chat_output, request, space, command.right)
        await parts.database.write(Failpoint.REQUEST_CARRIED_OUT, note)
    except NotAllowed as error:
        await _refuse(parts, request, str(error), understood=words)
    except (Refused, NotFound) as error:
        said = refused_message(error.worded(typed_in_chat)).summary
        await _note_state(parts, request, RequestState.CARRIED_OUT, said=said, understood=words)
    return Progress.MOVED


async def _check_member(chat_output: ChatOutput, request: Request) -> None:
    """Raises NotAllowed for who is not talked with at all."""
    if why := await approvers.why_not_a_member(chat_output, request.user, request.team):
        raise NotAllowed(why)


async def _person(
    parts: Parts, chat_output: ChatOutput, request: Request, space: str, needed: Right
) -> Person:
    """Who asks, of whom `_check_member` knows: the one place where the chat makes a person. Raises NotAllowed for who may less
    than is needed."""
    is_approver = await approvers.may_decide(parts, chat_output, request.user, space)
    held = Right.APPROVER if is_approver else Right.ANYONE
    check_right(needed, held, approvers.not_among(parts, request.user, space))
    return Person.of(request.actor)


async def _note_state(parts: Parts, request: Request, state: RequestState, **changes: object) -> None:
    await parts.database.write(
        Failpoint.REQUEST_CARRIED_OUT, lambda c: requests.note(c, request, state, **changes)
    )


def _settle(connection: sqlite3.Connection, request: Request, done: Done) -> None:
    """In the transaction of what was done."""
    state = RequestState.CARRIED_OUT if done.work_request_id is None else RequestState.AWAITED
    if state is RequestState.CARRIED_OUT and not done.text:
        state = RequestState.ANSWERED  # the card says it, to everybody
    ids = {
        "wish_id": done.work_request_id,
        "message_id": done.message_id,
        "issue_request_id": done.issue_request_id,
    }
    requests.note(connection, request, state, said=done.worded(typed_in_chat), **ids)


async def _refuse(parts: Parts, request: Request, why: str, *, understood: str | None = None) -> None:
    """Say no, kindly, and write down that somebody tried."""

    def refuse(connection: sqlite3.Connection) -> None:
        _note_refusal(connection, parts, request, why)
        requests.note(connection, request, RequestState.CARRIED_OUT, said=why, understood=understood)

    await parts.database.write(Failpoint.REQUEST_CARRIED_OUT, refuse)


def _note_refusal(connection: sqlite3.Connection, parts: Parts, request: Request, why: str) -> None:
    data: dict[str, Json] = {"user": request.user, "team": request.team, "reason": why}
    event = LedgerEvent(name=EventName.CHAT_REFUSED, at=parts.clock.now(), actor=request.actor, data=data)
    ledger.append(connection, event)


async def form_for(parts: Parts, chat_output: ChatOutput, request: Request) -> Form:
    """The form behind a button. Raises Refused with what to say to who pressed it, NotFound, ChatUnavailable."""
    try:
        await _check_member(chat_output, request)
        space, form = await parts.database.read(lambda c: plan_request.form_behind(c, parts, request))
        await _person(parts, chat_output, request, space, registry.find("answer").right)
    except NotAllowed as error:
        why = str(error)
        await parts.database.write(
            Failpoint.REQUEST_CARRIED_OUT, lambda c: _note_refusal(c, parts, request, why)
        )
        raise
    return form


# What is answered


async def _awaited(parts: Parts, _chat_output: ChatOutput, request: Request) -> Progress:
    """See whether the forge was asked about what somebody wants worked on; or a message was read, an issue opened."""
    if request.message_id is not None:
        return await _read_or_not(parts, request, request.message_id)
    if request.issue_request_id is not None:
        return await _opened_or_not(parts, request, request.issue_request_id)
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


async def _opened_or_not(parts: Parts, request: Request, number: int) -> Progress:
    """Whether it is known what became of an issue that was asked for: then that is said as well, as it stands then."""
    known = await parts.database.read(lambda c: of_issue(c, number))
    if not known.is_final:
        return Progress.IDLE
    await _note_state(parts, request, RequestState.CARRIED_OUT, said="")
    return Progress.MOVED


def _is_answered_again(request: Request) -> bool:
    """Whether what is said now is not the last of it: a message is still to be read, an issue to be opened."""
    return request.message_id is not None or (request.issue_request_id is not None and bool(request.said))


def _next(request: Request) -> RequestState:
    """What a request is once it is answered."""
    return RequestState.AWAITED if _is_answered_again(request) else RequestState.ANSWERED


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
) -> View | None:
    if request.said:
        return done_message(request.said)
    if request.issue_request_id is not None:
        asked = issue_requests.get(connection, request.issue_request_id)
        said = of_issue(connection, asked.id).text
        if asked.issue_number is None:
            return done_message(said)
        return opened_message(said, asked.space, asked.issue_number, chat_output.place)
    if request.kind is RequestKind.PRESS:
        return _evidence(connection, parts, chat_output, request)
    if not request.understood and request.kind not in {RequestKind.COMMAND, RequestKind.MENTION}:
        return None
    try:
        command, context = (
            chat_command(request.understood or request.text),
            plan_request.context_of(connection, parts),
        )
        if isinstance(command, Help):
            return help_message(usages())
        if isinstance(command, Question):
            shown = chat_view(command.view(context), web=chat_output.place.web)
            return as_understood(request.understood, shown) if request.understood else shown
        if not request.understood:
            return None  # it has said what it did
        title, _ = command.about(context)
        verb = command.verb
        return offer_message(request.understood, verb.means, title, request.value, verb.confirm)
    except CommandError as error:
        return misread_message(error)
    except (Refused, NotFound) as error:
        return refused_message(error.worded(typed_in_chat))


def _evidence(
    connection: sqlite3.Connection, parts: Parts, chat_output: ChatOutput, request: Request
) -> View | None:
    button = buttons.find(connection, request.value)
    if button is None or button.verb != EVIDENCE:
        return None
    job = jobs.get(connection, messages.get(connection, button.message_id).ref)
    story = story_of(connection, job, parts.contract(job.space))
    return worded(evidence_message(story, chat_output.place))


async def _in_thread(parts: Parts, chat_output: ChatOutput, request: Request, message: View) -> None:
    channel, thread = ChannelId(request.channel), MessageTs(request.thread or request.ts)
    key = chat_output.key(f"request {request.id}{' sent' if _is_answered_again(request) else ''}")
    try:
        if await chat_output.chat.find(channel, key, since=request.at - LOOKS_BACK, thread=thread) is None:
            await chat_output.chat.post(channel, message, key=key, thread=thread)
            chat_output.spoke()
    except ChatRefused as error:
        log.warning("not_answered", reason=str(error))
    await _done(parts, request, _next(request))


async def _in_private(parts: Parts, chat_output: ChatOutput, request: Request, message: View) -> None:
    await _done(parts, request, _next(request))
    try:
        await _send_answer(chat_output, request, message)
    except ChatUnavailable:
        await _done(parts, request, RequestState.CARRIED_OUT)
        raise
    except ChatRefused as error:
        log.warning("not_answered", reason=str(error))


async def _send_answer(chat_output: ChatOutput, request: Request, message: View) -> None:
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
