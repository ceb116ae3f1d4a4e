"""The gateway before a well-meaning client: passed on untouched, streamed or not, and every exchange paid for."""

import asyncio
import json
import logging

import httpx
import pytest

from minion.protocol import COMPLETIONS_PATH, EXPLORATION, SessionKind
from overlord.embedded import play
from overlord.embedded.model import EmbeddedModel
from tests.session_api.gate import CANARY, Gate, open_gate, request

CALL = play.call("read_file", path="calc.py")


@pytest.fixture
def model() -> EmbeddedModel:
    return EmbeddedModel(key=CANARY)


def usage_of(body: bytes) -> dict[str, int]:
    found: dict[str, int] = json.loads(body)["usage"]
    return found


async def test_a_reply_passes_byte_for_byte_and_is_paid_for(model: EmbeddedModel) -> None:
    model.will(play.together(CALL, text="Let me look."))
    async with open_gate(model) as gate:
        reply = await gate.ask()
        whole = json.loads(reply.content)
        assert reply.status_code == 200
        assert whole["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "read_file"
        [row] = await gate.rows()
        usage = usage_of(reply.content)
        assert (row["prompt"], row["completion"]) == (usage["prompt_tokens"], usage["completion_tokens"])
        assert (row["settled"], row["status"], row["model"], row["cost_nusd"]) == (1, 200, "scripted", None)
        assert row["reserved"] >= row["prompt"] + row["completion"]


async def test_the_endpoint_gets_its_own_model_and_a_limit_for_the_reply(model: EmbeddedModel) -> None:
    model.will(play.say("Hi"))
    async with open_gate(model) as gate:
        for fields, limit in (
            ({}, 16384),
            ({"max_tokens": 100}, 100),
            ({"max_completion_tokens": 10**6}, 16384),
        ):
            await gate.ask(**fields, user="me", temperature=0)
            sent = json.loads(model.requests[-1].body)
            assert (sent["model"], sent["max_completion_tokens"]) == ("scripted", limit)
            assert sent.keys() == {"model", "messages", "temperature", "max_completion_tokens"}


async def test_a_stream_passes_untouched_without_the_usage_nobody_asked_for(model: EmbeddedModel) -> None:
    model.will(play.together(CALL, text="Let me look at the file before I change anything."))
    async with open_gate(model) as gate:
        plain, with_usage = [
            await gate.ask(stream=True, stream_options=options) for options in (None, {"include_usage": True})
        ]
        assert plain.headers["content-type"].startswith("text/event-stream")
        events = with_usage.content.split(b"\n\n")
        assert plain.content == b"\n\n".join([*events[:-3], *events[-2:]])
        usage = usage_of(events[-3].removeprefix(b"data: "))
        for row in await gate.settled():
            assert (row["prompt"], row["completion"]) == (usage["prompt_tokens"], usage["completion_tokens"])
        assert [json.loads(seen.body)["stream_options"] for seen in model.requests] == [
            {"include_usage": True}
        ] * 2


async def test_a_stream_that_is_cut_says_so_and_is_paid_for(model: EmbeddedModel) -> None:
    model.will(play.cut())
    async with open_gate(model) as gate:
        reply = await gate.ask(stream=True)
        assert b'"code": "model_unavailable"' in reply.content and b"[DONE]" not in reply.content
        [row] = await gate.settled()
        assert row["status"] == 502
        assert row["prompt"] > 0 and row["completion"] > 0
        assert len(model.requests) == 1


async def test_a_client_that_goes_away_is_paid_for(model: EmbeddedModel) -> None:
    model.will(play.say("word " * 200_000))
    async with open_gate(model) as gate:
        async with await gate.client() as client:
            asked = client.stream("POST", COMPLETIONS_PATH, content=request(stream=True))
            async with asked as reply:
                await anext(reply.aiter_raw())
        [row] = await gate.settled()
        assert row["status"] == 499
        assert row["prompt"] > 0 and row["completion"] > 0


async def test_a_client_that_goes_away_pays_for_the_time_in_which_a_model_may_have_thought(
    model: EmbeddedModel,
) -> None:
    model.will(play.say("word " * 200_000), play.say("word " * 200_000))
    async with open_gate(model, budget={"completion_tokens": 60_000}) as gate:
        for waited_s, tokens in ((500.0, 50_000), (9_000.0, 60_000)):
            async with await gate.client() as client:
                content = request(stream=True)
                async with client.stream("POST", COMPLETIONS_PATH, content=content) as reply:
                    await anext(reply.aiter_raw())
                    gate.clock.move(waited_s)
            assert (await gate.settled())[-1]["completion"] == tokens


async def test_a_stream_under_way_when_its_door_closes_ends_its_connection_and_is_no_fault(
    model: EmbeddedModel, caplog: pytest.LogCaptureFixture
) -> None:
    model.will(play.say("word " * 200_000))
    async with open_gate(model) as gate:
        async with await gate.client() as client:
            asked = client.stream("POST", COMPLETIONS_PATH, content=request(stream=True))
            async with asked as reply:
                words = reply.aiter_raw()
                await anext(words)
                await gate.keeper.close()
                with pytest.raises(httpx.HTTPError):
                    async for _ in words:
                        pass
        [row] = await gate.rows()
        assert (row["settled"], row["status"]) == (1, 499)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_door_that_closes_settles_what_is_under_way(model: EmbeddedModel) -> None:
    model.will(play.silence())
    async with open_gate(model) as gate:
        asking = asyncio.create_task(gate.ask())
        while not model.requests:
            await asyncio.sleep(0)
        await gate.keeper.close()
        [row] = await gate.rows()
        assert (row["settled"], row["status"]) == (1, 499)
        assert row["prompt"] > 0
        await asyncio.gather(asking, return_exceptions=True)


async def test_garbage_passes_and_is_paid_for_by_its_size(model: EmbeddedModel) -> None:
    model.will(play.garbage())
    async with open_gate(model) as gate:
        for stream in (False, True):
            reply = await gate.ask(stream=stream)
            assert (reply.status_code, reply.content) == (200, b'<html>{"choices": [{"mess')
        assert all(row["prompt"] > 0 and row["completion"] > 0 for row in await gate.settled())


async def test_what_the_session_sends_as_headers_goes_nowhere(model: EmbeddedModel) -> None:
    model.will(play.say("Hi"))
    async with open_gate(model) as gate, await gate.client() as client:
        headers = {
            "authorization": "Bearer mine",
            "x-forwarded-for": "10.0.0.1",
            "openai-organization": "evil",
        }
        reply = await client.post(COMPLETIONS_PATH, content=request(), headers=headers)
        assert reply.status_code == 200
        assert CANARY not in str(reply.headers)


async def test_a_check_session_has_no_model(model: EmbeddedModel) -> None:
    async with open_gate(model, kind=SessionKind.CHECK) as gate:
        assert (await gate.ask()).status_code == 403
        assert model.requests == []


async def test_the_transcript_holds_each_message_once_and_no_secret(model: EmbeddedModel) -> None:
    model.will(play.say("First."), play.say("Second."))
    system = {"role": "system", "content": "You work."}
    hello = {"role": "user", "content": f"The key is {CANARY}, ghp_{'a1' * 18} another."}
    said = {"role": "assistant", "content": "First."}
    async with open_gate(model) as gate:
        await gate.ask(messages=[system, hello])
        await gate.ask(messages=[system, hello, said, {"role": "user", "content": "And?"}], stream=True)
        first, second = gate.transcript()
        assert first["messages"][1]["content"] == "The key is [redacted], [redacted] another."
        assert (second["same"], second["messages"]) == (2, [said, {"role": "user", "content": "And?"}])
        assert (first["reply"]["content"], second["reply"]["content"]) == ("First.", "Second.")
        assert second["usage"]["completion"] > 0


async def test_the_transcript_tells_an_exploration_from_its_session(model: EmbeddedModel) -> None:
    model.will(*(play.say(text) for text in ("Ask.", "Read.", "It subtracts.", "Done.")))
    system, hello = {"role": "system", "content": "You work."}, {"role": "user", "content": "Fix it."}
    rules = {"role": "system", "content": f"{EXPLORATION} the repository."}
    asked = {"role": "user", "content": "What is add?"}
    async with open_gate(model) as gate:
        await gate.ask(messages=[system, hello])
        await gate.ask(messages=[rules, asked])
        await gate.ask(messages=[rules, asked, {"role": "assistant", "content": "Read."}, asked])
        await gate.ask(messages=[system, hello, {"role": "assistant", "content": "Ask."}, hello])
        lines = gate.transcript()
    assert [line.get("explores") for line in lines] == [None, True, True, None]
    assert [line["same"] for line in lines] == [0, 0, 2, 2], "each conversation is kept once"


async def test_the_key_is_nowhere_a_session_or_a_reader_looks(
    model: EmbeddedModel, capfd: pytest.CaptureFixture[str]
) -> None:
    model.will(play.status(400, text=f"Bad request with key {CANARY}."))
    async with open_gate(model) as gate:
        reply = await gate.ask(messages=[{"role": "user", "content": f"Is it {CANARY}?"}])
        assert reply.json()["error"]["message"] == "Bad request with key [redacted]."
        kept = [path.read_bytes() for path in gate.home.root.rglob("*") if path.is_file()]
        assert not [
            text for text in [reply.content, str(reply.headers).encode(), *kept] if CANARY.encode() in text
        ]
    assert CANARY not in "".join(capfd.readouterr())


async def cost_of(gate: Gate) -> list[int]:
    return [row["cost_nusd"] for row in await gate.settled()]


async def test_a_model_with_a_price_is_paid_for_in_money(model: EmbeddedModel) -> None:
    model.will(play.say("Hi"))
    async with open_gate(model, prices={"scripted": {"input": 2, "output": 8}}) as gate:
        usage = usage_of((await gate.ask()).content)
        assert await cost_of(gate) == [usage["prompt_tokens"] * 2000 + usage["completion_tokens"] * 8000]
