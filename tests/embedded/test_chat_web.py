"""The embedded chat's Web API, through Slack's own client: what is said is kept, and what is wrong has Slack's word for it."""

import asyncio
import math
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import httpx
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.chat.workspace import SCOPES
from tests.embedded.chat_app import Hands

BLOCKS = [{"type": "header", "text": {"type": "plain_text", "text": "Job 7"}}]
KEYED = {"event_type": "overlord_message", "event_payload": {"key": "job-7"}}
LONG = {"event_type": "overlord_message", "event_payload": {"key": "x" * 8000}}


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
async def chat(clock: Hands) -> AsyncIterator[EmbeddedChat]:
    chat = EmbeddedChat(now=clock)
    chat.add_user("alice")
    async with chat.serve():
        yield chat


@pytest.fixture
async def slack(chat: EmbeddedChat) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        yield client(chat, chat.bot_token, session)


def client(chat: EmbeddedChat, token: str, session: aiohttp.ClientSession) -> AsyncWebClient:
    return AsyncWebClient(token, base_url=f"{chat.base_url}/api/", session=session, retry_handlers=[])


async def status_of(call: asyncio.Task[httpx.Response]) -> int:
    """0 for a call that was left without an answer."""
    try:
        return (await call).status_code
    except (httpx.HTTPError, asyncio.CancelledError):
        return 0


async def refusal(call: Any) -> str:
    """Slack's word against a call."""
    with pytest.raises(SlackApiError) as refused:
        await call
    return str(refused.value.response["error"])


async def test_a_message_is_posted_changed_and_found_with_what_it_carries(
    chat: EmbeddedChat, slack: AsyncWebClient
) -> None:
    posted = await slack.chat_postMessage(
        channel=chat.channel, text="Job 7", blocks=BLOCKS, metadata=KEYED, unfurl_links=False
    )
    assert posted["message"]["text"] == "Job 7"
    assert posted["message"]["bot_id"]
    changed = await slack.chat_update(channel=chat.channel, ts=posted["ts"], text="Job 7: ready", blocks=[])
    assert changed["ts"] == posted["ts"]
    [message] = chat.messages()
    assert (message.plain, message.edits, message.blocks) == ("Job 7: ready", 1, ())
    assert (message.unfurl_links, message.unfurl_media) == (False, None)
    seen = await slack.conversations_history(channel=chat.channel, include_all_metadata=True)
    assert [item["metadata"] for item in seen["messages"]] == [KEYED]
    await slack.chat_update(channel=chat.channel, ts=posted["ts"], text="x", metadata={})
    assert chat.message(posted["ts"]).metadata is None
    unseen = await slack.conversations_history(channel=chat.channel)
    assert [item["text"] for item in unseen["messages"]] == ["x"]


async def test_what_a_message_carries_is_shown_to_who_asks_for_it(
    chat: EmbeddedChat, slack: AsyncWebClient
) -> None:
    first = (await slack.chat_postMessage(channel=chat.channel, text="a", metadata=KEYED))["ts"]
    reply = (await slack.chat_postMessage(channel=chat.channel, text="b", metadata=KEYED, thread_ts=first))[
        "ts"
    ]
    for with_metadata in (True, False):
        thread = await slack.conversations_replies(
            channel=chat.channel, ts=first, include_all_metadata=with_metadata
        )
        assert ["metadata" in message for message in thread["messages"]] == [with_metadata] * 2
    [alone] = (await slack.conversations_replies(channel=chat.channel, ts=reply))["messages"]
    assert alone["text"] == "b"


async def test_an_update_without_blocks_keeps_those_that_stand(
    chat: EmbeddedChat, slack: AsyncWebClient
) -> None:
    posted = await slack.chat_postMessage(channel=chat.channel, text="a", blocks=BLOCKS)
    await slack.chat_update(channel=chat.channel, ts=posted["ts"], text="b")
    assert chat.message(posted["ts"]).plain == "Job 7"


