"""The Slack adapter when things are not as they should be: every failure is one of ours, says what to do, and leaks nothing."""

import logging
import re
from datetime import timedelta
from email.utils import format_datetime

import pytest
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from overlord.adapters.slack.chat import SlackChat
from overlord.adapters.slack.refusal import MEANINGS
from overlord.domain.identifiers import ChannelId, UserId
from overlord.domain.view.view import ActionId, Button, Buttons, View
from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.fault import LIMIT_WAIT_S as ASKED_WAIT_S
from overlord.errors import ChatExpired, ChatMissing, ChatRefused, ChatUnavailable, ExternalServiceError
from tests.adapters.slack_calls import (
    CALLS,
    READS,
    STARTED_AT,
    WRITES,
    Call,
    Clock,
    connect,
    failure,
    far_end,
    ground,
    logged,
    saying,
    told,
)

POST = next(call for call in WRITES if call.method == "chat.postMessage")
RESPOND = next(call for call in WRITES if call.method == "response")


MEANT: dict[str, tuple[type[ExternalServiceError], float | None]] = {
    "429": (ChatUnavailable, ASKED_WAIT_S),
    "500": (ChatUnavailable, None),
    "502-html": (ChatUnavailable, None),
    "503": (ChatUnavailable, None),
    "bad-json": (ChatUnavailable, None),
    "error:ratelimited": (ChatUnavailable, None),
    "error:internal_error": (ChatUnavailable, None),
    "error:token_revoked": (ChatRefused, None),
    "error:something_new": (ChatRefused, None),
    "error:something_not_found": (ChatMissing, None),
}
"""Fault → the exception it becomes, and how long to wait before coming back."""


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.method)
async def test_every_fault_of_every_call_is_translated(
    people: EmbeddedChat, chat: SlackChat, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    at = await ground(people, chat)
    for kind, (meant, wait_s) in MEANT.items():
        people.fail(call.method, kind=kind)
        error = await failure(call, chat, at)
        assert type(error) is meant, f"{kind}: {error!r}"
        assert getattr(error, "retry_after_s", None) == wait_s, kind
        assert people.bot_token not in told(error)
    assert people.bot_token not in logged(caplog)


@pytest.mark.parametrize("call", READS, ids=lambda call: call.method)
async def test_a_read_whose_connection_broke_is_made_once_more(
    people: EmbeddedChat, chat: SlackChat, call: Call
) -> None:
    at = await ground(people, chat)
    people.fail(call.method, kind="reset")
    await call.make(chat, at)
    people.fail(call.method, kind="reset", times=2)
    error = await failure(call, chat, at)
    assert isinstance(error, ChatUnavailable) and error.is_away


@pytest.mark.parametrize("call", WRITES, ids=lambda call: call.method)
async def test_a_write_whose_connection_broke_is_not(
    people: EmbeddedChat, chat: SlackChat, call: Call
) -> None:
    at = await ground(people, chat)
    before = len(people.requests)
    people.fail(call.method, kind="reset-after")
    error = await failure(call, chat, at)
    assert isinstance(error, ChatUnavailable)
    assert people.bot_token not in told(error)
    assert [seen.method for seen in people.requests[before:]] == [call.method]


@pytest.mark.parametrize("call", [POST, RESPOND, READS[0]], ids=lambda call: call.method)
async def test_a_far_end_that_does_not_answer_is_waited_for_only_so_long(
    people: EmbeddedChat, chat: SlackChat, clock: Clock, call: Call
) -> None:
    at = await ground(people, chat)
    people.fail(call.method, kind="timeout-before")
    hasty = connect(people.base_url, people.bot_token, clock, timeout_s=0.2)
    error = await failure(call, hasty, at)
    await hasty.close()
    assert isinstance(error, ChatUnavailable)
    assert "no answer within 0.2 s" in str(error)
    assert isinstance(error, ChatUnavailable) and error.is_away


async def test_a_message_whose_answer_was_lost_is_found(
    people: EmbeddedChat, chat: SlackChat, clock: Clock
) -> None:
    channel = ChannelId(people.channel)
    people.fail("chat.postMessage", kind="timeout-after")
    hasty = connect(people.base_url, people.bot_token, clock, timeout_s=2)
    with pytest.raises(ChatUnavailable):
        await hasty.post(channel, saying("once"), key="job-7")
    await hasty.close()
    [message] = people.messages()
    assert await chat.find(channel, "job-7", since=STARTED_AT - timedelta(minutes=1)) == message.ts


async def test_every_word_of_the_table_is_said_with_what_to_do(people: EmbeddedChat, chat: SlackChat) -> None:
    at = await ground(people, chat)
    for word, (kind, advice) in MEANINGS.items():
        people.fail("chat.postMessage", kind=f"error:{word}")
        error = await failure(POST, chat, at)
        assert type(error) is kind, word
        assert f"chat.postMessage: {word}" in str(error)
        assert advice in str(error)


async def test_what_a_person_reads(people: EmbeddedChat, chat: SlackChat, clock: Clock) -> None:
    at = await ground(people, chat)
    lines = []
    elsewhere = ChannelId(people.add_channel("elsewhere"))
    for make in (
        lambda: chat.post(elsewhere, saying("x"), key="k"),
        lambda: chat.post(ChannelId("C0NOWHERE"), saying("x"), key="k"),
        lambda: chat.group("S0NOBODY"),
    ):
        with pytest.raises(ChatMissing) as missing:
            await make()
        lines.append(str(missing.value))
    people.workspace.scopes.discard("chat:write")
    lines.append(str(await failure(POST, chat, at)))
    people.archive(people.channel)
    people.workspace.scopes.add("chat:write")
    lines.append(str(await failure(POST, chat, at)))
    people.revoke(people.bot_token)
    lines.append(str(await failure(POST, chat, at)))
    stranger = connect(people.base_url, "xoxb-stranger", clock)
    lines.append(str(await failure(POST, stranger, at)))
    await stranger.close()
    assert lines == [
        "chat.postMessage: not_in_channel (invite it: /invite @Overlord)",
        "chat.postMessage: channel_not_found (check SLACK_CHANNEL_ID; into a private channel Overlord must be invited: "
        "/invite @Overlord)",
        "usergroups.users.list: no_such_subteam (there is no user group with this id; it begins with S)",
        "chat.postMessage: missing_scope (add chat:write under OAuth & Permissions, Bot Token Scopes, and install the app again)",
        "chat.postMessage: is_archived (unarchive the channel, or name another one in SLACK_CHANNEL_ID)",
        "chat.postMessage: token_revoked (install the app again and put the new token in SLACK_BOT_TOKEN)",
        "chat.postMessage: invalid_auth (check SLACK_BOT_TOKEN: it begins with xoxb- and is on the app's page under "
        "OAuth & Permissions)",
    ]


async def test_a_limit_of_the_channel_is_obeyed_by_whoever_asked(
    people: EmbeddedChat, chat: SlackChat, clock: Clock
) -> None:
    at = await ground(people, chat)
    people.limit(per_channel_s=5)
    error = await failure(POST, chat, at)
    assert isinstance(error, ChatUnavailable)
    assert (error.retry_after_s, error.is_away) == (5, False)
    clock.move(seconds=5)
    await POST.make(chat, at)


WAITS = {
    "7": 7.0,
    "": None,
    "soon": None,
    "-3": None,
    "\u00b2": None,
    format_datetime(STARTED_AT + timedelta(seconds=90), usegmt=True): 90.0,
    format_datetime(STARTED_AT - timedelta(seconds=90), usegmt=True): 1.0,
}


async def test_how_long_to_wait(clock: Clock) -> None:
    asked = list(WAITS)

    def answer(_: object) -> Response:
        headers = {"Retry-After": asked.pop(0)}
        return JSONResponse({"ok": False, "error": "ratelimited"}, 429, headers)

    async with far_end(answer) as end:
        chat = connect(end.base_url, "xoxb-1", clock)
        for wait_s in WAITS.values():
            with pytest.raises(ChatUnavailable) as limited:
                await chat.identity()
            assert limited.value.retry_after_s == wait_s
        await chat.close()


ODD: list[Response] = [
    HTMLResponse("<h1>Sign in</h1>"),
    PlainTextResponse("ok"),
    PlainTextResponse(""),
    JSONResponse([]),
    JSONResponse(["ok"]),
    JSONResponse("ok"),
    JSONResponse(None),
    JSONResponse({}),
    JSONResponse({"ok": True}),
    JSONResponse({"ok": True, "team_id": 7, "user_id": []}),
    JSONResponse({"ok": True, "team_id": "T1 <!channel>", "user_id": "U1"}),
    JSONResponse({"ok": False, "error": ["a"], "response_metadata": {"messages": "x"}}),
    Response(b"\xff\xfe{", media_type="application/json"),
    Response(b'{"ok": true' + b"[" * 100_000, media_type="application/json"),
    Response(b"gz", media_type="application/gzip"),
]


async def test_an_answer_that_makes_no_sense_is_none(clock: Clock) -> None:
    odd = ODD[0]
    async with far_end(lambda _: odd) as end:
        chat = connect(end.base_url, "xoxb-1", clock)
        for odd in ODD:
            with pytest.raises(ExternalServiceError) as error:
                await chat.identity()
            meant = ChatRefused if b"false" in odd.body else ChatUnavailable
            assert isinstance(error.value, meant), odd.body[:30]
            assert "xoxb-1" not in told(error.value)
        await chat.close()


ANSWERS: list[tuple[Response, type[ExternalServiceError] | None]] = [
    (PlainTextResponse("ok"), None),
    (JSONResponse({"ok": True}), None),
    (PlainTextResponse("expired_url", 404), ChatExpired),
    (PlainTextResponse("used_url", 410), ChatExpired),
    (JSONResponse({"ok": False, "error": "expired_url"}), ChatExpired),
    (PlainTextResponse("no_service", 404), ChatExpired),
    (PlainTextResponse("invalid_payload", 400), ChatRefused),
    (PlainTextResponse("action_prohibited", 403), ChatRefused),
    (HTMLResponse("<h1>Sign in</h1>", 200), ChatUnavailable),
    (PlainTextResponse("", 502), ChatUnavailable),
    (PlainTextResponse("rate_limited", 429), ChatUnavailable),
    (JSONResponse([], 500), ChatUnavailable),
]


async def test_what_an_address_for_answers_says(clock: Clock) -> None:
    answers = [answer for answer, _ in ANSWERS]
    async with far_end(lambda _: answers.pop(0)) as end:
        chat = connect(end.base_url, "xoxb-1", clock)
        for answer, meant in ANSWERS:
            if meant is None:
                await chat.respond(f"{end.base_url}/response/x", saying("x"))
                continue
            with pytest.raises(ExternalServiceError) as error:
                await chat.respond(f"{end.base_url}/response/x", saying("x"))
            assert type(error.value) is meant, answer.body
        await chat.close()


async def test_a_word_with_a_status_of_trouble_is_trouble(clock: Clock) -> None:
    statuses = [408, 500, 503]
    async with far_end(lambda _: JSONResponse({"ok": False, "error": "odd"}, statuses.pop())) as end:
        chat = connect(end.base_url, "xoxb-1", clock)
        for status in (503, 500, 408):
            with pytest.raises(ChatUnavailable, match=f"odd .status {status}"):
                await chat.identity()
        await chat.close()


async def test_slacks_words_are_printed_as_words(clock: Clock) -> None:
    said = {
        "error": "\x1b[31mbad\n<!channel> @here",
        "response_metadata": {"messages": ["[ERROR]\x07 a\nb"] * 9},
    }
    async with far_end(lambda _: JSONResponse({"ok": False, **said})) as end:
        chat = connect(end.base_url, "xoxb-1", clock)
        with pytest.raises(ChatRefused) as error:
            await chat.identity()
        await chat.close()
    assert str(error.value).isprintable()
    assert str(error.value).count("[ERROR] a b") == 3


WORDS = {"type": "plain_text", "text": "Stop", "emoji": False}


async def test_what_slack_does_not_take_is_said_where(people: EmbeddedChat, chat: SlackChat) -> None:
    at = await ground(people, chat)
    odd = Button(action=ActionId("a" * 300), label="Stop")
    with pytest.raises(ChatRefused, match="action_id"):
        await chat.post(at.channel, View(summary="x", parts=(Buttons((odd,)),)), key="k")
    block = {"type": "actions", "elements": [{"type": "button", "action_id": "a" * 300, "text": WORDS}]}
    with pytest.raises(ChatRefused, match=r"invalid_blocks .*json-pointer.*action_id"):
        await chat._client.write("chat.postMessage", channel=at.channel, text="x", blocks=[block])


async def test_nobody_at_the_address(clock: Clock) -> None:
    async with far_end(lambda _: JSONResponse({})) as end:
        base_url = end.base_url
    plain, secure = (
        connect(base_url, "xoxb-1", clock),
        connect(base_url.replace("http:", "https:"), "xoxb-1", clock),
    )
    for chat in (plain, secure):
        with pytest.raises(ChatUnavailable, match=r"auth\.test: Client"):
            await chat.identity()
        await chat.close()


async def test_a_token_that_no_header_can_hold(people: EmbeddedChat, clock: Clock) -> None:
    chat = connect(people.base_url, "xoxb-1\r\nX-Other: 1", clock)
    with pytest.raises(ChatUnavailable) as error:
        await chat.identity()
    await chat.close()
    assert not re.search("xoxb|X-Other", told(error.value))


def test_a_chat_does_not_show_its_token(clock: Clock) -> None:
    chat = connect("http://127.0.0.1:1", "xoxb-secret", clock)
    assert "xoxb-secret" not in repr(chat)
    assert "xoxb-secret" not in repr(vars(chat))


async def test_somebody_of_a_strange_shape_is_nobody(clock: Clock) -> None:
    answer = {"ok": True, "team_id": "T1", "user_id": "U0", "user": {"id": "U1", "deleted": "perhaps"}}
    async with far_end(lambda _: JSONResponse(answer)) as end:
        chat = connect(end.base_url, "xoxb-1", clock)
        with pytest.raises(ChatUnavailable, match=r"users.info.*user\.deleted"):
            await chat.person(UserId("U1"))
        await chat.close()
