"""What the Docker runner does that only containers can show: the engine's own word for the profile, names, restarts."""

import asyncio
import os
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overlord.adapters.docker.engine import DockerEngine
from overlord.adapters.docker.profile import Profile, differences
from overlord.adapters.docker.runner import DockerRunner
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import AgentProgram, Launch
from overlord.domain.session import Ending, EndKind
from overlord.errors import RunnerRefused, RunnerUnavailable
from tests.adapters.engine import OwnEngine
from tests.puppet import SessionApi, open_door
from tests.required import missing
from tests.runners import IMAGE, DockerKit, clean, ending_of, engine_or_skip, launch

S1 = SessionId("s1")
POLITE = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); say('up'); rest()"
LAUNCH = Launch(session=S1, job="j", environment={}, session_api=Path("/door"))


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[DockerKit]:
    await engine_or_skip()
    async with open_door() as session_api:
        kit = DockerKit(tmp_path, session_api)
        yield kit
        await clean(kit.runner())


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True).stdout.strip()


def asked_and_shown() -> tuple[dict[str, Any], dict[str, Any]]:
    """A configuration, and what an honest engine shows of it."""
    asked = {"User": "10001:10001", "HostConfig": Profile().host_config(LAUNCH)}
    mount = {"Type": "bind", "Source": "/door", "Destination": "/run/door", "RW": False}
    return asked, deepcopy(
        {"Config": {"User": asked["User"]}, "HostConfig": asked["HostConfig"], "Mounts": [mount]}
    )


def test_an_honest_engine_shows_no_difference() -> None:
    assert differences(*asked_and_shown()) == []


@pytest.mark.parametrize("name", [name for name in Profile().host_config(LAUNCH) if name != "Mounts"])
def test_a_setting_the_engine_did_not_take_is_a_difference(name: str) -> None:
    asked, shown = asked_and_shown()
    otherwise = {
        "RestartPolicy": {"Name": "always"},
        "Ulimits": [],
        "CapDrop": None,
        "SecurityOpt": ["seccomp=unconfined"],
    }
    shown["HostConfig"][name] = otherwise.get(name, "otherwise")
    assert [line.split(":")[0] for line in differences(asked, shown)] == [name]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("Privileged", True),
        ("CapAdd", ["SYS_ADMIN"]),
        ("Devices", [{"PathOnHost": "/dev/kvm"}]),
        ("Binds", ["/:/host"]),
        ("ExtraHosts", ["forge:10.0.0.1"]),
        ("GroupAdd", ["docker"]),
    ],
)
def test_what_was_not_asked_for_is_a_difference(setting: str, value: object) -> None:
    asked, shown = asked_and_shown()
    shown["HostConfig"][setting] = value
    assert [line.split(":")[0] for line in differences(asked, shown)] == [setting]


def test_a_door_that_can_be_written_and_a_volume_are_differences() -> None:
    asked, shown = asked_and_shown()
    shown["Mounts"][0]["RW"] = True
    shown["Mounts"].append({"Type": "volume", "Source": "/var/lib/x", "Destination": "/data", "RW": True})
    assert set(differences(asked, shown)) == {"mount of /run/door", "mount of /data"}


def test_an_agents_program_that_could_be_written_or_is_another_volume_is_a_difference() -> None:
    session = replace(LAUNCH, agent=AgentProgram(program="codex", image="agent"))
    host = Profile().host_config(session, agent="overlord-agent-codex-1")
    asked, shown = asked_and_shown()
    asked["HostConfig"]["Mounts"] = host["Mounts"]
    place = "/opt/agents/codex"
    program = {"Type": "volume", "Name": "overlord-agent-codex-1", "Destination": place, "RW": False}
    door = shown["Mounts"][0]
    for change, found in (
        ({}, []),
        ({"RW": True}, [f"mount of {place}"] * 2),
        ({"Name": "mine"}, [f"mount of {place}"] * 2),
    ):
        shown["Mounts"] = [door, {**program, **change}]
        assert differences(asked, shown) == found
    shown["Mounts"] = [door]
    assert differences(asked, shown) == [f"mount of {place}"]
    assert host["Mounts"][-1]["VolumeOptions"] == {"NoCopy": True}, "nothing of a session's image goes there"


