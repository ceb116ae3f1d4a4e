"""The scripted model over plain HTTP: what a play says, in which order, and how it misbehaves."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from overlord.embedded import play
from overlord.embedded.model import EmbeddedModel
from overlord.embedded.reviewer import REVIEW

COMPLETIONS = "/v1/chat/completions"


@pytest.fixture
def model() -> EmbeddedModel:
    return EmbeddedModel(key="sk-test")


@pytest.fixture
async def client(model: EmbeddedModel) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": "Bearer sk-test"}
    async with model.serve() as url, httpx.AsyncClient(base_url=url, headers=headers) as client:
        yield client


def asked(answered: int = 0, mission: str = "Fix the typo", **fields: Any) -> dict[str, Any]:
    opening = [{"role": "system", "content": "You are a Minion."}, {"role": "user", "content": mission}]
    turn = [{"role": "assistant", "content": "…"}, {"role": "tool", "content": "ok", "tool_call_id": "1"}]
    return {"model": "scripted", "messages": opening + turn * answered} | fields


async def said(client: httpx.AsyncClient, answered: int = 0, **fields: Any) -> dict[str, Any]:
    answer = await client.post(COMPLETIONS, json=asked(answered, **fields))
    assert answer.status_code == 200, answer.text
    message: dict[str, Any] = answer.json()["choices"][0]["message"]
    return message


async def test_a_play_goes_on_with_the_conversation_and_its_last_turn_repeats(
    model: EmbeddedModel, client: httpx.AsyncClient
) -> None:
    model.will(play.say("Let me see."), play.read("calc.py"), play.submit("Typo fixed"))
    texts = [await said(client, answered) for answered in (0, 0, 1, 2, 7)]
    names = [
        [call["function"]["name"] for call in text.get("tool_calls", [])] or text["content"] for text in texts
    ]
    assert names == [
        "Let me see.",
        "Let me see.",
        ["read_file"],
        ["task_complete"],
        ["task_complete"],
    ]
    assert json.loads(texts[3]["tool_calls"][0]["function"]["arguments"]) == {"summary": "Typo fixed"}


async def test_a_repeated_request_gets_the_same_bytes(
    model: EmbeddedModel, client: httpx.AsyncClient
) -> None:
    model.will(play.run("ls"))
    first, second = [await client.post(COMPLETIONS, json=asked()) for _ in range(2)]
    assert first.content == second.content


async def test_plays_are_given_out_in_order_to_new_conversations(
    model: EmbeddedModel, client: httpx.AsyncClient
) -> None:
    model.will(play.say("typo"), when="typo")
    model.will(play.say("first"))
    model.will(play.say("second"))
    assert (await said(client, mission="Add a feature"))["content"] == "first"
    assert (await said(client, mission="Fix a typo"))["content"] == "typo"
    assert (await said(client, mission="Another"))["content"] == "second"
    assert (await said(client, mission="Add a feature"))["content"] == "first"
    # A play with `when` serves every conversation like it; the others serve one each.
    assert (await said(client, mission="Fix a typo elsewhere"))["content"] == "typo"
    nothing = await client.post(COMPLETIONS, json=asked(mission="One too many"))
    assert (nothing.status_code, nothing.json()["error"]["code"]) == (400, "no_play")
    assert model.unplayed == ()


async def test_a_random_fence_does_not_make_a_new_conversation(
    model: EmbeddedModel, client: httpx.AsyncClient
) -> None:
    model.will(play.say("one"))
    model.will(play.say("two"))
    for fence in ("0123456789abcdef", "fedcba98765432100123"):
        assert (await said(client, mission=f"<{fence}> Fix it"))["content"] == "one"
    model.forget()
    assert (await said(client, mission="Fix it"))["content"] == "two"


async def test_failures_happen_once_before_the_next_reply(
    model: EmbeddedModel, client: httpx.AsyncClient
) -> None:
    model.will(
        play.say("one"), play.status(529, retry_after_s=1), play.garbage(), play.say("two"), play.status(400)
    )
    seen = []
    for answered in (0, 1, 1, 1, 2, 2):
        answer = await client.post(COMPLETIONS, json=asked(answered))
        try:
            body = answer.json()
        except ValueError:
            body = {"error": "no JSON"}
        seen.append(
            (answer.status_code, body["choices"][0]["message"]["content"] if "choices" in body else None)
        )
    assert seen == [(200, "one"), (529, None), (200, None), (200, "two"), (400, None), (400, None)]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_cut_connection_is_cut(model: EmbeddedModel, client: httpx.AsyncClient, stream: bool) -> None:
    model.will(play.cut())
    with pytest.raises(httpx.TransportError):
        await client.post(COMPLETIONS, json=asked(stream=stream))


@pytest.mark.parametrize(
    ("turn", "content", "refused", "finish"),
    [
        (play.empty(), None, None, "stop"),
        (play.refusal("No."), None, "No.", "stop"),
        (play.cut_off("Half a wo"), "Half a wo", None, "length"),
    ],
)
async def test_odd_replies(
    model: EmbeddedModel, client: httpx.AsyncClient, turn: play.Turn, content: str, refused: str, finish: str
) -> None:
    model.will(turn)
    [choice] = (await client.post(COMPLETIONS, json=asked())).json()["choices"]
    assert choice["message"] == {"role": "assistant", "content": content, "refusal": refused}
    assert choice["finish_reason"] == finish


async def test_malformed_arguments_are_not_json(model: EmbeddedModel, client: httpx.AsyncClient) -> None:
    model.will(play.malformed("edit_file"))
    [call] = (await said(client))["tool_calls"]
    with pytest.raises(ValueError, match="Unterminated"):
        json.loads(call["function"]["arguments"])


async def test_a_stream_adds_up_to_the_whole_reply(model: EmbeddedModel, client: httpx.AsyncClient) -> None:
    turn = play.together(
        play.read("calc.py"), play.edit("calc.py", "ä" * 50, "b"), text="Two things at once, then."
    )
    model.will(turn)
    whole = (await client.post(COMPLETIONS, json=asked())).json()
    answer = await client.post(COMPLETIONS, json=asked(stream=True, stream_options={"include_usage": True}))
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    chunks = [json.loads(line) for line in lines[:-1]]
    content, arguments = "", {0: "", 1: ""}
    for choice in (choice for chunk in chunks for choice in chunk["choices"]):
        content += choice["delta"].get("content") or ""
        for call in choice["delta"].get("tool_calls", []):
            arguments[call["index"]] += call["function"]["arguments"]
    message = whole["choices"][0]["message"]
    assert lines[-1] == "[DONE]"
    assert content == message["content"]
    assert list(arguments.values()) == [call["function"]["arguments"] for call in message["tool_calls"]]
    assert (chunks[-2]["choices"][0]["finish_reason"], chunks[-1]["choices"]) == ("tool_calls", [])
    assert chunks[-1]["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]


async def test_the_key_is_needed_everywhere(model: EmbeddedModel, client: httpx.AsyncClient) -> None:
    model.will(play.submit())
    headers = {"authorization": "Bearer wrong"}
    refused = await client.post(COMPLETIONS, json=asked(), headers=headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
    assert (await client.get("/v1/models", headers=headers)).status_code == 401
    assert [item["id"] for item in (await client.get("/v1/models")).json()["data"]] == ["scripted"]
    assert [seen.status for seen in model.requests] == [401]
    assert model.messages()[1]["content"] == "Fix the typo"


@pytest.mark.parametrize("body", [b"{", b'{"model": "m", "messages": []}'])
async def test_a_request_that_makes_no_sense_is_a_400(client: httpx.AsyncClient, body: bytes) -> None:
    assert (await client.post(COMPLETIONS, content=body)).status_code == 400


SCRIPT = """
plays:
  - when: "Fix the typo"
    turns:
      - tool: read_file
        arguments: {path: calc.py}
      - text: thinking aloud
        tools: [{tool: edit_file, arguments: {path: calc.py, old: "a", new: "b"}}]
      - misbehave: status
        status: 503
      - tool: task_complete
        arguments: {summary: done}
