"""Commits on their way: from the user's repository to the forge's, and one branch back.

Objects are packed by git in a repository of our own, which borrows or writes the user's object store directly, so the
user's configuration is not even read. A shallow clone lends its last commit only: work starts on a stand-in without
parents, and what comes back is put on the real commit.
"""

from collections.abc import Mapping
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.domain.identifiers import Sha
from overlord.entrypoints.local.checkout import Checkout, create_branch, lookup
from overlord.errors import GitFailed, Refused

_STAND_IN = "Where this shallow clone begins"
_MOST_NAMES = 50
_PACK = ("pack-objects", "--quiet", "--non-empty")


async def bring_in(forge: Path, checkout: Checkout, commit: Sha) -> Sha:
    """Copy a commit and its history into the forge's repository; returns what to start from there."""
    borrowing = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(checkout.objects)}
    try:
        if not checkout.is_shallow:
            wanted = "".join(f"{line}\n" for line in (commit, *await _had(forge)))
            await _pack(forge, forge, wanted, "--revs", environment=borrowing)
            return commit
        tree = Sha(
            (await git(forge, "rev-parse", f"{commit}^{{tree}}", environment=borrowing)).decode().strip()
        )
        await _pack(forge, forge, f"{tree}\n", "--revs", environment=borrowing)
        return await stand_in(forge, tree, commit, borrowing)
    except GitFailed as error:
        raise Refused(
            f"{checkout.place} does not have every object of {commit[:12]} ({error}); a partial clone is made whole"
            " with `git fetch --refetch --no-filter`, a damaged one shows in `git fsck`"
        ) from error


async def _had(forge: Path) -> list[str]:
    """What need not be copied again, as arguments of rev-list."""
    known = await git(forge, "for-each-ref", "--format=^%(objectname)", "refs/heads")
    return sorted(set(known.decode().split()))


async def stand_in(repository: Path, tree: Sha, commit: Sha, borrowing: Mapping[str, str]) -> Sha:
    """The same files without history; the same commit each time. `borrowing` says where the objects are."""
    raw = await git(repository, "cat-file", "commit", commit, environment=borrowing)
    committer = next(line for line in raw.split(b"\n") if line.startswith(b"committer "))
    moment = b" ".join(committer.split(b" ")[-2:]).decode()
    identity = {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (
            ("NAME", "Overlord"),
            ("EMAIL", "overlord@users.noreply.github.com"),
            ("DATE", moment),
        )
    }
    made = await git(repository, "commit-tree", tree, "-m", _STAND_IN, environment={**borrowing, **identity})
    return Sha(made.decode().strip())


async def bring_back(
    mirror: Path, checkout: Checkout, *, branch: str, head: Sha, base: Sha, onto: Sha
) -> tuple[str, Sha]:
    """Put the commits between `base` and `head` into the user's repository as a new branch; returns it and its commit.

    `onto` is the user's own commit where `base` stands in for it. A branch of theirs that has the name already is
    never moved: the next free name is taken. Raises GitFailed when the objects cannot be written.
    """
    objects = f"{head}\n^{base}\n"
    if base == onto:
        await _pack(mirror, checkout.common_dir, objects, "--revs")
    else:
        head, objects = await _replanted(mirror, base, head, onto)
        await _pack(mirror, checkout.common_dir, objects)
    for name in _names(branch):
        if await lookup(checkout, f"refs/heads/{name}") == head or await create_branch(checkout, name, head):
            return name, head
    raise GitFailed(f"{checkout.place} takes no branch {branch}, nor another of {_MOST_NAMES} names like it")


def _names(branch: str) -> list[str]:
    """A branch's name and what is tried when it is taken; a branch called `minion` leaves no room for `minion/…`."""
    more = [f"{branch}-{number}" for number in range(2, _MOST_NAMES)]
    flat = branch.replace("/", "-")
    return [branch, *more, flat, *(f"{flat}-{number}" for number in range(2, _MOST_NAMES))]


async def _replanted(mirror: Path, base: Sha, head: Sha, onto: Sha) -> tuple[Sha, str]:
    """The same changes with `onto` as their ancestor: the new head, and every object it needs, for `pack-objects`."""
    commits = (await git(mirror, "rev-list", "--reverse", f"{base}..{head}")).decode().split()
    moved: dict[str, str] = {base: onto}
    for commit in commits:
        raw = await git(mirror, "cat-file", "commit", commit)
        top, _, message = raw.partition(b"\n\n")
        lines = [_parent(line, moved) for line in top.split(b"\n")]
        made = await git(
            mirror,
            "hash-object",
            "-t",
            "commit",
            "-w",
            "--stdin",
            stdin=b"\n".join(lines) + b"\n\n" + message,
        )
        moved[commit] = made.decode().strip()
    listed = (await git(mirror, "rev-list", "--objects", head, f"^{base}")).decode(errors="surrogateescape")
    others = [line.split(" ")[0] for line in listed.splitlines()]
    named = [moved.get(name, name) for name in others]
    return Sha(moved[head]), "".join(f"{name}\n" for name in named)


def _parent(line: bytes, moved: dict[str, str]) -> bytes:
    word, _, name = line.partition(b" ")
    return b"parent " + moved[name.decode()].encode() if word == b"parent" else line


async def _pack(
    ours: Path, target: Path, objects: str, *arguments: str, environment: dict[str, str] | None = None
) -> None:
    """Write a pack with these objects straight into an object store."""
    store = target / "objects" / "pack"
    store.mkdir(parents=True, exist_ok=True)
    await git(
        ours, *_PACK, *arguments, str(store / "pack"), environment=environment or {}, stdin=objects.encode()
    )


def _quoted(path: Path) -> str:
    """A path in git's list of object directories, whatever characters it has."""
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
