"""Environments in a real engine: what their images are made of, what is refused, what they keep to themselves."""

import asyncio
import json
import subprocess
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
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
from overlord.errors import RunnerRefused, RunnerUnavailable
from tests.puppet import open_door
from tests.runners import IMAGE, DockerKit, clean, docker, ending_of, engine_or_skip, forget, launch

S1 = SessionId("s1")
FINISHES = """
with open("/opt/environment/environment.json", "w") as file: file.write("{}")
open("/work/left", "w").close()
say("done")
"""
CANARY = "canary-3f9b77"
OTHER = """\
FROM {image}
USER 0
RUN rm -rf /opt/minion /opt/environment /cache && mkdir -p /other/bin && touch /other/file
ENV PATH=/other/bin:/usr/local/bin:/usr/bin:/bin OTHERS=yes HOME=/root
LABEL overlord.session=j1-work-1 other=yes
HEALTHCHECK CMD exit 1
ENTRYPOINT ["false"]
"""
OLD = "RUN printf '#!/bin/sh\\nexit 1\\n' >/usr/local/bin/python3 && chmod +x /usr/local/bin/python3\n"


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[DockerKit]:
    await engine_or_skip()
    async with open_door() as session_api:
        kit = DockerKit(tmp_path, session_api)
        yield kit
        await clean(kit.runner())
        forget(kit.instance)


@pytest.fixture
def other(kit: DockerKit) -> Iterator[str]:
    yield from built(kit, OTHER)


@pytest.fixture
def old(kit: DockerKit) -> Iterator[str]:
    yield from built(kit, OTHER.replace("RUN rm", f"{OLD}RUN rm"))


def built(kit: DockerKit, text: str) -> Iterator[str]:
    """An image of a stranger's making."""
    tag = f"strangers-{kit.instance}:1"
    command = ["docker", "build", "--quiet", "--tag", tag, "-"]
    subprocess.run(command, input=text.format(image=IMAGE).encode(), check=True, capture_output=True)
    yield tag
    docker("image", "rm", "--force", tag)


def new_key() -> str:
    return uuid.uuid4().hex[:20]


def setup(kit: DockerKit, key: str, name: str = "s1", **environment: str) -> Launch:
    return replace(launch(kit, name, environment), layer=key, makes_layer=True, space="acme/calc")


async def made(
    kit: DockerKit, key: str, *, image: str = "", packages: Sequence[str] = (), **environment: str
) -> None:
    """A whole environment, kept; the setup's container is still there."""
    runner = kit.runner(FINISHES)
    await runner.prepare_layer(key, image=image, packages=packages)
    await runner.start(setup(kit, key, **environment))
    assert await (await kit.session_api.line()).hear() == "done"
    assert (await ending_of(runner, S1)).exit_code == 0
    assert await runner.keep_layer(S1, key) >= 0
    await runner.close()


async def said(kit: DockerKit, key: str, program: str, name: str = "looks") -> Any:
    """What a session in the environment says."""
    runner = kit.runner(program)
    await runner.start(replace(launch(kit, name), layer=key))
    told = json.loads(await (await kit.session_api.line()).hear())
    await ending_of(runner, SessionId(name))
    await runner.close()
    return told


def image_of(kit: DockerKit, key: str) -> Any:
    return json.loads(docker("image", "inspect", f"overlord-environment:{kit.instance}-{key}"))[0]


def container_of(kit: DockerKit, session: str = "s1") -> Any:
    return json.loads(docker("container", "inspect", kit.name(SessionId(session))))[0]


def images_of(kit: DockerKit) -> list[str]:
    """Every image that carries this instance's label."""
    return docker("image", "ls", "-q", "--filter", f"label=overlord.instance={kit.instance}").split()


# The ground.


@pytest.mark.docker
async def test_packages_are_there_in_the_setup_and_in_every_session(kit: DockerKit) -> None:
    key = new_key()
    await made(kit, key, packages=["hello"])
    look = "import shutil; say(json.dumps([shutil.which('hello'), os.getuid()]))"
    assert await said(kit, key, look) == ["/usr/bin/hello", 10001]


@pytest.mark.docker
@pytest.mark.parametrize("package", ["no-such-package", "hell.", "git-", "hello+"])
async def test_a_package_that_does_not_exist_is_refused_with_what_apt_said(
    kit: DockerKit, package: str
) -> None:
    """Also what apt would take for a pattern, or for an order to remove something."""
    runner, key = kit.runner(), new_key()
    with pytest.raises(RunnerRefused) as refusal:
        await runner.prepare_layer(key, image="", packages=["hello", package])
    assert package in str(refusal.value).split("returned a non-zero code")[0].split("Step")[-1]
    assert not await runner.has_layer(key)
    assert f"{kit.instance}-{key}" not in docker("image", "ls")
    assert images_of(kit), "what a failed build leaves is found by its label"
    await runner.close()


