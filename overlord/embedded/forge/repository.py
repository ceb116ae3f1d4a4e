"""The bare repositories of the embedded forge, by the `git` program: commits without a working copy.

Every function is synchronous and takes milliseconds; callers inside a loop use a thread.
"""

import contextlib
import io
import os
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path

ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_DEFAULT_REF_FORMAT": "files",
}


@dataclass(frozen=True, slots=True)
class Link:
    """What is no plain file: a symbolic link to a path, or a submodule at a commit."""

    to: str
    is_submodule: bool = False


Content = str | bytes | Link
"""A file as it is given; text is UTF-8."""


class GitError(Exception):
    """A git command failed; the message is its last words."""


class Conflict(GitError):
    """Two branches change the same lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who makes a commit, and when."""

    name: str
    at: datetime

    @property
    def email(self) -> str:
        return f"{self.name}@users.noreply.embedded.invalid"

    def line(self) -> str:
        return f"{self.name} <{self.email}> {int(self.at.timestamp())} +0000"

    def environment(self) -> dict[str, str]:
        moment = f"{int(self.at.timestamp())} +0000"
        return {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", self.name), ("EMAIL", self.email), ("DATE", moment))
        }


def git(
    directory: Path, *arguments: str, data: bytes = b"", environment: Mapping[str, str] | None = None
) -> bytes:
    """Run git in a bare repository; raises GitError."""
    done = subprocess.run(
        ["git", "--git-dir", str(directory), *arguments],
        input=data,
        capture_output=True,
        check=False,
        env={"PATH": os.environ.get("PATH", os.defpath), **ENVIRONMENT, **(environment or {})},
    )
    if done.returncode == 0:
        return done.stdout
    words = done.stderr.decode(errors="replace").strip()
    # merge-tree says "conflict" by exit code 1 and an empty stderr.
    raise (Conflict if arguments[0] == "merge-tree" and done.returncode == 1 else GitError)(
        words or "conflict"
    )


def create(directory: Path, default_branch: str) -> None:
    """Make an empty bare repository that takes pushes as GitHub does; one that was left half made is made whole."""
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "--bare", "--quiet", f"--initial-branch={default_branch}", str(directory))
    for name, value in (("gc.auto", "0"), ("receive.autogc", "false"), ("uploadpack.allowFilter", "true")):
        git(directory, "config", name, value)


def is_repository(source: Path) -> bool:
    return (source / ".git").exists() or ((source / "HEAD").is_file() and (source / "objects").is_dir())


def import_branches(directory: Path, source: Path) -> str:
    """Bring in every branch of another repository; returns the branch its HEAD names."""
    git(directory, "fetch", "--quiet", str(source.absolute()), "+refs/heads/*:refs/heads/*")
    inner = source / ".git" if (source / ".git").exists() else source
    return git(inner, "symbolic-ref", "--short", "HEAD").decode().strip()


def heads(directory: Path) -> dict[str, str]:
    """Every branch and the commit it is at."""
    # Where git keeps them: nearly every request asks, and a program for each would be most of what the forge does. First each by
    # itself, then those in one file: git brings them there before it takes them away here.
    place, loose = directory / "refs" / "heads", dict[str, str]()
    for folder, _, names in os.walk(place):
        for file in (Path(folder, name) for name in names if not name.endswith(".lock")):
            with contextlib.suppress(FileNotFoundError):
                loose[file.relative_to(place).as_posix()] = file.read_text().strip()
    found = {**_packed(directory / "packed-refs"), **loose}
    return {branch: found[branch] for branch in sorted(found)}


def _packed(file: Path) -> dict[str, str]:
    """The branches that git keeps in one file."""
    lines = file.read_text().splitlines() if file.exists() else []
    named = (line.partition(" refs/heads/") for line in lines)
    return {branch: sha for sha, _, branch in named if branch}


def has_commit(directory: Path, sha: str) -> bool:
    try:
        git(directory, "cat-file", "-e", f"{sha}^{{commit}}")
    except GitError:
        return False
    return True


