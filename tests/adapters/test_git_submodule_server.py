"""Servers that give less than was asked, more than may be kept, or nothing for hours; and what was left of a fetch before."""

import asyncio
import os
import random
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from overlord.adapters.git import gathering
from overlord.adapters.git.command import TIMEOUT_S
from overlord.adapters.git.content import listing
from overlord.adapters.git.ready import MOST_BYTES
from overlord.adapters.git.submodule import Module, Submodules
from overlord.domain.identifiers import Sha
from overlord.domain.launch import Remote
from overlord.errors import GitFailed, Unobtainable
from tests.adapters.far_end import served_as_files
from tests.adapters.fetching_ground import NAME
from tests.adapters.submodule_ground import LIB, Ground, made_ground
from tests.plumbing import Files, bomb, commit, run

GATE = """#!/bin/sh
case "$*" in
    *' fetch '*) {act} ;;
esac
exec {real} "$@"
"""


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    async with made_ground(tmp_path) as made:
        yield made


def before_git(place: Path, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    """Let every fetch do this first; `$1` is the repository's own option."""
    real, fake = shutil.which("git"), place / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(GATE.format(act=act, real=real))
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")


def kept(ground: Ground) -> list[Path]:
    return [file for file in (ground.home.root / "modules").rglob("objects/**/*") if file.is_file()]


def module(ground: Ground) -> Path:
    """The repository kept for the submodule `acme/lib`, made before anything is fetched."""
    place = ground.git._places(NAME).module(f"{ground.url}/acme/lib.git")
    place.parent.mkdir(parents=True)
    run(place, "init", "--quiet", "--bare", "--template=", str(place))
    return place


async def gathered(mirror: Path, base: Sha, url: str, place: Path) -> list[Module]:
    remote = Remote(url=f"{url}/acme/calc.git")
    return await Submodules(remote, lambda _: place, most_bytes=MOST_BYTES).gather(mirror, base)


async def test_an_earlier_commit_is_had_from_a_server_that_gives_only_branches(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Before protocol 2, servers gave no commit by its name.
    before_git(tmp_path, monkeypatch, 'set -- -c protocol.version=0 "$@"')
    commits: list[Sha] = []
    for number in range(4):
        parent = commits[-1] if commits else None
        commits.append(commit(ground.forge.directory("acme/lib"), "main", {"n": str(number)}, parent=parent))
    for number in (3, 0):
        root = await ground.laid_out(await ground.base({"lib": ("../lib.git", commits[number])}))
        assert (root / "lib/n").read_text() == str(number)


async def test_a_server_that_only_knows_files_bounds_nothing_and_is_not_asked_for_them(
    tmp_path: Path,
) -> None:
    lib, mirror = tmp_path / "acme/lib.git", tmp_path / "mirror.git"
    for repository in (lib, mirror):
        repository.mkdir(parents=True)
        run(repository, "init", "--quiet", "--bare", "--initial-branch=main", str(repository))
    sha = commit(lib, "main", LIB)
    run(lib, "update-server-info")
    told = '[submodule "lib"]\n\tpath = lib\n\turl = ../lib.git\n'
    base = commit(mirror, "main", {".gitmodules": told, "lib": ("160000", sha.encode())})
    with served_as_files(tmp_path) as url, pytest.raises(Unobtainable, match="shallow"):
        await gathered(mirror, base, url, tmp_path / "kept.git")
    assert not [file for file in (tmp_path / "kept.git" / "objects").rglob("*") if file.is_file()]


async def test_a_commit_counts_as_there_when_all_that_it_needs_is(ground: Ground) -> None:
    lib = ground.put("acme/lib", LIB)
    base, place = await ground.base({"lib": ("../lib.git", lib)}), module(ground)
    # As a fetch leaves it that broke off: the commit and its trees, and not every file.
    assert commit(place, "main", LIB) == lib
    missing = run(place, "rev-parse", "main:lib.py")
    (place / "objects" / missing[:2] / missing[2:]).unlink()
    run(place, "update-ref", "-d", "refs/heads/main")
    root = await ground.laid_out(base)
    assert (root / "lib/lib.py").read_text() == "x = 1\n"


async def test_what_is_there_and_is_no_commit_is_said(ground: Ground) -> None:
    ground.put("acme/lib", LIB)
    far = ground.forge.directory("acme/lib")
    run(far, "tag", "blob", "main:lib.py")
    blob = Sha(run(far, "rev-parse", "blob"))
    for _ in range(2):
        assert "is there, and is a blob" in await ground.refused(
            await ground.base({"lib": ("../lib.git", blob)})
        )


async def test_all_submodules_together_are_fetched_up_to_the_limit(ground: Ground) -> None:
    modules = {}
    for number in range(4):
        await ground.forge.create_repository(f"acme/l{number}")
        noise: Files = {"noise": ("100644", random.Random(number).randbytes(60_000))}
        modules[f"l{number}"] = (f"../l{number}.git", ground.put(f"acme/l{number}", noise))
    base = await ground.base(modules)
    with pytest.raises(Unobtainable, match="The submodule l1 cannot be had"):
        await ground.overlord(ready_bytes=100_000).ready_copy(NAME, base, ground.remote)
    assert sum(file.stat().st_size for file in kept(ground)) < 100_000


async def test_a_submodule_that_lists_without_end_is_not_read(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = ground.forge.directory("acme/lib")
    base = await ground.base({"lib": ("../lib.git", bomb(far, "main", levels=4))})
    monkeypatch.setitem(vars(listing), "MOST_LISTED_BYTES", 100_000)
    assert "is longer than 100,000 bytes" in await ground.refused(base)


async def test_a_server_that_takes_too_long_is_given_up_and_leaves_nothing(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib = ground.put("acme/lib", LIB)
    base, place, slow = await ground.base({"lib": ("../lib.git", lib)}), module(ground), tmp_path / "slow"
    halves = ("shallow.lock", "objects/pack/tmp_pack_Xx")
    made = " ".join(f"'{place}/{half}'" for half in halves)
    before_git(tmp_path, monkeypatch, f"if [ -e {slow} ]; then touch {made}; exec sleep 1000; fi")
    slow.touch()
    monkeypatch.setitem(vars(gathering), "LONGEST_S", 0.5)
    assert "did not all come within" in await ground.refused(base)
    assert not [half for half in halves if (place / half).exists()]
    slow.unlink()
    monkeypatch.undo()
    assert (await ground.laid_out(base) / "lib/lib.py").exists()


async def test_a_fetch_that_is_called_off_keeps_no_later_one_out(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror, lock = ground.home.mirror(NAME), ground.home.mirror(NAME) / "shallow.lock"
    ground.put(NAME, {"x": "1"})
    before_git(
        tmp_path,
        monkeypatch,
        f"if [ ! -e {tmp_path}/once ]; then touch {tmp_path}/once {lock}; exec sleep 1000; fi",
    )
    asked = asyncio.create_task(ground.git.refresh_mirror(NAME, await ground.remote(), branches=["main"]))
    async with asyncio.timeout(180):
        while not lock.exists():
            await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert mirror.exists() and not lock.exists()
    await ground.git.refresh_mirror(NAME, await ground.remote(), branches=["main"])
    assert await ground.git.branch_head(NAME, "main")


async def test_what_an_ended_daemon_left_goes_once_nobody_can_be_at_it(ground: Ground) -> None:
    lib = ground.put("acme/lib", LIB)
    base, place = await ground.base({"lib": ("../lib.git", lib)}), module(ground)
    lock, half = place / "shallow.lock", place / "objects" / "pack" / "tmp_pack_Xx"
    for left in (lock, half):
        left.touch()
    with pytest.raises(GitFailed, match="still fetching"):
        await ground.git.ready_copy(NAME, base, ground.remote)
    assert lock.exists() and half.exists(), "a git that outlived its daemon may still write them"
    for left in (lock, half):
        os.utime(left, (left.stat().st_mtime - TIMEOUT_S - 1,) * 2)
    assert (await ground.laid_out(base) / "lib/lib.py").exists()
    assert not half.exists() and not lock.exists()
