"""The morning briefing: due once a day, at an hour of a time zone, and told only where it says something new."""

import sqlite3
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from overlord.domain.chat.brief_view import brief_view
from overlord.domain.chat.briefing import suggestion
from overlord.domain.chat.card import PRESS, is_worded
from overlord.domain.inquiry import OpenDecision
from overlord.domain.view.view import Button, Buttons, View
from overlord.engine.chat.chat_view import chat_view
from overlord.engine.runtime.chat_output import ChatOutput
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.queries import overview
from overlord.store.chat import briefings, buttons, messages
from overlord.store.chat.messages import Message, MessageKind

MOST_BUTTONS = 10


def is_due(connection: sqlite3.Connection, parts: Parts) -> bool:
    """Whether none was made since the hour last came, or none ever: then the days begin to count."""
    cron = parts.settings.briefing.cron
    if cron is None:
        return False
    slot = cron.slot_at(parts.clock.now())
    return not briefings.has_any(connection, slot.at, slot.until)


async def step(parts: Parts, chat_output: ChatOutput) -> Progress:
    """Compile the briefing that is due; whether there is something to tell."""
    compile_it = partial(_compile, chat_output=chat_output, at=parts.clock.now())
    return Progress.of(await parts.database.write(Failpoint.BRIEFING_MADE, compile_it))


def _compile(connection: sqlite3.Connection, *, chat_output: ChatOutput, at: datetime) -> bool:
    previous = briefings.last(connection, sent=True) or briefings.last(connection)
    if previous is None:
        briefings.add(connection, since=at, at=at, fingerprint="", is_told=False)
        return False
    since = previous.at if previous.at <= at else _since_clock_went_back(connection, at)
    briefing = overview.brief(connection, since=since, at=at)
    is_news = briefing.has_news_since(previous.fingerprint)
    number = briefings.add(connection, since=since, at=at, fingerprint=briefing.fingerprint, is_told=is_news)
    if is_news:
        messages.want(connection, MessageKind.BRIEFING, number, channel=chat_output.channel)
    return is_news


def _since_clock_went_back(connection: sqlite3.Connection, at: datetime) -> datetime:
    """From when on a briefing tells what happened, where the last one was made at a time that is still to come."""
    known = briefings.last_before(connection, at)
    return known.at if known is not None else at - timedelta(days=1)


def message(connection: sqlite3.Connection, chat_output: ChatOutput, row: Message) -> View:
    """A briefing as it is told: what there is to say now, with a button for each suggested answer."""
    kept = briefings.get(connection, row.ref)
    briefing = overview.brief(connection, since=kept.since, at=kept.at)
    content = chat_view(brief_view(briefing, has_actions=False), web=chat_output.place.web)
    offered = tuple(
        _button(connection, row, asked)
        for asked in briefing.waiting[:MOST_BUTTONS]
        if not is_worded(asked.decision.verbs[0])
    )
    return replace(content, parts=(*content.parts, Buttons(offered))) if offered else content


def _button(connection: sqlite3.Connection, row: Message, asked: OpenDecision) -> Button:
    decision = asked.decision
    value = buttons.make(
        connection,
        row.id,
        decision.verbs[0],
        decision_id=decision.id,
        digest=decision.digest,
    )
    return Button(action=PRESS, label=f"{decision.id}: {suggestion(asked)}", value=value)
