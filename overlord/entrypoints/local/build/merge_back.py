"""Merging a result into the branch that it began from, in the user's working tree, once they said so.

As everywhere in their repository, nothing of theirs is run: no hook, no filter, no merge driver, no signing program. Where the merge
would need one, or anything of theirs is in the way, it is refused with the reason, and they type the command themselves.

The working tree is changed by `git merge --ff-only` alone: to the result's own commit, or to a merge commit that was made beforehand from
a merge without conflicts. So a kill at any moment leaves what git itself leaves there, and a conflict touches nothing.
"""

import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from overlord.adapters.git.command import git
from overlord.domain.identifiers import Sha
from overlord.domain.text.plain import count, visible
from overlord.entrypoints.local import checkout as checkouts
from overlord.entrypoints.local.checkout import QUIET, Checkout
from overlord.errors import GitFailed

_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisection",
}
"""What git leaves in its directory while something is not finished."""
_BUILT_IN_MERGES = frozenset({"unspecified", "set", "unset", "text", "binary", "union"})
_READ = ("user.name", "user.email", "core.autocrlf", "core.eol", "core.attributesFile", "commit.gpgSign")
"""Of the user's whole configuration, what says how files land and who commits. Reading it runs nothing."""
_MOST_NAMED = 5
_OFF = {
    "submodule.recurse": "false",
    "merge.verifySignatures": "false",
    "merge.autoStash": "false",
    "maintenance.auto": "false",
}


