"""What a request of the chat asks for: a verb, about a repository, as it was typed, replied or pressed. Nothing is done here."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace

from overlord.domain.chat.card import EVIDENCE, answer_form
from overlord.domain.chat.draft_card import EDIT
from overlord.domain.conversation.argument import MOST_CHARS, CommandError
from overlord.domain.conversation.decision_words import answer_in, names_answer
from overlord.domain.conversation.typed_text import typed
from overlord.domain.decision import ApprovalKind, ApprovalRef, Decision, DecisionState, Verb
from overlord.domain.identifiers import ChannelId
from overlord.domain.interface import Interface
from overlord.domain.person import Person
from overlord.domain.text.reference import JobRef
from overlord.domain.view.form import Form
from overlord.engine.chat import chat_drafts
from overlord.engine.chat.chat_command import Help, chat_command
from overlord.engine.runtime.parts import Parts
from overlord.errors import Refused
from overlord.queries.registry import Question
from overlord.store import decisions, jobs
from overlord.store.chat import buttons, messages
from overlord.store.chat.buttons import KnownButton
from overlord.store.chat.messages import Message, MessageKind
from overlord.store.chat.requests import AT_HOME, Request, RequestKind
from overlord.verbs import answering, message, registry
from overlord.verbs.registry import Command
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done

GONE = "That button is from an older card, and means nothing any more. The card as it is now says what can be done."
WORDLESS = "Overlord cannot read files. Write the answer in words, in the same thread."


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a request does once it is known who asks."""

    space: str
    """The repository whose approvers may have it done; empty for everything."""
    right: Right
    act: Callable[[sqlite3.Connection, Person], Done]
    """In one transaction. Raises NotFound, Refused."""


def context_of(
    connection: sqlite3.Connection, parts: Parts, by: Person | None = None, digest: str = ""
) -> Context:
    """What a verb of the chat looks at; without anybody who gives it, nothing can be done."""
    return Context(
        connection=connection,
        current_settings=lambda: parts.settings,
        contract=parts.contract,
        interface=Interface.CHAT,
        at=parts.clock.now(),
        actor=by.actor if by is not None else "",
        by=by,
        digest=digest or None,
    )


def plan(connection: sqlite3.Connection, parts: Parts, request: Request) -> Plan | None:
    """None where a request only looks, or is talk that is none of ours. Raises Refused, NotFound."""
    if request.kind in {RequestKind.COMMAND, RequestKind.MENTION}:
        return _typed(connection, parts, request)
    if request.kind is RequestKind.REPLY:
        return _replied(connection, parts, request)
    return _pressed(connection, parts, request)


def _typed(connection: sqlite3.Connection, parts: Parts, request: Request) -> Plan | None:
    try:
        command = chat_command(request.text)
    except CommandError:
        return None  # what to type instead is said with the answer
    return None if isinstance(command, Question | Help) else _of(connection, parts, command)


def _of(
    connection: sqlite3.Connection,
    parts: Parts,
    command: Command,
    digest: str = "",
    *,
    is_quiet: bool = False,
) -> Plan:
    """A command as a plan; a quiet one's card says what was done."""

    def act(connection: sqlite3.Connection, by: Person) -> Done:
        done = command.act(context_of(connection, parts, by, digest))
        return replace(done, text="", message_id=None) if is_quiet and not done.is_refused else done

    return Plan(space=command.space(context_of(connection, parts)), right=command.right, act=act)


def _answering(
    connection: sqlite3.Connection,
    parts: Parts,
    decision: Decision,
    answered: tuple[Verb, str],
    digest: str = "",
) -> Plan:
    """An answer to a decision as it was shown; its card says what was answered."""

    def act(connection: sqlite3.Connection, by: Person) -> Done:
        context = context_of(connection, parts, by, digest or decision.digest)
        return replace(answering.answer(context, decision, *answered), text="")

    space = context_of(connection, parts).decision_space(decision)
    return Plan(space=space, right=answering.right_of(decision), act=act)


# Words in a thread: the answer to what is asked there, else a message to the job the thread is about


def _replied(connection: sqlite3.Connection, parts: Parts, request: Request) -> Plan | None:
    """Nobody's words are left without a word: what cannot be an answer is told to whoever wrote it, with what to type instead.
    Talk in other threads is none of ours. Who sent a file alone took it for an answer."""
    root = messages.at(connection, request.channel, request.thread)
    if root is not None and root.kind in _ABOUT:
        return _replied_to_card(connection, parts, root, request)
    decision, job_id = _meant(connection, root, request) if root is not None else (None, None)
    if decision is None and job_id is None:
        return None
    words = typed(request.text[:MOST_CHARS])
    if not words.strip():
        raise Refused(WORDLESS)
    if decision is not None:
        return _answering(connection, parts, decision, answer_in(decision, words))
    job = jobs.get(connection, job_id or 0)
    if not job.is_open:
        raise Refused(f"job {job.id} has ended already, and nobody reads this")
    command = registry.command_about("message", JobRef(number=job.id), words)
    return _of(connection, parts, command, is_quiet=True)


