"""A session's working copy, made from Overlord's ready copy or cloned: the same files, and nothing that git takes for changed."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from minion.git import Git
from minion.protocol import Brief, PlanFile, Terms
from minion.workspace.ready import ReadyCopy
from minion.workspace.workspace import Workspace
from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.launch import Remote
from overlord.errors import GitFailed
from overlord.home import Home
from tests.minion.session_api import make_brief
from tests.plumbing import DELETED, Files, commit, plant, run

NAME = RepositoryName("acme/odd")
SESSION = SessionId("j1-work-1")
BRANCH = "minion/issue-1"
AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
GIT = Git("/usr/bin:/bin")

READY, CLONED = "ready", "cloned"


@dataclass
class Ground:
    """An external service, Overlord's git beside it, and the ways a session can come to its working copy."""

    root: Path
    far: Path
    home: Home
    git: GitMirrors
    terms: Terms | None = None

    async def overlord_sees(self) -> None:
        await self.git.refresh_mirror(NAME, Remote(url=str(self.far)))

    async def brief(self, base: Sha, head: Sha | None = None) -> Brief:
        await self.overlord_sees()
        refs = {"main": base, BRANCH: head or base}
        await self.git.remove_session(SESSION)
        await self.git.prepare_session(NAME, SESSION, refs, BRANCH)
        return make_brief(base, head or base, branch=BRANCH, base_branch="main", terms=self.terms)

    async def ready(self, base: Sha) -> ReadyCopy:
        await self.overlord_sees()
        place = await self.git.ready_copy(NAME, base)
        assert place is not None
        copy = ReadyCopy.from_environment({"MINION_READY": str(place)}, base)
        assert copy is not None
        return copy

    async def workspace(self, how: str, base: Sha, head: Sha | None = None) -> Workspace:
        """A session's working copy: from the ready copy, or cloned."""
        brief = await self.brief(base, head)
        ready = await self.ready(base) if how == READY else None
        home = self.root / f"work-{how}"
        home.mkdir()
        remote = str(self.home.session_repository(SESSION))
        workspace = Workspace(home, remote, brief, GIT, ready=ready, patience_s=0)
        workspace.begin()
        workspace.wait()
        alternates = workspace.root / ".git" / "objects" / "info" / "alternates"
        assert alternates.exists() == (how == READY)
        return workspace

    async def changes(self, workspace: Workspace, base: Sha) -> set[str]:
        """Save what is there, and what Overlord makes of it."""
        workspace.save("work")
        tree = await self.git.session_tree(SESSION, BRANCH)
        assert tree is not None
        head = await self.git.canonical_commit(NAME, SESSION, tree=tree, parent=base, message="m", at=AT)
        return {change.path for change in await self.git.changes(NAME, base, head)}


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    far = tmp_path / "far.git"
    run(far, "init", "--quiet", "--bare", "--initial-branch=main", str(far))
    home = Home(tmp_path / "home")
    home.root.mkdir()
    return Ground(tmp_path, far, home, GitMirrors(home))


def seen(root: Path) -> dict[bytes, tuple[str, bytes]]:
    """Every path of a working copy, with what it is and holds."""
    found: dict[bytes, tuple[str, bytes]] = {}
    for directory, names, files in os.walk(os.fsencode(root)):
        if b".git" in names and directory == os.fsencode(root):
            names.remove(b".git")
        for name in names + files:
            place = directory + b"/" + name
            path = os.path.relpath(place, os.fsencode(root))
            if os.path.islink(place):
                found[path] = ("link", os.readlink(place))
            elif os.path.isdir(place):
                found[path] = ("directory", b"")
            else:
                with open(place, "rb") as file:
                    found[path] = ("program" if os.access(place, os.X_OK) else "file", file.read())
    return found