@pytest.mark.docker
async def test_the_ground_is_built_on_the_network_that_setups_have(kit: DockerKit) -> None:
    runner = kit.without(setup_network="none").runner()
    with pytest.raises(RunnerRefused, match="could not be built"):
        await runner.prepare_layer(new_key(), image="", packages=["hello"])
    await runner.close()


@pytest.mark.parametrize(
    ("image", "packages"),
    [
        ("", ["hello; id"]),
        ("", ["hello\nRUN id"]),
        ("", ["--allow-unauthenticated"]),
        ("", ["-o=APT::Update::Pre-Invoke::=id"]),
        ("", ["/etc/passwd"]),
        ("", ["Hello"]),
        ("", [""]),
        ("", ["hello=1.0"]),
        ("debian AS minion\nRUN id", []),
        ("$PATH", []),
        ("-x", []),
        ("a" * 400, []),
        ("overlord-environment:0123456789", []),
        ("overlord-ground:0123456789", []),
        ("docker.io/library/overlord-environment", []),
        ("overlord-environment@sha256:" + "0" * 64, []),
        ("overlord-stage", []),
    ],
)
async def test_hostile_names_are_refused_before_an_engine_is_asked(
    tmp_path: Path, image: str, packages: list[str]
) -> None:
    runner = DockerRunner(tmp_path, image=IMAGE, instance="i", address=f"unix://{tmp_path}/none")
    with pytest.raises(RunnerRefused):
        await runner.prepare_layer(new_key(), image=image, packages=packages)
    await runner.close()


async def test_an_engine_that_is_gone_is_unavailable_and_refuses_nothing(tmp_path: Path) -> None:
    runner, key = (
        DockerRunner(tmp_path, image=IMAGE, instance="i", address=f"unix://{tmp_path}/none"),
        new_key(),
    )
    for act in (
        runner.ground(""),
        runner.prepare_layer(key, image="", packages=["hello"]),
        runner.prepare_layer(key, image="", packages=[]),
        runner.keep_layer(S1, key),
        runner.has_layer(key),
        runner.remove_layer(key),
    ):
        with pytest.raises(RunnerUnavailable):
            await act
    await runner.close()


@pytest.mark.docker
async def test_another_image_gets_the_minion_and_keeps_what_it_has(kit: DockerKit, other: str) -> None:
    runner, key = kit.runner(), new_key()
    assert await runner.ground(other) not in {await runner.ground(""), ""}
    await made(kit, key, image=other)
    look = """
import minion, shutil, sys
say(json.dumps([sys.prefix, minion.__file__.startswith(sys.prefix), shutil.which("ruff"), os.path.exists("/other/file"),
    os.environ["OTHERS"], "/other/bin" in os.environ["PATH"].split(":"), os.getuid(), os.environ["HOME"]]))
"""
    found = await said(kit, key, look)
    assert found == ["/opt/minion", True, "/opt/minion/bin/ruff", True, "yes", True, 10001, "/work"]
    # Nobody's puppet, it is the Minion: it starts, and says what it misses.
    name = f"overlord-ground:{kit.instance}-{key}"
    ran = subprocess.run(["docker", "run", "--rm", name], check=False, capture_output=True, text=True)
    assert ran.returncode == 6
    assert ran.stderr.startswith("minion: ")
    assert image_of(kit, key)["Config"]["Healthcheck"] == {"Test": ["NONE"]}
    await runner.close()


@pytest.mark.docker
async def test_an_image_whose_python_is_too_old_is_refused_with_a_sentence(kit: DockerKit, old: str) -> None:
    runner = kit.runner()
    with pytest.raises(RunnerRefused, match=r"The image's python3 is older than 3\.11"):
        await runner.prepare_layer(new_key(), image=old, packages=[])
    await runner.close()


@pytest.mark.docker
async def test_a_repositorys_environment_is_no_image_of_another_repository(kit: DockerKit) -> None:
    key = new_key()
    await made(kit, key)
    runner, image = kit.runner(), image_of(kit, key)
    docker("tag", image["Id"], f"innocent-{kit.instance}:1")
    for name in (image["RepoTags"][0], image["Id"], image["Id"][7:19], f"innocent-{kit.instance}:1"):
        with pytest.raises(RunnerRefused):
            await runner.ground(name)
    docker("image", "rm", f"innocent-{kit.instance}:1")
    await runner.close()