async def test_times_rise_even_when_the_clock_stands(chat: EmbeddedChat, slack: AsyncWebClient) -> None:
    times = [(await slack.chat_postMessage(channel=chat.channel, text=str(n)))["ts"] for n in range(5)]
    assert times == sorted(set(times))


async def test_history_is_read_page_by_page_newest_first(
    chat: EmbeddedChat, slack: AsyncWebClient, clock: Hands
) -> None:
    times = []
    for number in range(7):
        times.append((await slack.chat_postMessage(channel=chat.channel, text=str(number)))["ts"])
        clock.move(seconds=1)
    texts: list[str] = []
    cursor = ""
    for _ in range(3):
        page = await slack.conversations_history(channel=chat.channel, limit=3, cursor=cursor)
        texts += [message["text"] for message in page["messages"]]
        cursor = page["response_metadata"]["next_cursor"] if page["has_more"] else ""
    assert texts == ["6", "5", "4", "3", "2", "1", "0"]
    assert cursor == ""

    async def read(**bounds: Any) -> list[str]:
        page = await slack.conversations_history(channel=chat.channel, **bounds)
        return [message["text"] for message in page["messages"]]

    assert await read(oldest=times[4]) == ["6", "5"]
    assert await read(oldest=times[4], inclusive=True) == ["6", "5", "4"]
    assert await read(latest=times[1]) == ["0"]


async def test_a_thread_has_its_first_message_before_its_replies(
    chat: EmbeddedChat, slack: AsyncWebClient
) -> None:
    first = (await slack.chat_postMessage(channel=chat.channel, text="first"))["ts"]
    for number in range(3):
        await slack.chat_postMessage(channel=chat.channel, text=f"reply {number}", thread_ts=first)
    thread = await slack.conversations_replies(channel=chat.channel, ts=first, limit=3)
    assert [message["text"] for message in thread["messages"]] == ["first", "reply 0", "reply 1"]
    assert thread["messages"][0]["reply_count"] == 3
    cursor = thread["response_metadata"]["next_cursor"]
    rest = await slack.conversations_replies(channel=chat.channel, ts=first, limit=3, cursor=cursor)
    assert [message["text"] for message in rest["messages"]] == ["reply 2"]
    [top] = chat.messages()
    assert [message.text for message in chat.messages(thread=top.ts)] == ["reply 0", "reply 1", "reply 2"]


async def test_a_deleted_message_is_gone_and_its_thread_goes_on(
    chat: EmbeddedChat, slack: AsyncWebClient
) -> None:
    alone = (await slack.chat_postMessage(channel=chat.channel, text="alone"))["ts"]
    answered = (await slack.chat_postMessage(channel=chat.channel, text="answered"))["ts"]
    await slack.chat_postMessage(channel=chat.channel, text="yes", thread_ts=answered)
    chat.delete_message(alone)
    chat.delete_message(answered)
    where = chat.channel
    assert chat.messages() == []
    assert await refusal(slack.chat_update(channel=where, ts=alone, text="x")) == "message_not_found"
    assert await refusal(slack.chat_update(channel=where, ts=answered, text="x")) == "message_not_found"
    assert (
        await refusal(slack.chat_postMessage(channel=where, text="x", thread_ts=alone)) == "thread_not_found"
    )
    assert await refusal(slack.conversations_replies(channel=where, ts=alone)) == "thread_not_found"
    await slack.chat_postMessage(channel=where, text="still", thread_ts=answered)
    thread = await slack.conversations_replies(channel=where, ts=answered)
    assert [message.get("subtype") for message in thread["messages"]] == ["tombstone", None, None]


async def test_what_is_shown_to_one_person_is_no_part_of_the_channel(
    chat: EmbeddedChat, slack: AsyncWebClient
) -> None:
    alice = chat.workspace.person("alice").id
    await slack.chat_postEphemeral(channel=chat.channel, user=alice, text="only you")
    assert [message.plain for message in chat.ephemerals("alice")] == ["only you"]
    assert chat.messages() == []
    nobody = slack.chat_postEphemeral(channel=chat.channel, user="U404", text="x")
    assert await refusal(nobody) == "user_not_in_channel"


