"""The mirrors, and what is read from and written to them."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.launch import Remote
from overlord.domain.repositories.extent import Mirror
from overlord.domain.scope.check import Change, Merge
from overlord.domain.scope.occurrences import Occurrences


class GitContent(Protocol):
    """What a commit of a mirror holds: all that a session API reads of it. Raises as `Git` does."""

    async def listing(self, name: RepositoryName, commit: Sha) -> Mapping[str, str]:
        """Every file of a commit with the name of its content (a blob's SHA); names that are no UTF-8 left out."""

    async def read_files(
        self, name: RepositoryName, commit: Sha, paths: Sequence[str], *, limit_bytes: int = 1_000_000
    ) -> Mapping[str, bytes]:
        """Those of the paths that are files at a commit, each with its content up to a limit; one call for many."""


class Git(GitContent, Protocol):
    """Git on bare repositories of our own; never in a tree a session could write. Raises GitFailed, or
    GitUnavailable when this machine has no room for another program just now."""

    async def refresh_mirror(
        self,
        name: RepositoryName,
        remote: Remote,
        *,
        branches: Sequence[str] = (),
        commits: Collection[Sha] = (),
    ) -> None:
        """Make or update the bare mirror: of these branches and the Minions' own, or of all when none is named. A mirror
        that began with a part of the history gets all of it when one of `commits` is not in that part."""

    async def branch_head(self, name: RepositoryName, branch: str) -> Sha | None:
        """What the mirror last saw this branch at."""

    async def branch_heads(self, name: RepositoryName, branches: Collection[str]) -> Mapping[str, Sha | None]:
        """What the mirror last saw each of these branches at, asked at once."""

    async def prepare_session(
        self, name: RepositoryName, session: SessionId, refs: Mapping[str, Sha], writable: str | None
    ) -> None:
        """Make a session's bare repository with these branches, the base branch first, and one that may be pushed.
        It holds their history and nothing else."""

    async def ready_copy(
        self, name: RepositoryName, base: Sha, remote: Callable[[], Awaitable[Remote]] | None = None
    ) -> Path | None:
        """A directory sessions on this base commit begin with, for reading only (`Launch.ready`). Made once, which may
        take seconds. None when git will not lay this commit out, or it is too large: a session clones it then.

        With a `remote`, it holds what the space's settings say is fetched beside the commit (submodules, Git LFS).
        Raises Unobtainable when that cannot be had, or is too large to lay out, and ForgeUnavailable when the forge does not
        give it now."""

    async def forget_ready(self, name: RepositoryName, *, keep: Collection[Sha]) -> None:
        """Let go of all but the newest few ready copies, and of none whose commit is in `keep`: what sessions use."""

    async def session_tree(self, session: SessionId, branch: str) -> Sha | None:
        """The tree a session last pushed to its branch, or None."""

    async def excess(self, session: SessionId, *, tree: Sha, parent: Sha) -> str:
        """In what the tree a session pushed is larger, seen from the commit it was made on, than anything here reads: the
        end of a sentence; empty when it is not. Asked before it is made a commit."""

    async def canonical_commit(
        self, name: RepositoryName, session: SessionId, *, tree: Sha, parent: Sha, message: str, at: datetime
    ) -> Sha:
        """One commit of our own making over a session's tree, brought into the mirror. Same arguments, same SHA."""

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
        """A commit of our own over `commit`'s tree with `paths` as they are at `base`. Same arguments, same SHA."""

    async def commit_files(
        self,
        name: RepositoryName,
        parent: Sha,
        files: Mapping[str, bytes | None],
        *,
        message: str,
        at: datetime,
    ) -> Sha:
        """A commit of our own on `parent` with these plain files, by their paths; None for one that goes. Same arguments, same SHA."""

    async def merge_base(self, name: RepositoryName, one: Sha, other: Sha) -> Sha | None:
        """The newest commit that both have in their history."""

    async def merge(
        self, name: RepositoryName, head: Sha, other: Sha, *, message: str, at: datetime
    ) -> Merge:
        """A commit of our own that brings `other` into `head`, made without a working copy. Same arguments, same SHA."""

    async def tree_of(self, name: RepositoryName, commit: Sha) -> Sha: ...
    async def changes(self, name: RepositoryName, base: Sha, head: Sha) -> Sequence[Change]:
        """Every path that differs, with modes and line counts, renames detected."""

    async def diff(self, name: RepositoryName, base: Sha, head: Sha, *, limit_bytes: int) -> str:
        """The unified diff, cut at a limit with a line that says so."""

    async def patch(self, name: RepositoryName, base: Sha, head: Sha, *, limit_bytes: int) -> bytes:
        """The whole difference as `git apply` takes it, binary files included. Raises GitFailed where it is longer than the limit."""

    async def sizes(self, name: RepositoryName, commit: Sha) -> Mapping[str, int]:
        """The bytes of every file of a commit, by path."""

    async def read_file(self, name: RepositoryName, commit: Sha, path: str) -> bytes | None:
        """A file's content at a commit, or None when it is not a file there."""

    async def occurrences(self, name: RepositoryName, commit: Sha, words: Sequence[str]) -> Occurrences:
        """Where the code of a commit defines symbols, and has them or whole phrases; what a bounded search does not come to is left
        out."""

    async def push(
        self, name: RepositoryName, remote: Remote, *, sha: Sha, branch: str, expected: Sha | None
    ) -> None:
        """Push to `refs/heads/minion/…` and nowhere else, if the branch still is at `expected` (None: absent).
        Raises PushRejected when it is not, PushRefused when the external service declines it (a rule, a hook, a permission)."""

    async def remote_head(self, name: RepositoryName, remote: Remote, branch: str) -> Sha | None:
        """Where the branch is at the external service now."""

    async def remove_session(self, session: SessionId) -> None: ...
    async def mirrors(self) -> Sequence[Mirror]:
        """Every repository that was fetched and not removed since."""

    async def tidy_mirror(self, name: RepositoryName, *, keep: Collection[Sha], before: datetime) -> None:
        """Let go of what a mirror holds beyond the forge's branches, but for `keep` and what was made since `before`."""

    async def remove_mirror(self, name: RepositoryName) -> None:
        """Let go of a mirror and all that was made from it; it is fetched anew when it is needed."""
