"""Signed deliveries of the embedded chat, against a small listener that checks signatures with Slack's own code."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import pytest
from slack_sdk.signature import Clock, SignatureVerifier
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.server import serve

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class Standing(Clock):
    """Slack's verifier lives in the chat's time."""

    def now(self) -> float:
        return AT.timestamp()


class Ear:
    """A listener that keeps what it is sent, and answers as it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.answer: Response = Response(status_code=200)
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = await request.body()
        self.heard.append((dict(request.headers), body))
        asked = json.loads(body) if request.headers["content-type"] == "application/json" else {}
        if asked.get("type") == "url_verification":
            await JSONResponse({"challenge": asked["challenge"]})(scope, receive, send)
            return
        await self.may_answer.wait()
        await self.answer(scope, receive, send)


@pytest.fixture
async def chat() -> AsyncIterator[EmbeddedChat]:
    chat = EmbeddedChat(now=lambda: AT, retry_after_s=(0.0, 0.0, 0.0))
    chat.add_user("alice")
    async with chat.serve():
        yield chat


@pytest.fixture
async def ear() -> AsyncIterator[Ear]:
    yield Ear()


@pytest.fixture
async def address(ear: Ear) -> AsyncIterator[str]:
    async with serve(ear) as url:
        yield f"{url}/slack/events"
        ear.may_answer.set()


def form(body: bytes) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}


async def test_everything_is_signed_as_slack_signs(chat: EmbeddedChat, ear: Ear, address: str) -> None:
    await chat.deliver_to(address)
    await chat.command("alice", "status & more")
    await chat.say("alice", "hello")
    verifier = SignatureVerifier(chat.signing_secret, Standing())
    assert len(ear.heard) == 3
    for headers, body in ear.heard:
        assert verifier.is_valid_request(body, headers)
        assert not verifier.is_valid_request(body + b" ", headers)
        timestamp = headers["x-slack-request-timestamp"]
        signed = f"v0:{timestamp}:".encode() + body
        expected = hmac.new(chat.signing_secret.encode(), signed, hashlib.sha256).hexdigest()
        assert headers["x-slack-signature"] == f"v0={expected}"


async def test_an_address_that_does_not_answer_the_challenge_is_not_used(
    chat: EmbeddedChat, ear: Ear
) -> None:
    async def mute(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("hello")(scope, receive, send)

    async with serve(mute) as url:
        with pytest.raises(ValueError, match="did not answer the challenge"):
            await chat.deliver_to(url)
    assert (await chat.command("alice", "status")).error == "dispatch_failed"


async def test_a_command_is_a_form_and_its_answer_is_shown(
    chat: EmbeddedChat, ear: Ear, address: str
) -> None:
    await chat.deliver_to(address)
    ear.answer = JSONResponse({"text": "On it."})
    assert (await chat.command("alice", "status")).plain == "On it."
    headers, body = ear.heard[-1]
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    told = form(body)
    assert (told["command"], told["text"], told["user_name"]) == ("/overlord", "status", "alice")
    ear.answer = PlainTextResponse("Plain words.")
    assert (await chat.command("alice", "status")).plain == "Plain words."


async def test_a_press_is_a_form_with_json_in_it(chat: EmbeddedChat, ear: Ear, address: str) -> None:
    await chat.deliver_to(address)
    text = {"type": "plain_text", "text": "Stop"}
    actions: dict[str, Any] = {
        "type": "actions",
        "elements": [{"type": "button", "text": text, "action_id": "stop", "value": "nonce"}],
    }
    message = chat.workspace.put(chat.channel, chat.bot_user, "x", blocks=[actions])
    delivered = await chat.click("alice", message.ts, "Stop")
    pressed = json.loads(form(ear.heard[-1][1])["payload"])
    assert (pressed["type"], pressed["actions"][0]["value"]) == ("block_actions", "nonce")
    before = ear.heard[-1]
    await chat.replay(delivered)
    after = ear.heard[-1]
    assert after[1] == before[1]
    signed = ("x-slack-signature", "x-slack-request-timestamp")
    assert [after[0][name] for name in signed] == [before[0][name] for name in signed]


async def test_an_event_that_is_refused_is_sent_three_times_more(
    chat: EmbeddedChat, ear: Ear, address: str
) -> None:
    await chat.deliver_to(address)
    ear.answer = Response(status_code=500)
    await chat.say("alice", "hello")
    await chat.arrived()
    heads = [headers for headers, _ in ear.heard[1:]]
    assert [head.get("x-slack-retry-num") for head in heads] == [None, "1", "2", "3"]
    assert {head.get("x-slack-retry-reason") for head in heads[1:]} == {"http_error"}
    assert len({json.loads(body)["event_id"] for _, body in ear.heard[1:]}) == 1


async def test_a_listener_that_is_slow_or_gone_fails_the_command_once(chat: EmbeddedChat, ear: Ear) -> None:
    async with serve(ear) as address:
        hook = await chat.deliver_to(address)
        hook.timeout_s = 0.2
        ear.may_answer.clear()
        assert (await chat.command("alice", "status")).error == "operation_timeout"
        hook.timeout_s = 30.0
        ear.may_answer.set()
        ear.answer = Response(status_code=401)
        assert (await chat.command("alice", "status")).error == "dispatch_failed"
    assert (await chat.command("alice", "status")).error == "dispatch_failed"
    assert len(ear.heard) == 3
    assert [message.plain for message in chat.ephemerals("alice")] == [
        f'/overlord failed with the error "{word}"'
        for word in ("operation_timeout", "dispatch_failed", "dispatch_failed")
    ]
