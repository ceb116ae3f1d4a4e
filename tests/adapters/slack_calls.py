"""Every call of `ports.Chat`, ready to be made, and the Slack-shaped external services they are tried against."""

import logging
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from overlord.adapters.slack.chat import SlackChat
from overlord.domain.chat.account import Posted
from overlord.domain.identifiers import ChannelId, MessageTs, UserId
from overlord.domain.view.form import Form, FormField
from overlord.domain.view.view import ActionId, Button, Buttons, Paragraph, View
from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.server import serve
from overlord.errors import ExternalServiceError

STARTED_AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
FORM = Form(
    action=ActionId("answer"),
    value="n0nce",
    title="Answer",
    submit="Send",
    fields=(FormField(name="answer", label="Your answer"),),
)


@dataclass(slots=True)
class Clock:
    """A clock that stands still until it is moved."""

    at: datetime = STARTED_AT

    def __call__(self) -> datetime:
        return self.at

    def move(self, **by: float) -> None:
        self.at += timedelta(**by)


def saying(text: str, *buttons: str) -> View:
    """A message of one line, with buttons of these labels."""
    row = Buttons(
        tuple(Button(action=ActionId(label.lower()), label=label, value="n0nce") for label in buttons)
    )
    return View(summary=text, parts=(Paragraph((text,)), *([row] if buttons else [])))


def connect(base_url: str, token: str, clock: Clock, **more: Any) -> SlackChat:
    asked = {"api_url": f"{base_url}/api/", "bot_token": token, "timeout_s": 10.0, "now": clock}
    return SlackChat(**{**asked, **more})


@dataclass(frozen=True, slots=True)
class Call:
    """One call: what Slack names its method, and what makes it once everything it needs is there."""

    method: str
    make: Callable[[SlackChat, "Ground"], Awaitable[object]]


@dataclass(slots=True, kw_only=True)
class Ground:
    """What calls need: somebody, a group, a message, an address for answers, a trigger."""

    people: EmbeddedChat
    channel: ChannelId
    posted: Posted
    user: UserId
    group: str
    address: str
    trigger: str


async def ground(people: EmbeddedChat, chat: SlackChat) -> Ground:
    user = people.add_user("ada")
    channel = ChannelId(people.channel)
    posted = await chat.post(channel, saying("here"), key="first")
    delivered = await people.command(user, "status")
    return Ground(
        people=people,
        channel=channel,
        posted=posted,
        user=UserId(user),
        group=people.add_group("approvers", [user]),
        address=delivered.payload["response_url"],
        trigger=delivered.payload["trigger_id"],
    )


READS = (
    Call("auth.test", lambda chat, at: chat.identity()),
    Call("conversations.history", lambda chat, at: chat.find(at.channel, "first", since=STARTED_AT)),
    Call(
        "conversations.replies",
        lambda chat, at: chat.find(at.channel, "first", since=STARTED_AT, thread=at.posted.ts),
    ),
    Call("users.info", lambda chat, at: chat.person(at.user)),
    Call("usergroups.users.list", lambda chat, at: chat.group(at.group)),
)
WRITES = (
    Call("chat.postMessage", lambda chat, at: chat.post(at.channel, saying("more"), key="second")),
    Call("chat.update", lambda chat, at: chat.edit(at.posted, saying("changed"))),
    Call("chat.postEphemeral", lambda chat, at: chat.ephemeral(at.channel, at.user, saying("psst"))),
    Call("response", lambda chat, at: chat.respond(at.address, saying("done"))),
    Call("views.publish", lambda chat, at: chat.publish(at.user, saying("home"))),
    Call("views.open", lambda chat, at: chat.ask(at.trigger, FORM)),
)
CALLS = (*READS, *WRITES)


@dataclass(slots=True)
class FarEnd:
    """An external service that says the same to everybody, and what it was asked."""

    base_url: str = ""
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)


@asynccontextmanager
async def far_end(answer: Callable[[Request], Response]) -> AsyncIterator[FarEnd]:
    end = FarEnd()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        await request.body()
        end.asked.append((request.url.path, dict(request.headers)))
        await answer(request)(scope, receive, send)

    async with serve(app) as end.base_url:
        yield end


def accepting(_request: Request) -> Response:
    return JSONResponse({"ok": True, "channel": "C1", "ts": "1700000000.000100"})


def told(error: BaseException) -> str:
    """Everything that printing an exception, or what it came from, could show."""
    chain = [error]
    while (cause := chain[-1].__cause__) or (
        not chain[-1].__suppress_context__ and (cause := chain[-1].__context__)
    ):
        chain.append(cause)
    return "\n".join(
        [*traceback.format_exception(error), *map(repr, chain), *(repr(vars(one)) for one in chain)]
    )


async def failure(call: Call, chat: SlackChat, at: Ground) -> ExternalServiceError:
    with pytest.raises(ExternalServiceError) as caught:
        await call.make(chat, at)
    # The SDK's and aiohttp's exceptions hold the request, and that the token.
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return caught.value


def logged(caplog: pytest.LogCaptureFixture) -> str:
    formatter = logging.Formatter("%(name)s %(message)s")
    return "\n".join(formatter.format(record) for record in caplog.records)


ANY_TS = MessageTs("1700000000.000100")
