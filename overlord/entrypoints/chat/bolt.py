"""What Slack sends, as requests of our own: read strictly, stored, and only then acknowledged. Nothing is decided here.

A press that needs words is the exception: its form has three seconds to open, and opening it changes nothing.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, Self

import structlog
from pydantic import BaseModel, Field, ValidationError, model_validator
from slack_bolt import BoltResponse
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from overlord.app import Overlord
from overlord.domain.chat.answer import refused_message
from overlord.domain.chat.card import FILL, PRESS
from overlord.domain.identifiers import UserId
from overlord.engine.chat import handle_requests
from overlord.engine.runtime.chat_output import ChatOutput
from overlord.errors import ChatRefused, ChatUnavailable, NotFound, Refused
from overlord.failpoints import Failpoint
from overlord.settings.chat import Slack
from overlord.store.chat import home_tabs, requests
from overlord.store.chat.requests import AT_HOME, Request, RequestKind
from overlord.verbs.typed_words import typed_in_chat

log = structlog.get_logger()
_bolt_log = logging.getLogger("overlord.slack")
_bolt_log.setLevel(logging.ERROR)
FORM_S = 2.5
"""Who pressed is told to press again rather than shown nothing when looking them up takes longer."""
FROM_PEOPLE = frozenset({None, "", "thread_broadcast", "file_share"})
"""Subtypes of messages that a person wrote: also sent to the channel, or with a file. All others tell of something that happened."""
Ack = Callable[..., Awaitable[Any]]
Id = Annotated[str, Field(min_length=1, max_length=64)]
Words = Annotated[str, Field(max_length=40_000)]


class _Command(BaseModel):
    user_id: Id
    team_id: Id
    channel_id: Id
    trigger_id: Annotated[str, Field(min_length=1, max_length=200)]
    text: Words = ""
    response_url: Annotated[str, Field(max_length=2000)] = ""


class _Event(BaseModel):
    user: Id
    channel: Id
    ts: Id
    text: Words = ""
    thread_ts: str = ""
    team: str = ""
    bot_id: str = ""


class _Head(BaseModel):
    """What tells whether a message is a person's words in a thread: others lack more than that."""

    thread_ts: str = ""
    subtype: str | None = None


class _Beginning(BaseModel):
    event: _Head


class _Envelope(BaseModel):
    team_id: Id
    event: _Event


class _User(BaseModel):
    id: Id
    team_id: str = ""


class _Container(BaseModel):
    """Where a button stands: in a message, or in somebody's Home tab, which has neither a channel nor a message."""

    type: Annotated[str, Field(max_length=40)] = "message"
    channel_id: Annotated[str, Field(max_length=64)] = ""
    message_ts: Annotated[str, Field(max_length=64)] = ""

    @model_validator(mode="after")
    def _is_somewhere(self) -> Self:
        if self.type != "view" and not (self.channel_id and self.message_ts):
            raise ValueError("a button of a message has a channel and a message")
        return self


class _HomeOpened(BaseModel):
    user: Id
    tab: Annotated[str, Field(max_length=40)]


class _Opening(BaseModel):
    team_id: Id
    event: _HomeOpened


class _Action(BaseModel):
    action_id: Annotated[str, Field(max_length=255)]
    value: Annotated[str, Field(max_length=2000)] = ""


class _Team(BaseModel):
    id: str = ""


class _Press(BaseModel):
    user: _User
    team: _Team = _Team()
    container: _Container
    trigger_id: Annotated[str, Field(min_length=1, max_length=200)]
    response_url: Annotated[str, Field(max_length=2000)] = ""
    actions: Annotated[list[_Action], Field(min_length=1, max_length=25)]


class _Field(BaseModel):
    value: str | None = None


class _State(BaseModel):
    values: dict[str, dict[str, _Field]] = Field(default_factory=dict)


class _View(BaseModel):
    id: Id
    private_metadata: Annotated[str, Field(max_length=3000)] = ""
    state: _State


class _Sent(BaseModel):
    user: _User
    team: _Team = _Team()
    view: _View


