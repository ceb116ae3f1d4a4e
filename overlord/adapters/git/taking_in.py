"""Commits over a caller's own files, brought into a mirror from outside of it: kept for a day, and for as long as an open call needs them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

from overlord.adapters.git.command import LASTING, git
from overlord.adapters.git.content.reading import is_there
from overlord.domain.identifiers import Sha

CHECKOUTS = "refs/overlord/checkout/"
"""A day and a commit follow."""


def borrowed(*objects: Path) -> dict[str, str]:
    """What tells git of further directories of objects, whatever characters their paths have."""
    quoted = ('"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"' for path in objects)
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": ":".join(quoted)}


async def take_in(mirror: Path, commit: Sha, *, objects: Sequence[Path], at: datetime) -> None:
    """Copy a commit with its history from directories of objects into a mirror, which is made where it is not there, and name it.

    Raises GitFailed where not every object is there.
    """
    if not is_there(mirror):
        mirror.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        await git(mirror, "init", "--quiet", "--bare", "--template=", str(mirror))
    listed = await git(
        mirror, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/overlord"
    )
    lines = (line.partition(" ") for line in listed.decode(errors="replace").splitlines())
    named = {name: sha for sha, _, name in lines}
    name = f"{CHECKOUTS}{at:%Y%m%d}/{commit}"
    if name in named:
        return
    if commit not in named.values():
        wanted = "".join(f"{line}\n" for line in (commit, *sorted({f"^{sha}" for sha in named.values()})))
        pack = mirror / "objects" / "pack"
        pack.mkdir(parents=True, exist_ok=True)
        await git(
            mirror,
            *("pack-objects", "--quiet", "--non-empty", "--revs", str(pack / "pack")),
            environment=borrowed(*objects),
            stdin=wanted.encode(),
            settings=LASTING,
        )
    await git(mirror, "update-ref", name, commit, settings=LASTING)


async def outdated(mirror: Path, *, keep: Collection[Sha], before: datetime) -> list[str]:
    """The names of those that are older and that nothing needs."""
    listed = (await git(mirror, "for-each-ref", "--format=%(refname)", CHECKOUTS)).decode()
    found = []
    for name in listed.split():
        day, _, commit = name.removeprefix(CHECKOUTS).partition("/")
        if day < f"{before:%Y%m%d}" and commit not in keep:
            found.append(name)
    return found