MODULE = ("160000", b"a" * 40)
MODULES = '[submodule "m"]\n\tpath = m\n\turl = https://example.invalid/m\n'
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "4d" * 32 + "\nsize 12345\n"
ODD: Mapping[str, Files] = {
    "plain": {
        "README.md": "# odd\n",
        "run.sh": ("100755", b"#!/bin/sh\n"),
        "empty": "",
        "a/b/c/deep": "x",
        "a.b": "between",
        "a/z": "after",
    },
    "submodules": {".gitmodules": MODULES, "m": MODULE, "deep/er/m": MODULE, "x": "1"},
    "LFS pointers": {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "large.bin": POINTER},
    "names that are no text": {
        b"a\xff.py": "1\n",
        b"d\xe9p\xf4t/\xff": "2\n",
        "größe/漢字": "3\n",
        "new\nline": "4\n",
    },
    "names that differ in case": {"Makefile": "1\n", "makefile": "2\n", "DOC/a": "3\n", "doc/a": "4\n"},
    "links": {
        "farm/a": ("120000", b"../target"),
        "farm/b": ("120000", b"a"),
        "loop/x": ("120000", b"y"),
        "loop/y": ("120000", b"x"),
        "self": ("120000", b"self"),
        "up": ("120000", b"../../../../etc/passwd"),
        "gone": ("120000", b"no/such/place"),
        "to-directory": ("120000", b"farm"),
        "bytes": ("120000", b"caf\xe9"),
        "target": "x\n",
    },
    "line ends": {
        ".gitattributes": "*.txt text\n*.bat text eol=crlf\n*.sh text eol=lf\n*.auto text=auto\n* ident\n",
        "unix.txt": "a\nb\n",
        "dos.txt": "a\r\nb\r\n",
        "mixed.txt": "a\nb\r\n",
        "good.bat": "a\nb\n",
        "dos.bat": "a\r\nb\r\n",
        "mixed.bat": "a\nb\r\n",
        "dos.sh": "a\r\n",
        "dos.auto": "a\r\nb\r\n",
        "id.py": "# $Id$\n",
        "expanded.py": "# $Id: 0123456789012345678901234567890123456789 $\n",
        "foreign.py": "# $Id: id.py,v 1.2 2001/01/01 someone $\n",
        'od"d *na\\me[1].txt': "a\r\n",
        "sub/.gitattributes": "dos.txt eol=crlf\n",
        "sub/dos.txt": "a\r\nb\n",
    },
    "encodings": {
        ".gitattributes": "*.wide text working-tree-encoding=UTF-16LE-BOM\n*.odd text working-tree-encoding=no-such-thing\n",
        "a.wide": "größe\n",
        "crlf.wide": "a\r\n",
        "broken.wide": b"\xff\xfe\x00",
        "a.odd": "x\n",
    },
    "attributes git refuses": {".gitattributes": "* working-tree-encoding\n", "dos.txt": "a\r\n"},
    "filters and hooks": {
        ".gitattributes": "* filter=evil diff=evil merge=evil\n",
        ".gitconfig": '[filter "evil"]\n\tsmudge = touch /tmp/evil\n\trequired\n',
        "hooks/post-checkout": ("100755", b"#!/bin/sh\ntouch /tmp/evil\n"),
        "a.py": "x\n",
    },
    "left out of archives": {
        ".gitattributes": "tests export-ignore\nversion.txt export-subst\n",
        "tests/test_a.py": "x\n",
        "version.txt": "$Format:%H$\n",
    },
    "nothing at all": {"x": DELETED},
}


@pytest.mark.parametrize("how", [READY, CLONED])
@pytest.mark.parametrize("kind", ODD)
async def test_a_session_that_touches_nothing_changes_nothing(ground: Ground, kind: str, how: str) -> None:
    base = commit(ground.far, "main", ODD[kind])
    workspace = await ground.workspace(how, base)
    tree = run(ground.far, "rev-parse", f"{base}^{{tree}}")
    assert GIT.run(workspace.root, "status", "--porcelain") == ""
    assert workspace.snapshot() == tree
    GIT.run(workspace.root, "read-tree", "HEAD")  # an index that knows nothing of the files
    assert workspace.snapshot() == tree
    (workspace.root / ".git" / "index").unlink()
    assert workspace.snapshot() == tree


@pytest.mark.parametrize("kind", ODD)
async def test_a_ready_copy_holds_what_a_checkout_has(ground: Ground, kind: str) -> None:
    base = commit(ground.far, "main", ODD[kind])
    ready, cloned = await ground.workspace(READY, base), await ground.workspace(CLONED, base)
    assert seen(ready.root) == seen(cloned.root)
    for words in (("ls-files", "--stage"), ("log", "--format=%H"), ("rev-parse", "origin/main"), ("branch",)):
        assert GIT.run(ready.root, *words) == GIT.run(cloned.root, *words)


