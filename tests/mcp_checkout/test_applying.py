"""A patch written to the caller's files: all of it or nothing, only where they are as they were, and nowhere else."""

import os
import sys
from pathlib import Path

import pytest

from overlord.entrypoints.mcp.checkout import applying
from overlord.entrypoints.mcp.checkout.applying import NotAsItWas, PartlyWritten
from overlord.entrypoints.mcp.checkout.patching import FileChange, FileState
from overlord.errors import Refused
from tests.local import git, made
from tests.mcp_checkout.checkouts import (
    Content,
    Kept,
    contents,
    git_dir_of,
    no_file_larger_than,
    raw_git,
    write,
)


async def applied(kept: Kept, tmp_path: Path, files: dict[str, Content]) -> None:
    """Copy the checkout, change the copy, and write the change back."""
    taken = await kept.snapshot()
    await kept.apply(kept.patch(taken.commit, files, tmp_path / "worked"), taken.commit)


async def test_new_changed_and_removed_files(kept: Kept, tmp_path: Path) -> None:
    write(kept.root, {"LICENSE": "Changed here.\n", "old/gone.txt": "x\n", "mine.txt": "untracked\n"})
    index = (kept.root / ".git" / "index").read_bytes()
    change: dict[str, Content] = {
        "LICENSE": "Changed there.\n",
        "a/b/new.py": "x = 1\n",
        "old/gone.txt": None,
        "mine.txt": b"bin\0ary\xff",
    }
    await applied(kept, tmp_path, change)
    assert contents(kept.root) == contents(tmp_path / "worked")
    assert not (kept.root / "old").exists()
    assert (kept.root / ".git" / "index").read_bytes() == index


async def test_git_of_the_user_is_left_alone(kept: Kept, tmp_path: Path) -> None:
    taken = await kept.snapshot()
    patch = kept.patch(taken.commit, {"LICENSE": "Changed there.\n"}, tmp_path / "worked")
    before = git_dir_of(kept.root)
    await kept.apply(patch, taken.commit)
    assert git_dir_of(kept.root) == before


async def test_executable_bits_and_permissions_are_kept(kept: Kept, tmp_path: Path) -> None:
    write(kept.root, {"run.sh": "1\n", "plain.sh": "1\n"})
    (kept.root / "run.sh").chmod(0o750)
    (kept.root / "plain.sh").chmod(0o640)
    taken = await kept.snapshot()
    worked = tmp_path / "worked"
    kept.patch(taken.commit, {}, worked)
    write(worked, {"run.sh": "2\n"})
    (worked / "plain.sh").chmod(0o755)
    write(worked, {"new.sh": "3\n"})
    (worked / "new.sh").chmod(0o755)
    await kept.apply(kept.patch_of(worked, taken.commit), taken.commit)
    modes = {name: (kept.root / name).stat().st_mode & 0o777 for name in ("run.sh", "plain.sh", "new.sh")}
    assert modes["run.sh"] == 0o750
    assert modes["plain.sh"] == 0o750
    assert modes["new.sh"] & 0o100
    assert contents(kept.root) == contents(worked)


@pytest.mark.parametrize(
    ("there", "file"),
    [
        ({"LICENSE": "Somebody else.\n"}, "LICENSE"),
        ({"LICENSE": None}, "LICENSE"),
        ({"new.py": "mine\n"}, "new.py"),
        ({"calc.py": None, "calc.py/inner": "x"}, "calc.py"),
    ],
)
async def test_a_file_that_is_not_as_it_was_stops_all_of_it(
    kept: Kept, tmp_path: Path, there: dict[str, Content], file: str
) -> None:
    write(kept.root, {"calc.py": "1\n"})
    taken = await kept.snapshot()
    change: dict[str, Content] = {"LICENSE": "There.\n", "new.py": "x\n", "calc.py": "2\n", "zzz": "z\n"}
    patch = kept.patch(taken.commit, change, tmp_path / "worked")
    write(kept.root, there)
    before = contents(kept.root)
    with pytest.raises(NotAsItWas, match=f"^{file} is (not as when the call began|no file any more)"):
        await kept.apply(patch, taken.commit)
    assert contents(kept.root) == before


