"""The `git` program itself fails the daemon: it says no, is killed, or hangs with a child that keeps our pipes open."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlord.adapters import git_command
from overlord.errors import GitFailed
from tests.faults.faulty import every
from tests.faults.invariants import check_world
from tests.faults.spaces import lost, made_spaces, name_of, start, trouble_of

pytestmark = pytest.mark.timeout(1200)
WRAPPER = """#!/bin/sh
place=${1#--git-dir=}
root=${place%%/home/*}
if [ "$root" != "$place" ] && [ -f "$root/fault" ]; then
    read -r number kind < "$root/fault"
    call=1
    while ! mkdir "$root/calls/$call" 2>/dev/null; do call=$((call + 1)); done
    if [ "$call" = "$number" ]; then
        touch "$root/fired"
        case $kind in
            refuses) echo "fatal: as was arranged" >&2; exit 128 ;;
            dies) kill -9 $$ ;;
            hangs) sleep 1000 & wait ;;
        esac
    fi
fi
exec REAL "$@"
"""
TIMEOUT_S = 3.0
AT_ONCE = 4


@pytest.fixture(autouse=True)
def wrapped_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A `git` before the real one, for calls on repositories below an Overlord's home that has a file `fault` beside it."""
    real = shutil.which("git")
    assert real is not None
    (tmp_path / "git").write_text(WRAPPER.replace("REAL", real))
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setitem(vars(git_command), "TIMEOUT_S", TIMEOUT_S)
    yield


@pytest.mark.parametrize("kind", ["refuses", "dies", "hangs"])
async def test_a_git_that_fails_once_costs_no_attempt(kind: str) -> None:
    step, number, found, fired = every({"hangs": 17}.get(kind, 9)), 1, list[str](), True
    while fired:
        numbers = range(number, number + step * AT_ONCE, step)
        told = await asyncio.gather(*(_told(kind, each) for each in numbers))
        found += [wrong for wrongs, _ in told for wrong in wrongs]
        fired = all(has_fired for _, has_fired in told)
        number += step * AT_ONCE
    assert not found, "\n".join(found)


async def _told(kind: str, number: int) -> tuple[list[str], bool]:
    """A story in which the daemon's git call of this number fails; what is otherwise then, and whether it was reached."""
    async with made_spaces(1) as world:
        (world.root / "calls").mkdir()
        (world.root / "fault").write_text(f"{number} {kind}\n")
        await start(world, {})
        case = f"git {kind} at call {number}"
        try:
            await world.settle()
        except TimeoutError:
            return [f"{case}: {await trouble_of(world, name_of(1))}"], True
        has_fired = (world.root / "fired").exists()
        (world.root / "fault").unlink()
        found = await lost(world, name_of(1))
        try:
            await check_world(world)
        except AssertionError as error:
            found.append(str(error))
        return [f"{case}: {wrong}" for wrong in found], has_fired


async def test_a_git_that_hangs_with_a_child_that_holds_its_pipes_is_ended_in_time(tmp_path: Path) -> None:
    """So does `git-remote-https`, when a forge takes a connection and says nothing."""
    repository = tmp_path / "home" / "r.git"
    (tmp_path / "calls").mkdir()
    (tmp_path / "fault").write_text("1 hangs\n")
    async with asyncio.timeout(300):
        with pytest.raises(GitFailed, match="did not finish"):
            await git_command.git(repository, "version")