"""


def test_a_script_says_the_same_as_python() -> None:
    edited = play.together(play.edit("calc.py", "a", "b"), text="thinking aloud")
    turns = (play.read("calc.py"), edited, play.status(503), play.submit())
    assert play.parse_script(SCRIPT) == [play.Play(turns=turns, when="Fix the typo")]


@pytest.mark.parametrize(
    "script",
    ["plays: [{turns: []}]", "plays: [{turns: [{}]}]", "plays: [{turns: [{say: hi}]}]", "play: []", "3"],
)
def test_a_script_with_mistakes_is_refused(script: str) -> None:
    with pytest.raises(ValueError, match="validation error"):
        play.parse_script(script)


async def test_a_play_that_calls_tools_is_not_for_a_review_whatever_is_in_it(
    model: EmbeddedModel, client: httpx.AsyncClient
) -> None:
    model.will(play.run("ls"), when="typo")
    model.will(play.say("Looks good."), when="typo")
    asked = [{"role": "system", "content": f"{REVIEW}."}, {"role": "user", "content": "Fix the typo"}]
    reviewed = await client.post(COMPLETIONS, json={"model": "scripted", "messages": asked})
    assert reviewed.json()["choices"][0]["message"]["content"] == "Looks good."
    assert "tool_calls" in await said(client, mission="Fix the typo")
