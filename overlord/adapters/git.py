"""Git as the engine needs it: bare mirrors, a quarantine for each session, canonical commits, and the one push.

Every repository here is bare and ours. Nothing runs in a tree a session could write, hooks are off, and a
session's commits never leave its quarantine: only their tree does, under a commit of our own making.
"""

import asyncio
import os
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from overlord.adapters.git_command import git
from overlord.adapters.git_reading import GitReading, is_there
from overlord.adapters.git_ready import CONTENT, MAKING, MOST_BYTES, REPOSITORY, make_ready
from overlord.adapters.git_session import make_session_repository
from overlord.adapters.git_tree import commit_tree, tree_without
from overlord.adapters.trash import Trash
from overlord.errors import GitFailed, PushRejected
from overlord.home import Home
from overlord.ports import Remote, RepositoryName, SessionId, Sha

BRANCH_PREFIX = "minion/"
_PLAIN_DIFF = ("--no-ext-diff", "--no-textconv")
KEPT_COPIES = 3
"""Ready copies of a space that are kept though no session uses them."""
_BASES = "refs/overlord/base/"
_SHA = re.compile(r"[0-9a-f]{40}")
_IN_THE_WAY = "the forge has a branch called minion, and git keeps no branch minion/… beside it: rename it, then try again"
_SAFE_BRANCH = re.compile(r"minion/[A-Za-z0-9][A-Za-z0-9._-]*")


