"""Sessions are plain processes only where somebody said so: by a setting, or when `overlord serve` asked."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from overlord.adapters.runner_choice import choose_runner
from overlord.entrypoints.doctor import checkup
from overlord.entrypoints.doctor.finding import Finding, Health
from overlord.errors import ContainersMissing, SettingsError
from overlord.home import Home
from overlord.settings.load import Settings, load

NOBODY = "unix:///nonexistent/docker.sock"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def settings(tmp_path: Path) -> Callable[[str], Settings]:
    (tmp_path / "home").mkdir()
    return lambda runner: load(
        {"OVERLORD_HOME": str(tmp_path / "home"), "DOCKER_HOST": NOBODY},
        repositories=["acme/calc"],
        runner=runner,
    )


def program(home: Path) -> dict[str, str]:
    """The environment of a daemon whose external services nobody is at."""
    return {
        "PATH": os.environ["PATH"],
        "OVERLORD_HOME": str(home),
        "OVERLORD_REPOS": "acme/calc",
        "DOCKER_HOST": NOBODY,
        "OPENAI_BASE_URL": "http://127.0.0.1:9",
        "OVERLORD_MODEL": "m",
        "GITHUB_API_URL": "http://127.0.0.1:9",
        "GITHUB_TOKEN": "t",
    }


async def test_without_an_engine_auto_is_refused_until_somebody_agrees(
    settings: Callable[[str], Settings],
) -> None:
    auto = settings("auto")
    with pytest.raises(ContainersMissing, match=r"no Docker engine answers .* set `runner: process`"):
        await choose_runner(auto)
    for chosen in (await choose_runner(settings("process")), await choose_runner(auto, falls_back=True)):
        assert chosen.name == "process"
        await chosen.close()
    Home(auto.home).agree_to_processes()
    chosen = await choose_runner(auto)
    assert chosen.name == "process"
    await chosen.close()
    with pytest.raises(SettingsError, match="runner: docker, but"):
        await choose_runner(settings("docker"), falls_back=True)


async def test_the_doctor_says_that_the_daemon_would_not_start(settings: Callable[[str], Settings]) -> None:
    async def engine() -> Finding:
        found = await checkup.examine(lambda: settings("auto"))
        return next(item for item in found if item.what == "engine")

    assert (await engine()).health is Health.BAD
    assert "`overlord serve` does not start without one" in (await engine()).said
    Home(settings("auto").home).agree_to_processes()
    assert (await engine()).health is Health.WARN
    assert "as somebody agreed to" in (await engine()).said


def test_where_nobody_can_be_asked_the_daemon_does_not_start(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "overlord", "serve"],
        cwd=ROOT,
        env=program(tmp_path / "home"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "overlord: runner: auto, but no Docker engine answers" in done.stderr
    assert "set `runner: process` (OVERLORD_RUNNER=process)" in done.stderr
    assert not Home(tmp_path / "home").processes_agreed.exists()


@pytest.mark.parametrize(("answer", "is_agreed"), [("n", False), ("y", True)])
def test_on_a_terminal_the_operator_is_asked_once(tmp_path: Path, answer: str, *, is_agreed: bool) -> None:
    home, said = Home(tmp_path / "home"), ""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "overlord", "serve", "--json"],
        cwd=ROOT,
        env={**program(home.root), "TERM": "xterm", "COLUMNS": "200"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as daemon:
        os.close(theirs)
        while "[y/N]" not in said:
            said += os.read(ours, 1024).decode()
        os.write(ours, f"{answer}\n".encode())
        while is_agreed and '"serving"' not in said:
            said += os.read(ours, 1024).decode()
        if is_agreed:
            daemon.terminate()
        code = daemon.wait()
    os.close(ours)
    assert "could have them read your files and tokens" in " ".join(said.split())
    assert "Work that way on acme/calc?" in said
    assert home.processes_agreed.exists() is is_agreed
    assert code == (0 if is_agreed else 3)
