"""Real coding agents call Overlord: each tool, over standard input and output and over HTTP, configured as `overlord mcp install` does."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from overlord.domain.disciplines.call import Call
from overlord.domain.disciplines.catalog import KINDS, DisciplineName
from overlord.embedded.server import serve
from overlord.entrypoints.mcp.install.client import Server
from overlord.entrypoints.mcp.tools import TOOLS
from tests.agents.clients import CALLERS, RealClient, configured, environment, program_of
from tests.agents.outer_model import OuterModel
from tests.agents.plays import asked_for
from tests.mcp.asking import REPOSITORY, staged
from tests.mcp.http_stage import made_http_stage
from tests.mcp.stored_backend import ROOT
from tests.records import REPO

SAID = {
    "spec": "the parser refuses an empty text",
    "test_path": "tests/test_parser.py",
    "impl_path": "parser.py",
    "files": ["parser.py"],
    "error": "ValueError: empty",
    "requirements": "A parser.",
    "session_id": "real-agents",
    "call": "c1",
    "query": "parser",
    "content": "The parser refuses an empty text.",
}
ALWAYS = {"project_root", "session_id"}
LONGEST_S = 240.0


def taken() -> list[RealClient]:
    """Those that this run tries."""
    asked = asked_for()
    return [client for client in CALLERS if "all" in asked or client.program in asked]


def script(root: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Each tool once, with what it needs."""
    said = {**SAID, "project_root": root}
    return [
        (
            tool.name,
            {
                item.name: said[item.name]
                for item in tool.arguments
                if item.is_required or item.name in ALWAYS
            },
        )
        for tool in TOOLS
    ]


async def run(client: RealClient, room: Path, model: OuterModel, server: Server, secret: str = "") -> None:
    """Start it, wait until it has ended by itself, and see what its model heard."""
    async with serve(model.app) as address:
        configured(client, room, address, server)
        program = await asyncio.to_thread(program_of, client, room)
        variables = {**environment(client, room, address), "OVERLORD_TOKEN": secret}
        process = await asyncio.create_subprocess_exec(
            str(program),
            *client.words(room, address),
            cwd=room,
            env=variables,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(), LONGEST_S)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
    assert process.returncode == 0, output.decode()[-3000:]
    assert model.missing == [], output.decode()[-3000:]
    assert len(model.heard) == len(model.calls), output.decode()[-3000:]


@asynccontextmanager
async def ended_by(
    requested: Callable[[int], Awaitable[Call]], end: Callable[[Call], Awaitable[object]]
) -> AsyncIterator[None]:
    """Each call is ended as it comes, in the engine's place."""

    async def go_on() -> None:
        for number in range(1, len(KINDS) + 1):
            await end(await requested(number))

    task = asyncio.create_task(go_on())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def check(model: OuterModel) -> None:
    """Every discipline answered with its result, and no tool with an error."""
    heard = dict(zip((name for name, _ in model.calls), model.heard, strict=True))
    for name in DisciplineName:
        assert "verified" in heard[name] and "pass" in heard[name], (name, heard[name])
    assert "c1" in heard["call_status"]
    assert "real-agents" in heard["session_log"] or "entries" in heard["session_log"]


@pytest.mark.parametrize("client", taken(), ids=lambda client: client.program)
async def test_an_agent_calls_each_tool_over_standard_input_and_output(
    client: RealClient, tmp_path: Path
) -> None:
    home, room = tmp_path / "overlord-home", tmp_path / "calc"
    home.mkdir(mode=0o700)
    room.mkdir()
    program = tmp_path / "overlord"
    program.write_text(
        f"#!/bin/sh\ncd {REPOSITORY} && PYTHONPATH={REPOSITORY} exec {sys.executable} -m tests.mcp.stored_backend {home}\n"
    )
    program.chmod(0o755)
    model = OuterModel(calls=script(ROOT))
    async with staged(home) as stage, ended_by(stage.requested, stage.end):
        await run(client, room, model, Server(command=(str(program),)))
    check(model)


@pytest.mark.parametrize("client", taken(), ids=lambda client: client.program)
async def test_an_agent_calls_each_tool_over_http(client: RealClient, tmp_path: Path) -> None:
    room = tmp_path / "calc"
    room.mkdir()
    model = OuterModel(calls=script(REPO))
    async with made_http_stage() as stage, ended_by(stage.requested, stage.end):
        secret = await stage.token()
        await run(client, room, model, Server(url=f"{stage.address}mcp"), secret)
    check(model)