async def test_people_are_told_apart(chat: EmbeddedChat, slack: AsyncWebClient) -> None:
    ids = [
        chat.add_user("bob", real_name="Bob B."),
        chat.add_user("robot", is_bot=True),
        chat.add_user("guest", is_guest=True),
        chat.add_stranger("stranger"),
    ]
    chat.deactivate("bob")
    found = [(await slack.users_info(user=user))["user"] for user in ids]
    assert [user["deleted"] for user in found] == [True, False, False, False]
    assert [user["is_bot"] for user in found] == [False, True, False, False]
    assert [user.get("is_restricted") for user in found] == [None, False, True, False]
    assert [user["team_id"] == chat.team for user in found] == [True, True, True, False]
    group = chat.add_group("reviewers", ["alice", "guest"])
    assert (await slack.usergroups_users_list(usergroup=group))["users"] == [
        chat.workspace.person("alice").id,
        ids[2],
    ]
    assert await refusal(slack.users_info(user="U404")) == "user_not_found"
    assert await refusal(slack.usergroups_users_list(usergroup="S404")) == "no_such_subteam"


async def test_who_we_are_and_what_we_may(chat: EmbeddedChat, slack: AsyncWebClient) -> None:
    us = await slack.auth_test()
    assert (us["team_id"], us["user_id"]) == (chat.team, chat.bot_user)
    chat.workspace.scopes.discard("users:read")
    with pytest.raises(SlackApiError) as refused:
        await slack.users_info(user=chat.bot_user)
    assert refused.value.response["error"] == "missing_scope"
    assert refused.value.response["needed"] == "users:read"
    assert set(refused.value.response["provided"].split(",")) == set(SCOPES) - {"users:read"}


async def test_each_token_has_its_use(chat: EmbeddedChat, slack: AsyncWebClient) -> None:
    opened = await slack.apps_connections_open(app_token=chat.app_token)
    assert opened["url"].startswith("ws://127.0.0.1:")
    wrong = slack.apps_connections_open(app_token=chat.bot_token)
    assert await refusal(wrong) == "not_allowed_token_type"
    session = slack.session
    assert session is not None
    assert await refusal(client(chat, chat.app_token, session).auth_test()) == "not_allowed_token_type"
    assert await refusal(client(chat, "xoxb-nobody", session).auth_test()) == "invalid_auth"
    async with httpx.AsyncClient() as bare:
        answer = await bare.post(f"{chat.base_url}/api/auth.test")
    assert answer.json() == {"ok": False, "error": "not_authed"}
    chat.revoke(chat.bot_token)
    assert await refusal(slack.auth_test()) == "token_revoked"