class Refusal(Exception):
    """Why a result cannot be merged now, as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is to be merged, and where."""

    checkout: Checkout
    branch: str
    """The result's."""
    commit: Sha
    """The judged commit, which the branch was made at."""
    onto: str
    """The branch that the run started from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """What would be done: the working tree goes to `commit`."""

    target: Target
    head: Sha
    commit: Sha
    """The result's, or the one that merges it; HEAD's own where it was merged already."""
    settings: Mapping[str, str]

    @property
    def is_done(self) -> bool:
        return self.commit == self.head

    @property
    def sentence(self) -> str:
        """What was done."""
        if self.is_done:
            return f"{self.target.branch} is merged into {self.target.onto} already."
        how = "" if self.commit == self.target.commit else ", with a merge commit"
        return f"{self.target.branch} is merged into {self.target.onto}{how}."


async def prepare(target: Target) -> Merge:
    """Look whether the working tree allows the merge, and make the merge commit where one is needed; nothing is touched.

    Raises Refusal.
    """
    try:
        return await _prepare(target)
    except GitFailed as error:
        raise Refusal(f"git could not say whether it may be merged: {error}") from None


async def merge(prepared: Merge) -> None:
    """Take HEAD and the working tree to the merge. Raises Refusal where git does not, and then they are as they were."""
    if prepared.is_done:
        return
    target = prepared.target
    action = {"GIT_REFLOG_ACTION": f"overlord: merge {target.branch}"}
    arguments = ("merge", "--ff-only", "--no-stat", "--quiet", "--no-autostash", "--no-verify-signatures")
    try:
        await _git(target.checkout, *arguments, prepared.commit, settings=prepared.settings, more=action)
    except GitFailed as error:
        raise Refusal(f"git did not merge it: {error}") from None


async def _prepare(target: Target) -> Merge:
    own = target.checkout
    if own.root is None:
        raise Refusal("this repository is bare: it has no working tree")
    _check_nothing_under_way(own.git_dir)
    await _check_branches(target)
    head = await checkouts.commit_of(own, "HEAD")
    settings = await _settings(own)
    if await checkouts.contains(own, target.commit):
        return Merge(target=target, head=head, commit=head, settings=settings)
    await _check_clean(own, settings)
    base = (await _git(own, "merge-base", "--all", "HEAD", target.commit, fine=(0, 1))).decode().split()
    if not base:
        raise Refusal(f"{target.branch} and {target.onto} have no commit in common")
    commit = target.commit if base == [head] else await _merged(target, head, base[0], settings)
    await _check_files(own, head, commit)
    return Merge(target=target, head=head, commit=commit, settings=settings)


def _check_nothing_under_way(git_dir: Path) -> None:
    for name, what in _UNDER_WAY.items():
        if (git_dir / name).exists():
            raise Refusal(f"{what} is under way in the working tree; finish it or abort it first")
    if (git_dir / "index.lock").exists():
        raise Refusal(
            f"another git works in the working tree, or one was killed there ({git_dir}/index.lock is there)"
        )


async def _check_branches(target: Target) -> None:
    """The result is as it was judged, and the branch it goes into is the one that is checked out."""
    current = await checkouts.current_branch(target.checkout)
    if not current:
        raise Refusal("no branch is checked out (HEAD is detached)")
    if current != target.onto:
        raise Refusal(f"the run started from {target.onto}, and {current} is checked out")
    if await checkouts.lookup(target.checkout, f"refs/heads/{target.branch}") != target.commit:
        raise Refusal(f"{target.branch} is not at the commit that was judged ({target.commit[:12]})")


async def _check_clean(own: Checkout, settings: Mapping[str, str]) -> None:
    arguments = (
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=no",
        "--ignore-submodules=all",
    )
    output = await _git(own, "--no-optional-locks", *arguments, settings=settings, attributes="HEAD")
    if changed := [entry[3:] for entry in output.split(b"\0") if entry]:
        raise Refusal(f"there are uncommitted changes to {_named(changed)}; commit or stash them first")


async def _merged(target: Target, head: Sha, base: str, settings: Mapping[str, str]) -> Sha:
    """A commit that merges the result into HEAD, if that needs nobody."""
    own = target.checkout
    if settings.get("commit.gpgSign", "").lower() in {"true", "yes", "on", "1"}:
        raise Refusal(
            f"{target.onto} has gone on, and the merge commit that it takes would have to be signed by you"
        )
    if not (settings.get("user.name") and settings.get("user.email")):
        raise Refusal(
            f"{target.onto} has gone on, and git does not know who makes the merge commit (user.name, user.email)"
        )
    both = set(await _paths(own, base, head)) & set(await _paths(own, base, target.commit))
    for path, driver in (await _attributes(own, "merge", head, both)).items():
        if driver not in _BUILT_IN_MERGES:
            raise Refusal(
                f"{_named([path])} is merged by a program of yours ({visible(driver)}), which is not run"
            )
    arguments = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z")
    output = await _git(own, *arguments, head, target.commit, settings=settings, fine=(0, 1), attributes=head)
    tree, *conflicts = output.rstrip(b"\0").split(b"\0")
    if conflicts:
        raise Refusal(f"it conflicts with what {target.onto} has by now, in {_named(conflicts)}")
    message = f"Merge branch '{target.branch}'" + ("" if target.onto == "main" else f" into {target.onto}")
    parents = ("-p", head, "-p", target.commit)
    made = await _git(
        own, "commit-tree", "--no-gpg-sign", tree.decode(), *parents, "-m", message, settings=settings
    )
    return Sha(made.decode().strip())


async def _check_files(own: Checkout, head: Sha, commit: Sha) -> None:
    """What the merge writes is in nobody's way, and lands without a program of the user's."""
    changed = await _paths(own, head, commit)
    added = await _paths(own, head, commit, "--diff-filter=A")
    removed = frozenset(map(os.fsdecode, await _paths(own, head, commit, "--diff-filter=D")))
    assert own.root is not None
    if taken := [path for path in added if _is_taken(own.root, os.fsdecode(path), removed)]:
        raise Refusal(f"files that are in no commit are in the way of {_named(taken)}; move them first")
    for path, name in (await _attributes(own, "filter", commit, changed)).items():
        if name not in {"unspecified", "unset"}:
            raise Refusal(
                f"{_named([path])} goes through the filter {visible(name)}, and no program of yours is run"
            )


def _is_taken(root: Path, path: str, removed: Collection[str]) -> bool:
    """Whether something stands where a file is to be made that the merge does not take away itself: the file, a folder that is not
    empty, or a file or link in place of a folder above it."""
    place = root / path
    for above in PurePosixPath(path).parents[:-1]:
        found = root / above
        if str(above) not in removed and (found.is_symlink() or found.is_file()):
            return True
    if place.is_symlink() or not place.is_dir():
        return place.is_symlink() or place.exists()
    inside = (item for item in place.rglob("*") if item.is_symlink() or not item.is_dir())
    return any(item.relative_to(root).as_posix() not in removed for item in inside)


async def _paths(own: Checkout, before: str, after: str, *options: str) -> list[bytes]:
    arguments = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", *options, before, after)
    return [path for path in (await _git(own, *arguments)).split(b"\0") if path]


async def _attributes(own: Checkout, name: str, source: str, paths: Collection[bytes]) -> dict[bytes, str]:
    """An attribute of each path, as a commit says it: through an index of that commit, since older gits read no other tree."""
    if not paths:
        return {}
    with tempfile.TemporaryDirectory(prefix="overlord-") as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        await _git(own, "read-tree", source, more=index)
        output = await _git(
            own,
            *("check-attr", "--cached", "--stdin", "-z", name),
            settings={k: v for k, v in (await _settings(own)).items() if k == "core.attributesFile"},
            more=index,
            attributes=source,
            stdin=b"".join(path + b"\0" for path in paths),
        )
    fields = output.split(b"\0")
    return {
        path: value.decode(errors="replace") for path, value in zip(fields[::3], fields[2::3], strict=False)
    }


async def _settings(own: Checkout) -> dict[str, str]:
    """The user's own settings that count here, with everything that runs a program switched off."""
    found: dict[str, str] = {}
    home = Path.home()
    xdg = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config"
    users = next((path for path in (home / ".gitconfig", xdg) if path.is_file()), None)
    environment = {
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "0",
        "GIT_CONFIG_GLOBAL": str(users or os.devnull),
    }
    for key in _READ:
        arguments = (
            "config",
            "--includes",
            "--get",
            *(("--type=path",) if key.endswith("File") else ()),
            key,
        )
        output = await git(own.git_dir, *arguments, environment=environment, fine=(0, 1), settings=QUIET)
        if value := output.decode(errors="surrogateescape").rstrip("\n"):
            found[key] = value
    for key, variable in (("user.name", "GIT_AUTHOR_NAME"), ("user.email", "GIT_AUTHOR_EMAIL")):
        found |= {key: value} if (value := os.environ.get(variable, "")) else {}
    return {**found, **_OFF, **QUIET, **await checkouts.filters_off(own)}


async def _git(
    own: Checkout,
    *arguments: str,
    settings: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
    attributes: str = "",
    fine: Collection[int] = (0,),
    stdin: bytes = b"",
) -> bytes:
    """Git in the working tree. `attributes` is the commit whose attributes count, where git can be told."""
    environment = {"GIT_WORK_TREE": str(own.root), **({"GIT_ATTR_SOURCE": attributes} if attributes else {})}
    return await git(
        own.git_dir,
        *arguments,
        settings=settings or QUIET,
        environment={**environment, **(more or {})},
        fine=fine,
        stdin=stdin,
    )


def _named(paths: Sequence[bytes]) -> str:
    names = [" ".join(visible(path.decode(errors="replace")).split()) for path in paths[:_MOST_NAMED]]
    more = len(paths) - _MOST_NAMED
    return ", ".join(names) + (f" and {count(more, 'more file')}" if more > 0 else "")
