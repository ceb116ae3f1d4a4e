"""Whatever reads what a session made has so much memory and time and no more, and one that reaches a limit says so."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from overlord.adapters.git import command
from overlord.adapters.git.command import OverLimit, git, output_bytes
from overlord.adapters.git.content import listing
from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import Sha
from overlord.errors import GitFailed
from overlord.git_limits import READING
from tests.adapters.test_git_session import AT, BRANCH, NAME, SESSION, Ground
from tests.plumbing import commit, run

MIB = 1024 * 1024


@pytest.fixture
async def ground(tmp_path: Path) -> Ground:
    made = Ground(tmp_path)
    await made.refresh()
    await made.prepare()
    return made


def heavy(repository: Path, parent: Sha) -> Sha:
    """A commit on the session's branch whose message and whose one new file have 3 MB each."""
    made = commit(repository, BRANCH, {"large": "x" * 3_000_000}, parent=parent)
    identity = ("-c", "user.name=m", "-c", "user.email=m@x")
    words = ("commit-tree", f"{made}^{{tree}}", "-p", parent)
    head = run(repository, *identity, *words, stdin=b"m" * 3_000_000)
    run(repository, "update-ref", f"refs/heads/{BRANCH}", head)
    return Sha(head)


READERS: dict[str, Callable[[GitMirrors, Sha, Sha], Awaitable[object]]] = {
    "changes": lambda git, base, head: git.changes(NAME, base, head),
    "diff": lambda git, base, head: git.diff(NAME, base, head, limit_bytes=100),
    "merge_base": lambda git, base, head: git.merge_base(NAME, base, head),
    "sizes": lambda git, base, head: git.sizes(NAME, head),
    "listing": lambda git, base, head: git.listing(NAME, head),
    "read_file": lambda git, base, head: git.read_file(NAME, head, "large"),
    "read_files": lambda git, base, head: git.read_files(NAME, head, ["large"], limit_bytes=10 * MIB),
    "tree_of": lambda git, base, head: git.tree_of(NAME, head),
    "merge": lambda git, base, head: git.merge(NAME, head, base, message="m", at=AT),
    "drop": lambda git, base, head: git.drop(
        NAME, head, base=base, paths=["x"], parent=base, message="m", at=AT
    ),
    "session_tree": lambda git, base, head: git.session_tree(SESSION, BRANCH),
    "prepare_session": lambda git, base, head: git.prepare_session(
        NAME, SESSION, {"main": base, BRANCH: head}, BRANCH
    ),
}


async def test_whatever_reads_a_sessions_objects_is_bounded(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = heavy(ground.mirror, ground.base)
    run(ground.quarantine, "fetch", "--quiet", str(ground.mirror), f"{BRANCH}:{BRANCH}")
    for name, read in READERS.items():
        if name == "prepare_session":
            await ground.git.remove_session(SESSION)
        with monkeypatch.context() as patch:
            patch.setitem(vars(command), "READING", replace(READING, allocation_bytes=MIB))
            with pytest.raises(OverLimit, match="over limit"):
                await read(ground.git, ground.base, head)
                pytest.fail(f"{name} is not bounded")
        await read(ground.git, ground.base, head)


async def test_work_is_brought_into_the_mirror_within_bounds(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = heavy(ground.quarantine, ground.base)
    tree = Sha(run(ground.quarantine, "rev-parse", f"{head}^{{tree}}"))

    async def bring() -> Sha:
        return await ground.git.canonical_commit(
            NAME, SESSION, tree=tree, parent=ground.base, message="m", at=AT
        )

    with monkeypatch.context() as patch:
        patch.setitem(vars(command), "READING", replace(READING, allocation_bytes=MIB))
        with pytest.raises(GitFailed, match=r"pack-objects died|over limit"):
            await bring()
    made = await bring()
    assert [change.path for change in await ground.git.changes(NAME, ground.base, made)] == ["large"]


async def test_what_takes_too_much_to_compare_is_too_large_to_be_judged(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line costs its comparison forty bytes, and an empty one the session one."""
    commit(ground.quarantine, BRANCH, {"lines": "\n" * 5_000_000}, parent=ground.base)
    tree = await ground.git.session_tree(SESSION, BRANCH)
    assert tree is not None
    monkeypatch.setitem(vars(command), "READING", replace(READING, memory_bytes=100 * MIB))
    said = await ground.git.excess(SESSION, tree=tree, parent=ground.base)
    assert said == "to compare it with what was there, git needs more memory or time than it may have"
    monkeypatch.undo()
    assert await ground.git.excess(SESSION, tree=tree, parent=ground.base) == ""


async def test_no_single_file_is_larger_than_git_may_hold_at_once(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert READING.allocation_bytes is not None
    assert READING.allocation_bytes > listing.MOST_FILE_BYTES
    monkeypatch.setitem(vars(listing), "MOST_FILE_BYTES", 1000)
    commit(ground.quarantine, BRANCH, {"a": "x" * 1000, "b": "x" * 1001}, parent=ground.base)
    tree = await ground.git.session_tree(SESSION, BRANCH)
    assert tree is not None
    said = await ground.git.excess(SESSION, tree=tree, parent=ground.base)
    assert said == "a file it changes has more than 1,000 bytes"


async def test_the_kernel_ends_what_takes_too_much_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, "init", "--quiet", "--bare", str(tmp_path))
    monkeypatch.setitem(vars(command), "READING", replace(READING, cpu_s=1))
    spin = {"alias.spin": "!while :; do :; done"}
    with pytest.raises(OverLimit, match="died of signal 24"):
        await git(tmp_path, "spin", settings=spin, bounded=True)


async def test_the_memory_of_a_bounded_git_is_limited_by_what_it_allocates(tmp_path: Path) -> None:
    run(tmp_path, "init", "--quiet", "--bare", str(tmp_path))
    asked = {"alias.limits": "!ulimit -d; ulimit -v; ulimit -S -t; echo $GIT_ALLOC_LIMIT"}
    told = (await git(tmp_path, "limits", settings=asked, bounded=True)).decode().split()
    assert told == [str(READING.memory_bytes // 1024), "unlimited", "120", str(READING.allocation_bytes)]
    assert (await git(tmp_path, "limits", settings=asked)).split()[0] == b"unlimited"


async def test_a_bounded_git_that_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitFailed, match=r"git cannot be started: .*install git"):
        await output_bytes(tmp_path, "log", most=1)
