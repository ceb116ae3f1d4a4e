"""People's Home tabs: shown when they are opened, and kept up to date for a while after that. Bounded: each look takes the tabs
there are, and one that shows the same as before is not sent again."""

import sqlite3
from functools import partial

import structlog

from overlord.domain.chat.card import ValueOf
from overlord.domain.chat.home_tab import HomeInitiative, HomeView, home_message, refused_home
from overlord.domain.decision import Decision
from overlord.domain.identifiers import ChannelId, UserId
from overlord.domain.portfolio.initiative import InitiativeState as S
from overlord.domain.proposals.proposal import ProposalStatus
from overlord.domain.view.view import View
from overlord.engine.chat import approvers
from overlord.engine.chat.chat_view import chat_view
from overlord.engine.runtime.chat_output import ChatOutput
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import ChatRefused, ChatUnavailable
from overlord.failpoints import Failpoint
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.queries.portfolio import lines
from overlord.store.chat import buttons, home_tabs, messages
from overlord.store.chat.home_tabs import ChatHome
from overlord.store.chat.messages import MessageKind
from overlord.store.portfolio import initiatives
from overlord.store.proposals import proposals

log = structlog.get_logger()

DAYS = 7
"""How far back it says what was spent."""


def is_behind(connection: sqlite3.Connection, parts: Parts) -> bool:
    """Whether a tab is to be shown anew."""
    return bool(home_tabs.behind(connection, at=parts.clock.now()))


async def step(parts: Parts, chat_output: ChatOutput) -> Progress:
    """Show every tab that is behind; whether there was one. Raises ChatUnavailable once the others had their turn."""
    behind = await parts.database.read(lambda c: home_tabs.behind(c, at=parts.clock.now()))
    trouble = None
    for home in behind:
        try:
            await _publish(parts, chat_output, home)
        except ChatUnavailable as error:
            trouble = error
    if trouble is not None:
        raise trouble
    return Progress.of(bool(behind))


async def _publish(parts: Parts, chat_output: ChatOutput, home: ChatHome) -> None:
    why = await approvers.why_not_a_member(chat_output, home.user, home.team)
    make = partial(_made, parts=parts, chat_output=chat_output, why=why)
    stamp, message = await parts.database.write(Failpoint.HOME_MADE, make)
    shown = message.fingerprint
    if home.is_due or shown != home.shown:
        try:
            await chat_output.chat.publish(UserId(home.user), message)
        except ChatRefused as error:  # the app has no such tab, or they are gone
            log.warning("home_not_shown", user=home.user, reason=str(error))
    await parts.database.write(
        Failpoint.HOME_NOTED, lambda c: home_tabs.note(c, home, stamp=stamp, shown=shown)
    )


def _made(
    connection: sqlite3.Connection, *, parts: Parts, chat_output: ChatOutput, why: str
) -> tuple[str, View]:
    """What a tab shows now, and how far the ledger is."""
    stamp = home_tabs.now(connection)
    if why:
        return stamp, refused_home(why)
    at, settings = parts.clock.now(), parts.settings
    view = HomeView(
        status=overview.status(connection, settings, at=at),
        queue=overview.queue(connection, settings, at=at),
        costs=overview.cost(connection, settings, at=at, days=DAYS),
        proposals=sum(item.status is ProposalStatus.PENDING for item in proposals.unfinished(connection)),
        portfolio=_portfolio(Look(connection=connection, current_settings=lambda: settings, at=at)),
        page=settings.page.url,
    )
    shown = home_message(view, chat_output.place, partial(_values, connection, chat_output.channel))
    return stamp, chat_view(shown, web=chat_output.place.web)


_ORDER = (S.ACTIVE, S.PLANNING, S.PROPOSED, S.QUEUED, S.PAUSED)


def _portfolio(look: Look) -> tuple[HomeInitiative, ...]:
    """The initiatives that have not ended: those that are worked on first."""
    found = lines(look, initiatives.unfinished(look.connection))
    return tuple(
        HomeInitiative(
            ref=line.ref,
            space=line.space,
            title=line.title,
            state=line.state,
            tasks_done=line.tasks_done,
            tasks_all=line.tasks_all,
            waits=line.waits,
        )
        for line in sorted(found, key=lambda line: _ORDER.index(line.state))
    )


def _values(connection: sqlite3.Connection, channel: ChannelId, decision: Decision) -> ValueOf:
    """The same buttons as those of its card: each of them counts once, wherever it is pressed."""
    card = messages.want(connection, MessageKind.DECISION, decision.id, channel=channel)
    return lambda verb, text: buttons.make(
        connection, card.id, verb, decision_id=decision.id, text=text, digest=decision.digest
    )
