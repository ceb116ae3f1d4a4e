"""What a session in a container tries that it may not: the engine's kernel says no, and the work goes on."""

import json

import pytest

from overlord.adapters.docker.sandbox_check import FAMILIES
from overlord.embedded.play import edit, run, submit
from tests.faults.docker_stage import WORK, Stage
from tests.world import FIX

pytestmark = pytest.mark.docker

OPENS = f"""\
python3 - <<'end'
import contextlib, socket
for family in {sorted(FAMILIES.values())}:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW):
        with contextlib.suppress(OSError):
            socket.socket(family, kind)
            print("the kernel gave a socket of family", family)
print("every family was tried")
end
"""
"""Packets, Bluetooth, the kernel's cryptography, virtual machines, XDP: what a kernel has, each with holes of its own."""


async def test_a_session_gets_no_sockets_of_what_else_the_kernel_has(stage: Stage) -> None:
    await stage.world.issue("add() subtracts")
    await stage.world.make_due()
    stage.world.model_will(run(OPENS), edit(*FIX), submit("adds"), when="subtracts")
    await stage.settle()
    heard = json.dumps([message for message in stage.world.minion_heard() if message["role"] == "tool"])
    assert "every family was tried" in heard
    assert "the kernel gave" not in heard
    assert (await stage.sessions())[0] == WORK
    await stage.check_delivered()
