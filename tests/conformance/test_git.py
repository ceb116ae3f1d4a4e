"""What the engine is promised of git (ports.Git), by the program and by the one in memory.

What only a real git can break (hooks, attributes, odd names, configuration) is in tests/adapters/test_git.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest

from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.changes.diff import parse_diff
from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.launch import Remote
from overlord.domain.scope.check import Change
from overlord.embedded.forge.repository import Content, Link
from overlord.errors import GitFailed, PushRejected
from overlord.home import Home
from overlord.ports.git import Git
from tests.memory.git import MemoryGit
from tests.memory.repository import Objects, Repository
from tests.plumbing import DELETED, commit, run

NAME = RepositoryName("Acme/Calc")
SESSION = SessionId("j1-work-1")
BRANCH = "minion/issue-7"
AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
ABSENT = Sha("f" * 40)
Files = Mapping[str, Content | None]
BASE: Files = {
    "README.md": "# calc\n",
    "calc.py": "def add(a, b):\n    return a - b\n" * 5,
    "run.sh": "#!/bin/sh\n",
    "docs/a.md": "a\n",
}


class Ground(Protocol):
    """An external service with one branch, and an Overlord's git beside it."""

    remote: Remote

    @property
    def git(self) -> Git: ...
    def commit(self, branch: str, files: Files, *, parent: Sha | None = None) -> Sha:
        """Somebody commits at the external service."""
        ...

    def delete(self, branch: str) -> None: ...
    def push(self, files: Files) -> None:
        """The session pushes its branch: the commit it began with, with these files over it."""
        ...


@dataclass
class MemoryGround:
    git: MemoryGit
    remote: Remote
    far: Repository

    def commit(self, branch: str, files: Files, *, parent: Sha | None = None) -> Sha:
        return self.far.commit_files(branch, files, parent=parent, message="secret", author="m", at=AT)

    def delete(self, branch: str) -> None:
        del self.far.heads[branch]

    def push(self, files: Files) -> None:
        self.git.sessions[SESSION].pushed.clear()
        self.git.push_session(SESSION, BRANCH, files)


@dataclass
class ProgramGround:
    git: GitMirrors
    remote: Remote
    home: Home

    def commit(self, branch: str, files: Files, *, parent: Sha | None = None) -> Sha:
        return commit(Path(self.remote.url), branch, _plumbed(files), parent=parent)

    def delete(self, branch: str) -> None:
        run(Path(self.remote.url), "update-ref", "-d", f"refs/heads/{branch}")

    def push(self, files: Files) -> None:
        repository = self.home.session_repository(SESSION)
        began = run(repository, "rev-parse", "refs/heads/main")
        commit(repository, BRANCH, _plumbed(files), parent=began)


def _plumbed(files: Files) -> dict[str | bytes, str | bytes | tuple[str, bytes]]:
    found: dict[str | bytes, str | bytes | tuple[str, bytes]] = {}
    for path, content in files.items():
        if isinstance(content, Link):
            found[path] = ("160000" if content.is_submodule else "120000", content.to.encode())
        elif content is None:
            found[path] = DELETED
        else:
            data = content.encode() if isinstance(content, str) else content
            found[path] = ("100755" if data.startswith(b"#!") else "100644", data)
    return found


@pytest.fixture(params=["memory", "program"])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Ground:
    if request.param == "memory":
        far = Repository(Objects())
        git = MemoryGit(far.objects, {"memory": far}.__getitem__)
        return MemoryGround(git, Remote(url="memory"), far)
    place, home = tmp_path / "far.git", Home(tmp_path / "home")
    run(place, "init", "--quiet", "--bare", "--initial-branch=main", str(place))
    home.root.mkdir()
    return ProgramGround(GitMirrors(home), Remote(url=str(place)), home)


@dataclass
class Begun:
    """An external service whose base is mirrored, and a session on it."""

    ground: Ground
    base: Sha

    @property
    def git(self) -> Git:
        return self.ground.git

    async def submit(self, files: Files) -> Sha:
        """What the session pushed, as the canonical commit it becomes."""
        self.ground.push(files)
        tree = await self.git.session_tree(SESSION, BRANCH)
        assert tree is not None
        return await self.git.canonical_commit(
            NAME, SESSION, tree=tree, parent=self.base, message="Add x\n\nIssue 7.", at=AT
        )


@pytest.fixture
async def begun(ground: Ground) -> Begun:
    base = ground.commit("main", BASE)
    await ground.git.refresh_mirror(NAME, ground.remote)
    await ground.git.prepare_session(NAME, SESSION, {"main": base, BRANCH: base}, BRANCH)
    return Begun(ground, base)


