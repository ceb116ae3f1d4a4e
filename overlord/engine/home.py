"""People's Home tabs: shown when they are opened, and kept up to date for a while after that. Bounded: each look takes the tabs
there are, and one that shows the same as before is not sent again."""

import sqlite3
from functools import partial

import structlog

from overlord import inquiries
from overlord.domain.chat import ChatMessage
from overlord.domain.chat_card import ValueOf
from overlord.domain.chat_home import HomeView, home_message, refused_home
from overlord.domain.decision import Decision
from overlord.domain.names import ChannelId, UserId
from overlord.domain.proposal import ProposalStatus
from overlord.engine import people
from overlord.engine.parts import Parts
from overlord.engine.speech import Speech
from overlord.errors import ChatRefused, ChatUnavailable
from overlord.points import Point
from overlord.store import buttons, homes, messages, proposals
from overlord.store.homes import ChatHome
from overlord.store.messages import MessageKind

log = structlog.get_logger()

DAYS = 7
"""How far back it says what was spent."""


def is_behind(connection: sqlite3.Connection, parts: Parts) -> bool:
    """Whether a tab is to be shown anew."""
    return bool(homes.behind(connection, at=parts.clock.now()))


async def step(parts: Parts, speech: Speech) -> bool:
    """Show every tab that is behind; whether there was one. Raises ChatUnavailable once the others had their turn."""
    behind = await parts.database.read(lambda c: homes.behind(c, at=parts.clock.now()))
    trouble = None
    for home in behind:
        try:
            await _show(parts, speech, home)
        except ChatUnavailable as error:
            trouble = error
    if trouble is not None:
        raise trouble
    return bool(behind)


async def _show(parts: Parts, speech: Speech, home: ChatHome) -> None:
    why = await people.why_not_heard(speech, home.user, home.team)
    make = partial(_made, parts=parts, speech=speech, why=why)
    stamp, message = await parts.database.write(Point.HOME_MADE, make)
    shown = message.fingerprint
    if home.is_due or shown != home.shown:
        try:
            await speech.chat.publish(UserId(home.user), message)
        except ChatRefused as error:  # the app has no such tab, or they are gone
            log.warning("home_not_shown", user=home.user, reason=str(error))
    await parts.database.write(Point.HOME_NOTED, lambda c: homes.note(c, home, stamp=stamp, shown=shown))


def _made(
    connection: sqlite3.Connection, *, parts: Parts, speech: Speech, why: str
) -> tuple[str, ChatMessage]:
    """What a tab shows now, and how far the ledger is."""
    stamp = homes.now(connection)
    if why:
        return stamp, refused_home(why)
    at, settings = parts.clock.now(), parts.settings
    view = HomeView(
        status=inquiries.status(connection, settings, at=at),
        queue=inquiries.queue(connection, settings, at=at),
        costs=inquiries.cost(connection, settings, at=at, days=DAYS),
        proposals=sum(item.status is ProposalStatus.PENDING for item in proposals.standing(connection)),
    )
    return stamp, home_message(view, speech.place, partial(_values, connection, speech.channel))


def _values(connection: sqlite3.Connection, channel: ChannelId, decision: Decision) -> ValueOf:
    """The same buttons as those of its card: each of them counts once, wherever it is pressed."""
    card = messages.want(connection, MessageKind.DECISION, decision.id, channel=channel)
    return lambda verb, text: buttons.make(
        connection, card.id, verb, decision_id=decision.id, text=text, digest=decision.digest
    )
