"""Calls: waited for, told of, answered with a handle, cancelled, and the same whenever they are asked for."""

import asyncio

import pytest
from jsonschema import validate  # type: ignore[import-untyped]

from overlord.domain.disciplines.call import CallState
from overlord.domain.event import EventName
from overlord.entrypoints.mcp.schemas import CALL_ANSWER
from overlord.failpoints import Failpoint
from overlord.store import jobs
from tests.mcp.asking import HANDSHAKE, RED, Stage, data_of, staged, words_of
from tests.records import NOW


@pytest.mark.parametrize("mode", [HANDSHAKE, "2026-07-28"])
async def test_a_call_is_answered_with_its_result_once_it_has_ended(stage: Stage, mode: str) -> None:
    async with stage.client(mode) as client:
        asking = asyncio.create_task(client.call_tool("tdd_red", RED))
        call = await stage.requested()
        ended = await stage.end(call, patch="f" * 64, changed=("tests/test_parser.py",), code="assertion")
        answer = await asking
    data = data_of(answer)
    validate(data, CALL_ANSWER)
    assert (data["status"], data["verified"], data["code"]) == ("pass", True, "assertion")
    assert (data["call"], data["ledger_head"]) == (call.ref, ended.ledger_head)
    assert (data["applied"], data["not_applied_because"]) == (True, "")
    assert f'"call": "{call.ref}"' in words_of(answer)


async def test_progress_rises_and_names_the_handle(stage: Stage) -> None:
    async with stage.client() as client:
        asking = asyncio.create_task(client.call_tool("tdd_red", RED, progress_callback=stage.hear))
        call = await stage.requested()
        for number, words in enumerate(("turn 1: read_file", "tests are run"), start=1):
            await stage.hears(number)
            await stage.stage(call, words)
        await stage.hears(3)
        await stage.end(call)
        await asking
    assert [words for _, words in stage.told] == [
        f"{call.ref}: waits for a session",
        f"{call.ref}: turn 1: read_file",
        f"{call.ref}: tests are run",
    ]
    numbers = [number for number, _ in stage.told]
    assert numbers == sorted(set(numbers))


async def test_a_call_that_takes_long_is_answered_with_a_handle_and_waited_for(stage: Stage) -> None:
    async with staged(stage.home, disciplines={"wait_s": 0.01}) as hurried:
        async with hurried.client() as client:
            handle = data_of(await client.call_tool("tdd_red", RED))
            validate(handle, CALL_ANSWER)
            assert (handle["status"], handle["stage"]) == ("running", "waits for a session")
            assert f"Call the tool `wait` with call={handle['call']}" in handle["message"]
            again = data_of(await client.call_tool("wait", {"call": handle["call"], "timeout_s": 0}))
            assert again == handle
            assert data_of(await client.call_tool("call_status", {"call": handle["call"]})) == handle
            waiting = asyncio.create_task(
                client.call_tool(
                    "wait", {"call": handle["call"], "timeout_s": 60}, progress_callback=hurried.hear
                )
            )
            await hurried.hears(1)
            call = await hurried.requested()
            await hurried.end(call, patch="f" * 64)
            result = data_of(await waiting)
            assert result["status"] == "pass"
            assert data_of(await client.call_tool("call_status", {"call": handle["call"]})) == result
            assert data_of(await client.call_tool("wait", {"call": handle["call"]})) == result
        assert hurried.backend.applied == [call.ref]


async def test_apply_false_gives_the_patch_and_leaves_the_files(stage: Stage) -> None:
    async with stage.client() as client:
        asking = asyncio.create_task(client.call_tool("tdd_red", {**RED, "apply": False}))
        await stage.end(await stage.requested(), patch="f" * 64)
        data = data_of(await asking)
    assert (data["applied"], data["not_applied_because"]) == (False, "The call said apply: false.")
    assert data["patch"].startswith("diff --git")
    assert stage.backend.applied == []


async def test_a_client_that_withdraws_its_request_cancels_the_call(stage: Stage) -> None:
    async with stage.client() as client:
        asking = asyncio.create_task(client.call_tool("tdd_red", RED, progress_callback=stage.hear))
        await stage.hears(1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        call = await stage.has_state((await stage.requested()).id, CallState.CANCELLED)
        told = data_of(await client.call_tool("call_status", {"call": call.ref}))
    assert (told["status"], told["message"]) == ("cancelled", "c1 was cancelled, and has no result.")


@pytest.mark.parametrize(
    ("event", "reason"),
    [(EventName.LIFETIME_EXCEEDED, "its lifetime is over"), (EventName.STOPPED, "stopped by a person")],
)
async def test_a_call_that_nobody_cancelled_ends_in_its_own_words(
    stage: Stage, event: EventName, reason: str
) -> None:
    async with stage.client() as client:
        asking = asyncio.create_task(client.call_tool("tdd_red", RED))
        call = await stage.requested()
        await stage.backend.write(
            Failpoint.JOB_STOPPED, lambda c: jobs.move(c, call.job_id or 0, event, at=NOW, reason=reason)
        )
        told = data_of(await asking)
    assert (told["status"], told["message"]) == ("cancelled", f"c1 ended without a result: {reason}.")


async def test_who_stops_waiting_leaves_the_call_alone(stage: Stage) -> None:
    async with stage.client() as client:
        asking = asyncio.create_task(client.call_tool("tdd_red", RED))
        call = await stage.requested()
        waiting = asyncio.create_task(
            client.call_tool("wait", {"call": call.ref}, progress_callback=stage.hear)
        )
        await stage.hears(1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert data_of(await client.call_tool("call_status", {"call": call.ref}))["status"] == "running"
        await stage.end(call)
        assert data_of(await asking)["status"] == "pass"


async def test_the_tool_cancel_ends_a_call_once_and_leaves_an_ended_one(stage: Stage) -> None:
    async with stage.client() as client:
        asking = asyncio.create_task(client.call_tool("tdd_red", RED))
        call = await stage.requested()
        cancelled = data_of(await client.call_tool("cancel", {"call": call.ref}))
        assert cancelled["status"] == "cancelled"
        assert data_of(await client.call_tool("cancel", {"call": call.ref})) == cancelled
        assert data_of(await asking) == cancelled
        asking = asyncio.create_task(client.call_tool("tdd_red", RED))
        other = await stage.requested(2)
        await stage.end(other)
        assert data_of(await client.call_tool("cancel", {"call": other.ref}))["status"] == "pass"
        await asking


@pytest.mark.parametrize("ref", ["c9", "9", "call", "c-1", "c" * 1_000, "c9; drop table calls"])
@pytest.mark.parametrize("tool", ["wait", "cancel", "call_status"])
async def test_a_handle_of_nothing_is_said_to_be_of_nothing(stage: Stage, tool: str, ref: str) -> None:
    async with stage.client() as client:
        said = await client.call_tool(tool, {"call": ref})
    assert said.is_error
    assert words_of(said).startswith("there is no call")


@pytest.mark.parametrize("timeout_s", ["soon", True, 10**400])
async def test_a_time_that_is_none_is_refused_or_bounded(stage: Stage, timeout_s: object) -> None:
    async with stage.client() as client:
        said = await client.call_tool("wait", {"call": "c1", "timeout_s": timeout_s})
    assert said.is_error
    assert words_of(said) in {"timeout_s must be a number", "there is no call c1"}
