"""The embedded chat's page: one browser of this machine is let in, sees what stands there, and acts as its person."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from overlord.embedded import chat as room
from overlord.embedded.chat.chat import EmbeddedChat

TOLD = ("/", "/page.js", "/page.css", "/style.css", "/icon.svg", "/page/state")


@pytest.fixture
async def chat() -> AsyncIterator[EmbeddedChat]:
    chat = EmbeddedChat()
    chat.add_user("alice")
    async with chat.serve():
        yield chat


@pytest.fixture
async def browser(chat: EmbeddedChat) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=chat.base_url) as browser:
        assert (await browser.get(chat.page_url())).status_code == 200
        yield browser


async def shown(browser: httpx.AsyncClient, after: int | str = "", url: str = "") -> dict[str, Any]:
    state: dict[str, Any] = (await browser.get(f"{url}/page/state?after={after}", timeout=180)).json()
    return state


async def do(browser: httpx.AsyncClient, **act: Any) -> str:
    """What is wrong with an act; empty when it was done."""
    answer = await browser.post("/page/act", json=act)
    return "" if answer.status_code == 200 else str(answer.json()["error"])


def stop_button() -> list[dict[str, Any]]:
    text = {"type": "plain_text", "text": "Stop"}
    return [{"type": "actions", "elements": [{"type": "button", "text": text, "action_id": "stop"}]}]


# Who is let in


async def test_nobody_is_let_in_without_the_token(chat: EmbeddedChat) -> None:
    async with httpx.AsyncClient(base_url=chat.base_url) as stranger:
        for path in (*TOLD, "/?token=", "/?token=guess"):
            assert (await stranger.get(path)).status_code == 403
        chat.page_url()
        for path in (*TOLD, "/?token=", "/?token=guess"):
            assert (await stranger.get(path)).status_code == 403
        assert (await stranger.post("/page/act", json={"act": "send"})).status_code == 403
        assert not stranger.cookies


async def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(chat: EmbeddedChat) -> None:
    async with httpx.AsyncClient(base_url=chat.base_url) as browser:
        answer = await browser.get(chat.page_url())
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie
        for path in TOLD:
            assert (await browser.get(path)).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "[", ""])
async def test_a_name_of_somebody_elses_leads_nowhere(
    chat: EmbeddedChat, browser: httpx.AsyncClient, host: str
) -> None:
    for path in (*TOLD, chat.page_url().removeprefix(chat.base_url)):
        answer = await browser.get(path, headers={"host": host})
        assert (answer.status_code, answer.headers.get("set-cookie")) == (403, None)


async def test_another_page_cannot_act(chat: EmbeddedChat, browser: httpx.AsyncClient) -> None:
    act = {"act": "send", "text": "hello", "channel": chat.channel}
    json_type = {"content-type": "application/json"}
    foreign: list[dict[str, str]] = [
        {"origin": "http://evil.example", **json_type},
        {"origin": "null", **json_type},
        {"content-type": "text/plain"},
        {},
    ]
    for headers in foreign:
        answer = await browser.post("/page/act", content=json.dumps(act), headers=headers)
        assert answer.status_code == 403
    assert chat.messages() == []
    own = {"origin": chat.base_url, "content-type": "application/json"}
    assert (await browser.post("/page/act", content=json.dumps(act), headers=own)).status_code == 200
    assert [message.plain for message in chat.messages()] == ["hello"]
    assert (await browser.get("/page/act")).status_code == 405


async def test_the_browser_is_told_to_run_nothing_but_ours(browser: httpx.AsyncClient) -> None:
    for path in TOLD:
        headers = (await browser.get(path)).headers
        assert headers["content-security-policy"].startswith("default-src 'self';")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


def test_the_page_puts_texts_in_as_text_and_loads_nothing_from_elsewhere() -> None:
    [directory] = map(Path, room.__path__)
    script = (directory / "page.js").read_text(encoding="utf-8")
    assert (
        re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", script)
        == []
    )
    markup = (directory / "page.html").read_text(encoding="utf-8")
    assert re.findall(r"https?://|\sstyle=|\son\w+=|<script>", markup) == []
    assert re.findall(r"url\(|@import", (directory / "page.css").read_text(encoding="utf-8")) == []


# What is seen and done


async def test_what_happens_is_told_to_who_waits(chat: EmbeddedChat, browser: httpx.AsyncClient) -> None:
    before = await shown(browser)
    assert (before["messages"], before["is_connected"]) == ([], False)
    waiting = asyncio.create_task(shown(browser, before["revision"]))
    await chat.say("alice", "<img src=x onerror=alert(1)>")
    after = await waiting
    [message] = after["messages"]
    assert message["text"] == "&lt;img src=x onerror=alert(1)&gt;"
    assert after["people"][message["user"]] == "alice"


async def test_its_person_sees_only_what_is_theirs(chat: EmbeddedChat, browser: httpx.AsyncClient) -> None:
    await chat.command("alice", "status")
    assert await do(browser, act="send", text="/overlord help me", channel=chat.channel) == ""
    [message] = (await shown(browser))["messages"]
    assert message["text"] == '/overlord failed with the error "dispatch_failed"'
    assert (message["is_private"], message["user"]) == (True, chat.workspace.slackbot.id)
    assert len(chat.ephemerals("alice")) == 1


async def test_words_mentions_and_replies_are_written(chat: EmbeddedChat, browser: httpx.AsyncClient) -> None:
    await do(browser, act="send", text="hello", channel=chat.channel)
    await do(browser, act="send", text="@overlord status", channel=chat.channel)
    first, second = chat.messages()
    await do(browser, act="send", text="and you?", channel=chat.channel, thread=first.ts)
    assert second.text == f"<@{chat.bot_user}> status"
    assert {message.user for message in (first, second)} == {chat.page_user}
    assert [message.text for message in chat.messages(thread=first.ts)] == ["and you?"]
    command = await do(browser, act="send", text="/overlord stop", channel=chat.channel, thread=first.ts)
    assert command == "Slack takes no slash commands in a thread"


async def test_a_button_is_pressed_while_it_stands(chat: EmbeddedChat, browser: httpx.AsyncClient) -> None:
    async with httpx.AsyncClient() as bare:
        url, headers = f"{chat.base_url}/api/", {"authorization": f"Bearer {chat.bot_token}"}
        body = {"channel": chat.channel, "text": "Job 7", "blocks": stop_button()}
        await bare.post(f"{url}chat.postMessage", json=body, headers=headers)
    [message] = (await shown(browser))["messages"]
    [block] = message["blocks"]
    press = {"act": "click", "ts": message["ts"], "block_id": block["block_id"], "action_id": "stop"}
    assert await do(browser, **press) == ""
    assert "you: [Stop]" in chat.transcript()
    assert await do(browser, **press | {"action_id": "go"}) == "that button does not stand there any more"


async def test_a_form_is_filled_in(chat: EmbeddedChat, browser: httpx.AsyncClient) -> None:
    trigger = chat.interactions.trigger(chat.page_user, chat.channel)
    text = {"type": "plain_text", "text": "Words"}
    element = {"type": "plain_text_input", "action_id": "words"}
    view = {
        "type": "modal",
        "title": text,
        "submit": text,
        "blocks": [{"type": "input", "block_id": "words", "label": text, "element": element}],
    }
    await AsyncWebClient(chat.bot_token, base_url=f"{chat.base_url}/api/").views_open(
        trigger_id=trigger, view=view
    )
    [opened] = (await shown(browser))["views"]
    assert opened["spec"]["blocks"][0]["block_id"] == "words"
    submitted = await do(browser, act="submit", view=opened["id"], values={"words": "the cache"})
    assert submitted == "the app did not take it: dispatch_failed"
    assert await do(browser, act="close", view=opened["id"]) == ""
    assert (await shown(browser))["views"] == []


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "7",
        '{"act":"jump"}',
        '{"act":"send"}',
        '{"act":"send","text":"x","channel":"C404"}',
        '{"act":"submit","view":"V","values":[]}',
        '{"act":"click","ts":[]}',
        "[" * 50_000,
        "x" * 70_000,
    ],
)
async def test_what_makes_no_sense_is_refused(
    chat: EmbeddedChat, browser: httpx.AsyncClient, body: str
) -> None:
    answer = await browser.post("/page/act", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["ok"]) == (400, False)
    assert chat.messages() == []


async def test_who_waits_for_news_does_not_hold_up_the_end() -> None:
    chat = EmbeddedChat()
    async with httpx.AsyncClient() as browser:
        async with chat.serve() as url:
            await browser.get(chat.page_url())
            state = await shown(browser, "", url)
            waiting = asyncio.create_task(shown(browser, state["revision"], url))
            while not chat.page.waiting:
                await asyncio.sleep(0)
        assert (await waiting)["messages"] == []
