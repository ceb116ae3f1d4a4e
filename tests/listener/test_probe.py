"""A container's health check: it is well when the listener says so, and says why when it is not."""

import asyncio
import socket

import pytest

from overlord.entrypoints.listen.health import STALLED_S
from overlord.entrypoints.probe import main
from tests.listener.wire import heard_world


async def probed(address: str) -> int:
    return await asyncio.to_thread(main, {"OVERLORD_LISTEN": address})


async def test_the_probe_says_what_the_listener_says(capsys: pytest.CaptureFixture[str]) -> None:
    async with heard_world() as (world, place):
        port = place.rpartition(":")[2]
        capsys.readouterr()
        for address in (place, f"0.0.0.0:{port}", f":{port}"):
            assert await probed(address) == 0
            assert capsys.readouterr().out == '{"status":"ok"}\n'
        world.clock.move(STALLED_S)
        assert await probed(place) == 1
        assert "stalled" in capsys.readouterr().out


async def test_nobody_who_answers_is_not_well(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = f"127.0.0.1:{gone.getsockname()[1]}"
    assert await probed(address) == 1
    assert capsys.readouterr().out.startswith(f"no answer at {address}: ")
    assert await probed("") == 1
    assert "set OVERLORD_LISTEN" in capsys.readouterr().out