async def test_a_changed_executable_bit_is_a_change(kept: Kept, tmp_path: Path) -> None:
    taken = await kept.snapshot()
    patch = kept.patch(taken.commit, {"LICENSE": "There.\n"}, tmp_path / "worked")
    (kept.root / "LICENSE").chmod(0o755)
    with pytest.raises(NotAsItWas, match="LICENSE is not as when the call began"):
        await kept.apply(patch, taken.commit)


async def test_other_files_may_have_changed_meanwhile(kept: Kept, tmp_path: Path) -> None:
    taken = await kept.snapshot()
    patch = kept.patch(taken.commit, {"LICENSE": "There.\n"}, tmp_path / "worked")
    write(kept.root, {"other.txt": "mine\n"})
    await kept.apply(patch, taken.commit)
    assert (kept.root / "LICENSE").read_text() == "There.\n"
    assert (kept.root / "other.txt").read_text() == "mine\n"


async def test_a_link_on_the_way_is_not_followed(kept: Kept, tmp_path: Path) -> None:
    taken = await kept.snapshot()
    patch = kept.patch(taken.commit, {"sub/new.py": "x\n"}, tmp_path / "worked")
    outside = tmp_path / "outside"
    outside.mkdir()
    (kept.root / "sub").symlink_to(outside)
    with pytest.raises(NotAsItWas, match=r"a directory of sub/new.py is a file or a symbolic link"):
        await kept.apply(patch, taken.commit)
    assert list(outside.iterdir()) == []


