"""Mirrors over the years: what nobody needs any more is let go of, and what is left is packed now and then."""

import asyncio
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.adapters.git.taking_in import outdated
from overlord.domain.identifiers import Sha
from overlord.domain.repositories.extent import Mirror

CANONICAL = "refs/overlord/canonical/"
GRACE = "2.hours.ago"
"""What nothing names is kept for so long: it may just be about to be named."""
MOST_LOOSE, MOST_PACKS = 500, 20
"""A mirror with more loose objects, or more packs, is packed anew."""


async def tidy(mirror: Path, *, keep: Collection[Sha], before: datetime) -> None:
    """Let go of our commits that are older and not to be kept, and of what only they need."""
    listed = await git(mirror, "for-each-ref", "--format=%(refname) %(committerdate:unix)", CANONICAL)
    named = {}
    for line in listed.decode().splitlines():
        name, _, written = line.partition(" ")
        named[name.removeprefix(CANONICAL)] = int(written or 0)
    old = [sha for sha, written in named.items() if sha not in keep and written < before.timestamp()]
    # A branch may be deleted at the forge, and a commit on it be needed.
    unnamed = await _there(mirror, keep - named.keys())
    orders = [f"delete {CANONICAL}{sha}\n" for sha in old] + [
        f"update {CANONICAL}{sha} {sha}\n" for sha in unnamed
    ]
    orders += [f"delete {name}\n" for name in await outdated(mirror, keep=keep, before=before)]
    if orders:
        await git(mirror, "update-ref", "--stdin", stdin="".join(orders).encode())
    loose, packs = await asyncio.to_thread(_counted, mirror / "objects")
    if loose > MOST_LOOSE or packs > MOST_PACKS:
        await git(mirror, "gc", "--quiet", f"--prune={GRACE}")


async def _there(mirror: Path, commits: Collection[Sha]) -> list[str]:
    """Those of these commits that a mirror has."""
    if not commits:
        return []
    asked = "".join(f"{sha}^{{commit}}\n" for sha in commits).encode()
    answers = await git(mirror, "cat-file", "--batch-check=%(objectname)", stdin=asked)
    return sorted({answer for answer in answers.decode().splitlines() if not answer.endswith(" missing")})


def _counted(objects: Path) -> tuple[int, int]:
    """The loose objects and the packs of a mirror."""
    loose = sum(1 for part in objects.glob("[0-9a-f][0-9a-f]") for _ in part.iterdir())
    return loose, len(list(objects.glob("pack/*.pack")))


def mirrors_in(root: Path) -> Iterator[Mirror]:
    """The mirrors there are, and when each was last fetched into or written to."""
    for place in sorted(root.glob("*/*.git")):
        name = str(place.relative_to(root)).removesuffix(".git")
        size, used = size_of(place), 0.0
        for part in (".", "objects", "objects/pack", "refs/heads", "packed-refs"):
            with suppress(FileNotFoundError):
                used = max(used, (place / part).stat().st_mtime)
        yield Mirror(name=name, size=size, used_at=datetime.fromtimestamp(used, tz=UTC))


def size_of(directory: Path) -> int:
    """The bytes of its files; what is just going away counts for nothing."""
    total = 0
    for place, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                total += Path(place, name).lstat().st_size
    return total
