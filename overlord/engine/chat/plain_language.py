"""Plain words in the chat, read by one metered call without tools: which command they ask for. Nothing is done here.

Without a model, over budget, or when somebody has asked too often, nothing is understood: people are told what to type instead.
"""

import asyncio
import secrets
import sqlite3
from datetime import timedelta

import structlog

from minion.protocol import SessionKind
from overlord.config_files import packaged
from overlord.domain.conversation.argument import MOST_CHARS, CommandError
from overlord.domain.conversation.plain_language import FEWEST_WORDS, CommandUsage, command_in, messages_for
from overlord.domain.conversation.typed_text import typed
from overlord.domain.session import Account
from overlord.domain.text.redaction import MARK
from overlord.engine.chat.chat_command import chat_command, usages
from overlord.engine.runtime.parts import Parts
from overlord.errors import ModelRefused, ModelUnavailable
from overlord.store import decisions, jobs
from overlord.store.chat import messages, requests
from overlord.store.chat.messages import MessageKind
from overlord.store.chat.requests import Request, RequestKind

WITHIN_S = 45.0
MOST_A_DAY = 40
"""Messages of one person that a model reads within a day."""

log = structlog.get_logger()


def is_readable(connection: sqlite3.Connection, parts: Parts, request: Request) -> bool:
    """Whether a model may be asked what a message means that is no command."""
    settings, text = parts.settings, request.text
    if not (settings.slack.plain_language and settings.repositories) or len(text) > MOST_CHARS:
        return False
    if request.kind is RequestKind.PRESS or len(text.split()) < FEWEST_WORDS or MARK in text:
        return False
    since = parts.clock.now() - timedelta(days=1)
    return requests.read_since(connection, request.user, since) < MOST_A_DAY


def is_command(text: str) -> bool:
    """Whether the chat understands some words as they are."""
    try:
        chat_command(text)
    except CommandError:
        return False
    return True


async def read(parts: Parts, request: Request) -> str:
    """The command that a message asks for, as it would be typed; empty for none."""
    open_jobs, waiting, place = await parts.database.read(
        lambda c: (jobs.open_jobs(c), decisions.inbox(c), _place(c, request))
    )
    asked = messages_for(
        typed(request.text),
        [CommandUsage(usage=item.form, means=item.means) for item in usages()],
        open_jobs,
        waiting,
        place=place,
        prompt=packaged("prompts/plain_language.md"),
        fence=f"data-{secrets.token_hex(8)}",
    )
    account = Account(id=f"chat-{request.id}", space=_books_of(parts, request), kind=SessionKind.REVIEW)
    try:
        async with asyncio.timeout(WITHIN_S):
            reply = await parts.assistant.answer(account, asked)
    except (ModelUnavailable, ModelRefused, TimeoutError) as error:
        log.warning("message_not_read", request=request.id, reason=str(error) or "no reply in time")
        return ""
    command = command_in(parts.current.redactor.redact(reply))
    return command if command and is_command(command) else ""


def _place(connection: sqlite3.Connection, request: Request) -> str:
    """What a reply answers to."""
    root = messages.at(connection, request.channel, request.thread) if request.thread else None
    is_asked = root is not None and root.kind is MessageKind.DECISION
    return f", a reply to decision {root.ref}" if is_asked and root is not None else ""


def _books_of(parts: Parts, request: Request) -> str:
    """The repository whose budget pays: the one that is named, else the first."""
    names = [str(name) for name in parts.settings.repositories]
    return next((name for name in names if name.casefold() in request.text.casefold()), names[0])
