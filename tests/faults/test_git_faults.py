"""The `git` program itself fails the daemon: it says no, is killed, or hangs with a child that keeps our pipes open."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlord.adapters.git import command
from overlord.errors import GitFailed
from tests.faults.invariants import check_world, noted
from tests.faults.spaces import lost, made_spaces, name_of, start, trouble_of

pytestmark = pytest.mark.timeout(1200)
WRAPPER = """#!/bin/sh
place=${1#--git-dir=}
root=${place%%/home/*}
if [ "$root" != "$place" ] && [ -f "$root/fault" ]; then
    read -r first period kind < "$root/fault"
    call=1
    [ ! -f "$root/last" ] || read -r call < "$root/last"
    while ! mkdir "$root/calls/$call" 2>/dev/null; do call=$((call + 1)); done
    echo "$call" > "$root/last"
    if [ $((call % period)) = $((first % period)) ]; then
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
PERIODS = {"refuses": 27, "dies": 27, "hangs": 51}
"""How far from each other the calls are that fail in one story: no step of it makes as many."""
STORIES = 3
"""In how many stories they fail, each time elsewhere; `FAULT_EVERY=1` has one for each call that may be the first."""


@pytest.fixture(autouse=True)
def wrapped_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A `git` before the real one, for calls on repositories below an Overlord's home that has a file `fault` beside it."""
    real = shutil.which("git")
    assert real is not None
    (tmp_path / "git").write_text(WRAPPER.replace("REAL", real))
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setitem(vars(command), "TIMEOUT_S", TIMEOUT_S)
    yield


@pytest.mark.parametrize("kind", PERIODS)
async def test_a_git_that_fails_now_and_then_costs_no_attempt(kind: str) -> None:
    period = PERIODS[kind]
    firsts = range(1, period + 1, 1 if os.environ.get("FAULT_EVERY") else period // STORIES)
    found = list[str]()
    for begin in range(0, len(firsts), STORIES):
        told = await asyncio.gather(*(_told(kind, each, period) for each in firsts[begin : begin + STORIES]))
        found += [wrong for wrongs in told for wrong in wrongs]
    assert not found, "\n".join(found)


async def _told(kind: str, first: int, period: int) -> list[str]:
    """A story in which this git call of the daemon fails, and so does each that comes a period later; what is otherwise then."""
    async with made_spaces(1) as world:
        (world.root / "calls").mkdir()
        (world.root / "fault").write_text(f"{first} {period} {kind}\n")
        await start(world, {})
        case = f"git {kind} at call {first}, and each {period} calls later"
        try:
            await world.settle()
        except TimeoutError:
            return [f"{case}: {await trouble_of(world, name_of(1))}"]
        found = ["no call was reached"] * (not (world.root / "fired").exists())
        (world.root / "fault").unlink()
        found += noted(await lost(world, name_of(1)))
        try:
            await check_world(world)
        except AssertionError as error:
            found.append(str(error))
        return [f"{case}: {wrong}" for wrong in found]


async def test_a_git_that_hangs_with_a_child_that_holds_its_pipes_is_ended_in_time(tmp_path: Path) -> None:
    """So does `git-remote-https`, when a forge takes a connection and says nothing."""
    repository = tmp_path / "home" / "r.git"
    (tmp_path / "calls").mkdir()
    (tmp_path / "fault").write_text("1 51 hangs\n")
    async with asyncio.timeout(300):
        with pytest.raises(GitFailed, match="did not finish"):
            await command.git(repository, "version")
