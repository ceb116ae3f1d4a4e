"""Merging a result back: only where the working tree allows it, without anything of the user's being run, and whole or not at all."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from overlord.domain.identifiers import Sha
from overlord.entrypoints.local import checkout
from overlord.entrypoints.local.build import merge_back
from overlord.entrypoints.local.build.merge_back import Refusal, Target
from tests.local import git, made

BRANCH = "minion/issue-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A repository with a result beside `main`, and a file that shows whether a program of the user's was run."""

    repo: Path
    target: Target
    ran: Path

    def result(self, files: dict[str, str]) -> "Ground":
        """The same with another result."""
        git(self.repo, "checkout", "--quiet", BRANCH)
        commit(self.repo, files, "More")
        git(self.repo, "checkout", "--quiet", "main")
        return replace(self, target=replace(self.target, commit=Sha(git(self.repo, "rev-parse", BRANCH))))

    async def merged(self) -> str:
        self.ran.unlink(missing_ok=True)  # by what led here
        prepared = await merge_back.prepare(self.target)
        await merge_back.merge(prepared)
        assert not self.ran.exists()
        assert git(self.repo, "status", "--porcelain") == ""  # which runs the monitor
        return prepared.sentence


def commit(repo: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    git(repo, "add", "--all", "--force")
    git(repo, "commit", "--quiet", "--no-verify", f"--message={message}")


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".gitconfig").write_text("[user]\nname = Ann\nemail = ann@x\n")
    repo, ran = made(tmp_path / "calc"), tmp_path / "ran"
    git(repo, "checkout", "--quiet", "-b", BRANCH)
    commit(repo, {"calc.py": "def add(a, b):\n    return a + b\n", "new/file.py": "new\n"}, "Add adds")
    git(repo, "checkout", "--quiet", "main")
    for hook in (
        "post-merge",
        "pre-merge-commit",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ):
        (repo / ".git" / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (repo / ".git" / "hooks" / hook).chmod(0o755)
    git(repo, "config", "core.fsmonitor", f"touch {ran}; false")
    head = Sha(git(repo, "rev-parse", BRANCH))
    return Ground(
        repo=repo,
        target=Target(checkout=checkout.find(repo), branch=BRANCH, commit=head, onto="main"),
        ran=ran,
    )


async def test_a_result_on_top_of_the_branch_is_fast_forwarded_to(ground: Ground) -> None:
    assert await ground.merged() == "minion/issue-1 is merged into main."
    assert git(ground.repo, "rev-parse", "HEAD") == ground.target.commit
    assert (ground.repo / "new" / "file.py").read_text() == "new\n"
    assert await ground.merged() == "minion/issue-1 is merged into main already."


async def test_a_branch_that_went_on_gets_a_merge_commit_of_the_users(ground: Ground) -> None:
    commit(ground.repo, {"other.py": "other\n"}, "Meanwhile")
    head = git(ground.repo, "rev-parse", "HEAD")
    assert await ground.merged() == "minion/issue-1 is merged into main, with a merge commit."
    assert git(ground.repo, "rev-parse", "HEAD^1", "HEAD^2").split() == [head, ground.target.commit]
    assert (
        git(ground.repo, "log", "-1", "--format=%an <%ae> %s") == "Ann <ann@x> Merge branch 'minion/issue-1'"
    )
    assert (ground.repo / "other.py").exists() and (ground.repo / "new" / "file.py").exists()


async def test_files_land_as_their_attributes_say(ground: Ground) -> None:
    again = ground.result({".gitattributes": "*.bat eol=crlf\n", "run.bat": "one\ntwo\n"})
    await again.merged()
    assert (ground.repo / "run.bat").read_bytes() == b"one\r\ntwo\r\n"


async def test_a_worktree_of_the_repository_is_one_too(ground: Ground, tmp_path: Path) -> None:
    side = tmp_path / "side"
    git(ground.repo, "worktree", "add", "--quiet", "-b", "side", str(side), "main")
    there = replace(
        ground, repo=side, target=replace(ground.target, checkout=checkout.find(side), onto="side")
    )
    await there.merged()
    assert git(side, "rev-parse", "side") == ground.target.commit
    assert git(ground.repo, "rev-parse", "main") != ground.target.commit


async def test_a_folder_of_its_own_gives_way_to_a_file_and_a_file_to_a_folder(ground: Ground) -> None:
    commit(ground.repo, {"one": "1\n", "two/a": "2\n"}, "Both ways")
    git(ground.repo, "checkout", "--quiet", "-B", BRANCH, "main")
    git(ground.repo, "rm", "--quiet", "-r", "one", "two")
    commit(ground.repo, {"one/b": "1\n", "two": "2\n"}, "Turned")
    git(ground.repo, "checkout", "--quiet", "main")
    turned = replace(ground, target=replace(ground.target, commit=Sha(git(ground.repo, "rev-parse", BRANCH))))
    await turned.merged()
    assert (ground.repo / "two").read_text() == "2\n"


def changed(ground: Ground) -> Ground:
    (ground.repo / "calc.py").write_text("mine\n")
    return ground


def staged(ground: Ground) -> Ground:
    (ground.repo / "mine.py").write_text("mine\n")
    git(ground.repo, "add", "mine.py")
    return ground


def untracked(ground: Ground) -> Ground:
    (ground.repo / "new").mkdir()
    (ground.repo / "new" / "file.py").write_text("mine\n")
    return ground


def untracked_above(ground: Ground) -> Ground:
    (ground.repo / "new").write_text("mine\n")
    return ground


def ignored(ground: Ground) -> Ground:
    (ground.repo / ".git" / "info").mkdir(exist_ok=True)
    (ground.repo / ".git" / "info" / "exclude").write_text("new/\n")
    return untracked(ground)


def other_branch(ground: Ground) -> Ground:
    git(ground.repo, "checkout", "--quiet", "-b", "other")
    return ground


def detached(ground: Ground) -> Ground:
    git(ground.repo, "checkout", "--quiet", "--detach")
    return ground


def bare(ground: Ground) -> Ground:
    git(ground.repo.parent, "clone", "--quiet", "--bare", "calc", "bare.git")
    found = checkout.find(ground.repo.parent / "bare.git")
    return replace(ground, target=replace(ground.target, checkout=found))


def merging(ground: Ground) -> Ground:
    (ground.repo / ".git" / "MERGE_HEAD").write_text(f"{ground.target.commit}\n")
    return ground


def rebasing(ground: Ground) -> Ground:
    (ground.repo / ".git" / "rebase-merge").mkdir()
    return ground


def locked(ground: Ground) -> Ground:
    (ground.repo / ".git" / "index.lock").touch()
    return ground


def moved(ground: Ground) -> Ground:
    git(ground.repo, "branch", "--force", BRANCH, "main")
    return ground


def conflicting(ground: Ground) -> Ground:
    commit(ground.repo, {"calc.py": "def add(a, b):\n    return b + a\n"}, "Mine")
    return ground


def filtered(ground: Ground) -> Ground:
    git(ground.repo, "config", "filter.lfs.smudge", f"touch {ground.ran}; cat")
    return ground.result({".gitattributes": "*.bin filter=lfs\n", "big.bin": "pointer\n"})


def driven(ground: Ground) -> Ground:
    git(ground.repo, "config", "merge.mine.driver", f"touch {ground.ran}")
    commit(
        ground.repo,
        {".gitattributes": "*.py merge=mine\n", "calc.py": "def add(a, b):\n    return b + a\n"},
        "Mine",
    )
    return ground


def signing(ground: Ground) -> Ground:
    commit(ground.repo, {"other.py": "other\n"}, "Meanwhile")
    git(ground.repo, "config", "commit.gpgSign", "true")
    return ground


def nobody(ground: Ground) -> Ground:
    commit(ground.repo, {"other.py": "other\n"}, "Meanwhile")
    (ground.repo.parent / ".gitconfig").unlink()
    return ground


def unrelated(ground: Ground) -> Ground:
    git(ground.repo, "checkout", "--quiet", "--orphan", "again")
    commit(ground.repo, {"other.py": "other\n"}, "Anew")
    git(ground.repo, "branch", "--move", "--force", "again", "main")
    return ground


REFUSED = {
    changed: "there are uncommitted changes to calc.py; commit or stash them first",
    staged: "there are uncommitted changes to mine.py",
    untracked: "files that are in no commit are in the way of new/file.py; move them first",
    untracked_above: "files that are in no commit are in the way of new/file.py",
    ignored: "files that are in no commit are in the way of new/file.py",
    other_branch: "the run started from main, and other is checked out",
    detached: "no branch is checked out (HEAD is detached)",
    bare: "this repository is bare: it has no working tree",
    merging: "a merge is under way in the working tree; finish it or abort it first",
    rebasing: "a rebase is under way",
    locked: "another git works in the working tree, or one was killed there",
    moved: "minion/issue-1 is not at the commit that was judged",
    conflicting: "it conflicts with what main has by now, in calc.py",
    filtered: "big.bin goes through the filter lfs, and no program of yours is run",
    driven: "calc.py is merged by a program of yours (mine), which is not run",
    signing: "the merge commit that it takes would have to be signed by you",
    nobody: "git does not know who makes the merge commit (user.name, user.email)",
    unrelated: "minion/issue-1 and main have no commit in common",
}


@pytest.mark.parametrize(("hindered", "why"), REFUSED.items(), ids=lambda item: getattr(item, "__name__", ""))
async def test_what_stands_against_it_is_named_and_nothing_is_touched(
    ground: Ground, hindered: Callable[[Ground], Ground], why: str
) -> None:
    there = hindered(ground)
    before = seen(there)
    ground.ran.unlink(missing_ok=True)
    with pytest.raises(Refusal) as refused:
        await merge_back.prepare(there.target)
    assert why in str(refused.value)
    assert seen(there) == before
    assert not ground.ran.exists()


def seen(ground: Ground) -> tuple[str, str, dict[str, bytes]]:
    """HEAD, the index, and every file."""
    repo = ground.repo
    files = {
        str(path.relative_to(repo)): path.read_bytes()
        for path in sorted(repo.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }
    index = (repo / ".git" / "index").read_bytes()
    return (repo / ".git" / "HEAD").read_text(), index.hex(), files


async def test_what_comes_in_the_way_after_the_look_stops_git_itself(ground: Ground) -> None:
    prepared = await merge_back.prepare(ground.target)
    (ground.repo / "calc.py").write_text("mine, just now\n")
    with pytest.raises(Refusal, match="git did not merge it"):
        await merge_back.merge(prepared)
    assert (ground.repo / "calc.py").read_text() == "mine, just now\n"
    assert git(ground.repo, "rev-parse", "main") == prepared.head
    assert not (ground.repo / "new").exists()