def test_another_user_is_a_difference() -> None:
    asked, shown = asked_and_shown()
    shown["Config"]["User"] = ""
    assert differences(asked, shown) == ["User: asked 10001:10001, got "]


@pytest.mark.docker
async def test_a_container_carries_whose_it_is(kit: DockerKit) -> None:
    runner = kit.runner("rest()")
    await runner.start(launch(kit))
    engine = DockerEngine()
    labels = (await engine.inspect(kit.name(S1)))["Config"]["Labels"]
    of_the_image = {"overlord.minion"}
    assert {
        name: value
        for name, value in labels.items()
        if name not in of_the_image and name.startswith("overlord.")
    } == {
        "overlord.instance": kit.instance,
        "overlord.job": "job-1",
        "overlord.session": "s1",
        "overlord.epoch": "0",
    }
    engine.close()
    await runner.close()


@pytest.mark.docker
async def test_an_image_that_brings_a_volume_is_refused_and_leaves_nothing(kit: DockerKit) -> None:
    made = docker("create", IMAGE)
    image = docker("commit", "--change", "VOLUME /data", made)
    docker("rm", made)
    runner = DockerRunner(kit.root, image=image, instance=kit.instance)
    with pytest.raises(RunnerRefused, match="mount of /data"):
        await runner.start(launch(kit))
    assert await runner.find(S1) is None
    assert await runner.sessions() == []
    await runner.close()
    docker("rmi", image)


@pytest.mark.docker
async def test_a_missing_image_is_refused_with_the_way_to_get_it(kit: DockerKit) -> None:
    runner = DockerRunner(kit.root, image="no-such-image", instance=kit.instance)
    with pytest.raises(RunnerRefused, match=r"No such image: no-such-image.*make images"):
        await runner.start(launch(kit))
    await runner.close()


@pytest.mark.docker
@pytest.mark.parametrize("walls", [{"runtime": "no-such-runtime"}, {"seccomp": "{"}, {"user": "nobody-here"}])
async def test_what_the_engine_cannot_start_is_refused_and_leaves_nothing(
    kit: DockerKit, walls: dict[str, str]
) -> None:
    runner = kit.without(**walls).runner("rest()")
    with pytest.raises(RunnerRefused):
        await runner.start(launch(kit))
    assert await runner.sessions() == []
    await runner.close()


@pytest.mark.docker
async def test_a_strangers_container_of_our_name_is_left_alone(kit: DockerKit) -> None:
    docker("create", "--name", kit.name(S1), IMAGE)
    runner = kit.runner("rest()")
    with pytest.raises(RunnerRefused, match="is not ours"):
        await runner.start(launch(kit))
    assert await runner.find(S1) is None
    await runner.remove(S1)
    docker("rm", kit.name(S1))
    await runner.close()


@pytest.mark.docker
async def test_another_instances_sessions_are_not_ours_to_see_or_end(kit: DockerKit, tmp_path: Path) -> None:
    mine, other = (
        kit.runner("say('up'); rest()"),
        DockerKit(tmp_path / "other", kit.session_api).runner("say('up'); rest()"),
    )
    for runner in (mine, other):
        await runner.start(launch(kit))
        assert await (await kit.session_api.line()).hear() == "up"
    assert [running.session for running in await mine.sessions()] == [S1]
    await mine.remove(S1)
    assert await mine.sessions() == []
    running = await other.find(S1)
    assert running is not None
    assert running.ending is None
    await mine.close()
    await clean(other)


@pytest.mark.docker
async def test_a_container_that_was_made_and_not_started_is_started_by_the_next_daemon(
    kit: DockerKit,
) -> None:
    runner = kit.runner("say('up'); sys.exit(8)")
    engine = DockerEngine()
    await engine.create(kit.name(S1), runner._configuration(launch(kit)))
    assert await runner.find(S1) is None
    never = Ending(kind=EndKind.LOST, detail="never started")
    assert [running.ending for running in await runner.sessions()] == [never]
    await runner.start(launch(kit))
    assert (await ending_of(runner, S1)).exit_code == 8
    engine.close()
    await runner.close()


