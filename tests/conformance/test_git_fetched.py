"""Working copies with what Overlord fetched beside the commit: a session finds the files, and changes none by being there."""

import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from minion.errors import GitFailed, ToolError
from minion.git import Git
from minion.protocol import CheckStep, Scope, Tree
from minion.workspace.ready import ReadyCopy
from minion.workspace.scope import Territory
from minion.workspace.trees import Trees
from minion.workspace.workspace import Workspace
from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.launch import Remote
from overlord.domain.repositories.extent import Extent
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.home import Home
from tests.minion.session_api import make_brief
from tests.plumbing import DELETED, Files, commit, run

NAME = RepositoryName("acme/calc")
SESSION = SessionId("j1-work-1")
BRANCH = "minion/issue-1"
AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
GIT = Git("/usr/bin:/bin")
CONTENT = b"\0large\r\n" * 1000
OTHER = b"\1other\r\n" * 1000
"""Of the same size."""


class Ground:
    """A forge with a submodule and two files in Git LFS, and the sessions of an Overlord that fetches them."""

    def __init__(self, root: Path, forge: EmbeddedForge, url: str) -> None:
        self.root, self.forge, self.url = root, forge, url
        self.home = Home(root / "home")
        self.home.root.mkdir()
        self.git = GitMirrors(self.home, extent=lambda _: Extent(submodules=True, lfs=True))
        lib = commit(forge.directory("acme/lib"), "main", {"lib.py": "x = 1\n"})
        self.pointer = forge.keep_large(NAME, CONTENT)
        self.files: Files = {
            ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt text\n*.wide working-tree-encoding=UTF-16LE\n",
            ".gitmodules": '[submodule "lib"]\n\tpath = vendor/lib\n\turl = ../lib.git\n',
            "vendor/lib": ("160000", lib.encode()),
            "a.bin": self.pointer,
            "deep/b.bin": ("100755", forge.keep_large(NAME, OTHER).encode()),
            "dos.txt": "a\r\n",
            "x": "1\n",
        }
        self.base = commit(forge.directory(NAME), "main", self.files)
        self.tree = run(forge.directory(NAME), "rev-parse", f"{self.base}^{{tree}}")

    async def remote(self) -> Remote:
        token = base64.b64encode(f"x-access-token:{self.forge.token}".encode()).decode()
        return Remote(url=f"{self.url}/{NAME}.git", authorization=f"Basic {token}")

    async def ready(self) -> ReadyCopy:
        await self.git.refresh_mirror(NAME, await self.remote())
        place = await self.git.ready_copy(NAME, self.base, self.remote)
        assert place is not None
        copy = ReadyCopy.from_environment({"MINION_READY": str(place)}, self.base)
        assert copy is not None
        return copy

    async def workspace(self, head: Sha | None = None) -> Workspace:
        ready = await self.ready()
        head = head or self.base
        await self.git.prepare_session(NAME, SESSION, {"main": self.base, BRANCH: head}, BRANCH)
        brief = make_brief(self.base, head, branch=BRANCH, base_branch="main")
        home = self.root / "work"
        home.mkdir()
        remote = str(self.home.session_repository(SESSION))
        workspace = Workspace(home, remote, brief, GIT, ready=ready, patience_s=0)
        workspace.begin()
        workspace.wait()
        return workspace

    async def changes(self, workspace: Workspace) -> set[str]:
        """Save what is there, and what Overlord makes of it."""
        workspace.save("work")
        tree = await self.git.session_tree(SESSION, BRANCH)
        assert tree is not None
        head = await self.git.canonical_commit(NAME, SESSION, tree=tree, parent=self.base, message="m", at=AT)
        return {change.path for change in await self.git.changes(NAME, self.base, head)}


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    forge = EmbeddedForge(tmp_path / "forge")
    for name in (NAME, "acme/lib"):
        await forge.create_repository(name)
    async with forge.serve() as url:
        yield Ground(tmp_path, forge, url)
    forge.close()


def holds_all(root: Path) -> bool:
    return (
        (root / "a.bin").read_bytes() == CONTENT
        and (root / "deep/b.bin").read_bytes() == OTHER
        and (root / "vendor/lib/lib.py").read_text() == "x = 1\n"
    )


async def test_a_session_that_touches_nothing_changes_nothing(ground: Ground) -> None:
    workspace = await ground.workspace()
    assert holds_all(workspace.root)
    assert GIT.run(workspace.root, "status", "--porcelain") == ""
    assert workspace.snapshot() == ground.tree
    for name in ("a.bin", "deep/b.bin", "x"):
        (workspace.root / name).touch()
    assert workspace.snapshot() == ground.tree
    GIT.run(workspace.root, "read-tree", "HEAD")  # an index that knows nothing of the files
    assert workspace.snapshot() == ground.tree
    (workspace.root / ".git" / "index").unlink()
    assert workspace.snapshot() == ground.tree
    assert holds_all(workspace.root)


