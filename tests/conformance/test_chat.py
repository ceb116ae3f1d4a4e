"""What every chat does for the engine. It is run against the embedded one, and a real one where there is one.

The embedded one is always there. A real one is added by `OVERLORD_LIVE=1`, `SLACK_BOT_TOKEN` and `SLACK_CHANNEL_ID`: a
channel for nothing else, which Overlord's app is in. What is posted there is deleted again.
"""

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

import httpx
import pytest

from overlord.adapters.slack.chat import SLACK_API_URL, SlackChat
from overlord.domain.chat.account import Posted
from overlord.domain.identifiers import ChannelId, MessageTs, UserId
from overlord.domain.view.form import Form, FormField
from overlord.domain.view.span import Bold, Code, Link, Mention
from overlord.domain.view.view import (
    ActionId,
    Bullets,
    Button,
    Buttons,
    ButtonStyle,
    Heading,
    Note,
    Output,
    Paragraph,
    Quote,
    Rule,
    View,
)
from overlord.embedded.chat.chat import EmbeddedChat
from overlord.errors import ChatMissing, ChatRefused
from overlord.ports.chat import Chat

LIVE_VARIABLES = ("SLACK_BOT_TOKEN", "SLACK_CHANNEL_ID")
IS_LIVE = os.environ.get("OVERLORD_LIVE") == "1" and all(os.environ.get(name) for name in LIVE_VARIABLES)
NEVER = MessageTs("1000000000.000100")
TIMEOUT_S = 30.0


class Ground(Protocol):
    """A channel at an external service, from the people's side."""

    chat: Chat
    channel: ChannelId

    async def delete(self, posted: Posted) -> None: ...


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class EmbeddedGround:
    """The chat in this process."""

    people: EmbeddedChat
    chat: Chat
    channel: ChannelId

    async def delete(self, posted: Posted) -> None:
        self.people.delete_message(posted.ts)


@dataclass(slots=True)
class LiveGround:
    """A real channel; leaves it as it was."""

    chat: Chat
    channel: ChannelId
    client: httpx.AsyncClient

    async def delete(self, posted: Posted) -> None:
        answer = await self.client.post("chat.delete", json={"channel": posted.channel, "ts": posted.ts})
        assert answer.json()["ok"], answer.text

    async def undo(self) -> None:
        """Delete what we said in the last minutes, replies before what they answer."""
        ours = (await self.chat.identity()).user
        standing = await self.ask("conversations.history", oldest=str(utc_now().timestamp() - 300))
        for message in standing:
            replies = (
                await self.ask("conversations.replies", ts=message["ts"]) if "reply_count" in message else []
            )
            for made in [*replies[1:], message]:
                if made.get("user") == ours:
                    await self.delete(Posted(channel=self.channel, ts=MessageTs(made["ts"])))

    async def ask(self, method: str, **more: str) -> list[dict[str, str]]:
        answer = await self.client.post(method, data={"channel": self.channel, "limit": "200", **more})
        messages: list[dict[str, str]] = answer.json().get("messages", [])
        return messages


@asynccontextmanager
async def embedded_ground() -> AsyncIterator[Ground]:
    people = EmbeddedChat()
    async with people.serve() as url:
        chat = SlackChat(api_url=f"{url}/api/", bot_token=people.bot_token, timeout_s=TIMEOUT_S, now=utc_now)
        yield EmbeddedGround(people, chat, ChannelId(people.channel))
        await chat.close()


@asynccontextmanager
async def live_ground() -> AsyncIterator[Ground]:
    token, channel = (os.environ[variable] for variable in LIVE_VARIABLES)
    chat = SlackChat(api_url=SLACK_API_URL, bot_token=token, timeout_s=TIMEOUT_S, now=utc_now)
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=SLACK_API_URL, headers=headers, timeout=TIMEOUT_S) as client:
        ground = LiveGround(chat, ChannelId(channel), client)
        yield ground
        await ground.undo()
    await chat.close()


@pytest.fixture(params=["embedded"] + ["live"] * IS_LIVE)
async def ground(request: pytest.FixtureRequest) -> AsyncIterator[Ground]:
    async with live_ground() if request.param == "live" else embedded_ground() as ground:
        yield ground


@pytest.fixture
def word() -> str:
    """Something no other run has used."""
    return secrets.token_hex(4)


@pytest.fixture
def since() -> datetime:
    """Before anything of this test was posted, whatever the external service's clock says."""
    return utc_now() - timedelta(minutes=5)


def saying(text: str, *labels: str) -> View:
    row = Buttons(tuple(Button(action=ActionId("press"), label=label, value=label) for label in labels))
    return View(summary=text, parts=(Paragraph((text,)), *([row] if labels else [])))


HOSTILE = "<!channel> <!here> <@U012AB3CD> <https://evil.example|ok> @everyone *b* _i_ `c` ```\n> q & &lt; \u202e\x1b[31m\x00"