async def test_what_people_know_of_line_ends_holds_in_a_session(ground: Ground) -> None:
    base = commit(ground.far, "main", ODD["line ends"])
    files = seen((await ground.workspace(READY, base)).root)
    assert files[b"good.bat"][1] == b"a\r\nb\r\n"
    assert files[b"unix.txt"][1] == b"a\nb\n"
    assert files[b"dos.txt"][1] == b"a\r\nb\r\n"
    assert files[b"id.py"][1].startswith(b"# $Id: ")


@pytest.mark.parametrize("how", [READY, CLONED])
async def test_an_edit_of_a_file_that_does_not_survive_conversion_is_no_more_than_that(
    ground: Ground, how: str
) -> None:
    base = commit(ground.far, "main", ODD["line ends"])
    workspace = await ground.workspace(how, base)
    (workspace.root / "dos.txt").write_bytes(b"a\r\nB\r\n")
    assert await ground.changes(workspace, base) == {"dos.txt"}
    assert run(workspace.root / ".git", "cat-file", "-s", f"{workspace.head}:dos.txt") == "6"


@pytest.mark.parametrize("how", [READY, CLONED])
async def test_a_changed_pointer_is_seen(ground: Ground, how: str) -> None:
    base = commit(ground.far, "main", ODD["LFS pointers"])
    workspace = await ground.workspace(how, base)
    assert (workspace.root / "large.bin").read_text() == POINTER
    (workspace.root / "large.bin").write_text(POINTER.replace("12345", "12346"))
    assert await ground.changes(workspace, base) == {"large.bin"}


@pytest.mark.parametrize("how", [READY, CLONED])
async def test_a_submodule_nobody_touched_is_no_part_of_a_change(ground: Ground, how: str) -> None:
    base = commit(ground.far, "main", ODD["submodules"])
    workspace = await ground.workspace(how, base)
    (workspace.root / "m" / "generated").write_text("by a build")
    (workspace.root / "x").write_text("2")
    assert await ground.changes(workspace, base) == {"x"}


@pytest.mark.parametrize("how", [READY, CLONED])
async def test_a_revision_goes_on_from_the_head_before(ground: Ground, how: str) -> None:
    base = commit(ground.far, "main", ODD["line ends"])
    head = commit(
        ground.far,
        BRANCH,
        {"unix.txt": "c\n", "new.bat": "n\n", "late.txt": "l\r\n", "id.py": DELETED},
        parent=base,
    )
    workspace = await ground.workspace(how, base, head)
    assert GIT.run(workspace.root, "rev-parse", "HEAD").strip() == head
    assert GIT.run(workspace.root, "symbolic-ref", "HEAD").strip() == f"refs/heads/{BRANCH}"
    assert GIT.run(workspace.root, "status", "--porcelain") == ""
    assert workspace.snapshot() == run(ground.far, "rev-parse", f"{head}^{{tree}}")
    assert not (workspace.root / "id.py").exists()
    (workspace.root / "new.py").write_text("x = 1\n")
    assert await ground.changes(workspace, base) == {"unix.txt", "new.bat", "late.txt", "id.py", "new.py"}


async def test_an_edit_within_the_same_second_and_of_the_same_size_is_seen(ground: Ground) -> None:
    base = commit(ground.far, "main", {"a": "1", "b": "2"})
    workspace = await ground.workspace(READY, base)
    (workspace.root / "a").write_text("2")
    assert workspace.changed(workspace.snapshot()) == ("a",)


async def test_a_shallow_repository_stays_shallow(ground: Ground) -> None:
    first = commit(ground.far, "main", {"x": "1"})
    base = commit(ground.far, "main", {"x": "2"}, parent=first)
    shallow = ground.root / "shallow.git"
    run(ground.far, "clone", "--quiet", "--bare", "--depth=1", f"file://{ground.far}", str(shallow))
    ground.far = shallow
    for how in (READY, CLONED):
        workspace = await ground.workspace(how, base)
        assert GIT.run(workspace.root, "log", "--format=%H").split() == [base]
        (workspace.root / "x").write_text(how)
        assert await ground.changes(workspace, base) == {"x"}
    tree = await ground.git.session_tree(SESSION, BRANCH)
    assert tree is not None
    head = await ground.git.canonical_commit(NAME, SESSION, tree=tree, parent=base, message="m", at=AT)
    remote = Remote(url=str(shallow))
    await ground.git.push(NAME, remote, sha=head, branch=BRANCH, expected=None)
    assert await ground.git.remote_head(NAME, remote, BRANCH) == head