class GitMirrors(GitReading):
    """`ports.Git` over the `git` program."""

    def __init__(self, home: Home, *, ready_bytes: int = MOST_BYTES) -> None:
        """`ready_bytes` is how large the files of a commit may be together to have a ready copy."""
        super().__init__(home)
        self._ready_bytes = ready_bytes
        self._trash = Trash(home.trash)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def refresh_mirror(
        self, name: RepositoryName, remote: Remote, *, branches: Sequence[str] = ()
    ) -> None:
        mirror = self._home.mirror(name)
        async with self._locks[name]:
            if not is_there(mirror):
                mirror.parent.mkdir(parents=True, exist_ok=True)
                await git(mirror, "init", "--quiet", "--bare", "--template=", str(mirror))
            try:
                await self._fetch(mirror, remote, [*branches, f"{BRANCH_PREFIX}*"] if branches else ["*"])
            except GitFailed as error:
                if not branches or "couldn't find remote ref" not in str(error):
                    raise
                there = await self._still_there(name, remote, branches)
                await self._fetch(mirror, remote, [*there, f"{BRANCH_PREFIX}*"])

    async def _fetch(self, mirror: Path, remote: Remote, names: Sequence[str]) -> None:
        await git(
            mirror,
            "fetch",
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-gc",
            "--update-shallow",
            remote.url,
            *(f"+refs/heads/{name}:refs/heads/{name}" for name in names),
            settings=_signed_in(remote),
        )

    async def branch_head(self, name: RepositoryName, branch: str) -> Sha | None:
        return await self._resolve(self._home.mirror(name), f"refs/heads/{branch}")

    async def prepare_session(
        self, name: RepositoryName, session: SessionId, refs: Mapping[str, Sha], writable: str | None
    ) -> None:
        repository = self._home.session_repository(session)
        if (repository / "ready").exists():
            return
        history = await self._ready(name, next(iter(refs.values())))
        await self.remove_session(session)
        mirror = self._home.mirror(name)
        await make_session_repository(
            repository, history=history / REPOSITORY, mirror=mirror, refs=refs, writable=writable
        )

    async def ready_copy(self, name: RepositoryName, base: Sha) -> Path | None:
        place = await self._ready(name, base)
        return place if (place / CONTENT).exists() else None

    async def forget_ready(self, name: RepositoryName, *, keep: Collection[Sha]) -> None:
        async with self._locks[f"ready {name}"]:
            for copy in _copies(self._home.ready(name))[KEPT_COPIES:]:
                if copy.name not in keep:
                    self._trash.discard(copy)
                    await git(self._home.mirror(name), "update-ref", "-d", f"{_BASES}{copy.name}")

    async def _ready(self, name: RepositoryName, base: Sha) -> Path:
        """The ready copy of a base commit, made if it is not there."""
        place, mirror = self._home.ready(name) / base, self._home.mirror(name)
        async with self._locks[f"ready {name}"]:
            if place.exists():
                os.utime(place)
                return place
            # Named in the mirror: a branch that is forced leaves no session without the commit it began with.
            await git(mirror, "update-ref", f"{_BASES}{base}", base)
            for left in place.parent.glob(f"{MAKING}*"):
                self._trash.discard(left)
            older = _copies(place.parent)
            await make_ready(mirror, base, place, older=older, most_bytes=self._ready_bytes)
        return place

    async def session_tree(self, session: SessionId, branch: str) -> Sha | None:
        return await self._resolve(self._home.session_repository(session), f"refs/heads/{branch}^{{tree}}")

    async def canonical_commit(
        self, name: RepositoryName, session: SessionId, *, tree: Sha, parent: Sha, message: str, at: datetime
    ) -> Sha:
        quarantine, mirror = self._home.session_repository(session), self._home.mirror(name)
        commit = await commit_tree(quarantine, tree, parent, message, at)
        await git(quarantine, "update-ref", "refs/overlord/canonical", commit)
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
                settings={"fetch.fsckObjects": "true"},
            )
        return commit

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
        await git(mirror, "update-ref", f"refs/overlord/canonical/{made}", made)
        return made

    async def tree_of(self, name: RepositoryName, commit: Sha) -> Sha:
        tree = await self._resolve(self._home.mirror(name), f"{commit}^{{tree}}")
        if tree is None:
            raise GitFailed(f"commit {commit} is not in the mirror of {name}")
        return tree

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
                settings=_signed_in(remote),
            )
        except GitFailed as error:
            if await self.remote_head(name, remote, branch) not in (expected, sha):
                raise PushRejected(f"{branch} at the forge is not where Overlord left it") from error
            if await self.remote_head(name, remote, BRANCH_PREFIX.rstrip("/")):
                raise PushRejected(_IN_THE_WAY) from error
            raise

    async def remote_head(self, name: RepositoryName, remote: Remote, branch: str) -> Sha | None:
        reference = f"refs/heads/{branch}"
        mirror = self._home.mirror(name)
        output = await git(mirror, "ls-remote", "--quiet", remote.url, reference, settings=_signed_in(remote))
        lines = [line.split("\t") for line in output.decode(errors="replace").splitlines()]
        return next((Sha(sha) for sha, found in lines if found == reference), None)

    async def _still_there(self, name: RepositoryName, remote: Remote, branches: Sequence[str]) -> list[str]:
        """Those of these branches the forge still has; the mirror forgets the others."""
        found = {branch: await self.remote_head(name, remote, branch) for branch in branches}
        for gone in (branch for branch, head in found.items() if head is None):
            await git(self._home.mirror(name), "update-ref", "-d", f"refs/heads/{gone}")
        return [branch for branch, head in found.items() if head]

    async def remove_session(self, session: SessionId) -> None:
        self._trash.discard(self._home.session(session))


def _copies(place: Path) -> list[Path]:
    """The finished ready copies of a space, the one used last first."""
    found = [copy for copy in place.glob("*") if _SHA.fullmatch(copy.name)]
    return sorted(found, key=lambda copy: copy.stat().st_mtime_ns, reverse=True)


def _signed_in(remote: Remote) -> dict[str, str]:
    # A redirect would take the credential to another host; the forge's address is set, not discovered.
    still = {"http.followRedirects": "false"}
    if not remote.authorization:
        return still
    return {**still, f"http.{remote.url}.extraHeader": f"Authorization: {remote.authorization}"}