async def test_a_mirror_follows_its_branches_when_it_is_refreshed(ground: Ground) -> None:
    async def head(branch: str) -> Sha | None:
        return await ground.git.branch_head(NAME, branch)

    base = ground.commit("main", BASE)
    assert await head("main") is None
    await ground.git.refresh_mirror(NAME, ground.remote)
    other = ground.commit("topic", {"x": "1"}, parent=base)
    assert (await head("main"), await head("topic")) == (base, None)
    await ground.git.refresh_mirror(NAME, ground.remote)
    assert await head("topic") == other
    ground.delete("topic")
    await ground.git.refresh_mirror(NAME, ground.remote)
    assert await head("topic") is None
    assert await ground.git.branch_head(RepositoryName("acme/never"), "main") is None
    assert await ground.git.branch_heads(RepositoryName("acme/never"), ["b", "a"]) == {"b": None, "a": None}


async def test_of_named_branches_and_minions_alone_is_the_mirror_made(ground: Ground) -> None:
    base = ground.commit("main", BASE)
    for branch in ("topic", BRANCH):
        ground.commit(branch, {"x": "1"}, parent=base)
    await ground.git.refresh_mirror(NAME, ground.remote, branches=["main"])
    found = await ground.git.branch_heads(NAME, ["main", "topic", BRANCH])
    assert found == {branch: await ground.git.branch_head(NAME, branch) for branch in found}
    assert (found["main"], found["topic"]) == (base, None)
    assert found[BRANCH] is not None


async def test_a_repository_without_commits_has_no_branch(ground: Ground) -> None:
    await ground.git.refresh_mirror(NAME, ground.remote)
    assert await ground.git.branch_head(NAME, "main") is None
    assert [mirror.name for mirror in await ground.git.mirrors()] == ["acme/calc"]


async def test_a_session_begins_with_base_and_what_it_pushed_outlives_a_second_preparation(
    begun: Begun,
) -> None:
    before = await begun.git.session_tree(SESSION, BRANCH)
    assert before == await begun.git.tree_of(NAME, begun.base)
    begun.ground.push({"x": "1\n"})
    pushed = await begun.git.session_tree(SESSION, BRANCH)
    assert pushed != before
    refs = {"main": begun.base, BRANCH: begun.base}
    await begun.git.prepare_session(NAME, SESSION, refs, BRANCH)
    assert await begun.git.session_tree(SESSION, BRANCH) == pushed
    assert await begun.git.session_tree(SESSION, "minion/other") is None
    for _ in range(2):
        await begun.git.remove_session(SESSION)
    assert await begun.git.session_tree(SESSION, BRANCH) is None


async def test_a_canonical_commit_is_the_same_every_time_and_outlives_a_refresh(begun: Begun) -> None:
    head = await begun.submit({"x": "1"})
    assert await begun.submit({"x": "1"}) == head
    assert await begun.submit({"x": "2"}) != head
    await begun.git.refresh_mirror(NAME, begun.ground.remote)
    assert await begun.git.read_file(NAME, head, "x") == b"1"
    assert await begun.git.merge_base(NAME, head, begun.base) == begun.base


async def test_a_commit_that_is_not_in_the_mirror_is_named_and_never_an_empty_answer(begun: Begun) -> None:
    unfetched = begun.ground.commit("topic", {"x": "1"}, parent=begun.base)
    for sha in (ABSENT, unfetched):
        with pytest.raises(GitFailed, match=f"commit {sha} is not in the mirror of Acme/Calc"):
            await begun.git.tree_of(NAME, sha)
        with pytest.raises(GitFailed):
            await begun.git.changes(NAME, begun.base, sha)
        with pytest.raises(GitFailed):
            await begun.git.diff(NAME, begun.base, sha, limit_bytes=1000)
        with pytest.raises(GitFailed):
            await begun.git.read_files(NAME, sha, ["x"])


