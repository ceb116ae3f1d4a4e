"""Ready copies on Overlord's side: made once, of one commit's history, readable by a session, and forgotten in time."""

import os
import stat
from pathlib import Path

import pytest

from overlord.adapters.git.index import entries
from overlord.adapters.git.mirrors import KEPT_COPIES, GitMirrors
from overlord.adapters.git.ready import MOST_PACKS
from overlord.adapters.trash import Trash
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.launch import Remote
from overlord.home import Home
from tests.plumbing import Files, commit, run

NAME = RepositoryName("Acme/Calc")


class Ground:
    """An external service, and Overlord's git."""

    def __init__(self, root: Path) -> None:
        self.far = root / "far.git"
        run(self.far, "init", "--quiet", "--bare", "--initial-branch=main", str(self.far))
        self.home = Home(root / "home")
        self.home.root.mkdir()
        self.git = GitMirrors(self.home)

    async def refresh(self) -> None:
        await self.git.refresh_mirror(NAME, Remote(url=str(self.far)))

    async def pushed(self, files: Files, *, parent: str | None = None, branch: str = "main") -> Sha:
        made = commit(self.far, branch, files, parent=parent)
        await self.refresh()
        return made

    async def copy(self, base: Sha) -> Path:
        place = await self.git.ready_copy(NAME, base)
        assert place is not None
        return place


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def commits(copy: Path) -> set[str]:
    kinds = run(
        copy / "repo.git", "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)"
    )
    return {line.split()[1] for line in kinds.splitlines() if line.startswith("commit")}


async def test_a_copy_is_made_once_and_found_again(ground: Ground) -> None:
    base = await ground.pushed({"x": "1"})
    place = await ground.copy(base)
    assert place == ground.home.ready(NAME) / base
    made = (place / "content").stat().st_ino
    assert await ground.copy(base) == place
    assert await GitMirrors(ground.home).ready_copy(NAME, base) == place
    assert (place / "content").stat().st_ino == made


async def test_a_copy_holds_its_commits_history_and_nothing_else(ground: Ground) -> None:
    first = await ground.pushed({"x": "1"})
    second = await ground.pushed({"x": "2"}, parent=first)
    side = await ground.pushed({"x": "side"}, parent=first, branch="side")
    await ground.pushed({"x": "3"}, parent=second)
    assert commits(await ground.copy(second)) == {first, second}
    assert commits(await ground.copy(side)) == {first, side}
    assert commits(await ground.copy(first)) == {first}
    assert run(await ground.copy(second) / "repo.git", "for-each-ref") == ""


async def test_a_copy_goes_on_from_an_older_one(ground: Ground) -> None:
    first = await ground.pushed({f"f{number}": f"{number}\n" for number in range(20)})
    second = await ground.pushed({"x": "2"}, parent=first)
    before, after = await ground.copy(first), await ground.copy(second)
    [shared] = before.glob("repo.git/objects/pack/*.pack")
    again = after / "repo.git" / "objects" / "pack" / shared.name
    assert again.samefile(shared)
    assert sum(1 for _ in again.parent.glob("*.pack")) == 2
    run(after / "repo.git", "fsck", "--full")


async def test_many_small_steps_are_made_one_again(ground: Ground) -> None:
    base = await ground.pushed({"x": "0"})
    most = 0
    for number in range(MOST_PACKS + 2):
        base = await ground.pushed({"x": str(number + 1)}, parent=base)
        copy = await ground.copy(base)
        most = max(most, sum(1 for _ in copy.glob("repo.git/objects/pack/*.pack")))
    assert most == MOST_PACKS
    assert len(commits(copy)) == MOST_PACKS + 3


async def test_a_branch_that_was_forced_leaves_nothing_of_itself_in_the_next_copy(ground: Ground) -> None:
    leaked = await ground.pushed({"password": "canary"})
    await ground.copy(leaked)
    base = await ground.pushed({"x": "1"})
    assert commits(await ground.copy(base)) == {base}


