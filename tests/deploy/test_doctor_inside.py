"""The mistakes only a container makes: `overlord doctor` typed inside one, against the engine whose socket it was given."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.server import USER, compose_or_skip
from tests.required import missing
from tests.runners import IMAGE

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("images")]

SOCKET = Path("/var/run/docker.sock")
GROUP = str(SOCKET.stat().st_gid) if SOCKET.exists() else ""
Finding = tuple[str, str]


@pytest.fixture
async def images() -> None:
    await compose_or_skip()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    os.chown(place, USER, USER)
    (place / "overlord.yaml").write_text(json.dumps({"docker": {"image": IMAGE}}))
    return place


@pytest.fixture
def stale() -> Iterator[str]:
    """An image of sessions that another version of the Minion was built into."""
    name = f"{IMAGE}-stale-test"
    build = ["docker", "build", "--quiet", "--tag", name, "-"]
    subprocess.run(
        build,
        input=f"FROM {IMAGE}\nLABEL overlord.minion=old\n",
        text=True,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    yield name
    subprocess.run(["docker", "image", "rm", "--force", name], check=True, stdout=subprocess.DEVNULL)


async def doctor(*options: str, home: Path, inside: Path | None = None) -> dict[str, Finding]:
    """Type it in a container of Overlord's, with a home, the socket, and these options of `docker run`."""
    place = inside or home
    command = ["docker", "run", "--rm", "--read-only", "--tmpfs", "/tmp", "--network", "none"]
    command += [
        "--user",
        f"{USER}:{USER}",
        "--volume",
        f"{home}:{place}",
        "--volume",
        f"{SOCKET}:/run/docker.sock",
    ]
    command += [
        "--env",
        f"OVERLORD_HOME={place}",
        "--env",
        "OVERLORD_RUNNER=docker",
        *options,
        "overlord",
        "doctor",
        "--json",
    ]
    done = await asyncio.to_thread(
        lambda: subprocess.run(command, check=False, capture_output=True, text=True)
    )
    assert done.returncode == 1, done.stderr
    return {item["what"]: (item["health"], item["said"]) for item in json.loads(done.stdout)}


async def test_a_socket_that_is_not_for_this_user_is_told_from_an_engine_that_is_not_there(
    home: Path,
) -> None:
    health, said = (await doctor("--group-add", "65534", home=home))["engine"]
    assert health == "bad"
    assert f"(uid {USER})" in said and "ENGINE_GROUP in deploy/.env" in said


async def test_a_home_at_another_path_than_outside_is_found(home: Path, tmp_path: Path) -> None:
    sound = await doctor("--group-add", GROUP, home=home)
    assert sound["engine"][0] == sound["image"][0] == sound["home"][0] == "well"
    assert "home for the engine" not in sound
    for inside in (tmp_path / "nowhere", Path("/var/tmp")):  # the engine has nothing there, or something else
        health, said = (await doctor("--group-add", GROUP, home=home, inside=inside))["home for the engine"]
        assert health == "bad"
        assert "mount the home at the same path inside and outside" in said
    assert [path.name for path in home.iterdir()] == ["overlord.yaml"]


@pytest.fixture
def root() -> None:
    if os.getuid() != 0:
        missing("root", "files of other users can only be made by root")


@pytest.mark.usefixtures("root")
async def test_a_home_of_another_user_is_found_with_the_command_that_mends_it(home: Path) -> None:
    os.chown(home, 0, 0)
    home.chmod(0o755)
    health, said = (await doctor("--group-add", GROUP, home=home))["home"]
    assert health == "bad"
    assert said.endswith(f"give it to this user: `chown -R {USER}:{USER} {home}`")


@pytest.mark.usefixtures("root")
async def test_a_secret_this_user_may_not_read_is_found(home: Path, tmp_path: Path) -> None:
    secret = tmp_path / "key"
    secret.write_text("sk-canary-0123456789")
    secret.chmod(0o400)
    given = ["--volume", f"{secret}:/run/secrets/key", "--env", "OPENAI_API_KEY_FILE=/run/secrets/key"]
    health, said = (await doctor(*given, home=home))["configuration"]
    assert health == "bad"
    assert said.endswith(f"which cannot be read: this user (uid {USER}) may not; let it, with chown or chmod")


async def test_an_image_of_another_version_is_found(home: Path, stale: str) -> None:
    (home / "overlord.yaml").write_text(json.dumps({"docker": {"image": stale}}))
    health, said = (await doctor("--group-add", GROUP, home=home))["image"]
    assert (health, said) == (
        "bad",
        f"{stale} was built from another version of the Minion; run `make images`",
    )
