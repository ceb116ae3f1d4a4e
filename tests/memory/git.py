"""`ports.Git` in memory: mirrors of repositories in memory, and what sessions push. No commit is laid out for sessions.

`push_session` is the session's side: what the Minion in it would push to its branch.
"""

import shutil
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.launch import Remote
from overlord.domain.repositories.extent import Mirror
from overlord.domain.scope.check import Change, Merge
from overlord.domain.scope.occurrences import Occurrences, is_sought, occurrences
from overlord.embedded.forge.repository import Content
from overlord.errors import ChangeTooLong, GitFailed, PushRejected
from overlord.failpoints import Failpoint, outward
from overlord.home import Home
from tests.memory.repository import (
    LINK,
    SUBMODULE,
    Entry,
    Objects,
    Repository,
    Tree,
    changed,
    changes_between,
    diff_of,
    with_paths_of,
)

OURS = "Overlord <overlord@users.noreply.github.com>"


@dataclass(slots=True)
class _Mirror:
    heads: dict[str, Sha] = field(default_factory=dict)
    known: set[Sha] = field(default_factory=set)
    """Every commit that was fetched, or made here."""
    is_there: bool = False


@dataclass(slots=True)
class _Session:
    refs: dict[str, Sha]
    writable: str | None
    pushed: dict[str, Tree] = field(default_factory=dict)


