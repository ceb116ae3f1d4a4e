"""A repository of the user's, looked at without running anything of theirs: no hook, no filter, no monitor, no pager.

Git is always told which repository it is (so nothing is searched for), reads no configuration but the repository's own,
and what that could make it run is switched off. Objects leave it and come to it without its configuration at all.
"""

from dataclasses import dataclass
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.domain.identifiers import Sha
from overlord.domain.text.plain import count
from overlord.errors import GitFailed, NotFound, Refused

NONE = "0" * 40
QUIET = {
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.alternateRefsCommand": "",
    "protocol.allow": "never",
    "status.submoduleSummary": "false",
}
"""What a repository's own configuration could make git run, switched off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A repository on this machine. A worktree has its own `git_dir` and shares the `common_dir` with its siblings."""

    git_dir: Path
    common_dir: Path
    root: Path | None
    """The top of the working tree; None for a bare repository."""

    @property
    def place(self) -> Path:
        """Where its owner would say it is."""
        return self.root or self.git_dir

    @property
    def objects(self) -> Path:
        return self.common_dir / "objects"

    @property
    def is_shallow(self) -> bool:
        file = self.common_dir / "shallow"
        return file.is_file() and file.stat().st_size > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncommitted:
    """What is in the working tree and in no commit."""

    changed: int
    untracked: int

    def __bool__(self) -> bool:
        return bool(self.changed or self.untracked)

    def __str__(self) -> str:
        lines = []
        if self.changed:
            lines.append(
                f"{count(self.changed, 'file')} {'has' if self.changed == 1 else 'have'} uncommitted changes"
            )
        if self.untracked:
            lines.append(
                f"{count(self.untracked, 'file')} {'is' if self.untracked == 1 else 'are'} untracked"
            )
        return " and ".join(lines)


def find(path: Path) -> Checkout:
    """The repository a path is in. Raises NotFound when there is no such path, or no repository around it."""
    if not path.exists():
        raise NotFound(f"there is no {path}; name a repository on this machine, or an address to clone")
    start = path.resolve()
    for directory in (start, *start.parents):
        found = _checkout_at(directory)
        if found is not None:
            return found
    raise NotFound(f"{path} is in no git repository; make one with `git init`, or name another with --repo")


def _checkout_at(directory: Path) -> Checkout | None:
    dot_git = directory / ".git"
    if dot_git.is_file():
        return _linked(dot_git)
    if _is_git_dir(dot_git):
        return Checkout(git_dir=dot_git, common_dir=dot_git, root=directory)
    if _is_git_dir(directory):
        root = directory.parent if directory.name == ".git" else None
        return Checkout(git_dir=directory, common_dir=directory, root=root)
    return None


def _linked(dot_git: Path) -> Checkout:
    """A worktree or submodule: its `.git` is a file that says where the rest is."""
    text = dot_git.read_text(encoding="utf-8", errors="surrogateescape")
    git_dir = (dot_git.parent / text.removeprefix("gitdir:").strip()).resolve()
    if not (git_dir / "HEAD").exists():
        raise NotFound(
            f"{dot_git} points to {git_dir}, which is no repository; `git worktree repair` may help"
        )
    shared = git_dir / "commondir"
    common = git_dir
    if shared.is_file():
        common = (git_dir / shared.read_text(encoding="utf-8", errors="surrogateescape").strip()).resolve()
    return Checkout(git_dir=git_dir, common_dir=common, root=dot_git.parent)


def _is_git_dir(directory: Path) -> bool:
    refs = directory / "refs"
    return (directory / "HEAD").exists() and (directory / "objects").is_dir() and refs.is_dir()


async def commit_of(checkout: Checkout, ref: str) -> Sha:
    """The commit a name stands for. Raises Refused for an empty repository, NotFound for another unknown name."""
    sha = await lookup(checkout, ref)
    if sha is None and ref == "HEAD":
        raise Refused(f"{checkout.place} has no commits to start from; make a first one, then run this again")
    if sha is None:
        raise NotFound(f"{checkout.place} has no commit {ref!r}")
    if len(sha) != len(NONE):
        raise Refused(f"{checkout.place} names its objects with SHA-256, which Overlord cannot work with yet")
    return sha


async def lookup(checkout: Checkout, ref: str) -> Sha | None:
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    try:
        return Sha((await git(checkout.git_dir, *arguments, settings=QUIET)).decode().strip())
    except GitFailed:
        return None


async def current_branch(checkout: Checkout) -> str:
    """The branch HEAD is on; "" when it is detached."""
    try:
        output = await git(checkout.git_dir, "symbolic-ref", "--quiet", "--short", "HEAD", settings=QUIET)
    except GitFailed:
        return ""
    return output.decode(errors="surrogateescape").strip()


async def listing(checkout: Checkout, ref: str = "HEAD") -> tuple[str, ...]:
    """The paths of every file of a commit."""
    output = await git(
        checkout.git_dir, "ls-tree", "-r", "-z", "--name-only", "--full-tree", ref, settings=QUIET
    )
    return tuple(name for name in output.decode(errors="replace").split("\0") if name)


async def contains(checkout: Checkout, commit: str) -> bool:
    """Whether HEAD's history has this commit."""
    try:
        await git(checkout.git_dir, "merge-base", "--is-ancestor", commit, "HEAD", settings=QUIET)
    except GitFailed:
        return False
    return True


async def uncommitted(checkout: Checkout) -> Uncommitted:
    """Count what is not committed; submodules are left out, and no filter of the repository's runs."""
    if checkout.root is None:
        return Uncommitted(changed=0, untracked=0)
    arguments = (
        "--no-optional-locks",
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--ignore-submodules=all",
    )
    output = await git(
        checkout.git_dir,
        *arguments,
        settings={**QUIET, **await filters_off(checkout)},
        environment={"GIT_WORK_TREE": str(checkout.root)},
    )
    entries = [entry for entry in output.split(b"\0") if entry]
    untracked = sum(entry.startswith(b"??") for entry in entries)
    return Uncommitted(changed=len(entries) - untracked, untracked=untracked)


async def filters_off(checkout: Checkout) -> dict[str, str]:
    """Settings that leave every filter the repository configures without a program."""
    try:
        output = await git(checkout.git_dir, "config", "--null", "--name-only", "--get-regexp", r"^filter\.")
    except GitFailed:  # it has none
        return {}
    keys = [key for key in output.decode(errors="surrogateescape").split("\0") if key]
    names = {key.removeprefix("filter.").rpartition(".")[0] for key in keys}
    off = {"clean": "", "smudge": "", "process": "", "required": "false"}
    return {f"filter.{name}.{part}": value for name in sorted(names) for part, value in off.items()}


async def create_branch(checkout: Checkout, branch: str, commit: Sha) -> bool:
    """Make a branch where none of this name is; False when it cannot be. Never moves one, and never HEAD."""
    author = {"GIT_COMMITTER_NAME": "Overlord", "GIT_COMMITTER_EMAIL": "overlord@users.noreply.github.com"}
    arguments = ("update-ref", "-m", "overlord run", "--create-reflog", f"refs/heads/{branch}", commit, NONE)
    try:
        await git(checkout.git_dir, *arguments, settings=QUIET, environment=author)
    except GitFailed:
        return False
    return True