async def test_a_link_in_the_place_of_a_file_is_not_written_through(kept: Kept, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("Mine.\n")
    taken = await kept.snapshot()
    patch = kept.patch(taken.commit, {"LICENSE": "There.\n"}, tmp_path / "worked")
    (kept.root / "LICENSE").unlink()
    (kept.root / "LICENSE").symlink_to(outside)
    with pytest.raises(NotAsItWas, match="LICENSE is not as"):
        await kept.apply(patch, taken.commit)
    assert outside.read_text() == "Mine.\n"


@pytest.mark.parametrize(
    ("target", "path", "is_fine"),
    [
        ("LICENSE", "link", True),
        ("../LICENSE", "sub/link", True),
        ("./a/./b", "link", True),
        ("a/../LICENSE", "link", False),
        ("loop/../../x", "sub/link", False),
        ("../LICENSE", "link", False),
        ("/etc/passwd", "link", False),
        ("a/../../x", "link", False),
        (".git/config", "link", False),
        (".GIT/config", "link", False),
        (".g\u200cit/config", "link", False),
    ],
)
async def test_a_link_that_a_patch_makes_stays_inside(
    kept: Kept, tmp_path: Path, target: str, path: str, is_fine: bool
) -> None:
    taken = await kept.snapshot()
    worked = tmp_path / "worked"
    kept.patch(taken.commit, {}, worked)
    (worked / path).parent.mkdir(exist_ok=True)
    (worked / path).symlink_to(target)
    patch = kept.patch_of(worked, taken.commit)
    if is_fine:
        await kept.apply(patch, taken.commit)
        assert contents(kept.root) == contents(worked)
    else:
        with pytest.raises(Refused, match="link would be a link that may lead out of the checkout"):
            await kept.apply(patch, taken.commit)
        assert not (kept.root / path).is_symlink()


@pytest.mark.parametrize("target", [b"", b"a\0b"])
async def test_a_link_that_no_system_makes_is_refused(kept: Kept, target: bytes) -> None:
    state = FileState(mode="120000", object="0" * 40)
    change = FileChange(path=b"link", before=None, after=state, content=target)
    with pytest.raises(Refused, match="link would be a link that may lead out"):
        applying.apply(kept.root, [change])


async def test_a_repository_in_it_is_not_written_to(kept: Kept, tmp_path: Path) -> None:
    taken = await kept.snapshot()
    patch = kept.patch(taken.commit, {"vendor/lib/new.py": "x\n"}, tmp_path / "worked")
    made(kept.root / "vendor")
    with pytest.raises(Refused, match=r"vendor/lib/new.py is in a repository of its own within the checkout"):
        await kept.apply(patch, taken.commit)
    assert not (kept.root / "vendor" / "lib").exists()


@pytest.mark.parametrize(
    "path",
    [
        "../outside",
        "/etc/outside",
        ".git/hooks/pre-commit",
        "sub/.git/config",
        ".GIT/config",
        ".git./x",
        "git~1/x",
        "a/../../b",
        ".g\u200cit/config",
    ],
)
async def test_a_path_that_no_patch_may_write(kept: Kept, path: str) -> None:
    taken = await kept.snapshot()
    quoted = '"' + "".join(f"\\{byte:03o}" for byte in f"b/{path}".encode()) + '"'
    patch = (
        f"diff --git {quoted} {quoted}\nnew file mode 100644\n--- /dev/null\n+++ {quoted}\n@@ -0,0 +1 @@\n+x\n"
    ).encode()
    before = contents(kept.root.parent)
    with pytest.raises(Refused, match=r"git does not take the patch|is no path that a patch may write"):
        await kept.apply(patch, taken.commit)
    there = {name for name in contents(kept.root.parent) if not name.startswith("home/")}
    assert there == {name for name in before if not name.startswith("home/")}


async def test_a_submodule_is_not_changed(kept: Kept) -> None:
    taken = await kept.snapshot()
    head = git(kept.root, "rev-parse", "HEAD")
    zero = "0" * 40
    patch = (
        "diff --git a/sub b/sub\nnew file mode 160000\n"
        f"index {zero}..{head}\n--- /dev/null\n+++ b/sub\n@@ -0,0 +1 @@\n+Subproject commit {head}\n"
    ).encode()
    with pytest.raises(Refused, match="sub is a submodule"):
        await kept.apply(patch, taken.commit)


@pytest.mark.parametrize("patch", [b"no patch at all\n", b"diff --git a/x b/x\n@@ broken", b"\0\xff" * 50])
async def test_what_is_no_patch_changes_nothing(kept: Kept, patch: bytes) -> None:
    taken = await kept.snapshot()
    before = contents(kept.root)
    with pytest.raises(Refused, match="git does not take the patch"):
        await kept.apply(patch, taken.commit)
    assert contents(kept.root) == before


async def test_a_base_that_is_gone_is_said(kept: Kept, tmp_path: Path) -> None:
    taken = await kept.snapshot()
    patch = kept.patch(taken.commit, {"LICENSE": "There.\n"}, tmp_path / "worked")
    elsewhere = Kept(root=kept.root, home=tmp_path / "elsewhere")
    elsewhere.state.mkdir(parents=True)
    with pytest.raises(Refused, match="are not kept any more"):
        await elsewhere.apply(patch, taken.commit)


async def test_a_file_becomes_a_directory_and_back(kept: Kept, tmp_path: Path) -> None:
    write(kept.root, {"one": "1\n", "two/inner": "2\n"})
    taken = await kept.snapshot()
    worked = tmp_path / "worked"
    kept.patch(taken.commit, {}, worked)
    write(worked, {"one": None, "two/inner": None})
    (worked / "two").rmdir()
    write(worked, {"one/inner": "3\n", "two": "4\n"})
    await kept.apply(kept.patch_of(worked, taken.commit), taken.commit)
    assert contents(kept.root) == contents(worked)


async def test_what_cannot_be_written_leaves_everything_as_it_was(kept: Kept, tmp_path: Path) -> None:
    """A directory with somebody's untracked file in it cannot become a file: what was written before that is put back."""
    write(kept.root, {".gitignore": "*.o\n", "lib/a.c": "1\n", "lib/a.o": "built", "deep/er/x": "1\n"})
    taken = await kept.snapshot()
    worked = tmp_path / "worked"
    kept.patch(taken.commit, {}, worked)
    write(worked, {"deep/er/x": None, "lib/a.c": None, "LICENSE": "There.\n", "a/new": "1\n"})
    (worked / "lib").rmdir()
    write(worked, {"lib": "now a file\n"})
    patch = kept.patch_of(worked, taken.commit)
    before = contents(kept.root)
    with pytest.raises(Refused, match=r"lib cannot be written: .*; nothing was changed"):
        await kept.apply(patch, taken.commit)
    assert contents(kept.root) == before
    assert not (kept.root / "a").exists()


async def test_a_directory_in_the_place_of_a_file_is_put_back_as_well(kept: Kept, tmp_path: Path) -> None:
    write(kept.root, {".gitignore": "*.o\n", "lib/a.c": "1\n", "lib/a.o": "built", "doc": "1\n"})
    taken = await kept.snapshot()
    worked = tmp_path / "worked"
    kept.patch(taken.commit, {}, worked)
    write(worked, {"doc": None, "lib/a.c": None})
    (worked / "lib").rmdir()
    write(worked, {"doc/inner": "2\n", "lib": "now a file\n"})
    patch = kept.patch_of(worked, taken.commit)
    before = contents(kept.root)
    with pytest.raises(Refused, match=r"^lib cannot be written: [^;]*; nothing was changed$"):
        await kept.apply(patch, taken.commit)
    assert contents(kept.root) == before


async def test_what_cannot_be_put_back_is_named(kept: Kept, tmp_path: Path) -> None:
    write(kept.root, {"a.txt": "a" * 50_000, "b.txt": "b\n", "c.txt": "c\n"})
    taken = await kept.snapshot()
    change: dict[str, Content] = {"a.txt": "a\n", "b.txt": "B\n", "c.txt": "c" * 50_000}
    changes = await kept.changes(kept.patch(taken.commit, change, tmp_path / "worked"), taken.commit)
    with (
        no_file_larger_than(10_000),
        pytest.raises(
            PartlyWritten, match=r"^c.txt cannot be written: File too large; a.txt could not be put back"
        ),
    ):
        applying.apply(kept.root, changes)
    assert {name: (kept.root / name).read_text() for name in change} == {
        "a.txt": "a\n",
        "b.txt": "b\n",
        "c.txt": "c\n",
    }
    applying.apply(kept.root, changes, resumes=True)
    assert (kept.root / "c.txt").read_text() == change["c.txt"]


async def test_what_is_changed_while_the_patch_is_written_stays(kept: Kept, tmp_path: Path) -> None:
    """A file is looked at again once what is to take its place lies beside it."""
    taken = await kept.snapshot()
    change: dict[str, Content] = {"LICENSE": "There.\n", "A.py": "x\n"}
    changes = await kept.changes(kept.patch(taken.commit, change, tmp_path / "worked"), taken.commit)
    writes = iter(["A.py", "LICENSE"])

    def hook(event: str, details: tuple[object, ...]) -> None:
        is_beside = event == "open" and isinstance(details[0], bytes) and details[0].startswith(b".overlord-")
        if is_beside and next(writes, "") == "LICENSE":
            write(kept.root, {"LICENSE": "Mine, just now.\n"})

    sys.addaudithook(hook)
    with pytest.raises(NotAsItWas, match="LICENSE was changed while the patch was written"):
        applying.apply(kept.root, changes)
    assert (kept.root / "LICENSE").read_text() == "Mine, just now.\n"
    assert not (kept.root / "A.py").exists()
    assert not list(kept.root.glob(".overlord-*"))


async def test_what_was_cut_off_is_gone_on_with(kept: Kept, tmp_path: Path) -> None:
    taken = await kept.snapshot()
    change: dict[str, Content] = {"LICENSE": "There.\n", "new.py": "x\n", "calc/other.py": "y\n"}
    patch = kept.patch(taken.commit, change, tmp_path / "worked")
    write(kept.root, {"new.py": "x\n", ".overlord-0123456789abcdef": "cut o"})
    with pytest.raises(NotAsItWas):
        await kept.apply(patch, taken.commit)
    await kept.apply(patch, taken.commit, resumes=True)
    assert contents(kept.root) == contents(tmp_path / "worked")


async def test_names_that_are_no_text(kept: Kept) -> None:
    taken = await kept.snapshot()
    name = b'caf\xe9\n\t"x" \\ \x01'
    index = kept.state / "index"
    raw_git(kept.mirror, "read-tree", taken.commit, index=index)
    blob = raw_git(kept.mirror, "hash-object", "-w", "--stdin", stdin=b"1\r\n").strip()
    entry = b"100644 %b\t%b\0" % (blob, name)
    raw_git(kept.mirror, "update-index", "-z", "--index-info", index=index, stdin=entry)
    tree = raw_git(kept.mirror, "write-tree", index=index).decode().strip()
    patch = raw_git(kept.mirror, "diff", "--binary", "--full-index", taken.commit, tree)
    await kept.apply(patch, taken.commit)
    assert contents(kept.root)[os.fsdecode(name)] == ("file", b"1\r\n")