async def test_what_is_wrong_with_a_message_is_said(chat: EmbeddedChat, slack: AsyncWebClient) -> None:
    elsewhere, secret = chat.add_channel("random"), chat.add_channel("board", is_private=True)
    closed = chat.add_channel("attic", has_bot=True)
    chat.archive(closed)
    there = {"channel": chat.channel}
    said = await chat.say("alice", "mine")
    post, history = "chat.postMessage", "conversations.history"
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("channel_not_found", post, {"channel": "C404", "text": "x"}),
        ("channel_not_found", post, {"channel": secret, "text": "x"}),
        ("not_in_channel", post, {"channel": elsewhere, "text": "x"}),
        ("is_archived", post, {"channel": closed, "text": "x"}),
        ("no_text", post, {**there, "text": ""}),
        ("msg_too_long", post, {**there, "text": "x" * 40_001}),
        ("thread_not_found", post, {**there, "text": "x", "thread_ts": "1.000000"}),
        ("invalid_metadata_format", post, {**there, "text": "x", "metadata": {"event_type": "k"}}),
        ("invalid_blocks_format", post, {**there, "text": "x", "blocks": "{"}),
        ("cant_update_message", "chat.update", {**there, "ts": said.ts, "text": "x"}),
        ("invalid_cursor", history, {**there, "cursor": "!"}),
        ("invalid_limit", history, {**there, "limit": 5000}),
        ("invalid_ts_oldest", history, {**there, "oldest": "yesterday"}),
        ("unknown_method", "chat.shout", {}),
        ("invalid_arguments", post, {"text": "x"}),
        ("invalid_arguments", "views.open", {"trigger_id": "1"}),
        ("invalid_arguments", "views.open", {"trigger_id": "1", "view": "{"}),
        ("invalid_arguments", post, {"channel": 7, "text": "x"}),
        ("invalid_arguments", post, {**there, "text": 7}),
        ("invalid_arguments", post, {**there, "text": "x", "unfurl_links": "perhaps"}),
        ("invalid_arguments", history, {**there, "limit": "many"}),
        ("invalid_blocks_format", post, {**there, "text": "x", "blocks": [1]}),
        ("invalid_metadata_format", post, {**there, "text": "x", "metadata": {**KEYED, "more": 1}}),
        ("metadata_too_large", post, {**there, "text": "x", "metadata": LONG}),
    ]
    for word, method, arguments in calls:
        assert await refusal(slack.api_call(method, json=arguments)) == word
    await slack.chat_postMessage(channel=chat.channel, text="x" * 40_000)
    with pytest.raises(SlackApiError) as refused:
        await slack.chat_postMessage(
            channel=chat.channel, text="x", blocks=[{"type": "divider"}, {"type": "header"}]
        )
    assert refused.value.response["error"] == "invalid_blocks"
    assert refused.value.response["response_metadata"]["messages"] == [
        "[ERROR] missing required field: text [json-pointer:/blocks/1]"
    ]


async def test_a_reply_to_a_reply_is_refused(chat: EmbeddedChat, slack: AsyncWebClient) -> None:
    first = (await slack.chat_postMessage(channel=chat.channel, text="a"))["ts"]
    reply = (await slack.chat_postMessage(channel=chat.channel, text="b", thread_ts=first))["ts"]
    again = slack.chat_postMessage(channel=chat.channel, text="c", thread_ts=reply)
    assert await refusal(again) == "cannot_reply_to_message"


async def test_forms_are_taken_as_json_is(chat: EmbeddedChat) -> None:
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {chat.bot_token}"}) as bare:
        url = f"{chat.base_url}/api/chat.postMessage"
        form = {
            "channel": chat.channel,
            "text": "x",
            "blocks": '[{"type":"divider"}]',
            "unfurl_links": "false",
        }
        assert (await bare.post(url, data=form)).json()["ok"] is True
        odd = await bare.post(url, content="hello", headers={"content-type": "text/plain"})
        assert odd.json()["error"] == "invalid_post_type"
        for body, word in (
            ("{", "invalid_json"),
            ("[]", "json_not_object"),
            ('{"text":"\\ud800"}', "invalid_json"),
        ):
            answer = await bare.post(url, content=body, headers={"content-type": "application/json"})
            assert answer.json()["error"] == word
        many = await bare.post(url, data={str(number): "x" for number in range(101)})
        assert many.json()["error"] == "invalid_form_data"
        assert (await bare.put(url, json={})).status_code == 405
        assert (await bare.get(f"{chat.base_url}/elsewhere")).status_code == 404
        long = await bare.post(url, content="x" * (1024 * 1024 + 1))
        assert (long.status_code, long.json()["error"]) == (413, "request_too_large")
    [message] = chat.messages()
    assert (message.plain, message.unfurl_links) == ("---", False)


async def test_too_much_in_one_channel_is_told_when_to_come_again(
    chat: EmbeddedChat, slack: AsyncWebClient, clock: Hands
) -> None:
    chat.limit(per_channel_s=1.5)
    other = chat.add_channel("other", has_bot=True)
    await slack.chat_postMessage(channel=chat.channel, text="1")
    await slack.chat_postMessage(channel=other, text="1")
    with pytest.raises(SlackApiError) as refused:
        await slack.chat_postMessage(channel=chat.channel, text="2")
    assert (refused.value.response.status_code, refused.value.response.headers["Retry-After"]) == (429, "2")
    clock.move(seconds=1.5)
    await slack.chat_postMessage(channel=chat.channel, text="2")
    assert [message.text for message in chat.messages()] == ["1", "2"]