_ABOUT = {MessageKind.PROPOSAL: ApprovalKind.PROPOSAL, MessageKind.DRAFT: ApprovalKind.DRAFT}


def _replied_to_card(
    connection: sqlite3.Connection, parts: Parts, root: Message, request: Request
) -> Plan | None:
    """An answer to a proposal or a draft: its verb, and words after it. People talk about these in their threads: that is none of
    ours."""
    decision = decisions.meant(connection, ApprovalRef(kind=_ABOUT[root.kind], number=root.ref))
    words = typed(request.text[:MOST_CHARS])
    if decision.state is not DecisionState.OPEN or not names_answer(decision, words):
        return None
    return _answering(connection, parts, decision, answer_in(decision, words))


def _meant(
    connection: sqlite3.Connection, root: Message, request: Request
) -> tuple[Decision | None, int | None]:
    """The open decision that a thread is about, else its job: that of a decision's card, or of a job's thread what the job waits for
    and words answer."""
    if root.kind is MessageKind.DECISION:
        decision = decisions.get(connection, root.ref)
        return (decision if decision.state is DecisionState.OPEN else None), decision.job_id
    if root.kind is MessageKind.JOB:
        return message.answerable(connection, root.ref, before=request.at), root.ref
    return None, None


# Buttons and forms


def _pressed(connection: sqlite3.Connection, parts: Parts, request: Request) -> Plan | None:
    button, card = _button(connection, request)
    if button.verb == EVIDENCE:
        return None
    if card.kind is MessageKind.OFFER:
        return _offered(connection, parts, button, card)
    if card.kind is MessageKind.DRAFT and button.verb == EDIT:
        ref = ApprovalRef(kind=ApprovalKind.DRAFT, number=card.ref)
        command = registry.command_about(EDIT, ref, request.text)
        return _of(connection, parts, command, button.digest, is_quiet=True)
    if button.decision_id is not None:
        decision = decisions.get(connection, button.decision_id)
        answered = Verb(button.verb), request.text or button.text
        return _answering(connection, parts, decision, answered, button.digest)
    if card.kind is not MessageKind.JOB or button.verb not in registry.offered(Interface.CHAT):
        raise Refused(GONE)
    command = registry.command_about(button.verb, JobRef(number=card.ref), request.text)
    return _of(connection, parts, command, button.digest, is_quiet=True)


def offer(
    connection: sqlite3.Connection, parts: Parts, request: Request, command: Command, words: str
) -> str:
    """The value of the button that does a command, once; bound to what its decision shows now. Raises NotFound, Refused."""
    _, digest = command.about(context_of(connection, parts))
    row = messages.want(connection, MessageKind.OFFER, request.id, channel=ChannelId(request.channel))
    messages.note(connection, row, is_final=True)
    return buttons.make(connection, row.id, command.name, text=words, digest=digest)


def _offered(connection: sqlite3.Connection, parts: Parts, button: KnownButton, row: Message) -> Plan:
    """What was understood of somebody's words: a command like any other, once."""
    if row.told:
        raise Refused("that was done already; say it again if it is meant again")
    command = chat_command(button.text)
    assert not isinstance(command, Question | Help), "only what does something is offered"
    planned = _of(connection, parts, command, button.digest)

    def act(connection: sqlite3.Connection, by: Person) -> Done:
        done = planned.act(connection, by)
        messages.note(connection, row, told=1)
        return done

    return replace(planned, act=act)


def _button(connection: sqlite3.Connection, request: Request) -> tuple[KnownButton, Message]:
    """What a press means, of a button that stands in that message. Raises Refused for anything else."""
    button = buttons.find(connection, request.value) if request.value else None
    if button is None:
        raise Refused(GONE)
    card = messages.get(connection, button.message_id)
    if card.kind is MessageKind.OFFER:  # it stands in an answer, whose place nobody knows
        return button, card
    is_form = request.kind is RequestKind.FORM  # it was opened from there
    if request.channel == AT_HOME and not is_form:
        if card.kind is not MessageKind.DECISION:  # only these are shown there
            raise Refused(GONE)
        return button, card
    if not is_form and (card.channel, card.ts) != (request.channel, request.ts):
        raise Refused(GONE)
    return button, card


def form_behind(connection: sqlite3.Connection, parts: Parts, request: Request) -> tuple[str, Form]:
    """The repository a button is about, and its form. Raises Refused, NotFound."""
    button, card = _button(connection, request)
    if card.kind is MessageKind.DRAFT and button.verb == EDIT:
        return chat_drafts.form_for(connection, card.ref, button.nonce)
    decision = decisions.get(connection, button.decision_id or 0)
    decisions.check_open(decision)
    context = replace(context_of(connection, parts), actor=request.actor)
    answering.check_eyes(context, decision, Verb(button.verb))
    return context.decision_space(decision), answer_form(decision, Verb(button.verb), button.nonce)