class ChatListener:
    """The listeners of one Overlord."""

    def __init__(self, running: Overlord, chat_output: ChatOutput) -> None:
        self._running = running
        self._chat_output = chat_output
        self._redactor = running.parts.current.redactor
        self._opening: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Open no more forms."""
        for opening in self._opening:
            opening.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)

    async def command(self, ack: Ack, body: dict[str, Any]) -> None:
        payload = _Command.model_validate(body)
        request = self._request(
            RequestKind.COMMAND,
            key=f"command {payload.trigger_id}",
            user=payload.user_id,
            team=payload.team_id,
            channel=payload.channel_id,
        )
        await self._take_in(replace(request, text=payload.text, address=payload.response_url))
        await ack()

    async def mention(self, ack: Ack, body: dict[str, Any]) -> None:
        payload = _Envelope.model_validate(body)
        event = payload.event
        if not event.bot_id:
            request = self._message_request(RequestKind.MENTION, payload)
            await self._take_in(replace(request, text=await self._without_our_name(event.text)))
        await ack()

    async def message(self, ack: Ack, body: dict[str, Any]) -> None:
        """Words in a thread; a mention comes as an event of its own, and other talk is none of ours. Files are not read."""
        head = _Beginning.model_validate(body).event
        if head.thread_ts and head.subtype in FROM_PEOPLE:
            payload = _Envelope.model_validate(body)
            us = (await self._chat_output.identity()).user
            if not payload.event.bot_id and f"<@{us}>" not in payload.event.text:
                request = self._message_request(RequestKind.REPLY, payload)
                await self._take_in(replace(request, text=payload.event.text))
        await ack()

    async def home(self, ack: Ack, body: dict[str, Any]) -> None:
        """Somebody opened our pages in the chat; the tab with messages is none of ours."""
        payload = _Opening.model_validate(body)
        if payload.event.tab == "home":
            user, team, at = payload.event.user, payload.team_id, self._running.parts.clock.now()
            await self._running.parts.database.write(
                Failpoint.HOME_OPENED, lambda c: home_tabs.opened(c, user=user, team=team, at=at)
            )
            self._running.wakeup.notify()
        await ack()

    async def press(self, ack: Ack, body: dict[str, Any]) -> None:
        payload = _Press.model_validate(body)
        action = payload.actions[0]
        is_at_home = payload.container.type == "view"
        request = self._request(
            RequestKind.PRESS,
            key=f"press {payload.trigger_id}",
            user=payload.user.id,
            team=payload.user.team_id or payload.team.id,
            channel=AT_HOME if is_at_home else payload.container.channel_id,
        )
        request = replace(
            request, ts=payload.container.message_ts, value=action.value, address=payload.response_url
        )
        meant = action.action_id.partition(":")[0]
        if meant == PRESS:
            await self._take_in(request)
        await ack()
        if meant == FILL:  # beside it: the acknowledgement is sent once this has returned
            opening = asyncio.create_task(self._fill(request, payload.trigger_id))
            self._opening.add(opening)
            opening.add_done_callback(self._opening.discard)

    async def form(self, ack: Ack, body: dict[str, Any]) -> None:
        payload = _Sent.model_validate(body)
        fields = [field for block in payload.view.state.values.values() for field in block.values()]
        text = next((field.value or "" for field in fields), "")
        request = self._request(
            RequestKind.FORM,
            key=f"form {payload.view.id}",
            user=payload.user.id,
            team=payload.user.team_id or payload.team.id,
            channel=self._chat_output.channel,
        )
        await self._take_in(replace(request, text=text[:40_000], value=payload.view.private_metadata))
        await ack()

    def _request(self, kind: RequestKind, *, key: str, user: str, team: str, channel: str) -> Request:
        at = self._running.parts.clock.now()
        return Request(key=key, kind=kind, user=user, team=team, channel=channel, at=at)

    def _message_request(self, kind: RequestKind, payload: _Envelope) -> Request:
        event = payload.event
        request = self._request(
            kind,
            key=f"{kind} {event.channel} {event.ts}",
            user=event.user,
            team=event.team or payload.team_id,
            channel=event.channel,
        )
        return replace(request, ts=event.ts, thread=event.thread_ts)

    async def _take_in(self, request: Request) -> None:
        """Write it down, without secrets of ours: people's words are shown to others."""
        request = replace(request, text=self._redactor.redact(request.text))
        await self._running.parts.database.write(
            Failpoint.REQUEST_RECEIVED, lambda c: requests.receive(c, request)
        )
        self._running.wakeup.notify()

    async def _without_our_name(self, text: str) -> str:
        us = (await self._chat_output.identity()).user
        return re.sub(rf"<@{re.escape(us)}(\|[^>]*)?>[,:]?", " ", text, count=1).strip()

    async def _fill(self, request: Request, trigger: str) -> None:
        """Open the form behind a button, or tell who pressed why not."""
        chat, why = self._chat_output.chat, "That took too long. Press it again, please."
        try:
            async with asyncio.timeout(FORM_S):
                form = await handle_requests.form_for(self._running.parts, self._chat_output, request)
                await chat.ask(trigger, form)
            return
        except (Refused, NotFound) as error:
            why = error.worded(typed_in_chat)
        except (TimeoutError, ChatUnavailable, ChatRefused) as error:
            log.warning("form_not_opened", reason=str(error))
        try:
            await chat.ephemeral(
                handle_requests.where_seen(self._chat_output, request),
                UserId(request.user),
                refused_message(why),
            )
        except (ChatUnavailable, ChatRefused) as error:
            log.warning("not_answered", reason=str(error))


def chat_app(slack: Slack, listener: ChatListener, chat_output: ChatOutput) -> AsyncApp:
    """The Bolt app whose listeners write down what people say. A request it does not understand is refused, and so is one
    that cannot be written down: whoever made it sees that, and events are sent again."""

    async def authorized(**_: Any) -> AuthorizeResult:
        token = slack.bot_token.get_secret_value()
        try:
            us = await chat_output.identity()
        except (ChatUnavailable, ChatRefused):  # presses and commands arrive all the same
            return AuthorizeResult(enterprise_id=None, team_id=None, bot_token=token)
        return AuthorizeResult(
            enterprise_id=None, team_id=us.team, bot_user_id=us.user, bot_id="", bot_token=token
        )

    app = AsyncApp(
        name="overlord.slack",  # Bolt sets the level of the logger that has this name
        logger=_bolt_log,
        signing_secret=slack.signing_secret.get_secret_value() or "unused",
        client=AsyncWebClient(
            token=slack.bot_token.get_secret_value(), base_url=slack.api_url, logger=_bolt_log
        ),
        authorize=authorized,
        process_before_response=True,  # else Bolt acknowledges events before anybody has taken them
        attaching_function_token_enabled=False,
        attaching_conversation_kwargs_enabled=False,
    )
    app.command(re.compile(r".*"))(listener.command)
    app.event("app_mention")(listener.mention)
    app.event("app_home_opened")(listener.home)
    app.event("message")(listener.message)
    app.action(re.compile(r".*"))(listener.press)
    app.view(re.compile(r".*"))(listener.form)

    async def failed(error: Exception) -> BoltResponse | None:
        if isinstance(error, ValidationError):
            log.warning("request_not_understood", fields=[str(item["loc"]) for item in error.errors()])
            return BoltResponse(status=400)
        log.error("request_not_heard", reason=str(error))
        return None

    app.error(failed)
    return app
