"""What systemd hears of `overlord serve`, on a real socket of its protocol, and that the unit is one it understands."""

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlord.entrypoints.notify import Supervisor
from tests.architecture.test_imports import ROOT
from tests.listener.test_daemon import served
from tests.required import missing
from tests.world import made_world

DEADLINE_S = 180.0
UNIT = ROOT / "deploy" / "overlord.service"


class Ear:
    """The supervisor's end of the socket."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(name.replace("@", "\0", 1))
        self._socket.setblocking(False)

    async def heard(self, line: str) -> list[str]:
        """Listen until this line comes; all lines of its datagram."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                said = (await asyncio.get_running_loop().sock_recv(self._socket, 65_536)).decode().split("\n")
                if line in said:
                    return said

    def now(self) -> str:
        """What lies there unread."""
        with contextlib.suppress(BlockingIOError):
            return self._socket.recv(65_536).decode()
        return ""

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(params=["file", "abstract"])
def ear(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ear]:
    name = f"{tmp_path}/notify" if request.param == "file" else f"@overlord-{uuid.uuid4().hex}"
    with contextlib.closing(Ear(name)) as ear:
        yield ear


async def test_systemd_hears_when_it_is_ready_that_it_lives_and_when_it_stops(ear: Ear) -> None:
    environment = {"NOTIFY_SOCKET": ear.name, "WATCHDOG_USEC": "100000"}
    async with made_world(poll_s=1) as world, served(world, **environment) as daemon:
        assert await ear.heard("READY=1") == ["READY=1", "STATUS=watches acme/calc"]
        await ear.heard("WATCHDOG=1")
        await ear.heard("WATCHDOG=1")
        assert await daemon.stopped() == 0
        await ear.heard("STOPPING=1")


async def test_a_loop_without_passes_gives_no_sign_of_life(ear: Ear) -> None:
    async with made_world() as world:
        await world.start()
        supervisor = Supervisor({"NOTIFY_SOCKET": ear.name})
        await world.overlord.turn()
        supervisor.look(world.overlord.pulse)
        assert "WATCHDOG=1" in ear.now().split("\n")
        supervisor.look(world.overlord.pulse)
        assert ear.now() == "STATUS=the loop makes no passes"
        world.clock.move(5)
        await world.overlord.turn()
        supervisor.look(world.overlord.pulse)
        assert "WATCHDOG=1" in ear.now().split("\n")


@pytest.mark.parametrize(
    ("environment", "patience_s"),
    [
        ({}, 0.0),
        ({"WATCHDOG_USEC": "120000000"}, 120.0),
        ({"WATCHDOG_USEC": "120000000", "WATCHDOG_PID": str(os.getpid())}, 120.0),
        ({"WATCHDOG_USEC": "120000000", "WATCHDOG_PID": "1"}, 0.0),
        ({"WATCHDOG_USEC": "soon"}, 0.0),
    ],
)
def test_signs_of_life_are_given_to_whoever_asked_this_process(
    environment: dict[str, str], patience_s: float
) -> None:
    assert Supervisor(environment).patience_s == patience_s


def test_a_supervisor_that_does_not_listen_is_told_nothing_and_holds_nobody_up(tmp_path: Path) -> None:
    Supervisor({}).notify("READY=1")
    Supervisor({"NOTIFY_SOCKET": "vsock:2:1"}).notify("READY=1")
    Supervisor({"NOTIFY_SOCKET": f"{tmp_path}/gone"}).notify("READY=1")
    deaf = Ear(f"{tmp_path}/deaf")
    with contextlib.closing(deaf):
        for _ in range(1000):
            Supervisor({"NOTIFY_SOCKET": deaf.name}).notify("WATCHDOG=1")
        assert deaf.now() == "WATCHDOG=1"


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        missing("systemd", "there is no systemd-analyze here")
    text = UNIT.read_text(encoding="utf-8")
    assert "ExecStart=/opt/overlord/bin/overlord serve" in text
    unit = tmp_path / "overlord.service"
    unit.write_text(text.replace("/opt/overlord/bin/overlord", sys.executable))
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(unit)]
    asked = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (asked.returncode, asked.stderr) == (0, "")
    unit.write_text(text.replace("WatchdogSec=2min", "WatchdogSec=soon"))
    assert "soon" in subprocess.run(command, check=False, capture_output=True, text=True).stderr