async def test_every_kind_of_change_is_told_and_the_diff_fits(begun: Begun) -> None:
    head = await begun.submit(
        {
            "README.md": Link("/etc/passwd"),
            "calc.py": "def add(a, b):\n    return a + b\n",
            "docs/a.md": None,
            "run.sh": "true\n",
            "new.py": "x = 1",
            "image.png": bytes(range(256)),
            "link": Link("../../etc/passwd"),
            "module": Link(ABSENT, is_submodule=True),
        }
    )
    found = await begun.git.changes(NAME, begun.base, head)
    assert {change.path: change for change in found} == {
        "README.md": Change(
            path="README.md", status="T", old_mode="100644", new_mode="120000", added=1, removed=1
        ),
        "calc.py": Change(
            path="calc.py", status="M", old_mode="100644", new_mode="100644", added=1, removed=9
        ),
        "docs/a.md": Change(path="docs/a.md", status="D", old_mode="100644", removed=1),
        "run.sh": Change(path="run.sh", status="M", old_mode="100755", new_mode="100644", added=1, removed=1),
        "new.py": Change(path="new.py", status="A", new_mode="100644", added=1),
        "image.png": Change(path="image.png", status="A", new_mode="100644", binary=True),
        "link": Change(path="link", status="A", new_mode="120000", added=1),
        "module": Change(path="module", status="A", new_mode="160000", added=1),
    }
    diff = await begun.git.diff(NAME, begun.base, head, limit_bytes=100_000)
    parsed = parse_diff(found, diff)
    assert parsed is not None
    added = {item.change.path: [line.text for line in item.added] for item in parsed}
    assert (added["new.py"], added["calc.py"]) == (["x = 1"], ["    return a + b"])


async def test_a_rename_has_both_its_ends(begun: Begun) -> None:
    content = BASE["calc.py"]
    head = await begun.submit({"calc.py": None, "src/sum.py": content})
    moved = Change(path="src/sum.py", old_path="calc.py", status="R", old_mode="100644", new_mode="100644")
    found = await begun.git.changes(NAME, begun.base, head)
    assert found == [moved]
    assert parse_diff(found, await begun.git.diff(NAME, begun.base, head, limit_bytes=10_000)) is not None
    assert await begun.git.changes(NAME, head, head) == []


async def test_the_diff_is_whole_or_says_that_it_is_cut(begun: Begun) -> None:
    head = await begun.submit({"new.py": "x = 1\n" * 1000})
    whole = await begun.git.diff(NAME, begun.base, head, limit_bytes=100_000)
    assert whole.count("+x = 1\n") == 1000
    cut = await begun.git.diff(NAME, begun.base, head, limit_bytes=500)
    assert cut == whole[:500] + "\n[cut: the diff is longer than 500 bytes]\n"
    assert await begun.git.diff(NAME, begun.base, head, limit_bytes=len(whole)) == whole


async def test_files_are_read_at_a_commit_and_nothing_else_is(begun: Begun) -> None:
    head = await begun.submit(
        {"bytes": bytes(range(256)), "link": Link("README.md"), "module": Link(ABSENT, is_submodule=True)}
    )
    paths = ["bytes", "link", "module", "docs", "missing/too"]
    alone = {path: await begun.git.read_file(NAME, head, path) for path in paths}
    assert {path: content for path, content in alone.items() if content is not None} == {
        "bytes": bytes(range(256)),
        "link": b"README.md",
    }
    together = await begun.git.read_files(NAME, head, paths, limit_bytes=3)
    assert together == {"bytes": bytes(range(3)), "link": b"REA"}
    assert (await begun.git.sizes(NAME, head)).items() >= {("bytes", 256), ("link", 9), ("README.md", 7)}
    assert "module" not in await begun.git.sizes(NAME, head)
    listed = await begun.git.listing(NAME, head)
    assert set(listed) == {*BASE, "bytes", "link"}
    assert listed["README.md"] == (await begun.git.listing(NAME, begun.base))["README.md"]
    assert listed["README.md"] == "4346fdb29f965050f4d476c7c78e7bb3b07db52e"


async def test_what_defines_a_name_is_found(begun: Begun) -> None:
    found = await begun.git.occurrences(NAME, begun.base, ["add", "nothing"])
    assert found.definitions == {"add": ("calc.py",)}
    assert "calc.py" in found.mentions["add"]


async def test_files_are_committed_on_a_parent_without_any_session(begun: Begun) -> None:
    async def commit() -> Sha:
        files = {".nebulus/contract/contract.yaml": b"name: x\n", "calc.py": None}
        return await begun.git.commit_files(NAME, begun.base, files, message="Contract", at=AT)

    made = await commit()
    assert await commit() == made
    assert await begun.git.read_file(NAME, made, ".nebulus/contract/contract.yaml") == b"name: x\n"
    assert await begun.git.read_file(NAME, made, "calc.py") is None
    changed = {change.path for change in await begun.git.changes(NAME, begun.base, made)}
    assert changed == {".nebulus/contract/contract.yaml", "calc.py"}


