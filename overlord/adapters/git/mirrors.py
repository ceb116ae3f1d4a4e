"""Git as the engine needs it: bare mirrors, a quarantine for each session, canonical commits, and the one push.

Every repository here is bare and ours. Nothing runs in a tree a session could write, hooks are off, and a
session's commits never leave its quarantine: only their tree does, under a commit of our own making.
"""

import asyncio
import os
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from overlord.adapters.git.command import LASTING, git
from overlord.adapters.git.content.listing import excess
from overlord.adapters.git.content.reading import GitReading, is_there
from overlord.adapters.git.content.tree import commit_tree, merge_tree, tree_with, tree_without
from overlord.adapters.git.fetch import Fetch, fetch_branches, head_at, is_empty, signed_in
from overlord.adapters.git.gathering import Places, gather
from overlord.adapters.git.known import gitmodules_of, known_when_fetched
from overlord.adapters.git.push import refusal_of
from overlord.adapters.git.ready import (
    CONTENT,
    MAKING,
    MOST_BYTES,
    REPOSITORY,
    commit_of,
    make_ready,
    objects_of,
)
from overlord.adapters.git.session import make_session_repository
from overlord.adapters.git.upkeep import mirrors_in, tidy
from overlord.adapters.trash import Trash
from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.launch import Remote
from overlord.domain.repositories.extent import Extent, Mirror
from overlord.domain.scope.check import Merge
from overlord.errors import GitFailed, PushRejected
from overlord.failpoints import Failpoint, outward
from overlord.home import Home

BRANCH_PREFIX = "minion/"
_PLAIN_DIFF = ("--no-ext-diff", "--no-textconv")
KEPT_COPIES = 3
"""Ready copies of a space that are kept though no session uses them."""
_BASES = "refs/overlord/base/"
_COPY = re.compile(r"[0-9a-f]{40}[a-z-]*")
_IN_THE_WAY = "the forge has a branch called minion, and git keeps no branch minion/… beside it: rename it, then try again"
_SAFE_BRANCH = re.compile(r"minion/[A-Za-z0-9][A-Za-z0-9._-]*")