async def test_only_what_was_edited_is_in_the_change(ground: Ground) -> None:
    workspace = await ground.workspace()
    (workspace.root / "x").write_text("2\n")
    (workspace.root / "a.bin").touch()
    (workspace.root / "vendor/lib/generated.py").write_text("by a build\n")
    assert await ground.changes(workspace) == {"x"}


async def test_a_file_by_another_name_is_the_same_pointer_there(ground: Ground) -> None:
    workspace = await ground.workspace()
    (workspace.root / "a.bin").rename(workspace.root / "moved.bin")
    (workspace.root / "copy.bin").write_bytes(OTHER)
    GIT.run(workspace.root, "add", "--all")  # as a command of the session may
    assert await ground.changes(workspace) == {"moved.bin", "copy.bin"}
    quarantine = ground.home.session_repository(SESSION)
    assert run(quarantine, "cat-file", "blob", f"{workspace.head}:moved.bin") + "\n" == ground.pointer


async def test_a_file_may_be_deleted(ground: Ground) -> None:
    workspace = await ground.workspace()
    (workspace.root / "a.bin").unlink()
    assert await ground.changes(workspace) == {"a.bin"}


async def test_a_changed_file_is_refused_and_may_be_put_back(ground: Ground) -> None:
    workspace = await ground.workspace()
    (workspace.root / "x").write_text("2\n")
    (workspace.root / "a.bin").write_bytes(CONTENT + b"more")
    with pytest.raises(GitFailed, match=r"^a\.bin: Git LFS keeps this content"):
        workspace.save("work")
    (workspace.root / "a.bin").write_bytes(CONTENT[::-1])
    with pytest.raises(GitFailed, match=r"^a\.bin: Git LFS keeps this content"):
        workspace.snapshot()
    GIT.run(workspace.root, "checkout", "--", "a.bin")
    assert await ground.changes(workspace) == {"x"}


async def test_what_is_rescued_of_a_session_leaves_a_changed_file_out(ground: Ground) -> None:
    workspace = await ground.workspace()
    (workspace.root / "x").write_text("2\n")
    (workspace.root / "a.bin").write_bytes(b"changed")
    workspace.rescue("work in progress")
    assert workspace.head is not None
    assert workspace.changed(workspace.head) == ("x",)


async def test_a_revision_finds_the_content_too(ground: Ground) -> None:
    await ground.git.refresh_mirror(NAME, await ground.remote())
    mirror = ground.home.mirror(NAME)
    head = commit(mirror, BRANCH, {"x": "2\n", "new.txt": "n\r\n", "deep/b.bin": DELETED}, parent=ground.base)
    run(mirror, "update-ref", f"refs/overlord/canonical/{head}", head)
    workspace = await ground.workspace(head)
    assert (workspace.root / "a.bin").read_bytes() == CONTENT
    assert not (workspace.root / "deep/b.bin").exists()
    assert GIT.run(workspace.root, "status", "--porcelain") == ""
    assert workspace.snapshot() == run(mirror, "rev-parse", f"{head}^{{tree}}")
    (workspace.root / "y").write_text("3\n")
    assert await ground.changes(workspace) == {"x", "new.txt", "deep/b.bin", "y"}


async def test_a_submodules_files_are_for_reading(ground: Ground) -> None:
    workspace, ready = await ground.workspace(), await ground.ready()
    territory = Territory(workspace.root, Scope.unrestricted(), modules=ready.modules)
    assert territory.readable("vendor/lib/lib.py").read_text() == "x = 1\n"
    for path in ("vendor/lib/lib.py", "vendor/lib", "vendor/x/../lib/new.py"):
        with pytest.raises(ToolError, match="vendor/lib is a submodule"):
            territory.writable(path)
    assert territory.writable("vendor/library.py")


@pytest.mark.parametrize("tree", [Tree.BASE, Tree.HEAD])
async def test_check_steps_find_the_content(ground: Ground, tree: Tree) -> None:
    ready = await ground.ready()
    mirror = ground.home.mirror(NAME)
    head = commit(mirror, BRANCH, {"x": "2\n"}, parent=ground.base)
    run(mirror, "update-ref", f"refs/overlord/canonical/{head}", head)
    await ground.git.prepare_session(NAME, SESSION, {"main": ground.base, BRANCH: head}, None)
    brief = make_brief(ground.base, head, branch=BRANCH, base_branch="main")
    trees = Trees(ground.root, str(ground.home.session_repository(SESSION)), brief, GIT, ready=ready)
    directory = ground.root / "step"
    trees.lay_out(CheckStep(name="s", tree=tree, restore=("x",)), directory)
    trees.close()
    assert holds_all(directory)


async def test_a_damaged_copy_is_said_and_no_clone_without_the_files(ground: Ground) -> None:
    ready = await ground.ready()
    place = next(ground.home.ready(NAME).glob(f"{ground.base}-*"))
    content = place / "modules" / "0" / "content"
    content.chmod(0o644)
    content.write_bytes(b"")
    assert ready.modules == ("vendor/lib",)
    with pytest.raises(GitFailed, match="the ready copy cannot be laid out"):
        await ground.workspace()