@pytest.mark.parametrize(
    ("kind", "status", "arrives"),
    [
        ("429", 429, False),
        ("500", 500, False),
        ("502-html", 502, False),
        ("503", 503, False),
        ("error:internal_error", 200, False),
        ("bad-json", 200, True),
        ("reset", 0, False),
        ("reset-after", 0, True),
        ("timeout-before", 0, False),
        ("timeout-after", 0, True),
    ],
)
async def test_a_fault_happens_before_or_after_the_effect(
    chat: EmbeddedChat, kind: str, status: int, arrives: bool
) -> None:
    chat.fail("chat.postMessage", kind=kind, after=1)
    answers = []
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {chat.bot_token}"}) as bare:
        for text in ("1", "2", "3"):
            body = {"channel": chat.channel, "text": text}
            call = asyncio.create_task(bare.post(f"{chat.base_url}/api/chat.postMessage", json=body))
            if kind.startswith("timeout") and text == "2":
                while len(chat.requests) < 2:
                    await asyncio.sleep(0)
                call.cancel()
            answers.append(await status_of(call))
    assert answers == [200, status, 200]
    assert [message.text for message in chat.messages()] == (["1", "2", "3"] if arrives else ["1", "3"])
    assert [seen.status for seen in chat.requests] == [200, status, 200]
    assert [seen.arguments["text"] for seen in chat.requests] == ["1", "2", "3"]
    assert [seen.ok for seen in chat.requests] == [True, False, True]


def test_a_fault_that_cannot_happen_is_refused() -> None:
    chat = EmbeddedChat()
    with pytest.raises(ValueError, match="unknown kind"):
        chat.fail("chat.update", kind="meteor")
    with pytest.raises(ValueError, match="unknown method"):
        chat.fail("chat.shout")


def test_ts_is_the_clocks_time(clock: Hands) -> None:
    chat = EmbeddedChat(now=clock)
    assert math.isclose(float(chat.workspace.next_ts()), clock().timestamp())


async def test_an_answer_to_a_response_address_can_go_wrong_too(chat: EmbeddedChat) -> None:
    delivered = await chat.command("alice", "status")
    chat.fail("response", kind="429")
    chat.fail("response", kind="500")
    async with httpx.AsyncClient() as bare:
        url = delivered.payload["response_url"]
        answers = [await bare.post(url, json={"text": str(number)}) for number in range(3)]
    assert [answer.status_code for answer in answers] == [429, 500, 200]
    assert answers[0].headers["retry-after"] == "30"
    assert [body["text"] for body in delivered.responses] == ["2"]


async def test_waiting_for_what_never_comes_tells_the_conversation(chat: EmbeddedChat) -> None:
    await chat.say("alice", "anybody there?")
    await chat.arrived()
    with pytest.raises(TimeoutError, match=r"alice \(#overlord\): anybody there\?"):
        await chat.until(lambda: len(chat.messages()) == 2, timeout_s=0.01)


async def test_a_chat_that_was_away_comes_back_with_what_it_had() -> None:
    chat = EmbeddedChat()
    token = {"authorization": f"Bearer {chat.bot_token}"}
    async with httpx.AsyncClient(headers=token) as bare:
        async with chat.serve() as url:
            await bare.post(f"{url}/api/chat.postMessage", json={"channel": chat.channel, "text": "before"})
        async with chat.serve() as url:
            chat.fail("*", kind="503", times=1000)
            assert (await bare.post(f"{url}/api/auth.test")).status_code == 503
            chat.mend()
            assert (await bare.post(f"{url}/api/auth.test")).json()["ok"]
    assert [message.plain for message in chat.messages()] == ["before"]