class GitMirrors(GitReading):
    """`ports.Git` over the `git` program."""

    def __init__(
        self,
        home: Home,
        *,
        extent: Callable[[str], Extent] = lambda _: Extent(),
        ready_bytes: int = MOST_BYTES,
    ) -> None:
        """`extent` says how much of a repository is fetched, `ready_bytes` how large the files of a commit may be together
        to have a ready copy."""
        super().__init__(home)
        self._extent = extent
        self._ready_bytes = ready_bytes
        self._trash = Trash(home.trash)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._fetched: dict[str, Fetch] = {}
        self._filled: set[Path] = set()
        """The mirrors that are known to hold branches."""

    @outward(Failpoint.FETCH)
    async def refresh_mirror(
        self,
        name: RepositoryName,
        remote: Remote,
        *,
        branches: Sequence[str] = (),
        commits: Collection[Sha] = (),
    ) -> None:
        mirror, asked = self._home.mirror(name), Fetch(remote.url, frozenset(branches), time.monotonic())
        async with self._locks[name]:
            # Whoever waited for another's fetch to begin and end has its result.
            is_answered = asked.is_answered_by(self._fetched.get(name)) and is_there(mirror)
            if is_answered and await self._has(mirror, commits):
                return
            begun = time.monotonic()
            if not is_there(mirror):
                self._filled.discard(mirror)
                self._trash.discard(mirror)
                mirror.parent.mkdir(parents=True, exist_ok=True)
                await git(mirror, "init", "--quiet", "--bare", "--template=", str(mirror))
            depth = await self._depth(name, mirror)
            wanted = [*branches, f"{BRANCH_PREFIX}*"] if branches else ["*"]
            try:
                await fetch_branches(mirror, remote, wanted, depth=depth)
            except GitFailed as error:
                if not branches or "couldn't find remote ref" not in str(error):
                    raise
                there = await self._still_there(name, remote, branches)
                wanted = [*there, f"{BRANCH_PREFIX}*"]
                await fetch_branches(mirror, remote, wanted, depth=depth)
            if (mirror / "shallow").exists() and not await self._has(mirror, commits):
                await fetch_branches(mirror, remote, wanted, whole=True)
            self._fetched[name] = replace(asked, at=begun)

    async def _depth(self, name: RepositoryName, mirror: Path) -> int:
        """How much of the history a mirror is to begin with; 0 for all of it, and for one that has begun."""
        if mirror in self._filled:
            return 0
        if await is_empty(mirror):
            return self._extent(name).history_depth
        self._filled.add(mirror)
        return 0

    async def _has(self, mirror: Path, commits: Collection[Sha]) -> bool:
        return all([await self._resolve(mirror, f"{commit}^{{tree}}") for commit in commits])

    async def branch_head(self, name: RepositoryName, branch: str) -> Sha | None:
        return (await self.branch_heads(name, [branch]))[branch]

    async def branch_heads(self, name: RepositoryName, branches: Collection[str]) -> Mapping[str, Sha | None]:
        references = {branch: f"refs/heads/{branch}" for branch in branches}
        found = await self._resolve_all(self._home.mirror(name), list(references.values()))
        return dict(zip(references, found, strict=True))

    @outward(Failpoint.PREPARE_REPOSITORY)
    async def prepare_session(
        self, name: RepositoryName, session: SessionId, refs: Mapping[str, Sha], writable: str | None
    ) -> None:
        repository = self._home.session_repository(session)
        if (repository / "ready").exists():
            return
        base = next(iter(refs.values()))
        # Any copy of this commit has its history.
        made = [copy for copy in _copies(self._home.ready(name)) if commit_of(copy) == base]
        history = made[0] if made else await self._ready(name, base, Extent())
        await self.remove_session(session)
        mirror = self._home.mirror(name)

        async def known(commit: Sha) -> frozenset[str]:
            return await self._memory.recall(
                ("gitmodules", name, commit), lambda: gitmodules_of(mirror, commit), len
            )

        await make_session_repository(
            repository,
            history=history / REPOSITORY,
            mirror=mirror,
            refs=refs,
            writable=writable,
            known=known,
        )

    @outward(Failpoint.MAKE_READY)
    async def ready_copy(
        self, name: RepositoryName, base: Sha, remote: Callable[[], Awaitable[Remote]] | None = None
    ) -> Path | None:
        extent = self._extent(name) if remote is not None else Extent()
        place = await self._ready(name, base, extent, remote)
        return place if (place / CONTENT).exists() else None

    @outward(Failpoint.FORGET_READY)
    async def forget_ready(self, name: RepositoryName, *, keep: Collection[Sha]) -> None:
        async with self._locks[f"ready {name}"]:
            copies = _copies(self._home.ready(name))
            for copy in copies[KEPT_COPIES:]:
                if commit_of(copy) not in keep:
                    self._trash.discard(copy)
            left = _copies(self._home.ready(name))
            used = {oid for copy in left for oid in objects_of(copy)}
            self._places(name).forget({copy.name for copy in left}, used, self._trash.discard)
            for gone in {commit_of(copy) for copy in copies} - {commit_of(copy) for copy in left}:
                await git(self._home.mirror(name), "update-ref", "-d", f"{_BASES}{gone}")

    def _places(self, name: RepositoryName) -> Places:
        home = self._home
        return Places(modules=home.modules(name), objects=home.large_objects(name), scratch=home.root)

    async def _ready(
        self,
        name: RepositoryName,
        base: Sha,
        extent: Extent,
        remote: Callable[[], Awaitable[Remote]] | None = None,
    ) -> Path:
        """The ready copy of a base commit, made if it is not there."""
        place, mirror = self._home.ready(name) / f"{base}{extent.mark}", self._home.mirror(name)
        async with self._locks[f"ready {name}"]:
            if place.exists():
                os.utime(place)
                return place
            # Named in the mirror: a branch that is forced leaves no session without the commit it began with.
            await git(mirror, "update-ref", f"{_BASES}{base}", base)
            for left in place.parent.glob(f"{MAKING}*"):
                self._trash.discard(left)
            gathered = None
            if extent.mark and remote is not None:
                gathered = await gather(
                    mirror, base, extent, await remote(), self._places(name), most_bytes=self._ready_bytes
                )
            older = _copies(place.parent)
            await make_ready(
                mirror, base, place, older=older, most_bytes=self._ready_bytes, gathered=gathered
            )
        return place

    async def excess(self, session: SessionId, *, tree: Sha, parent: Sha) -> str:
        return await excess(self._home.session_repository(session), tree, parent)

    async def session_tree(self, session: SessionId, branch: str) -> Sha | None:
        return await self._resolve(self._home.session_repository(session), f"refs/heads/{branch}^{{tree}}")

    @outward(Failpoint.KEEP_COMMIT)
    async def canonical_commit(
        self, name: RepositoryName, session: SessionId, *, tree: Sha, parent: Sha, message: str, at: datetime
    ) -> Sha:
        quarantine, mirror = self._home.session_repository(session), self._home.mirror(name)
        commit = await commit_tree(quarantine, tree, parent, message, at)
        await git(quarantine, "update-ref", "refs/overlord/canonical", commit, bounded=True)
        known, directory = known_when_fetched(quarantine)
        async with self._locks[name]:
            await git(
                mirror,
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-auto-gc",
                str(quarantine),
                f"+refs/overlord/canonical:refs/overlord/canonical/{commit}",
                settings={"fetch.fsckObjects": "true", **known, **LASTING},
                bounded=True,
                directory=directory,
            )
        return commit

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
        mirror = self._home.mirror(name)
        tree = await tree_without(mirror, commit, base=base, paths=paths, scratch=self._home.root)
        made = await commit_tree(mirror, tree, parent, message, at)
        await git(mirror, "update-ref", f"refs/overlord/canonical/{made}", made, bounded=True)
        return made

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
        mirror = self._home.mirror(name)
        tree = await tree_with(mirror, parent, files, scratch=self._home.root)
        made = await commit_tree(mirror, tree, parent, message, at)
        await git(mirror, "update-ref", f"refs/overlord/canonical/{made}", made, bounded=True)
        return made

    @outward(Failpoint.MERGE)
    async def merge(
        self, name: RepositoryName, head: Sha, other: Sha, *, message: str, at: datetime
    ) -> Merge:
        mirror = self._home.mirror(name)
        tree, conflicts = await merge_tree(mirror, head, other)
        made = await commit_tree(mirror, tree, head, message, at, other)
        await git(mirror, "update-ref", f"refs/overlord/canonical/{made}", made, bounded=True)
        return Merge(commit=made, conflicts=conflicts)

    async def tree_of(self, name: RepositoryName, commit: Sha) -> Sha:
        tree = await self._resolve(self._home.mirror(name), f"{commit}^{{tree}}")
        if tree is None:
            raise GitFailed(f"commit {commit} is not in the mirror of {name}")
        return tree

    @outward(Failpoint.PUSH)
    async def push(
        self, name: RepositoryName, remote: Remote, *, sha: Sha, branch: str, expected: Sha | None
    ) -> None:
        if not _SAFE_BRANCH.fullmatch(branch):
            raise GitFailed(f"Overlord pushes to {BRANCH_PREFIX}… only, not to {branch!r}")
        reference = f"refs/heads/{branch}"
        try:
            await git(
                self._home.mirror(name),
                "push",
                "--quiet",
                "--porcelain",
                "--no-verify",
                f"--force-with-lease={reference}:{expected or ''}",
                remote.url,
                f"{sha}:{reference}",
                settings=signed_in(remote),
                bounded=True,
            )
        except GitFailed as error:
            if await self.remote_head(name, remote, branch) not in (expected, sha):
                raise PushRejected(f"{branch} at the forge is not where Overlord left it") from error
            if await self.remote_head(name, remote, BRANCH_PREFIX.rstrip("/")):
                raise PushRejected(_IN_THE_WAY) from error
            raise refusal_of(error, branch) or error from None

    async def remote_head(self, name: RepositoryName, remote: Remote, branch: str) -> Sha | None:
        return await head_at(self._home.mirror(name), remote, branch, scratch=self._home.root)

    async def _still_there(self, name: RepositoryName, remote: Remote, branches: Sequence[str]) -> list[str]:
        """Those of these branches the forge still has; the mirror forgets the others."""
        found = {branch: await self.remote_head(name, remote, branch) for branch in branches}
        for gone in (branch for branch, head in found.items() if head is None):
            await git(self._home.mirror(name), "update-ref", "-d", f"refs/heads/{gone}")
        return [branch for branch, head in found.items() if head]

    async def mirrors(self) -> Sequence[Mirror]:
        return await asyncio.to_thread(lambda: list(mirrors_in(self._home.mirrors)))

    @outward(Failpoint.TIDY_MIRROR)
    async def tidy_mirror(self, name: RepositoryName, *, keep: Collection[Sha], before: datetime) -> None:
        if is_there(mirror := self._home.mirror(name)):
            async with self._locks[name]:
                await tidy(mirror, keep=keep, before=before)

    @outward(Failpoint.REMOVE_MIRROR)
    async def remove_mirror(self, name: RepositoryName) -> None:
        home = self._home
        async with self._locks[name]:
            self._filled.discard(home.mirror(name))
            for place in (home.mirror(name), home.ready(name), home.modules(name), home.large_objects(name)):
                self._trash.discard(place)

    @outward(Failpoint.REMOVE_REPOSITORY)
    async def remove_session(self, session: SessionId) -> None:
        self._trash.discard(self._home.session(session))


def _copies(place: Path) -> list[Path]:
    """The finished ready copies of a space, the one used last first."""
    found = [copy for copy in place.glob("*") if _COPY.fullmatch(copy.name)]
    return sorted(found, key=lambda copy: copy.stat().st_mtime_ns, reverse=True)