@lru_cache(maxsize=1024)
def commits_between(directory: Path, base: str, head: str) -> int:
    """How many commits of `head` are not in `base`. Both are full names of commits: what git says of them does not change."""
    return int(git(directory, "rev-list", "--count", f"{base}..{head}"))


def commit_files(
    directory: Path,
    branch: str,
    files: Mapping[str, Content | None],
    *,
    parent: str | None,
    message: str,
    author: Author,
) -> None:
    """One commit on a branch that changes these files; None removes one. The branch is made at `parent` if new. A whole
    reference may stand for the branch."""
    words, reference = message.encode(), branch if branch.startswith("refs/") else f"refs/heads/{branch}"
    stream = io.BytesIO()
    stream.write(
        f"commit {reference}\ncommitter {author.line()}\ndata {len(words)}\n".encode() + words + b"\n"
    )
    if parent:
        stream.write(f"from {parent}\n".encode())
    for path, content in files.items():
        stream.write(_change(path, content))
    git(directory, "fast-import", "--quiet", "--done", data=stream.getvalue() + b"\ndone\n")


def _change(path: str, content: Content | None) -> bytes:
    quoted = '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if content is None:
        return f"D {quoted}\n".encode()
    if isinstance(content, Link) and content.is_submodule:
        return f"M 160000 {content.to} {quoted}\n".encode()
    if isinstance(content, Link):
        target = content.to.encode()
        return f"M 120000 inline {quoted}\ndata {len(target)}\n".encode() + target + b"\n"
    data = content.encode() if isinstance(content, str) else content
    mode = "100755" if data.startswith(b"#!") else "100644"
    return f"M {mode} inline {quoted}\ndata {len(data)}\n".encode() + data + b"\n"


def read_tree(source: Path) -> dict[str, Content]:
    """The regular files under a directory, without what tools leave there."""
    skipped = {".git", "__pycache__", ".pytest_cache"}
    return {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in sorted(source.rglob("*"))
        if path.is_file() and not path.is_symlink() and not skipped & set(path.relative_to(source).parts)
    }


def files_at(directory: Path, ref: str) -> dict[str, bytes]:
    """Every regular file at a commit or branch."""
    with tarfile.open(fileobj=io.BytesIO(git(directory, "archive", "--format=tar", ref))) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        return {member.name: _content(archive, member) for member in members}


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    opened = archive.extractfile(member)
    return opened.read() if opened else b""


def merges(directory: Path, base: str, head: str) -> bool | None:
    """Whether a commit merges into another without conflict; None when git cannot tell."""
    try:
        git(directory, "merge-tree", "--write-tree", base, head)
    except Conflict:
        return False
    except GitError:
        return None
    return True


def lines_of(directory: Path, commit: str, path: str) -> list[bytes] | None:
    """The lines of a file at a commit; None when it is no file there."""
    try:
        return git(directory, "cat-file", "blob", f"{commit}:{path}").splitlines()
    except GitError:
        return None


def merge(directory: Path, base_branch: str, head: str, *, squash: bool, message: str, author: Author) -> str:
    """Merge `head` into a branch; returns the new commit. Raises Conflict."""
    base = git(directory, "rev-parse", f"refs/heads/{base_branch}").decode().strip()
    tree = git(directory, "merge-tree", "--write-tree", base, head).decode().split()[0]
    parents = ["-p", base] if squash else ["-p", base, "-p", head]
    commit = (
        git(directory, "commit-tree", tree, *parents, "-m", message, environment=author.environment())
        .decode()
        .strip()
    )
    git(directory, "update-ref", f"refs/heads/{base_branch}", commit, base)
    return commit


def set_branch(directory: Path, branch: str, sha: str) -> None:
    """Put a branch where it is wanted, wherever it was."""
    git(directory, "update-ref", f"refs/heads/{branch}", sha)


def name_default(directory: Path, branch: str) -> None:
    git(directory, "symbolic-ref", "HEAD", f"refs/heads/{branch}")


def delete_branch(directory: Path, branch: str) -> None:
    git(directory, "update-ref", "-d", f"refs/heads/{branch}")
