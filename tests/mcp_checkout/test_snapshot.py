"""The copy of a caller's files: all that git tracks and what it does not ignore, byte for byte, with nothing of the user's touched."""

import os
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from overlord.adapters.git.upkeep import tidy
from overlord.domain.identifiers import Sha
from overlord.entrypoints.mcp.checkout import working_tree
from overlord.errors import Refused
from tests.local import git, made
from tests.mcp_checkout.checkouts import NOON, Kept, contents, git_dir_of, raw_git, write


async def test_it_is_what_lies_there(kept: Kept) -> None:
    write(kept.root, {"LICENSE": "Changed.\n", "new/file.py": "x = 1\n", "staged.py": "y = 2\n"})
    git(kept.root, "add", "staged.py")
    write(kept.root, {"staged.py": "y = 3\n"})
    (kept.root / "run.sh").write_text("#!/bin/sh\n")
    (kept.root / "run.sh").chmod(0o755)
    (kept.root / "link").symlink_to("./LICENSE")
    taken = await kept.snapshot()
    assert kept.files_of(taken.commit) == contents(kept.root)
    assert taken.left_out == ()


async def test_its_parent_is_the_commit_that_is_checked_out(kept: Kept) -> None:
    write(kept.root, {"LICENSE": "Changed.\n"})
    taken = await kept.snapshot()
    head = git(kept.root, "rev-parse", "HEAD")
    assert raw_git(kept.mirror, "log", "--format=%H", taken.commit).decode().split()[1] == head
    assert raw_git(kept.mirror, "rev-list", "--count", taken.commit).decode().strip() == "3"
    raw_git(kept.mirror, "fsck", "--full", "--strict")