@pytest.mark.docker
async def test_a_ground_that_somebody_removed_is_not_replaced_by_another(kit: DockerKit) -> None:
    runner, key = kit.runner(FINISHES), new_key()
    await runner.prepare_layer(key, image="", packages=[])
    docker("image", "rm", f"overlord-ground:{kit.instance}-{key}")
    with pytest.raises(RunnerRefused, match="somebody removed it"):
        await runner.start(setup(kit, key))
    assert await runner.sessions() == []
    await runner.close()


# What is kept of a setup, and what is not.


@pytest.mark.docker
async def test_an_environments_image_holds_nothing_of_what_its_setup_was_told(kit: DockerKit) -> None:
    key = new_key()
    await made(kit, key, MINION_VARIABLES=json.dumps({"X": CANARY}))
    image = image_of(kit, key)
    told = dict(entry.split("=", 1) for entry in image["Config"]["Env"])
    ours = {name: value for name, value in told.items() if name.startswith(("MINION_", "OVERLORD_"))}
    assert {name for name, value in ours.items() if value} <= {"MINION_ENVIRONMENT"}
    assert CANARY not in json.dumps(image["Config"])
    assert CANARY not in docker("history", "--no-trunc", image["Id"])
    assert not image["Config"]["Volumes"]
    labels = {k: v for k, v in image["Config"]["Labels"].items() if k not in {"overlord.minion"}}
    assert labels == {
        "overlord.instance": kit.instance,
        "overlord.environment": key,
        **dict.fromkeys(("overlord.session", "overlord.job", "overlord.epoch"), ""),
    }
    look = "say(json.dumps(sorted(name for name, value in os.environ.items() if value)))"
    found = await said(kit, key, look)
    assert {name for name in found if name.startswith(("MINION_", "OVERLORD_"))} == {
        *("MINION_ENVIRONMENT", "MINION_ID", "OVERLORD_URL")
    }


@pytest.mark.docker
async def test_a_session_in_an_environment_carries_its_own_labels(kit: DockerKit) -> None:
    key = new_key()
    await made(kit, key)
    await said(kit, key, "say('1')", "work")
    labels = container_of(kit, "work")["Config"]["Labels"]
    assert (labels["overlord.session"], labels["overlord.instance"]) == ("work", kit.instance)
    runner = kit.runner()
    assert {running.session for running in await runner.sessions()} == {"s1", "work"}
    await runner.close()


@pytest.mark.docker
async def test_a_container_that_somebody_makes_of_an_environment_is_no_session(kit: DockerKit) -> None:
    key = new_key()
    await made(kit, key)
    runner = kit.runner()
    await runner.remove(S1)
    for kind in ("ground", "environment"):
        docker("create", "--label", f"overlord.instance={kit.instance}", "--name", f"{kind}-{kit.instance}",
               f"overlord-{kind}:{kit.instance}-{key}")  # fmt: skip
    assert await runner.sessions() == []
    await runner.remove_layer(key)
    assert await runner.has_layer(key), "a container has it: a later look removes it"
    docker("rm", f"ground-{kit.instance}", f"environment-{kit.instance}")
    await runner.remove_layer(key)
    assert not await runner.has_layer(key)
    assert images_of(kit) == []
    await runner.close()


@pytest.mark.docker
async def test_the_end_of_such_a_container_is_no_sessions_end(kit: DockerKit) -> None:
    """It carries the instance's label from its image, and none of a session."""
    poll_errors: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, trouble: poll_errors.append(trouble))
    runner = kit.runner("say('up'); hear()")
    await runner.start(launch(kit))
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    docker("run", "--rm", "--label", f"overlord.instance={kit.instance}", "--entrypoint", "true", IMAGE)
    line.say("end")
    assert (await ending_of(runner, S1)).kind is EndKind.EXITED
    assert poll_errors == []
    await runner.close()


@pytest.mark.docker
async def test_the_working_space_goes_with_its_setup_and_downloads_stay_with_their_space(
    kit: DockerKit,
) -> None:
    key = new_key()
    await made(kit, key)
    mounts = {mount["Destination"]: mount["Name"] for mount in container_of(kit)["Mounts"] if "Name" in mount}
    mine = ("volume", "ls", "--quiet", "--filter", f"label=overlord.instance={kit.instance}")
    assert set(docker(*mine).split()) == {mounts["/work"], mounts["/cache"]}
    runner = kit.runner()
    await runner.remove(S1)
    assert docker(*mine).split() == [mounts["/cache"]]
    labels = json.loads(docker("volume", "inspect", mounts["/cache"]))[0]["Labels"]
    assert labels == {"overlord.instance": kit.instance, "overlord.space": "acme/calc"}
    assert await said(kit, key, "say(json.dumps(os.listdir('/work')))") == []
    await runner.close()