def with_everything(user: UserId) -> View:
    """Every part and span there is, with words in it that mean something to a chat, and more than it takes."""
    button = Button(
        action=ActionId("press"),
        label=HOSTILE * 4,
        value="n0nce",
        style=ButtonStyle.PRIMARY,
        confirm=HOSTILE * 9,
    )
    leading = Button(action=ActionId("look"), label="Evidence", url="https://github.com/acme/calc/pull/7")
    spans = (
        HOSTILE,
        Bold(HOSTILE),
        Code(HOSTILE),
        Link("https://github.com/acme/calc", HOSTILE),
        Mention(user),
    )
    return View(
        summary=HOSTILE * 100,
        parts=(
            Heading(HOSTILE * 9),
            Paragraph(spans),
            Bullets((spans, (HOSTILE,), ())),
            Quote(HOSTILE * 50),
            Output(HOSTILE * 50),
            Rule(),
            Buttons((button, button, leading)),
            *(Paragraph((HOSTILE * 9,)) for _ in range(60)),
            Note(HOSTILE),
            Buttons((button,)),
        ),
    )  # fmt: skip


async def test_it_says_who_we_are(ground: Ground) -> None:
    identity = await ground.chat.identity()
    ourselves = await ground.chat.person(identity.user)
    assert (ourselves.id, ourselves.team, ourselves.is_bot) == (identity.user, identity.team, True)
    assert not ourselves.is_guest
    assert not ourselves.is_gone


async def test_a_message_is_found_by_its_key(ground: Ground, word: str, since: datetime) -> None:
    assert await ground.chat.find(ground.channel, word, since=since) is None
    posted = await ground.chat.post(ground.channel, saying("first"), key=word)
    assert posted.channel == ground.channel
    assert await ground.chat.find(ground.channel, word, since=since) == posted.ts
    again = await ground.chat.post(ground.channel, saying("second"), key=word)
    assert await ground.chat.find(ground.channel, word, since=since) == again.ts
    assert await ground.chat.find(ground.channel, f"{word}-other", since=since) is None


async def test_what_was_posted_before_is_not_found(ground: Ground, word: str) -> None:
    await ground.chat.post(ground.channel, saying("first"), key=word)
    assert await ground.chat.find(ground.channel, word, since=utc_now() + timedelta(hours=1)) is None


async def test_a_reply_is_found_in_its_thread(ground: Ground, word: str, since: datetime) -> None:
    card = await ground.chat.post(ground.channel, saying("card"), key=f"{word}-card")
    reply = await ground.chat.post(ground.channel, saying("story"), key=word, thread=card.ts)
    assert await ground.chat.find(ground.channel, word, since=since, thread=card.ts) == reply.ts
    assert await ground.chat.find(ground.channel, word, since=since) is None


async def test_an_edit_keeps_the_place_and_the_key(ground: Ground, word: str, since: datetime) -> None:
    posted = await ground.chat.post(ground.channel, saying("running", "Stop"), key=word)
    await ground.chat.edit(posted, saying("done"))
    await ground.chat.edit(posted, saying("done", "Retry"))
    assert await ground.chat.find(ground.channel, word, since=since) == posted.ts


async def test_a_message_that_is_gone_is_missing(ground: Ground, word: str, since: datetime) -> None:
    posted = await ground.chat.post(ground.channel, saying("running"), key=word)
    await ground.delete(posted)
    assert await ground.chat.find(ground.channel, word, since=since) is None
    with pytest.raises(ChatMissing):
        await ground.chat.edit(posted, saying("done"))
    with pytest.raises(ChatMissing):
        await ground.chat.edit(Posted(channel=ground.channel, ts=NEVER), saying("done"))


async def test_every_part_is_taken_whatever_it_says(ground: Ground, word: str) -> None:
    message = with_everything((await ground.chat.identity()).user)
    posted = await ground.chat.post(ground.channel, message, key=word)
    await ground.chat.edit(posted, message)


async def test_a_home_tab_takes_every_part_and_is_no_strangers(ground: Ground, word: str) -> None:
    """In a real workspace nobody's own tab is touched."""
    message = with_everything((await ground.chat.identity()).user)
    if isinstance(ground, EmbeddedGround):
        user = UserId(ground.people.add_user(word))
        for _ in range(2):
            await ground.chat.publish(user, message)
            shown = ground.people.home(user)
            assert shown is not None and shown.buttons
    with pytest.raises(ChatRefused):
        await ground.chat.publish(UserId("U0NOBODY"), message)


async def test_what_is_not_there_is_missing(ground: Ground, word: str, since: datetime) -> None:
    nowhere = ChannelId("C0NOWHERE00")
    with pytest.raises(ChatMissing):
        await ground.chat.post(nowhere, saying("x"), key=word)
    with pytest.raises(ChatMissing):
        await ground.chat.find(nowhere, word, since=since)
    with pytest.raises(ChatMissing):
        await ground.chat.find(ground.channel, word, since=since, thread=NEVER)
    with pytest.raises(ChatMissing):
        await ground.chat.person(UserId("U0NOBODY000"))
    with pytest.raises(ChatMissing):
        await ground.chat.group("S0NOBODY000")
    with pytest.raises(ChatMissing):
        await ground.chat.ephemeral(ground.channel, UserId("U0NOBODY000"), saying("x"))


async def test_what_nobody_pressed_is_not_answered(ground: Ground) -> None:
    with pytest.raises(ChatRefused):
        await ground.chat.respond("https://evil.example/commands/T0/1/x", saying("x"))
    form = Form(
        action=ActionId("answer"), value="", title="Answer", submit="Send", fields=(FormField(name="a", label="A"),)
    )  # fmt: skip
    with pytest.raises(ChatRefused):
        await ground.chat.ask("1.2.forged", form)
