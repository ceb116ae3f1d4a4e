"""The attacks that live inside a container (SANDBOX §5). Each wall is also taken away, to see that its test can fail."""

import asyncio
import json
import os
import socket
import subprocess
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from overlord.adapters.docker.engine import DockerEngine
from overlord.adapters.docker.profile import Profile
from overlord.adapters.docker.profile_check import Wall, check_sandbox
from overlord.adapters.docker.runner import DockerRunner
from overlord.adapters.docker.sandbox_check import POINTS
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import Launch
from overlord.domain.session import EndKind
from tests.puppet import open_door
from tests.runners import IMAGE, DockerKit, clean, ending_of, engine_or_skip, launch

pytestmark = pytest.mark.docker

S1 = SessionId("s1")
CANARY = "canary-7d0c41"
SOCKET = {"Type": "bind", "Source": "/var/run/docker.sock", "Target": "/var/run/docker.sock"}
DISK = {"PathOnHost": "/dev/loop-control", "PathInContainer": "/dev/disk", "CgroupPermissions": "r"}

OPENED: dict[str, tuple[dict[str, Any], dict[str, Any], set[str]]] = {
    "a root user": ({"user": "0:0"}, {}, {"user"}),
    "capabilities": ({"capabilities_dropped": ()}, {}, {"capabilities"}),
    "new privileges": ({"no_new_privileges": False}, {}, {"new_privileges"}),
    "a network": ({"network": "bridge"}, {}, {"network", "host_services", "names"}),
    "all system calls": (
        {"seccomp": "unconfined"},
        {},
        {"sockets", "io_uring", "namespaces_new", "tracing", "keyring", "kernel", "other_bits"},
    ),
    "a writable root": ({"read_only": False}, {}, {"root_files"}),
    "a writable session API": ({"read_only_session_api": False}, {}, {"session_api", "mounts"}),
    "programs in /tmp": ({"tmp": "rw,exec,size=64m,mode=1777"}, {}, {"tmp_programs"}),
    "a larger /tmp": ({"tmp": "rw,noexec,size=80m,mode=1777"}, {}, {"disk"}),
    "the engine's disk": ({"work": ""}, {}, {"disk"}),
    "more open files": ({"open_files": 8192}, {}, {"limits"}),
    "larger files": ({"file_mb": 5000}, {}, {"limits"}),
    "more processes": ({"pids": 2000}, {}, {"processes"}),
    "more memory": ({}, {"Memory": 0, "MemorySwap": 0}, {"memory"}),
    "no init": ({"init": False}, {}, {"first_process"}),
    "the host's processes": ({"pid": "host"}, {}, {"namespaces", "other_environments"}),
    "the host's memory segments": ({"ipc": "host"}, {}, {"namespaces"}),
    "a device": ({}, {"Devices": [DISK]}, {"devices"}),
    "the kernel's settings": (
        {"user": "0:0", "capabilities_dropped": ()},
        {"ReadonlyPaths": [], "MaskedPaths": []},
        {"kernel_files"},
    ),
    "the engine's socket": ({}, {"Mounts": [SOCKET]}, {"engine"}),
    "a secret": ({}, {"Env": ["GITHUB_TOKEN=x"]}, {"own_environment"}),
}
"""What a session is given, how (a field of the profile, or a setting the profile does not know), what that opens."""
KERNELS_CHOICE = {"sockets", "io_uring", "keyring", "other_bits"}
"""Walls that a developer's kernel may have of its own; CI's has not."""


class WeakRunner(DockerRunner):
    """One that asks the engine for more than the profile, and does not look at what it got."""

    raw: Mapping[str, Any] = {}

    def _configuration(self, launch: Launch, program: str = "") -> dict[str, Any]:
        asked = super()._configuration(launch, program)
        asked["Env"] += self.raw.get("Env", [])
        return asked | {"HostConfig": asked["HostConfig"] | {k: v for k, v in self.raw.items() if k != "Env"}}

    async def _check(self, name: str, asked: Mapping[str, Any]) -> None:
        return


@pytest.fixture(autouse=True)
async def engine() -> None:
    await engine_or_skip()


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[DockerKit]:
    async with open_door() as session_api:
        kit = DockerKit(tmp_path, session_api)
        yield kit
        await clean(kit.runner())


@pytest.fixture
def stranger() -> Iterator[None]:
    """A process of this machine, of the user that sessions run as, with a secret in its environment."""
    whose = 10001 if os.getuid() == 0 else None
    process = subprocess.Popen(["sleep", "600"], env={"API_TOKEN": CANARY}, user=whose, group=whose)
    yield
    process.kill()
    process.wait()


@pytest.fixture
def service() -> Iterator[tuple[str, int]]:
    """A service of this machine, on the address that a container on the engine's own network would find it at."""
    found = subprocess.run(
        ["docker", "network", "inspect", "bridge", "--format", "{{json (index .IPAM.Config 0)}}"],
        capture_output=True,
        text=True,
        check=True,
    )
    network = json.loads(found.stdout)
    # An engine that has just made its network tells no gateway; it is the first address then.
    gateway = network.get("Gateway") or str(ip_network(network["Subnet"])[1])
    with socket.create_server((gateway, 0)) as listening:
        yield listening.getsockname()


async def check(
    points: Sequence[str], service: tuple[str, int], raw: Mapping[str, Any], **walls: Any
) -> Sequence[Wall]:
    def make(root: Path, command: Sequence[str]) -> DockerRunner:
        kind = WeakRunner if raw or walls else DockerRunner
        profile = replace(Profile(), **walls)
        instance = f"test-{uuid.uuid4().hex[:8]}"
        runner = kind(root, image=IMAGE, instance=instance, command=command, profile=profile)
        if isinstance(runner, WeakRunner):
            runner.raw = raw
        return runner

    return await check_sandbox(make, points=points, services=[service], canary=CANARY)