@pytest.mark.docker
async def test_two_overlords_on_one_engine_do_not_share_environments(kit: DockerKit, tmp_path: Path) -> None:
    key, other = new_key(), DockerKit(tmp_path / "other", kit.session_api)
    await made(kit, key)
    runner = other.runner()
    assert not await runner.has_layer(key)
    await runner.remove_layer(key)
    await runner.close()
    mine = kit.runner()
    assert await mine.has_layer(key)
    await mine.close()


# The walls.


class SetupRunner(DockerRunner):
    """Starts everything as the setup of an environment, or in the one it made."""

    key = ""
    makes = True

    async def start(self, launch: Launch) -> None:
        if self.makes:
            await self.prepare_layer(self.key, image="", packages=())
        await super().start(replace(launch, layer=self.key, makes_layer=self.makes, space="acme/calc"))


async def walls(kit: DockerKit, key: str, *, makes: bool) -> Sequence[Wall]:
    def make(root: Path, command: Sequence[str]) -> DockerRunner:
        runner = SetupRunner(root, image=IMAGE, instance=kit.instance, command=command, profile=Profile())
        runner.key, runner.makes = key, makes
        return runner

    return await check_sandbox(make)


@pytest.mark.docker
async def test_a_setup_has_network_and_a_disk_and_else_every_wall(kit: DockerKit) -> None:
    found = await walls(kit, new_key(), makes=True)
    opened = {wall.point: wall.detail for wall in found if not wall.holds}
    given = {"network", "names", "root_files", "mounts", "disk", "limits", "processes"}
    assert set(opened) <= given, opened
    assert {wall.point for wall in found if wall.holds} >= set(POINTS) - given - {
        *("host_services", "other_environments")
    }
    assert opened["mounts"] == "writable: /cache"
    assert opened["root_files"] == "/var/tmp can be written"


@pytest.mark.docker
async def test_a_session_in_an_environment_has_every_wall(kit: DockerKit) -> None:
    key = new_key()
    await made(kit, key)
    assert [wall for wall in await walls(kit, key, makes=False) if not wall.holds] == []


SOCKET = {"Type": "bind", "Source": "/var/run/docker.sock", "Target": "/docker.sock", "ReadOnly": True}
TAKEN: dict[str, Mapping[str, Any]] = {
    "CapDrop": {"CapDrop": []},
    "SecurityOpt": {"SecurityOpt": ["no-new-privileges:true"]},
    "PidsLimit": {"PidsLimit": 0},
    "Memory": {"Memory": 0, "MemorySwap": 0},
    "NetworkMode": {"NetworkMode": "host"},
    "Privileged": {"Privileged": True},
    "CapAdd": {"CapAdd": ["SYS_ADMIN"]},
    "mount of /docker.sock": {"Mounts": [SOCKET]},
    "IpcMode": {"IpcMode": "host"},
    "Ulimits": {"Ulimits": []},
}


class Engine(DockerEngine):
    """Gives a container other walls than it was asked for."""

    instead: Mapping[str, Any] = {}
    open_door = False

    async def create(self, name: str, configuration: Mapping[str, Any]) -> str:
        host = dict(configuration["HostConfig"])
        mounts = [dict(mount) for mount in host["Mounts"]]
        if self.open_door:
            mounts[0]["ReadOnly"] = False
        mounts += self.instead.get("Mounts", [])
        return await super().create(
            name, {**configuration, "HostConfig": {**host, **self.instead, "Mounts": mounts}}
        )


@pytest.mark.docker
@pytest.mark.parametrize("wall", [*TAKEN, "mount of /run/door"])
async def test_a_setup_whose_container_lacks_a_wall_is_refused_and_leaves_nothing(
    kit: DockerKit, wall: str
) -> None:
    runner, key = kit.runner(FINISHES), new_key()
    runner._engine.close()
    engine = runner._engine = Engine()
    engine.instead, engine.open_door = TAKEN.get(wall, {}), wall not in TAKEN
    await runner.prepare_layer(key, image="", packages=())
    with pytest.raises(RunnerRefused, match=wall):
        await runner.start(setup(kit, key))
    assert await runner.sessions() == []
    volumes = docker(
        "volume", "ls", "--format", "{{.Name}}", "--filter", f"label=overlord.instance={kit.instance}"
    )
    assert all("cache" in name for name in volumes.split()), "its working space is gone too"
    await runner.close()


@pytest.mark.docker
async def test_a_setup_that_eats_memory_is_ended_for_it(kit: DockerKit) -> None:
    runner, key = kit.runner("x = []\nwhile True: x.append(os.urandom(1 << 20))"), new_key()
    await runner.prepare_layer(key, image="", packages=())
    await runner.start(replace(setup(kit, key), memory_mb=64))
    assert (await ending_of(runner, S1)).kind is EndKind.OUT_OF_MEMORY
    with pytest.raises(RunnerRefused):
        await runner.keep_layer(S1, key)
    await runner.close()
