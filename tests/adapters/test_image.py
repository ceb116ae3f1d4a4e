"""The Minion's image: what is in it, who it runs as, and that nothing of the machine it was built on stayed."""

import json
import subprocess

import pytest

from tests.runners import IMAGE, engine_or_skip

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("engine")]


@pytest.fixture
async def engine() -> None:
    await engine_or_skip()


def inside(*command: str) -> str:
    run = ["docker", "run", "--rm", "--network", "none", "--entrypoint", command[0], IMAGE, *command[1:]]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "command", ["git --version", "rg --version", "python -m pytest --version", "python -m ruff --version"]
)
def test_it_has_the_tools_of_a_session(command: str) -> None:
    assert inside(*command.split())


def test_it_runs_as_an_ordinary_user_and_has_no_setuid_programs() -> None:
    assert inside("id", "-u") == "10001\n"
    assert inside("find", "/usr", "/bin", "/sbin", "-xdev", "-type", "f", "-perm", "/6000") == ""


def test_the_minion_is_compiled_and_starts_from_anywhere() -> None:
    program = "import minion.native.agent as m, pathlib; print([*pathlib.Path(m.__cached__).parent.glob('agent*.pyc')])"
    assert "agent.cpython" in inside("python", "-P", "-c", program)
    started = subprocess.run(
        ["docker", "run", "--rm", "--network", "none", IMAGE], check=False, capture_output=True, text=True
    )
    assert started.returncode == 6, started
    assert "OVERLORD_URL" in started.stderr


def test_it_is_small_and_tells_nothing_of_the_machine_it_was_built_on() -> None:
    shown = json.loads(subprocess.run(["docker", "inspect", IMAGE], check=True, capture_output=True).stdout)[
        0
    ]
    assert shown["Size"] < 250_000_000
    assert not [name for name in shown["Config"]["Env"] if name.startswith(("PIP_", "http", "UV_"))]
    assert not shown["Config"].get("Volumes")
    history = subprocess.run(
        ["docker", "history", "--no-trunc", "--format", "{{.CreatedBy}}", IMAGE],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "PIP_INDEX_URL" not in history.stdout
    assert inside("find", "/usr/local/share/ca-certificates", "-name", "*.crt") == ""