class MemoryGit:
    """Git over objects. `far` finds the repository that a remote's URL names."""

    def __init__(self, objects: Objects, far: Callable[[str], Repository], home: Home | None = None) -> None:
        """`home` is where a session's other files lie, which go with its repository."""
        self._objects = objects
        self._far = far
        self._home = home
        self._mirrors: dict[str, _Mirror] = {}
        self.sessions: dict[SessionId, _Session] = {}

    def push_session(self, session: SessionId, branch: str, files: Mapping[str, Content | None]) -> None:
        """What a session pushes to its branch: the branch as it is there, with these files over it."""
        known = self.sessions[session]
        assert branch == known.writable, "the door takes no push to another branch"
        before = known.pushed.get(branch) or self._objects.commits[known.refs[branch]].tree
        known.pushed[branch] = changed(before, files)

    def _mirror(self, name: RepositoryName) -> _Mirror:
        return self._mirrors.setdefault(name.casefold(), _Mirror())

    @outward(Failpoint.FETCH)
    async def refresh_mirror(
        self,
        name: RepositoryName,
        remote: Remote,
        *,
        branches: Sequence[str] = (),
        commits: Collection[Sha] = (),
    ) -> None:
        mirror, far = self._mirror(name), self._far(remote.url)
        mirror.is_there = True
        for branch in {*far.heads, *mirror.heads}:
            if branches and branch not in branches and not branch.startswith("minion/"):
                continue
            if branch in far.heads:
                mirror.heads[branch] = far.heads[branch]
                mirror.known |= {commit.sha for commit in self._objects.history(far.heads[branch])}
            else:
                del mirror.heads[branch]

    async def branch_head(self, name: RepositoryName, branch: str) -> Sha | None:
        return self._mirror(name).heads.get(branch)

    async def branch_heads(self, name: RepositoryName, branches: Collection[str]) -> Mapping[str, Sha | None]:
        heads = self._mirror(name).heads
        return {branch: heads.get(branch) for branch in branches}

    @outward(Failpoint.PREPARE_REPOSITORY)
    async def prepare_session(
        self, name: RepositoryName, session: SessionId, refs: Mapping[str, Sha], writable: str | None
    ) -> None:
        for commit in refs.values():
            self._tree(name, commit)
        self.sessions.setdefault(session, _Session(dict(refs), writable))

    async def ready_copy(
        self, name: RepositoryName, base: Sha, remote: Callable[[], Awaitable[Remote]] | None = None
    ) -> Path | None:
        self._tree(name, base)
        return None

    async def forget_ready(self, name: RepositoryName, *, keep: Collection[Sha]) -> None:
        """There are none."""

    async def session_tree(self, session: SessionId, branch: str) -> Sha | None:
        known = self.sessions.get(session)
        if known is None or branch not in known.refs:
            return None
        tree = known.pushed.get(branch)
        return self._objects.tree(self._objects.commits[known.refs[branch]].tree if tree is None else tree)

    async def excess(self, session: SessionId, *, tree: Sha, parent: Sha) -> str:
        return ""

    @outward(Failpoint.KEEP_COMMIT)
    async def canonical_commit(
        self, name: RepositoryName, session: SessionId, *, tree: Sha, parent: Sha, message: str, at: datetime
    ) -> Sha:
        if session not in self.sessions or tree not in self._objects.trees:
            raise GitFailed(f"{session} has no tree {tree}")
        return self._commit(name, self._objects.trees[tree], (parent,), message, at)

    @outward(Failpoint.DROP_PATHS)
    async def drop(
        self,
        name: RepositoryName,
        commit: Sha,
        *,
        base: Sha,
        paths: Collection[str],
        parent: Sha,
        message: str,
        at: datetime,
    ) -> Sha:
        tree = with_paths_of(self._tree(name, commit), self._tree(name, base), paths)
        return self._commit(name, tree, (parent,), message, at)

    @outward(Failpoint.COMMIT_FILES)
    async def commit_files(
        self,
        name: RepositoryName,
        parent: Sha,
        files: Mapping[str, bytes | None],
        *,
        message: str,
        at: datetime,
    ) -> Sha:
        made = {path: Entry("100644", data) for path, data in files.items() if data is not None}
        kept = {path: entry for path, entry in self._tree(name, parent).items() if path not in files}
        return self._commit(name, {**kept, **made}, (parent,), message, at)

    async def merge_base(self, name: RepositoryName, one: Sha, other: Sha) -> Sha | None:
        self._tree(name, one), self._tree(name, other)
        return self._objects.merge_base(one, other)

    @outward(Failpoint.MERGE)
    async def merge(
        self, name: RepositoryName, head: Sha, other: Sha, *, message: str, at: datetime
    ) -> Merge:
        self._tree(name, head), self._tree(name, other)
        tree, conflicts = self._objects.merged(head, other)
        return Merge(commit=self._commit(name, tree, (head, other), message, at), conflicts=conflicts)

    async def tree_of(self, name: RepositoryName, commit: Sha) -> Sha:
        return self._objects.tree(self._tree(name, commit))

    async def changes(self, name: RepositoryName, base: Sha, head: Sha) -> Sequence[Change]:
        return changes_between(self._tree(name, base), self._tree(name, head))

    async def diff(self, name: RepositoryName, base: Sha, head: Sha, *, limit_bytes: int) -> str:
        content = diff_of(self._tree(name, base), self._tree(name, head)).encode()
        text = content[:limit_bytes].decode(errors="replace")
        cut = f"\n[cut: the diff is longer than {limit_bytes} bytes]\n"
        return text if len(content) <= limit_bytes else text + cut

    async def patch(self, name: RepositoryName, base: Sha, head: Sha, *, limit_bytes: int) -> bytes:
        content = diff_of(self._tree(name, base), self._tree(name, head)).encode()
        if len(content) > limit_bytes:
            raise ChangeTooLong(f"the change is longer than {limit_bytes:,} bytes")
        return content

    async def sizes(self, name: RepositoryName, commit: Sha) -> Mapping[str, int]:
        found = self._tree(name, commit).items()
        return {path: len(entry.data) for path, entry in found if entry.mode != SUBMODULE}

    async def read_file(self, name: RepositoryName, commit: Sha, path: str) -> bytes | None:
        entry = self._tree(name, commit).get(path)
        return entry.data if entry is not None and entry.mode != SUBMODULE else None

    async def listing(self, name: RepositoryName, commit: Sha) -> Mapping[str, str]:
        found = sorted(self._tree(name, commit).items())
        return {path: entry.sha for path, entry in found if entry.mode != SUBMODULE}

    async def read_files(
        self, name: RepositoryName, commit: Sha, paths: Sequence[str], *, limit_bytes: int = 1_000_000
    ) -> Mapping[str, bytes]:
        tree = self._tree(name, commit)
        return {
            path: tree[path].data[:limit_bytes]
            for path in paths
            if path in tree and tree[path].mode != SUBMODULE
        }

    async def occurrences(self, name: RepositoryName, commit: Sha, words: Sequence[str]) -> Occurrences:
        lines = [
            (path, line)
            for path, entry in sorted(self._tree(name, commit).items())
            if entry.mode not in {LINK, SUBMODULE}
            for line in entry.data.decode(errors="replace").splitlines()
        ]
        return occurrences(sorted(word for word in words if is_sought(word)), lines)

    @outward(Failpoint.PUSH)
    async def push(
        self, name: RepositoryName, remote: Remote, *, sha: Sha, branch: str, expected: Sha | None
    ) -> None:
        if not branch.startswith("minion/"):
            raise GitFailed(f"Overlord pushes to minion/… only, not to {branch!r}")
        self._tree(name, sha)
        far = self._far(remote.url)
        if far.heads.get(branch) not in (expected, sha):
            raise PushRejected(f"{branch} at the forge is not where Overlord left it")
        far.heads[branch] = sha

    async def remote_head(self, name: RepositoryName, remote: Remote, branch: str) -> Sha | None:
        return self._far(remote.url).heads.get(branch)

    @outward(Failpoint.REMOVE_REPOSITORY)
    async def remove_session(self, session: SessionId) -> None:
        self.sessions.pop(session, None)
        if self._home is not None:
            shutil.rmtree(self._home.session(session), ignore_errors=True)

    async def mirrors(self) -> Sequence[Mirror]:
        used_at = datetime(2026, 1, 1, tzinfo=UTC)
        there = [name for name, mirror in self._mirrors.items() if mirror.is_there]
        return [Mirror(name=name, size=0, used_at=used_at) for name in there]

    async def tidy_mirror(self, name: RepositoryName, *, keep: Collection[Sha], before: datetime) -> None:
        """Nothing here costs any room."""

    async def remove_mirror(self, name: RepositoryName) -> None:
        self._mirrors.pop(name.casefold(), None)

    def _tree(self, name: RepositoryName, commit: Sha) -> Tree:
        if commit not in self._mirror(name).known:
            raise GitFailed(f"commit {commit} is not in the mirror of {name}")
        return self._objects.commits[commit].tree

    def _commit(
        self, name: RepositoryName, tree: Tree, parents: tuple[Sha, ...], message: str, at: datetime
    ) -> Sha:
        for parent in parents:
            self._tree(name, parent)
        sha = self._objects.commit(tree, parents, message=message, author=OURS, at=at)
        self._mirror(name).known.add(sha)
        return sha
