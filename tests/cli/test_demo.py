"""`overlord demo` from the outside: what it prints at its end can be pasted, and what it left can be removed, and nothing else."""

import asyncio
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from importlib.resources import as_file
from pathlib import Path

import pytest

from overlord import wakeup
from overlord.config_files import config_directory
from overlord.embedded.play import read_script
from overlord.entrypoints.demo import clean as demo_clean
from overlord.entrypoints.demo.story import STORIES, DemoContract
from overlord.home import Home
from overlord.settings.load import built_in_contract
from tests.runners import IMAGE, docker, engine_or_skip

NO_ENGINE = "unix:///nonexistent/docker.sock"


def shell(line: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Paste a line where the program is in `.venv`, on no PATH."""
    environment = {
        "PATH": f"{Path(sys.executable).parent / 'none'}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path / "tmp"),
        "DOCKER_HOST": NO_ENGINE,
        "LANG": "C.UTF-8",
    }
    return subprocess.run(
        line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder where a home of the demo has room for its sockets' names."""
    with tempfile.TemporaryDirectory(prefix="od-", dir="/tmp") as name:
        yield Path(name)


def test_what_the_demo_prints_runs_as_pasted_and_the_last_of_it_removes_what_was_left(
    short_path: Path,
) -> None:
    (short_path / ".venv").symlink_to(sys.prefix)
    (short_path / "tmp").mkdir()
    told = shell(".venv/bin/overlord demo --runner process", short_path)
    assert told.returncode == 0, told.stdout + told.stderr
    assert (
        "Watch it in a browser:" in told.stdout and "until Ctrl-C" not in told.stdout
    )  # nobody is there to end it
    lines = [line.strip() for line in told.stdout.splitlines() if ".venv/bin/overlord " in line]
    [home] = (short_path / "tmp").glob("overlord-demo-*")
    named = f"OVERLORD_HOME={home} .venv/bin/overlord"
    clean = ".venv/bin/overlord demo --clean"
    *looks, removes, serves = lines
    assert (looks, removes) == ([f"{named} ledger export", f"{named} job show 1"], clean)
    assert serves == "GITHUB_TOKEN=… OVERLORD_REPOS=owner/repo .venv/bin/overlord serve"
    assert [shell(line, short_path).returncode for line in looks] == [0, 0]
    assert shell(clean, short_path).stdout == "Removed: 1 demo folder.\n"
    assert not home.exists()


def test_a_demo_of_red_green_shows_each_phase_and_who_works_in_it(short_path: Path) -> None:
    (short_path / ".venv").symlink_to(sys.prefix)
    (short_path / "tmp").mkdir()
    told = shell(".venv/bin/overlord demo --runner process --contract red-green", short_path)
    assert told.returncode == 0, told.stdout + told.stderr
    expected = (
        "it goes by contract red-green",
        "phase red begins: tester",
        "the work of tester is taken back",
        "phase red is complete; green is next",
        "phase green begins: developer",
        "is in review",
    )
    assert [words for words in expected if words not in told.stdout] == []
    assert sorted(expected, key=told.stdout.index) == list(expected)


def test_where_nobody_is_at_a_terminal_a_demo_approves_its_gate_with_a_command_and_says_so(
    short_path: Path,
) -> None:
    (short_path / ".venv").symlink_to(sys.prefix)
    (short_path / "tmp").mkdir()
    told = shell(".venv/bin/overlord demo --runner process --contract plan-first", short_path)
    assert told.returncode == 0, told.stdout + told.stderr
    [home] = (short_path / "tmp").glob("overlord-demo-*")
    before, _, after = told.stdout.partition("Nobody is at a terminal to answer")
    assert "Gate plan_approval, between plan and implement." in before and "## Acceptance" in before
    assert f"  OVERLORD_HOME={home} .venv/bin/overlord approve 1\nDecision 1: Approve." in after
    assert "phase implement begins: developer" in after


@pytest.mark.parametrize("contract", list(DemoContract))
def test_each_demo_has_a_contract_and_a_script_that_can_be_read(contract: DemoContract) -> None:
    story = STORIES[contract]
    with as_file(config_directory() / "demo" / story.script) as path:
        plays = read_script(path)
    roles = built_in_contract(story.contract).roles
    told = {play.when or "" for play in plays}
    wanted = {f"Your role: {name}." for name in roles} if contract is not DemoContract.DEFAULT else told
    assert told == wanted


async def test_only_what_a_demo_made_and_has_left_is_removed(tmp_path: Path) -> None:
    left, running = demo_clean.make_home(tmp_path), demo_clean.make_home(tmp_path)
    other = tmp_path / f"{demo_clean.PREFIX}of-somebody"
    (other / "forge").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / demo_clean.MARK).touch()
    link = tmp_path / f"{demo_clean.PREFIX}link"
    link.symlink_to(tmp_path / "elsewhere")
    with wakeup.Wakeup().listening(Home(running).wakeup):
        removed = await demo_clean.clean(NO_ENGINE, tmp_path)
    assert (removed.homes, removed.running, removed.objects) == (1, (running,), 0)
    assert not left.exists()
    assert all(path.exists() for path in (running, other, link, tmp_path / "elsewhere" / demo_clean.MARK))


@pytest.mark.docker
async def test_what_is_in_the_engine_goes_by_its_label_and_the_images_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await engine_or_skip()
    home = demo_clean.make_home(tmp_path)
    mine, other = f"overlord.instance={Home(home).instance()}", f"overlord.instance={uuid.uuid4().hex[:12]}"
    ours, theirs = (docker("create", "--label", label, IMAGE) for label in (mine, other))
    try:
        removed = await demo_clean.clean(os.environ.get("DOCKER_HOST"), tmp_path)
        there = docker("ps", "--all", "--no-trunc", "--quiet").split()
        assert (removed.objects, ours in there, theirs in there) == (1, False, True)
    finally:
        await asyncio.to_thread(docker, "rm", "--force", theirs)
    demo_clean.show(removed)
    said = capsys.readouterr().out
    assert "Removed: 1 demo folder, and 1 of its containers, images and volumes.\n" in said
    assert "  docker image rm overlord-minion" in said