@pytest.mark.usefixtures("stranger")
async def test_every_wall_of_the_profile_holds(service: tuple[str, int]) -> None:
    walls = await check([], service, {})
    assert [wall for wall in walls if not wall.holds] == []
    assert {wall.point for wall in walls} == set(POINTS)


@pytest.mark.usefixtures("stranger")
@pytest.mark.parametrize("given", OPENED)
async def test_a_wall_that_is_taken_away_is_missed(service: tuple[str, int], given: str) -> None:
    walls, raw, points = OPENED[given]
    if os.getuid() != 0:
        points = points - {"other_environments"}  # only root can leave a process of the sessions' user about
    found = await check(sorted(points), service, raw, **walls)
    opened = {wall.point for wall in found if not wall.holds}
    if given == "all system calls" and not os.environ.get("OVERLORD_REQUIRE"):
        opened |= KERNELS_CHOICE
    assert opened == points, found
    assert not [wall for wall in found if "could not be tried" in wall.detail]


def test_no_point_is_checked_that_could_not_fail() -> None:
    assert {point for _, _, points in OPENED.values() for point in points} == set(POINTS)


async def test_a_program_that_eats_memory_is_ended_for_it(kit: DockerKit) -> None:
    runner = kit.runner("x = []\nwhile True: x.append(os.urandom(1 << 20))")
    await runner.start(launch(kit, memory_mb=64))
    ending = await ending_of(runner, S1)
    assert (ending.kind, ending.exit_code) == (EndKind.OUT_OF_MEMORY, 137)
    await runner.close()


async def test_a_child_that_was_ended_for_memory_is_seen_behind_exit_code_0(kit: DockerKit) -> None:
    runner = kit.runner("""
if os.fork() == 0:
    x = []
    while True: x.append(os.urandom(1 << 20))
os.wait()
os._exit(0)
""")
    await runner.start(launch(kit, memory_mb=64))
    ending = await ending_of(runner, S1)
    assert (ending.kind, ending.exit_code) == (EndKind.OUT_OF_MEMORY, 0)
    await runner.close()


async def test_what_fills_the_disk_fills_its_own_memory_only(kit: DockerKit) -> None:
    runner = kit.runner("""
for place in ("/work", "/dev/shm", "/tmp"):
    try:
        for number in range(2000):
            with open(f"{place}/fill{number}", "wb") as file: file.write(bytes(1 << 20))
    except OSError as error:
        say(f"{place} {error.errno}")
""")
    await runner.start(launch(kit, memory_mb=64))
    ending = await ending_of(runner, S1)
    assert ending.kind is EndKind.OUT_OF_MEMORY
    await runner.close()


async def test_a_fork_bomb_is_held_and_can_be_stopped(kit: DockerKit) -> None:
    runner = kit.runner("""
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    try:
        os.fork()
    except OSError:
        if os.getppid() == 1: say("full")
        rest()
""")
    await runner.start(launch(kit))
    line = await kit.session_api.line()
    assert await line.hear() == "full"
    await runner.stop(S1, grace_s=0.1)
    assert await line.hear() == ""
    running = await runner.find(S1)
    assert running is not None
    assert running.ending is not None
    assert running.ending.kind is EndKind.STOPPED
    await runner.close()


@pytest.mark.parametrize("bounded", [True, False])
async def test_a_log_bomb_is_bounded_by_the_engine(kit: DockerKit, bounded: bool) -> None:
    runner = (kit if bounded else kit.without(log_files=0)).runner(
        "[os.write(1, b'y' * 99 + b'\\n') for _ in range(40_000)]"
    )
    await runner.start(launch(kit))
    await ending_of(runner, S1)
    kept = len(await runner.logs(S1, limit_bytes=100_000_000))
    assert kept < 2_100_000 if bounded else kept == 4_000_000
    await runner.close()


async def test_nothing_is_left_for_the_next_session(kit: DockerKit) -> None:
    look = "say(' '.join(sorted(f for d in ('/work', '/tmp', '/dev/shm') for f in os.listdir(d))) or 'nothing')\n"
    leave = "[open(f'{d}/left', 'w').close() for d in ('/work', '/tmp', '/dev/shm')]\n"
    runner = kit.runner(look + leave + look)
    for name in ("first", "second"):
        await runner.start(launch(kit, name))
        line = await kit.session_api.line()
        assert await line.hear() == "nothing"
        assert await line.hear() == "left left left"
    await runner.close()


async def test_a_door_that_is_opened_anew_is_found_by_a_running_session(kit: DockerKit) -> None:
    runner = kit.runner("""
hear()
again = socket.socket(socket.AF_UNIX); again.connect("/run/door/t")
again.sendall(b"found\\n")
""")
    await runner.start(launch(kit))
    line = await kit.session_api.line()
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.put_nowait(await reader.readline())
        writer.close()

    server = await asyncio.start_unix_server(listen, kit.session_api.path / "t")
    (kit.session_api.path / "t").chmod(0o666)
    line.say("look")
    async with asyncio.timeout(180):
        assert await heard.get() == b"found\n"
    server.close()
    await server.wait_closed()
    await runner.close()


async def test_a_launch_may_only_lower_a_limit(kit: DockerKit) -> None:
    runner = kit.runner("rest()")
    await runner.start(replace(launch(kit, memory_mb=999_999), cpus=64.0))
    engine = DockerEngine()
    host = (await engine.inspect(kit.name(S1)))["HostConfig"]
    engine.close()
    assert (host["Memory"], host["MemorySwap"], host["NanoCpus"]) == (2 << 30, 2 << 30, 1_000_000_000)
    await runner.close()
