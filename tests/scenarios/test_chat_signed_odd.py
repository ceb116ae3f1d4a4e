"""Whatever a signed request holds, it is answered: 200 for what is understood or is news to us, 400 and one line in the log for
what makes no sense. Never a traceback, and nothing is written for it."""

import asyncio
import contextlib
import itertools
import json
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus, urlencode

import httpx
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import ASGIApp

from overlord.embedded.chat.hook import signed_headers
from overlord.embedded.chat.workspace import utc_now
from overlord.entrypoints.chat.bolt import ChatListener, chat_app
from overlord.entrypoints.chat.signed import KEPT_S, SignedRequests
from overlord.store.chat import requests
from tests.chatting import made_talk

FORM, JSON = "application/x-www-form-urlencoded", "application/json"
PATH = "/slack/events"


@dataclass
class Slack:
    """Who can sign, and the daemon's end."""

    secret: str
    app: ASGIApp
    read: Any

    async def post(self, body: bytes, content_type: str, **headers: str) -> int:
        signed = signed_headers(self.secret, body, at=utc_now(), content_type=content_type) | headers
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return (await client.post(PATH, content=body, headers=signed)).status_code


@contextlib.asynccontextmanager
async def made_slack() -> AsyncIterator[Slack]:
    async with made_talk() as talk:
        chat, world = talk.chat, talk.world
        signing = {"app_token": "", "signing_secret": chat.signing_secret}
        world.overrides["slack"] = world.overrides["slack"] | signing
        world.chat = None  # there is no socket to wait for
        await world.start()
        parts = world.overlord.parts
        assert parts.chat_output is not None
        listener = ChatListener(world.overlord, parts.chat_output)
        later = itertools.count(step=int(KEPT_S) + 1)  # the same body twice in a second is no repetition here
        app = SignedRequests(
            chat_app(parts.settings.slack, listener, parts.chat_output),
            chat.signing_secret,
            monotonic=lambda: float(next(later)),
        )
        yield Slack(secret=chat.signing_secret, app=app, read=world.read)
        await listener.close()


@contextlib.contextmanager
def running() -> Iterator[tuple[asyncio.Runner, Slack]]:
    with asyncio.Runner() as runner:
        stack = contextlib.AsyncExitStack()
        slack = runner.run(stack.enter_async_context(made_slack()))
        try:
            yield runner, slack
        finally:
            runner.run(stack.aclose())


