"""Buttons, response addresses and modals of the embedded chat, as people press and fill them in."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from slack_sdk.socket_mode.request import SocketModeRequest

from overlord.embedded.chat.chat import EmbeddedChat
from tests.embedded.chat_app import App, Hands, post_stop, stop_button


async def test_a_press_reaches_the_app_with_what_its_button_carries(chat: EmbeddedChat, app: App) -> None:
    ts = await post_stop(chat, app)
    delivered = await chat.click("alice", ts, "Stop")
    assert delivered.acked
    payload = next(request.payload for request in app.heard if request.type == "interactive")
    [action] = payload["actions"]
    assert (action["action_id"], action["value"], action["type"]) == ("stop", "nonce", "button")
    assert action["block_id"] == chat.message(ts).blocks[0]["block_id"]
    assert payload["container"]["message_ts"] == payload["message"]["ts"] == ts
    assert payload["user"]["id"] == chat.workspace.person("alice").id


async def test_only_a_button_that_stands_there_can_be_pressed(chat: EmbeddedChat, app: App) -> None:
    ts = await post_stop(chat, app)
    with pytest.raises(LookupError, match=r"0 buttons named 'Retry'; there are: Stop \(stop\)"):
        await chat.click("alice", ts, "Retry")
    with pytest.raises(LookupError, match="no message"):
        await chat.click("alice", "1.000000", "Stop")
    with pytest.raises(LookupError, match="no message"):
        await chat.click_with("alice", "1.000000", "stop", "x")
    with pytest.raises(LookupError, match="nobody called 'mallory'"):
        await chat.click("mallory", ts, "Stop")
    [button] = chat.message(ts).buttons
    await app.web.chat_update(channel=chat.channel, ts=ts, text="Job 7: stopped", blocks=[])
    with pytest.raises(LookupError):
        await chat.click("alice", ts, "Stop")
    await chat.click_stale("bob", button)
    assert app.heard[-1].payload["actions"][0]["value"] == "nonce"
    assert app.heard[-1].payload["message"]["text"] == "Job 7: stopped"


async def test_of_buttons_called_the_same_the_one_that_is_meant_is_pressed(
    chat: EmbeddedChat, app: App
) -> None:
    blocks = [*stop_button(value="one"), *stop_button(value="two")]
    ts = str((await app.web.chat_postMessage(channel=chat.channel, text="x", blocks=blocks))["ts"])
    with pytest.raises(LookupError, match="2 buttons named 'Stop'"):
        await chat.click("alice", ts, "Stop")
    first, second = chat.message(ts).buttons
    twins = str(
        (await app.web.chat_postMessage(channel=chat.channel, text="x", blocks=stop_button() * 2))["ts"]
    )
    _, twin = chat.message(twins).buttons
    await chat.click("alice", twins, twin)
    assert app.heard[-1].payload["actions"][0]["block_id"] == twin.block_id
    await chat.click("alice", ts, second)
    assert app.heard[-1].payload["actions"][0]["value"] == "two"
    await app.web.chat_update(channel=chat.channel, ts=ts, text="x", blocks=stop_button(value="one"))
    await chat.click("alice", ts, first)
    assert app.heard[-1].payload["actions"][0]["value"] == "one"
    with pytest.raises(LookupError):
        await chat.click("alice", ts, second)


async def test_presses_can_be_tampered_with_and_replayed(chat: EmbeddedChat, app: App) -> None:
    ts = await post_stop(chat, app)
    first = await chat.click("alice", ts, "stop")
    await chat.click_with("alice", ts, "stop", "forged")
    again = await chat.replay(first)
    pressed = [request for request in app.heard if request.type == "interactive"]
    assert [request.payload["actions"][0]["value"] for request in pressed] == ["nonce", "forged", "nonce"]
    assert pressed[0].payload == pressed[2].payload
    assert again.acked


async def test_a_response_address_takes_five_answers_in_half_an_hour(
    chat: EmbeddedChat, app: App, clock: Hands
) -> None:
    delivered = await chat.command("alice", "status")
    url = delivered.payload["response_url"]
    async with httpx.AsyncClient() as bare:

        async def respond(**body: Any) -> tuple[int, str]:
            answer = await bare.post(url, json=body)
            return answer.status_code, answer.text if answer.status_code == 200 else answer.json()["error"]

        assert await respond(text="1") == (200, "ok")
        assert await respond(blocks=[{"type": "header"}]) == (
            400,
            "invalid_blocks: [ERROR] missing required field: text [json-pointer:/blocks/0]",
        )
        assert await respond() == (400, "no_text")
        for number in range(2, 6):
            assert await respond(text=str(number)) == (200, "ok")
        assert await respond(text="6") == (404, "used_url")
        url = (await chat.command("alice", "status")).payload["response_url"]
        clock.at += timedelta(minutes=31)
        assert await respond(text="7") == (404, "expired_url")
        url = f"{chat.base_url}/response/nobody"
        assert await respond(text="8") == (404, "no_service")
    assert delivered.plain.split("\n") == ["1", "2", "3", "4", "5"]
    assert [message.plain for message in chat.ephemerals("alice")] == ["1", "2", "3", "4", "5"]


async def test_a_press_can_replace_or_delete_what_it_was_in(chat: EmbeddedChat, app: App) -> None:
    first, second = await post_stop(chat, app), await post_stop(chat, app)
    async with httpx.AsyncClient() as bare:
        pressed = await chat.click("alice", first, "Stop")
        body = {"text": "Stopped.", "replace_original": True}
        assert (await bare.post(pressed.payload["response_url"], json=body)).status_code == 200
        pressed = await chat.click("alice", second, "Stop")
        body = {"delete_original": True}
        assert (await bare.post(pressed.payload["response_url"], json=body)).status_code == 200
    assert [message.plain for message in chat.messages()] == ["Stopped."]


async def test_what_only_one_person_sees_has_buttons_for_them_only(chat: EmbeddedChat, app: App) -> None:
    alice = chat.workspace.person("alice").id
    await app.web.chat_postEphemeral(channel=chat.channel, user=alice, text="x", blocks=stop_button())
    [ephemeral] = chat.ephemerals("alice")
    with pytest.raises(LookupError):
        await chat.click("bob", ephemeral.ts, "Stop")
    pressed = await chat.click("alice", ephemeral.ts, "Stop")
    assert pressed.payload["container"]["is_ephemeral"] is True
    async with httpx.AsyncClient() as bare:
        await bare.post(pressed.payload["response_url"], json={"text": "Done.", "replace_original": True})
        assert [message.plain for message in chat.ephemerals("alice")] == ["Done."]
        odd = await bare.post(pressed.payload["response_url"], json=[])
        assert (odd.status_code, odd.json()["error"]) == (400, "invalid_payload")
        await bare.post(pressed.payload["response_url"], json={"delete_original": True})
    assert chat.ephemerals("alice") == []


# Modals


MODAL: dict[str, Any] = {
    "type": "modal",
    "callback_id": "answer",
    "private_metadata": "nonce",
    "title": {"type": "plain_text", "text": "Your answer"},
    "submit": {"type": "plain_text", "text": "Send"},
    "notify_on_close": True,
    "blocks": [
        {
            "type": "input",
            "block_id": "words",
            "label": {"type": "plain_text", "text": "Words"},
            "element": {"type": "plain_text_input", "action_id": "words", "max_length": 20},
        }
    ],
}


async def open_modal(chat: EmbeddedChat, app: App) -> None:
    delivered = await chat.command("alice", "answer")
    await app.web.views_open(trigger_id=delivered.payload["trigger_id"], view=MODAL)


async def test_a_modal_is_filled_in_and_sent_off(chat: EmbeddedChat, app: App) -> None:
    await open_modal(chat, app)
    [view] = chat.open_views("alice")
    assert (view.title, view.plain, chat.open_views("bob")) == ("Your answer", "Words", [])
    with pytest.raises(ValueError, match="takes 0 to 20"):
        await chat.submit(view, {"Words": "x" * 21}, "alice")
    with pytest.raises(ValueError, match="must be filled in"):
        await chat.submit(view, {}, "alice")
    with pytest.raises(LookupError):
        await chat.submit(view, {"Words": "x", "Mood": "good"}, "alice")
    with pytest.raises(LookupError):
        await chat.submit(view, {"Words": "x"}, "bob")
    await chat.submit(view, {"Words": "use the cache"}, "alice")
    payload = app.heard[-1].payload
    assert payload["type"] == "view_submission"
    assert payload["view"]["private_metadata"] == "nonce"
    values = payload["view"]["state"]["values"]
    assert values == {"words": {"words": {"type": "plain_text_input", "value": "use the cache"}}}
    assert chat.open_views("alice") == []


async def test_a_submission_can_be_objected_to_or_answered_with_another_modal(
    chat: EmbeddedChat, app: App
) -> None:
    await open_modal(chat, app)
    answers: list[dict[str, Any]] = [
        {"response_action": "errors", "errors": {"words": "Too vague."}},
        {"response_action": "errors", "errors": {"mood": "?"}},
        {"response_action": "update", "view": {**MODAL, "title": {"type": "plain_text", "text": "Sure?"}}},
        {"response_action": "jump"},
        {"response_action": "clear"},
    ]

    async def answer(_request: SocketModeRequest) -> dict[str, Any]:
        return answers.pop(0)

    app.answer = answer
    [view] = chat.open_views("alice")
    errors = []
    titles = []
    while answers:
        errors.append((await chat.submit(view, {"words": "x"}, "alice")).error.partition(":")[0])
        titles.append([(open_view.title, dict(open_view.errors)) for open_view in chat.open_views("alice")])
    assert errors == ["", "invalid_arguments", "", "invalid_arguments", ""]
    assert titles == [
        [("Your answer", {"words": "Too vague."})],
        [("Your answer", {"words": "Too vague."})],
        [("Sure?", {})],
        [("Sure?", {})],
        [],
    ]


async def test_a_modal_can_be_closed(chat: EmbeddedChat, app: App) -> None:
    await open_modal(chat, app)
    [view] = chat.open_views("alice")
    await chat.view_closed(view, "alice")
    assert app.heard[-1].payload["type"] == "view_closed"
    assert chat.open_views("alice") == []


async def test_a_trigger_is_good_for_one_modal_within_three_seconds(
    chat: EmbeddedChat, app: App, clock: Hands
) -> None:
    trigger = (await chat.command("alice", "answer")).payload["trigger_id"]
    bad = {**MODAL, "title": {"type": "plain_text", "text": "x" * 25}}

    async def outcome(trigger: str, view: dict[str, Any]) -> str:
        answer = await app.web.api_call("views.open", json={"trigger_id": trigger, "view": view})
        return str(answer["ok"])

    async def word(trigger: str, view: dict[str, Any]) -> str:
        async with httpx.AsyncClient(headers={"authorization": f"Bearer {chat.bot_token}"}) as bare:
            body = {"trigger_id": trigger, "view": view}
            return str((await bare.post(f"{chat.base_url}/api/views.open", json=body)).json().get("error"))

    assert await word(trigger, bad) == "invalid_arguments"
    assert await outcome(trigger, MODAL) == "True"
    assert await word(trigger, MODAL) == "exchanged_trigger_id"
    trigger = (await chat.command("alice", "answer")).payload["trigger_id"]
    clock.at += timedelta(seconds=3.1)
    assert await word(trigger, MODAL) == "expired_trigger_id"
    assert await word("1.2", MODAL) == "invalid_trigger_id"


async def test_the_transcript_reads_as_a_conversation(chat: EmbeddedChat, app: App) -> None:
    ts = await post_stop(chat, app)
    await chat.click("alice", ts, "Stop")
    await chat.say("bob", "why?", thread=ts)
    await app.web.api_call("chat.update", json={"channel": chat.channel, "ts": ts, "text": "Job 7: stopped"})
    assert chat.transcript().split("\n") == [
        "  overlord (#overlord; edited 1 times): [Stop]",
        "  alice: [Stop]",
        f"  bob (#overlord, in the thread of {ts}): why?",
    ]
