"""An empty folder becomes a repository to start from: what `overlord init` needs where nothing is there yet."""

import os
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.entrypoints.local import checkout
from overlord.entrypoints.local.checkout import Checkout
from overlord.errors import GitFailed, NotFound, Refused

FIRST = "Start"
_IGNORED = frozenset({".git", ".DS_Store"})
_FALLBACK = ("Overlord", "overlord@users.noreply.github.com")
"""Whose commit it is where the user has told git no name."""


def found_or_none(path: Path) -> Checkout | None:
    """The repository around a path; None for a folder that is in none. Raises NotFound where there is no such path."""
    if not path.exists():
        raise NotFound(f"there is no {path}; make the folder first, or name another")
    try:
        return checkout.find(path)
    except NotFound:
        return None


async def needs_first_commit(found: Checkout) -> bool:
    """Whether a repository has no commit yet. Raises Refused where it has files that none of them has, which are the user's to commit."""
    if await checkout.lookup(found, "HEAD") is not None:
        return False
    if found.root is not None and not is_empty(found.root):
        raise Refused(
            f"{found.place} has files and no commit yet; make a first one with `git add -A` and `git commit`, then run this again"
        )
    return True


def is_empty(folder: Path) -> bool:
    """Whether nothing of the user's is in a folder."""
    return folder.is_dir() and not any(entry.name not in _IGNORED for entry in folder.iterdir())


async def start_repository(folder: Path) -> Checkout:
    """Make a repository of an empty folder, or give one that is empty its first commit, which has no files. Raises Refused for a folder
    with something in it, GitFailed."""
    if not is_empty(folder):
        raise Refused(
            f"{folder} is in no git repository and not empty; make one of it with `git init`, `git add -A` and `git commit`, then run"
            " this again"
        )
    plain = {"core.hooksPath": os.devnull}
    if not (folder / ".git").exists():
        await git(_git_dir(folder), "init", "--quiet", "--initial-branch=main", settings=plain)
    found = checkout.find(folder)
    tree = (await git(found.git_dir, "mktree", stdin=b"")).decode().strip()
    identity = await _identity(found)
    made = await git(found.git_dir, "commit-tree", tree, "-m", FIRST, environment=identity)
    head = (await git(found.git_dir, "symbolic-ref", "HEAD")).decode().strip()
    await git(
        found.git_dir,
        "update-ref",
        "-m",
        "overlord init",
        head,
        made.decode().strip(),
        "0" * 40,
        environment=identity,
    )
    return found


def _git_dir(folder: Path) -> Path:
    """Where a repository with a working tree has its own files: git takes any other name for a bare one."""
    return folder.resolve() / ".git"


async def _identity(found: Checkout) -> dict[str, str]:
    """The user, as their git knows them."""
    name, email = [await _configured(found, key) for key in ("user.name", "user.email")]
    if not (name and email):
        name, email = _FALLBACK
    return {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", email))
    }


async def _configured(found: Checkout, key: str) -> str:
    own = Path.home() / ".gitconfig"
    environment = {"GIT_CONFIG_GLOBAL": str(own)} if own.exists() else {}
    try:
        return (
            (await git(found.git_dir, "config", "--get", key, environment=environment))
            .decode(errors="replace")
            .strip()
        )
    except GitFailed:
        return ""