async def test_nothing_of_the_users_is_touched_or_run(kept: Kept, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    for name in ("post-index-change", "pre-commit", "reference-transaction", "post-checkout"):
        hook = kept.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
        hook.chmod(0o755)
    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.process", "diff.external", "core.pager"):
        git(kept.root, "config", key, str(program))
    write(kept.root, {".gitattributes": "*.py filter=x\n", "other.txt": "new\n", "calc.py": "changed\n"})
    before = git_dir_of(kept.root)
    await kept.snapshot()
    assert git_dir_of(kept.root) == before
    assert not ran.exists()


async def test_the_same_files_are_the_same_commit_and_pile_up_nothing(kept: Kept) -> None:
    write(kept.root, {"LICENSE": "Changed.\n"})
    first = await kept.snapshot()
    before = contents(kept.mirror)
    (kept.root / "LICENSE").touch()
    assert await kept.snapshot() == first
    assert contents(kept.mirror) == before
    assert [item.name for item in kept.state.iterdir()] in ([], ["hashes.json"])


async def test_what_was_hashed_before_and_changed_within_its_time_is_read_again(kept: Kept) -> None:
    old = NOON.timestamp()
    os.utime(kept.root / "LICENSE", (old, old))
    await kept.snapshot()
    (kept.root / "LICENSE").write_text("Ours.\n")  # as long as before
    os.utime(kept.root / "LICENSE", (old, old))
    taken = await kept.snapshot()
    assert kept.files_of(taken.commit) == contents(kept.root)


async def test_deleted_and_ignored_files_are_not_in_it(kept: Kept) -> None:
    write(kept.root, {"LICENSE": None, ".gitignore": "*.log\nbuild/\n", "a.log": "x", "build/x": "x"})
    taken = await kept.snapshot()
    assert {"LICENSE", "a.log", "build/x"}.isdisjoint(taken.paths)
    assert ".gitignore" in taken.paths


async def test_what_the_user_ignores_everywhere_is_not_in_it(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "user" / ".config" / "git").mkdir(parents=True)
    (tmp_path / "user" / ".config" / "git" / "ignore").write_text("*.swp\n")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    write(kept.root, {"a.swp": "x", "b.orig": "x"})
    assert "a.swp" not in (await kept.snapshot()).paths
    (tmp_path / "own").write_text("*.orig\n")
    (tmp_path / "user" / ".gitconfig").write_text("[core]\n\texcludesFile = ~/../own\n")
    taken = await kept.snapshot()
    assert "b.orig" not in taken.paths
    assert "a.swp" in taken.paths


async def test_files_that_look_like_secrets_and_are_not_tracked_are_left_out_and_told(kept: Kept) -> None:
    write(kept.root, {".env": "A=tracked\n"})
    git(kept.root, "add", "--force", ".env")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    left = {
        "deploy.pem": "x",
        "id_rsa": "x",
        "sub/.env.local": "x",
        "config/aws.key": "x",
        ".ssh/config": "x",
    }
    write(
        kept.root,
        {**left, "notes.txt": f"use {secret}\n", "src/credentials.py": "x = 1\n", ".env.example": "A=\n"},
    )
    taken = await kept.snapshot()
    assert set(taken.left_out) == {*left, "notes.txt"}
    assert {".env", "src/credentials.py", ".env.example"} <= taken.paths
    assert set(taken.left_out).isdisjoint(taken.paths)


async def test_too_many_files_that_are_not_tracked_are_refused(kept: Kept) -> None:
    for number in range(working_tree.MOST_UNTRACKED + 1):
        write(kept.root, {f"cache/{number}": ""})
    with pytest.raises(
        Refused, match=r"2,?001 files are not tracked by git, and at most 2,000 .* in cache: commit"
    ):
        await kept.snapshot()


async def test_too_much_that_is_not_in_git_is_refused(kept: Kept) -> None:
    with (kept.root / "disk.img").open("wb") as file:
        file.truncate(working_tree.MOST_NEW_BYTES + 1)
    with pytest.raises(Refused, match="more than 200 MB"):
        await kept.snapshot()


async def test_a_file_that_cannot_be_read_is_named(kept: Kept) -> None:
    write(kept.root, {"LICENSE": "Changed.\n"})
    (kept.root / "LICENSE").chmod(0)
    if os.access(kept.root / "LICENSE", os.R_OK):  # root reads everything
        taken = await kept.snapshot()
        assert "LICENSE" in taken.paths
    else:
        with pytest.raises(Refused, match="LICENSE cannot be read: Permission denied"):
            await kept.snapshot()


async def test_line_ends_and_filters_are_not_converted(kept: Kept) -> None:
    git(kept.root, "config", "core.autocrlf", "true")
    write(kept.root, {".gitattributes": "*.txt text eol=crlf\n*.id ident\n", "a.txt": b"one\r\ntwo\r\n"})
    write(kept.root, {"b.id": "$Id$\n"})
    git(kept.root, "add", "--all")
    git(kept.root, "commit", "--quiet", "--message=More")
    taken = await kept.snapshot()
    assert kept.files_of(taken.commit) == contents(kept.root)


async def test_what_a_filter_makes_is_as_git_has_it(kept: Kept) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\n"
    write(kept.root, {".gitattributes": "*.bin filter=lfs\n", "large.bin": pointer})
    git(kept.root, "add", "--all")
    git(kept.root, "commit", "--quiet", "--message=More")
    write(kept.root, {"large.bin": "what the pointer stands for"})
    taken = await kept.snapshot()
    assert kept.files_of(taken.commit)["large.bin"] == ("file", pointer.encode())


async def test_a_filter_counts_with_a_git_that_can_take_attributes_from_elsewhere(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From git 2.41 on, GIT_ATTR_SOURCE names the tree whose attributes count."""
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\ncase "$GIT_ATTR_SOURCE $*" in ?*check-attr*) [ -z "$GIT_ATTR_SOURCE" ] || {{\n'
        f'export GIT_INDEX_FILE=/none GIT_WORK_TREE={program.parent}; cd {program.parent}; }};; esac\nexec {shutil.which("git")} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    write(kept.root, {".gitattributes": "*.key.txt filter=git-crypt\n", "a.key.txt": "\0GITCRYPT\n"})
    raw_git(kept.root, "add", "--all")
    raw_git(kept.root, "commit", "--quiet", "--message=More")
    write(kept.root, {"a.key.txt": "in clear\n"})
    taken = await kept.snapshot()
    assert kept.files_of(taken.commit)["a.key.txt"] == ("file", b"\0GITCRYPT\n")


async def test_what_a_filter_would_make_and_git_does_not_have_yet_is_left_out_and_told(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"user/.config/git/attributes": "*.psd filter=lfs\n"})
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    write(kept.root, {".gitattributes": "hidden/* filter=git-crypt\n"})
    write(kept.root, {"hidden/plan.txt": "in clear\n", "a.psd": "large", "b.txt": "x\n"})
    taken = await kept.snapshot()
    assert set(taken.left_out) == {"hidden/plan.txt", "a.psd"}
    assert {"hidden/plan.txt", "a.psd"}.isdisjoint(taken.paths)
    assert "b.txt" in taken.paths
    with pytest.raises(Refused, match=r"hidden/plan.txt looks like a secret, or has a filter of git's"):
        taken.check_files({"files": ("hidden/plan.txt",)}, "")


@pytest.mark.parametrize("words", ["--skip-worktree", "--assume-unchanged"])
async def test_what_git_was_told_not_to_look_at_is_as_git_has_it(kept: Kept, words: str) -> None:
    write(kept.root, {"settings.json": "{}\n", "gone.json": "{}\n"})
    git(kept.root, "add", "--all")
    git(kept.root, "update-index", words, "settings.json", "gone.json")
    write(kept.root, {"settings.json": '{"password": "mine"}\n', "gone.json": None})
    files = kept.files_of((await kept.snapshot()).commit)
    assert (files["settings.json"], files["gone.json"]) == (("file", b"{}\n"), ("file", b"{}\n"))


async def test_a_shallow_clone_is_copied_without_its_history(kept: Kept, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{kept.root}", str(tmp_path / "shallow"))
    shallow = Kept(root=tmp_path.resolve() / "shallow", home=kept.home)
    write(shallow.root, {"LICENSE": "Changed.\n"})
    taken = await shallow.snapshot()
    assert kept.files_of(taken.commit) == contents(shallow.root)
    raw_git(kept.mirror, "fsck", "--full", "--strict")
    assert raw_git(kept.mirror, "rev-list", "--count", taken.commit).decode().strip() == "2"
    assert (await shallow.snapshot()).commit == taken.commit


async def test_a_partial_clone_is_refused_with_what_to_do(kept: Kept, tmp_path: Path) -> None:
    git(kept.root, "config", "uploadpack.allowFilter", "true")
    address = f"file://{kept.root}"
    git(tmp_path, "clone", "--quiet", "--no-checkout", "--filter=tree:0", address, str(tmp_path / "part"))
    part = Kept(root=tmp_path.resolve() / "part", home=kept.home)
    with pytest.raises(
        Refused, match=r"a partial clone is made whole with `git fetch --refetch --no-filter`"
    ):
        await part.snapshot()


async def test_a_repository_without_commits_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", str(tmp_path / "empty"))
    empty = Kept(root=tmp_path.resolve() / "empty", home=tmp_path / "home")
    with pytest.raises(Refused, match="has no commits to start from; make a first one"):
        await empty.snapshot()


async def test_a_worktree_and_a_submodule_have_copies_of_their_own(kept: Kept, tmp_path: Path) -> None:
    git(kept.root, "worktree", "add", "--quiet", str(tmp_path / "second"))
    second = Kept(root=tmp_path.resolve() / "second", home=kept.home)
    write(second.root, {"only-here": "x\n"})
    assert "only-here" in (await second.snapshot()).paths
    outer = made(tmp_path.resolve() / "outer")
    git(outer, "submodule", "--quiet", "add", f"file://{kept.root}", "inner")
    git(outer, "commit", "--quiet", "--message=With it")
    whole = Kept(root=outer, home=tmp_path / "home2")
    write(outer, {"inner/LICENSE": "Changed.\n"})
    taken = await whole.snapshot()
    assert whole.files_of(taken.commit)["inner"] == ("submodule", b"")
    inner = Kept(root=outer / "inner", home=tmp_path / "home3")
    assert inner.files_of((await inner.snapshot()).commit)["LICENSE"] == ("file", b"Changed.\n")


async def test_a_repository_in_it_that_is_no_submodule_is_left_out_and_told(kept: Kept) -> None:
    made(kept.root / "vendor")
    taken = await kept.snapshot()
    assert taken.left_out == ("vendor/",)


async def test_files_left_out_of_a_sparse_checkout_are_as_they_were_committed(kept: Kept) -> None:
    write(kept.root, {"far/away.txt": "far\n"})
    git(kept.root, "add", "--all")
    git(kept.root, "commit", "--quiet", "--message=Far")
    git(kept.root, "sparse-checkout", "set", "near")
    assert not (kept.root / "far" / "away.txt").exists()
    taken = await kept.snapshot()
    assert kept.files_of(taken.commit)["far/away.txt"] == ("file", b"far\n")


async def test_a_conflict_is_copied_as_it_lies_there(kept: Kept) -> None:
    git(kept.root, "checkout", "--quiet", "-b", "other")
    for branch, text in (("other", "Theirs.\n"), ("main", "Ours.\n")):
        git(kept.root, "checkout", "--quiet", branch)
        write(kept.root, {"LICENSE": text})
        git(kept.root, "commit", "--quiet", "--all", "--message=Said")
    merge = ["git", "-C", str(kept.root), "-c", "user.name=a", "-c", "user.email=a@x", "merge", "other"]
    assert subprocess.run(merge, capture_output=True, check=False).returncode != 0
    taken = await kept.snapshot()
    assert b"<<<<<<<" in kept.files_of(taken.commit)["LICENSE"][1]


async def test_a_link_in_the_place_of_a_directory_hides_what_is_behind_it(kept: Kept, tmp_path: Path) -> None:
    write(kept.root, {"data/one": "1\n"})
    git(kept.root, "add", "--all")
    git(kept.root, "commit", "--quiet", "--message=Data")
    write(tmp_path, {"elsewhere/one": "secret\n"})
    write(kept.root, {"data/one": None})
    (kept.root / "data").rmdir()
    (kept.root / "data").symlink_to(tmp_path / "elsewhere")
    taken = await kept.snapshot()
    assert "data/one" not in taken.paths
    assert kept.files_of(taken.commit)["data"] == ("link", os.fsencode(tmp_path / "elsewhere"))


async def test_what_is_no_file_is_not_copied(kept: Kept) -> None:
    os.mkfifo(kept.root / "pipe")
    (kept.root / "LICENSE").unlink()
    os.mkfifo(kept.root / "LICENSE")
    assert {"pipe", "LICENSE"}.isdisjoint((await kept.snapshot()).paths)


async def test_files_that_are_not_in_it_are_named(kept: Kept) -> None:
    write(kept.root, {"src/a.py": "1\n", "src/deploy.pem": "x"})
    taken = await kept.snapshot()
    taken.check_files({"files": ("a.py",)}, "src")
    with pytest.raises(Refused, match=r"files: there is no b.py, c.py in src of the checkout"):
        taken.check_files({"files": ("a.py", "b.py", "c.py")}, "src")
    with pytest.raises(Refused, match=r"test_path: there is no a.py in the checkout"):
        taken.check_files({"test_path": ("a.py",)}, "")
    with pytest.raises(Refused, match=r"src/deploy.pem looks like a secret"):
        taken.check_files({"files": ("src/deploy.pem",)}, "")


async def test_a_mirror_lets_go_of_it_after_a_day_unless_it_is_needed(kept: Kept) -> None:
    first = await kept.snapshot()
    write(kept.root, {"LICENSE": "Changed.\n"})
    second = await kept.snapshot()

    def names() -> set[str]:
        listed = raw_git(kept.mirror, "for-each-ref", "--format=%(objectname)", "refs/overlord/checkout")
        return set(listed.decode().split())

    await tidy(kept.mirror, keep=set(), before=NOON - timedelta(days=1))
    assert names() == {first.commit, second.commit}
    await tidy(kept.mirror, keep={Sha(second.commit)}, before=NOON + timedelta(days=1))
    assert names() == {second.commit}
    await tidy(kept.mirror, keep=set(), before=NOON + timedelta(days=1))
    assert names() == set()