@pytest.mark.docker
async def test_a_session_whose_container_somebody_removed_is_lost_and_not_started_again(
    kit: DockerKit,
) -> None:
    runner = kit.runner("say('up'); rest()")
    await _started(runner, kit.session_api, launch(kit))
    docker("rm", "--force", kit.name(S1))
    lost = Ending(kind=EndKind.LOST, detail="its container is gone")
    assert await ending_of(runner, S1) == lost
    await runner.start(launch(kit))
    assert [running.ending for running in await runner.sessions()] == [lost]
    await runner.remove(S1)
    assert await runner.find(S1) is None
    assert not [*kit.root.iterdir()]
    await runner.close()


@pytest.mark.docker
async def test_a_start_whose_reply_was_lost_is_known_once_it_is_repeated(kit: DockerKit) -> None:
    runner = kit.runner("say('up'); rest()")
    await _started(runner, kit.session_api, launch(kit))
    (kit.root / f"{S1}.started").unlink()
    await runner.start(launch(kit))
    docker("rm", "--force", kit.name(S1))
    assert (await ending_of(runner, S1)).detail == "its container is gone"
    await runner.close()


async def test_an_engine_that_is_not_there_is_unavailable_and_the_sentence_says_what_to_do(
    tmp_path: Path,
) -> None:
    runner = DockerRunner(tmp_path, image=IMAGE, instance="i", address=f"unix://{tmp_path}/none")
    with pytest.raises(RunnerUnavailable, match="start Docker, or set DOCKER_HOST"):
        await runner.find(S1)
    with pytest.raises(RunnerUnavailable):
        await runner.start(LAUNCH)
    await runner.close()


async def test_an_engine_that_hangs_is_unavailable() -> None:
    held: list[asyncio.StreamWriter] = []
    with tempfile.TemporaryDirectory() as directory:
        server = await asyncio.start_unix_server(lambda _, writer: held.append(writer), f"{directory}/s")
        engine = DockerEngine(address=f"unix://{directory}/s", call_s=1)
        with pytest.raises(RunnerUnavailable):
            await engine.inspect("anything")
        engine.close()
        for writer in held:
            writer.close()
        server.close()
        await server.wait_closed()


@pytest.fixture
def own_engine(kit: DockerKit) -> Iterator[OwnEngine]:
    assert kit.address is None, "the image comes from the engine that is used"
    if os.getuid() != 0:
        missing("docker", "only root can start a Docker engine")
    engine = OwnEngine()
    try:
        engine.start()
        engine.load(IMAGE)
        yield engine
    finally:
        engine.remove()


@pytest.mark.docker
async def test_an_engine_that_goes_down_takes_sessions_along_and_that_is_not_their_own_ending(
    own_engine: OwnEngine, kit: DockerKit
) -> None:
    kit = replace(kit, address=own_engine.address)
    runner = kit.runner(POLITE)
    told = runner.follow()
    for name, down in (("shut-down", signal.SIGTERM), ("killed", signal.SIGKILL)):
        await _started(runner, kit.session_api, launch(kit, name))
        await asyncio.to_thread(own_engine.end, down)
        with pytest.raises(RunnerUnavailable):
            await runner.find(SessionId(name))
        await asyncio.to_thread(own_engine.start)
        assert await anext(told) == name
        running = await runner.find(SessionId(name))
        assert running is not None
        # It ended itself when it was asked to, with code 0; who asked is what counts.
        assert running.ending == Ending(kind=EndKind.KILLED, exit_code=0, detail="signal 15 from outside")
    await _started(runner, kit.session_api, launch(kit, "power"))
    await asyncio.to_thread(own_engine.lose_power, kit.name(SessionId("power")))
    await asyncio.to_thread(own_engine.start)
    assert await anext(told) == "power"
    running = await runner.find(SessionId("power"))
    assert running is not None
    assert running.ending is not None
    assert (running.ending.kind, running.ending.exit_code) == (EndKind.KILLED, 255)
    assert {running.session for running in await runner.sessions()} == {"shut-down", "killed", "power"}
    await clean(runner)


async def _started(runner: DockerRunner, session_api: SessionApi, session: Launch) -> None:
    await runner.start(session)
    line = await session_api.line()
    assert await line.hear() == "up"