async def test_whoever_runs_a_session_can_read_it_and_nobody_writes_it(ground: Ground) -> None:
    before = os.umask(0o077)
    try:
        place = await ground.copy(await ground.pushed({"x": "1", "run.sh": ("100755", b"#!\n")}))
    finally:
        os.umask(before)
    assert stat.S_IMODE(place.stat().st_mode) == 0o755
    for item in place.rglob("*"):
        assert stat.S_IMODE(item.stat().st_mode) == (0o755 if item.is_dir() else 0o444), item


async def test_no_file_of_a_repository_is_laid_out_by_its_name(ground: Ground) -> None:
    """Its files are one stream: links, programs and attributes in it are only bytes here."""
    base = await ground.pushed(
        {
            "evil": ("120000", b"/etc"),
            ".gitattributes": "* filter=evil\n",
            "hooks/post-checkout": ("100755", b"#!/bin/sh\n"),
        }
    )
    place = await ground.copy(base)
    names = {str(item.relative_to(place)) for item in place.rglob("*") if not item.is_dir()}
    known = {
        "content",
        "index",
        "doubtful",
        "tree",
        "repo.git/HEAD",
        "repo.git/config",
        "repo.git/info/attributes",
    }
    assert {name for name in names if "objects/pack/" not in name} == known
    assert [entry.name for entry in entries((place / "index").read_bytes())] == [
        b".gitattributes",
        b"evil",
        b"hooks/post-checkout",
    ]
    assert (place / "content").read_bytes() == b"* filter=evil\n/etc#!/bin/sh\n"


async def test_files_that_are_too_large_together_are_left_to_a_clone(ground: Ground) -> None:
    base = await ground.pushed({"x": "12345678901"})
    git = GitMirrors(ground.home, ready_bytes=10)
    assert await git.ready_copy(NAME, base) is None
    assert commits(ground.home.ready(NAME) / base) == {base}


async def test_old_copies_are_forgotten_and_used_ones_are_not(ground: Ground) -> None:
    bases = [await ground.pushed({"x": str(number)}) for number in range(KEPT_COPIES + 3)]
    for age, base in enumerate(bases):
        place = await ground.copy(base)
        os.utime(place, (age, age))
    half = ground.home.ready(NAME) / ".making-crashed"
    half.mkdir()
    used, *_ = bases
    await ground.git.forget_ready(NAME, keep={used})
    left = {place.name for place in ground.home.ready(NAME).glob("[0-9a-f]*")}
    assert left == {used, *bases[-KEPT_COPIES:]}
    named = run(ground.home.mirror(NAME), "for-each-ref", "--format=%(objectname)", "refs/overlord/base/")
    assert set(named.split()) == left
    await ground.copy(bases[1])
    assert not half.exists()


async def test_using_a_copy_makes_it_the_newest(ground: Ground) -> None:
    bases = [await ground.pushed({"x": str(number)}) for number in range(KEPT_COPIES + 1)]
    for age, base in enumerate(bases):
        os.utime(await ground.copy(base), (age, age))
    await ground.copy(bases[0])
    await ground.git.forget_ready(NAME, keep=())
    assert not (ground.home.ready(NAME) / bases[1]).exists()
    assert (ground.home.ready(NAME) / bases[0]).exists()


async def test_nothing_is_forgotten_where_nothing_is(ground: Ground) -> None:
    await ground.git.forget_ready(RepositoryName("acme/never"), keep=())


# What is thrown away.


def test_what_is_thrown_away_is_gone_at_once_and_deleted_beside(tmp_path: Path) -> None:
    trash = Trash(tmp_path / "trash")
    for name in ("one", "two"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "file").touch()
        trash.discard(tmp_path / name)
        assert not (tmp_path / name).exists()
    trash.discard(tmp_path / "never there")
    trash.wait()
    assert list((tmp_path / "trash").iterdir()) == []


def test_what_the_last_one_left_in_the_trash_is_taken_along(tmp_path: Path) -> None:
    (tmp_path / "trash" / "old").mkdir(parents=True)
    (tmp_path / "trash" / "old" / "file").touch()
    trash = Trash(tmp_path / "trash")
    trash.discard(tmp_path / "nothing")
    trash.wait()
    assert list((tmp_path / "trash").iterdir()) == []