async def test_dropped_paths_are_as_they_were_at_base(begun: Begun) -> None:
    head = await begun.submit(
        {"calc.py": "kept = True\n", "new.py": "x", "README.md": None, "docs/a.md": "b\n"}
    )

    async def drop() -> Sha:
        paths = ("new.py", "README.md", "docs/a.md")
        return await begun.git.drop(
            NAME, head, base=begun.base, paths=paths, parent=begun.base, message="m", at=AT
        )

    made = await drop()
    assert await drop() == made
    assert [change.path for change in await begun.git.changes(NAME, begun.base, made)] == ["calc.py"]


async def test_a_merge_brings_both_sides_in_and_names_what_is_in_conflict(begun: Begun) -> None:
    head = await begun.submit({"mine.py": "x = 1\n", "docs/a.md": "mine\n"})
    clean = begun.ground.commit("main", {"theirs.py": "y = 1\n"}, parent=begun.base)
    await begun.git.refresh_mirror(NAME, begun.ground.remote)
    merged = await begun.git.merge(NAME, head, clean, message="m", at=AT)
    assert merged.conflicts == ()
    assert merged == await begun.git.merge(NAME, head, clean, message="m", at=AT)
    read = await begun.git.read_files(NAME, Sha(merged.commit), ["mine.py", "theirs.py"])
    assert set(read) == {"mine.py", "theirs.py"}
    assert await begun.git.merge_base(NAME, Sha(merged.commit), clean) == clean
    against = begun.ground.commit("main", {"docs/a.md": "theirs\n"}, parent=begun.base)
    await begun.git.refresh_mirror(NAME, begun.ground.remote)
    conflicted = await begun.git.merge(NAME, head, against, message="m", at=AT)
    assert conflicted.conflicts == ("docs/a.md",)
    marked = await begun.git.read_file(NAME, Sha(conflicted.commit), "docs/a.md")
    assert marked is not None
    assert b"mine\n=======\ntheirs\n" in marked


async def test_both_sides_may_change_one_file_in_other_lines(begun: Begun) -> None:
    text = str(BASE["calc.py"])
    head = await begun.submit({"calc.py": "# mine\n" + text})
    theirs = begun.ground.commit("main", {"calc.py": text + "# theirs\n"}, parent=begun.base)
    await begun.git.refresh_mirror(NAME, begun.ground.remote)
    merged = await begun.git.merge(NAME, head, theirs, message="m", at=AT)
    assert merged.conflicts == ()
    joined = await begun.git.read_file(NAME, Sha(merged.commit), "calc.py")
    assert joined == f"# mine\n{text}# theirs\n".encode()


async def test_a_branch_is_pushed_once_and_moved_from_where_it_was(begun: Begun) -> None:
    git, remote = begun.git, begun.ground.remote
    first = await begun.submit({"x": "1"})
    assert await git.remote_head(NAME, remote, BRANCH) is None
    for expected in (None, first):
        await git.push(NAME, remote, sha=first, branch=BRANCH, expected=expected)
        assert await git.remote_head(NAME, remote, BRANCH) == first
    second = await begun.submit({"x": "2"})
    await git.push(NAME, remote, sha=second, branch=BRANCH, expected=first)
    assert await git.remote_head(NAME, remote, BRANCH) == second


async def test_a_branch_somebody_else_moved_or_deleted_is_left_alone(begun: Begun) -> None:
    git, remote = begun.git, begun.ground.remote
    head = await begun.submit({"x": "1"})
    with pytest.raises(PushRejected):
        await git.push(NAME, remote, sha=head, branch=BRANCH, expected=begun.base)
    theirs = begun.ground.commit(BRANCH, {"x": "theirs"}, parent=begun.base)
    for expected in (None, begun.base):
        with pytest.raises(PushRejected, match="minion/issue-7 at the forge is not where Overlord left it"):
            await git.push(NAME, remote, sha=head, branch=BRANCH, expected=expected)
    assert await git.remote_head(NAME, remote, BRANCH) == theirs


async def test_nothing_but_a_minions_branch_is_pushed(begun: Begun) -> None:
    with pytest.raises(GitFailed, match="Overlord pushes to minion/… only"):
        await begun.git.push(NAME, begun.ground.remote, sha=begun.base, branch="main", expected=None)


async def test_a_mirror_that_was_removed_is_fetched_anew(begun: Begun) -> None:
    await begun.git.remove_mirror(NAME)
    assert await begun.git.branch_head(NAME, "main") is None
    await begun.git.refresh_mirror(NAME, begun.ground.remote)
    assert await begun.git.branch_head(NAME, "main") == begun.base
