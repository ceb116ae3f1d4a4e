"""Fetching from an external service: of a whole history or a part, with a credential that only the external service's own address gets."""

import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from overlord.adapters.git.command import TIMEOUT_S, git
from overlord.domain.identifiers import Sha
from overlord.domain.launch import Remote
from overlord.errors import GitFailed

_NOT_SHALLOW = re.compile(r"shallow|--depth|deepen|it said nothing")
"""How git and its servers say that they give all of a history or nothing; without a word where there is nothing to give."""
_LOCK = "shallow.lock"
QUIETLY = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc")


@dataclass(frozen=True, slots=True)
class Fetch:
    """A fetch of branches (of all, when none is named): when it was asked for, or when one began that was made."""

    url: str
    branches: frozenset[str]
    at: float
    """Monotonic seconds."""

    def is_answered_by(self, made: "Fetch | None") -> bool:
        """Whether one that was made shows everything that was there when this was asked for."""
        if made is None or made.url != self.url or made.at < self.at:
            return False
        return made.branches == self.branches


async def fetch_branches(
    mirror: Path, remote: Remote, names: Sequence[str], *, depth: int = 0, whole: bool = False
) -> None:
    """Bring branches up to date: so many commits of each if `depth` is given, what a shallow mirror has not if `whole`."""
    references = (f"+refs/heads/{name}:refs/heads/{name}" for name in names)
    reach = (f"--depth={depth}",) if depth else ("--unshallow",) if whole else ("--update-shallow",)
    try:
        with cleared(mirror, is_alone=False):
            await git(
                mirror, *QUIETLY, "--prune", *reach, remote.url, *references, settings=signed_in(remote)
            )
    except GitFailed as error:
        if not depth or not _NOT_SHALLOW.search(str(error)):
            raise
        await fetch_branches(mirror, remote, names)


async def head_at(mirror: Path, remote: Remote, branch: str, *, scratch: Path) -> Sha | None:
    """Where a branch is at the external service; None when it has none of that name. `scratch` is where a note lies for a moment.

    Raises GitFailed also for what is no git server: git takes any answer without a line break for one with nothing in it.
    """
    words, reference = ("ls-remote", "--quiet", remote.url), f"refs/heads/{branch}"
    with tempfile.TemporaryDirectory(dir=scratch) as directory:
        printed = Path(directory) / "said"
        traced = {"GIT_TRACE_PACKET": str(printed)}
        output = await git(mirror, *words, reference, settings=signed_in(remote), environment=traced)
        speaks_git = printed.exists() and printed.stat().st_size > 0
    # A server that only knows files says nothing of git's, but then it lists something.
    if not output and not speaks_git and not await git(mirror, *words, settings=signed_in(remote)):
        raise GitFailed(f"what answers at {remote.url} is no git server")
    lines = [line.split("\t") for line in output.decode(errors="replace").splitlines()]
    return next((Sha(sha) for sha, found in lines if found == reference), None)


@contextmanager
def cleared(repository: Path, *, is_alone: bool) -> Iterator[None]:
    """Around a fetch: what one that is killed leaves is removed, half a pack and the lock that keeps every later one out.

    `is_alone`: nobody else writes packs here meanwhile. What an earlier one left goes once no git can be that old: one that
    outlived its daemon may still be at it.
    """
    others = set()
    for left in _left(repository):
        if _is_old(left):
            left.unlink(missing_ok=True)
        else:
            others.add(left)
    try:
        yield
    finally:
        for left in _left(repository) - others:
            if is_alone or left.name == _LOCK:
                left.unlink(missing_ok=True)


def is_taken(repository: Path) -> bool:
    """Whether a git that this program did not start may be fetching into a repository."""
    lock = repository / _LOCK
    return lock.exists() and not _is_old(lock)


def _is_old(left: Path) -> bool:
    with suppress(FileNotFoundError):
        return left.stat().st_mtime < time.time() - TIMEOUT_S
    return False


def _left(repository: Path) -> set[Path]:
    lock = repository / _LOCK
    return {*(repository / "objects" / "pack").glob("tmp_*"), *([lock] if lock.exists() else [])}


async def is_empty(mirror: Path) -> bool:
    """Whether nothing was ever fetched into a mirror; what was brought into it from a checkout counts for nothing."""
    return not await git(mirror, "for-each-ref", "--count=1", "refs/heads")


def signed_in(remote: Remote) -> dict[str, str]:
    """What git is told for one external service."""
    # A redirect would take the credential to another host; the forge's address is set, not discovered.
    still = {"http.followRedirects": "false"}
    if not remote.authorization:
        return still
    return {**still, f"http.{remote.url}.extraHeader": f"Authorization: {remote.authorization}"}
