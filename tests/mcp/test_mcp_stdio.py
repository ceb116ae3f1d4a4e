"""The server as a program on standard input and output, as agents start it."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from overlord.domain.disciplines.call import CallState
from overlord.entrypoints.mcp.stdio import Lines, TooLong
from tests.mcp.asking import RED, REPOSITORY, Stage, data_of

BEGIN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
BEGUN = {"jsonrpc": "2.0", "method": "notifications/initialized"}
CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "tdd_red", "arguments": RED}}


@asynccontextmanager
async def program(stage: Stage) -> AsyncIterator[asyncio.subprocess.Process]:
    """The program, spoken to line by line."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.mcp.stored_backend", str(stage.home)),
        cwd=REPOSITORY,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def say(process: asyncio.subprocess.Process, *messages: Any) -> None:
    assert process.stdin is not None
    for message in messages:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        process.stdin.write(line + b"\n")
        await process.stdin.drain()


async def hear(process: asyncio.subprocess.Process) -> Any:
    assert process.stdout is not None
    return json.loads(await process.stdout.readline())


async def test_the_librarys_client_calls_a_tool_of_the_program(stage: Stage) -> None:
    async with stage.program() as client:
        assert len((await client.list_tools()).tools) >= 12
        asking = asyncio.create_task(client.call_tool("tdd_red", RED, progress_callback=stage.hear))
        call = await stage.requested()
        await stage.hears(1)
        await stage.end(call)
        assert data_of(await asking)["status"] == "pass"


async def test_a_client_that_goes_away_cancels_what_it_waits_for_and_ends_the_program(stage: Stage) -> None:
    async with program(stage) as process:
        await say(process, BEGIN, BEGUN, CALL)
        call = await stage.requested()
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0
        assert (await stage.has_state(call.id, CallState.CANCELLED)).ref == "c1"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_program_as_the_end_of_its_input_does(
    stage: Stage, number: signal.Signals
) -> None:
    async with program(stage) as process:
        await say(process, BEGIN, BEGUN, CALL)
        call = await stage.requested()
        process.send_signal(number)
        assert await process.wait() == 0
        await stage.has_state(call.id, CallState.CANCELLED)


async def test_nothing_but_the_protocol_is_written_and_what_is_no_message_is_answered(stage: Stage) -> None:
    long = {**CALL, "id": 7, "params": {"name": "tdd_red", "arguments": {**RED, "context": "x" * 10_000_000}}}
    late = {name: long[name] for name in ("method", "params", "jsonrpc", "id")}
    async with program(stage) as process:
        await say(process, b"what is this", b"", b"[]", BEGIN, BEGUN)
        answers = [await hear(process) for _ in range(3)]
        assert [answer.get("error", {}).get("code") for answer in answers] == [-32700, -32700, None]
        for message in (long, late):
            await say(process, message)
            refused = await hear(process)
            assert refused["id"] == 7
            assert refused["error"]["message"].startswith("a message has at most 4,194,304 bytes")
        await say(process, {"jsonrpc": "2.0", "id": 8, "method": "ping"})
        assert await hear(process) == {"jsonrpc": "2.0", "id": 8, "result": {}}
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        assert await process.stdout.read() == b""


def test_lines_are_cut_wherever_the_pieces_end() -> None:
    lines = Lines(most=10)
    cut = [line for data in (b"ab", b"c\nde\n\n", b"f", b"") for line in lines.cut(data)]
    assert cut == [b"abc", b"de", b"f"]


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":3,"method":"' + b"x" * 3_000 + b'"}', 3),
        (b'{"method":"' + b"x" * 3_000 + b'","jsonrpc":"2.0","id":"a-1"}', "a-1"),
        (b'{"method":"' + b"x" * 3_000 + b'"}', None),
        (b'{"method":"' + b'{"id":5,' * 900 + b'"}', None),
    ],
)
def test_a_line_that_is_too_long_is_known_by_its_request(line: bytes, request_id: int | str | None) -> None:
    lines = Lines(most=2_000)
    pieces = [line[start : start + 700] for start in range(0, len(line), 700)]
    cut = [found for data in (*pieces, b"\n", b'{"id":1}\n') for found in lines.cut(data)]
    assert cut == [TooLong(request_id), b'{"id":1}']