WORDS = st.sampled_from(
    ["", "x", "T1", "U1", "event_callback", "message", "view_submission", "\ud800", "é" * 70]
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
EVENT = {"type": "message", "user": "U1", "channel": "C1", "ts": "1.1", "thread_ts": "1.0", "text": "yes"}
ENVELOPE = {"type": "event_callback", "team_id": "T1", "event": EVENT}
MENTION = {**ENVELOPE, "event": {**EVENT, "type": "app_mention"}}
USER = {"id": "U1", "team_id": "T1"}
PLACE = {"channel_id": "C1", "message_ts": "1.1"}
BUTTON = {"type": "button", "action_id": "press:1", "block_id": "b", "value": "v"}
PRESS = {"type": "block_actions", "user": USER, "container": PLACE, "trigger_id": "1.2", "actions": [BUTTON]}
STATE = {"values": {"b": {"a": {"type": "plain_text_input", "value": "words"}}}}
VIEW = {"id": "V1", "type": "modal", "callback_id": "answer", "private_metadata": "n", "state": STATE}
SENT = {"type": "view_submission", "user": USER, "view": VIEW}
COMMAND = {"command": "/overlord", "user_id": "U1", "team_id": "T1", "channel_id": "C1", "trigger_id": "1.3"}
BOLTS = (
    "authorizations",
    "enterprise",
    "team",
    "user",
    "is_ext_shared_channel",
    "response_urls",
    "message",
    "item",
)
"""What the library reads beside what we do."""


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a payload: what holds it, and under which name."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


@st.composite
def bent(draw: st.DrawFn) -> dict[str, Any]:
    """A payload of Slack's with something missing, or something else in its place."""
    payload: dict[str, Any] = json.loads(json.dumps(draw(st.sampled_from([ENVELOPE, MENTION, PRESS, SENT]))))
    for _ in range(draw(st.integers(1, 2))):
        known = [*places(payload), *((payload, name) for name in BOLTS)]
        holder, key = draw(st.sampled_from(known))
        if draw(st.booleans()) or key not in (holder if isinstance(holder, dict) else range(len(holder))):
            holder[key] = draw(ODD)
        else:
            del holder[key]
    return payload


def as_form(payload: object) -> bytes:
    return b"payload=" + quote_plus(json.dumps(payload)).encode()


BODIES = st.one_of(
    st.tuples(st.binary(max_size=40), st.sampled_from([FORM, JSON, "text/plain", ""])),
    st.tuples(st.text(max_size=40).map(str.encode), st.sampled_from([FORM, JSON])),
    st.tuples(ODD.map(lambda odd: json.dumps(odd).encode()), st.just(JSON)),
    st.tuples(bent().map(lambda odd: json.dumps(odd).encode()), st.just(JSON)),
    st.tuples(ODD.map(as_form) | bent().map(as_form), st.just(FORM)),
    st.tuples(st.binary(max_size=20).map(lambda odd: b"payload=" + odd), st.just(FORM)),
    st.tuples(
        st.dictionaries(st.sampled_from([*COMMAND, "ssl_check", "payload"]), st.text(max_size=80)).map(
            lambda some: urlencode({**COMMAND, **some}, errors="replace").encode()
        ),
        st.just(FORM),
    ),
)
DEEP = 100_000
NESTED = [
    (b"[" * DEEP, JSON),
    (b'{"event":' * DEEP, JSON),
    (b'{"type":"event_callback","authorizations":' + b"[" * 900 + b"]" * 900 + b"}", JSON),
    (b'{"type":"x","authorizations":[' * 900 + b"{}" + b"]}" * 900, JSON),
    (b"payload=" + b"[" * DEEP, FORM),
    (b"payload=" + quote_plus('{"view":' * 5000).encode(), FORM),
    (b"1" * 10_000, JSON),
    *(
        (json.dumps({"type": kind, "callback_id": "x", "view": {"type": "modal"}}).encode(), JSON)
        for kind in ("workflow_step_edit", "dialog_submission", "interactive_message", "view_submission")
    ),
    (b'{"type":"view_closed","view":null}', JSON),
    (json.dumps({**PRESS, "actions": [{**BUTTON, "action_id": 7}]}).encode(), JSON),
    (json.dumps({**SENT, "view": {**VIEW, "callback_id": 7}}).encode(), JSON),
    (json.dumps({**COMMAND, "command": 7}).encode(), JSON),
    (b'{"type":"block_actions","actions":[]}', JSON),
    (json.dumps({"type": "view_submission", "view": {"callback_id": "x"}}).encode(), JSON),
]


def test_whatever_is_signed_is_answered_and_what_makes_no_sense_is_one_line_in_the_log() -> None:
    with running() as (runner, slack):

        def check(body: bytes, content_type: str) -> None:
            before = len(runner.run(slack.read(requests.unanswered)))
            with structlog.testing.capture_logs() as lines:
                status = runner.run(slack.post(body, content_type))
            assert status in {200, 400}, (status, body)
            if status == 400:
                assert [line["event"] for line in lines] == ["request_not_understood"], (lines, body)
                assert len(runner.run(slack.read(requests.unanswered))) == before

        @settings(max_examples=150)
        @given(BODIES)
        def answers(given_: tuple[bytes, str]) -> None:
            check(*given_)

        for body, content_type in NESTED:
            check(body, content_type)
        answers()


async def test_what_slack_sends_that_is_news_to_us_is_not_sent_again() -> None:
    async with made_slack() as slack:
        for news in (
            {**ENVELOPE, "event": {"type": "reaction_added", "item": {}}},
            {"type": "app_rate_limited", "team_id": "T1", "minute_rate_limited": 1},
        ):
            assert await slack.post(json.dumps(news).encode(), JSON) == 200


async def test_what_slack_sends_leaves_our_own_warnings_on() -> None:
    async with made_slack() as slack:
        assert (
            await slack.post(json.dumps({**ENVELOPE, "event": {"type": "reaction_added"}}).encode(), JSON)
            == 200
        )
    assert logging.getLogger("overlord").level == logging.NOTSET


def test_a_signature_or_time_that_is_none_is_a_strangers() -> None:
    odd = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=80)
    names = st.sampled_from(["x-slack-signature", "x-slack-request-timestamp"])
    with running() as (runner, slack):

        @settings(max_examples=60)
        @given(names, odd)
        def refuses(name: str, value: str) -> None:
            assert runner.run(slack.post(b"text=status", FORM, **{name: value})) == 401

        refuses()
