"""The daemon's image: who it runs as, and that nothing of the machine it was built on stayed."""

import json

import pytest

from tests.deploy.server import compose_or_skip
from tests.runners import docker

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("images")]


@pytest.fixture
async def images() -> None:
    await compose_or_skip()


def inside(*command: str) -> str:
    return docker("run", "--rm", "--network", "none", "--entrypoint", command[0], "overlord", *command[1:])


def test_it_runs_as_an_ordinary_user_with_a_git_that_is_new_enough_and_no_setuid_programs() -> None:
    assert inside("id", "-u") == "10002"
    assert inside("find", "/usr", "/bin", "/sbin", "-xdev", "-type", "f", "-perm", "/6000") == ""
    assert inside("git", "version").removeprefix("git version ") >= "2.38"


def test_it_tells_nothing_of_the_machine_it_was_built_on() -> None:
    [shown] = json.loads(docker("inspect", "overlord"))
    assert not [name for name in shown["Config"]["Env"] if name.startswith(("PIP_", "http", "UV_"))]
    assert not shown["Config"].get("Volumes")
    assert "PIP_INDEX_URL" not in docker("history", "--no-trunc", "--format", "{{.CreatedBy}}", "overlord")
