"""Files that the caller's own agent, editor, shell or git goes by because of their names. Whoever writes one decides what runs on the
caller's machine, outside of any sandbox; so a change with one of them is looked at by a person before it is written.
"""

import asyncio
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.domain.changes.paths import is_acted_on
from overlord.entrypoints.local.checkout import QUIET, Checkout
from overlord.entrypoints.mcp.checkout.applying import named
from overlord.entrypoints.mcp.checkout.patching import FileChange
from overlord.errors import GitFailed, Refused

_HEAD = re.compile(rb"\s*(?:ref:|[0-9a-fA-F]{40})")
_ANY = "x"


async def check(own: Checkout, changes: Sequence[FileChange]) -> None:
    """Raises Refused, with the files named, where one of these changes is of such a file."""
    assert own.root is not None, "a server's checkout has files"
    led_to = await _led_to(own, own.root)
    if not (found := [change for change in changes if _is_guarded(change, led_to)]):
        return
    raise Refused(
        f"{named(found)}: your agent, editor, shell or git goes by such a file, so nothing was written; the patch is in the reply: a person"
        " has to look at it, and can apply it with `git apply`"
    )


def _is_guarded(change: FileChange, led_to: Iterable[str]) -> bool:
    path = _folded(change.path.decode(errors="replace"))
    is_link = any(state is not None and state.is_link for state in (change.before, change.after))
    if is_acted_on(path) or (is_link and is_acted_on(f"{path}/{_ANY}")):
        return True
    if any(path == place or path.startswith(f"{place}/") for place in led_to):
        return True
    # A directory with git's own files is a repository, whose configuration git runs programs by.
    return path.rpartition("/")[2] == "head" and _HEAD.match(change.content) is not None


def _folded(path: str) -> str:
    """A path as the file systems know it that tell names apart least."""
    plain = "".join(char for char in path.casefold() if char.isprintable())
    return "/".join(part.rstrip(" .") or part for part in plain.split("/"))


async def _led_to(own: Checkout, root: Path) -> frozenset[str]:
    """Other places whose files count as such: where git's hooks are, and what a link with such a name leads to."""
    words = ("--no-optional-locks", "ls-files", "-z", "--stage", "--cached", "--others", "--exclude-standard")
    where = {"GIT_WORK_TREE": str(root)}
    output = await git(own.git_dir, *words, settings=QUIET, environment=where, directory=root)
    names = {os.fsdecode(line.rpartition(b"\t")[2]) for line in output.split(b"\0")[:-1]}
    behind = await asyncio.to_thread(_behind_links, root, names)
    return frozenset({*behind, await _hooks(own, root)} - {""})


def _behind_links(root: Path, names: Iterable[str]) -> set[str]:
    """What links with such names lead to; at the top also those that git ignores."""
    found = set()
    for name in {*names, *(place.name for place in root.iterdir())}:
        folded = _folded(name)
        if (is_acted_on(folded) or is_acted_on(f"{folded}/{_ANY}")) and (root / name).is_symlink():
            found.add(_inside(root, name))
    return found


async def _hooks(own: Checkout, root: Path) -> str:
    """The directory of the checkout that `core.hooksPath` of the repository names; empty for none."""
    try:
        output = await git(own.git_dir, "config", "--local", "--get", "core.hooksPath", settings=QUIET)
    except GitFailed:
        return ""
    return _inside(root, output.decode(errors="surrogateescape").strip())


def _inside(root: Path, place: str) -> str:
    """A place as a path of the checkout; empty where it is none, or all of it."""
    real = os.path.realpath(root / place)
    inside = os.path.relpath(real, os.path.realpath(root))
    return "" if inside in {".", ".."} or inside.startswith("../") else _folded(inside)