@pytest.mark.parametrize(
    "damage",
    [
        lambda place: (place / "content").write_bytes(b""),
        lambda place: (place / "index").write_bytes(b"DIRC\0\0\0\x04\0\0\0\0" + bytes(20)),
        lambda place: (place / "content").unlink(),
        lambda place: (place / "repo.git" / "HEAD").write_text("f" * 40),
    ],
)
async def test_a_ready_copy_of_no_use_is_a_clone(ground: Ground, damage: Callable[[Path], None]) -> None:
    base = commit(ground.far, "main", {"x": "1"})
    brief = await ground.brief(base)
    place = await ground.git.ready_copy(NAME, base)
    assert place is not None
    for file in ("content", "index", "repo.git/HEAD"):
        (place / file).chmod(0o644)
    damage(place)
    remote = str(ground.home.session_repository(SESSION))
    ready = ReadyCopy.from_environment({"MINION_READY": str(place)}, base)
    workspace = Workspace(ground.root / "work", remote, brief, GIT, ready=ready, patience_s=0)
    (ground.root / "work").mkdir()
    workspace.begin()
    workspace.wait()
    assert (workspace.root / "x").read_text() == "1"


async def test_a_file_of_200_mb_is_streamed(ground: Ground) -> None:
    size = 200 * 1024 * 1024
    base = commit(ground.far, "main", {"large.bin": ("100644", bytes(size)), "x": "1"})
    workspace = await ground.workspace(READY, base)
    assert (workspace.root / "large.bin").stat().st_size == size
    (workspace.root / "x").write_text("2")
    assert await ground.changes(workspace, base) == {"x"}


async def test_a_hundred_thousand_files_are_laid_out(ground: Ground) -> None:
    files: Files = {f"d{number % 300}/e{number % 7}/f{number}": f"{number}\n" for number in range(100_000)}
    base = commit(ground.far, "main", files)
    workspace = await ground.workspace(READY, base)
    (workspace.root / "d0" / "e0" / "f0").write_text("changed\n")
    assert await ground.changes(workspace, base) == {"d0/e0/f0"}


async def test_a_tree_git_will_not_lay_out_has_no_ready_copy_and_the_session_says_why(ground: Ground) -> None:
    commit(ground.far, "main", {"x": "1"})
    base = plant(ground.far, "main", ".git/config", b"[core]\n")
    brief = await ground.brief(base)
    assert await ground.git.ready_copy(NAME, base) is None
    workspace = Workspace(ground.root, str(ground.home.session_repository(SESSION)), brief, GIT, patience_s=0)
    workspace.begin()
    with pytest.raises(Exception, match=r"invalid path '.git/config'"):
        workspace.wait()


async def test_a_commit_that_is_not_there_is_named(ground: Ground) -> None:
    commit(ground.far, "main", {"x": "1"})
    await ground.overlord_sees()
    with pytest.raises(GitFailed):
        await ground.git.ready_copy(NAME, Sha("f" * 40))


@pytest.mark.parametrize("how", [READY, CLONED])
async def test_secrets_are_out_of_sight_and_a_plan_is_in_it_and_neither_is_a_change(
    ground: Ground, how: str
) -> None:
    base = commit(ground.far, "main", {"a.py": "a\n", ".env": "canary\n", "keys/id": "canary\n"})
    ground.terms = Terms(
        contract="crew",
        phase="build",
        plan=(PlanFile(path="plan/a.md", text="a"),),
        secret_paths=(".env", "keys/**"),
    )
    workspace = await ground.workspace(how, base)
    assert set(seen(workspace.root)) == {b"a.py", b"plan", b"plan/a.md"}
    assert GIT.run(workspace.root, "status", "--porcelain") == ""
    (workspace.root / "a.py").write_text("b\n")
    (workspace.root / ".env").write_text("x")
    assert await ground.changes(workspace, base) == {"a.py"}
