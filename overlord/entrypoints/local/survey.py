"""`overlord init`: a checkout's HEAD is read for `domain/bootstrap/survey.py`; nothing of it is run, and nothing is written unasked."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.domain.bootstrap.documents import most_bytes
from overlord.domain.bootstrap.survey import Survey, paths_to_read, survey_of
from overlord.domain.checks.file import CHECKS_PATH
from overlord.domain.environments.file import ENVIRONMENT_PATH
from overlord.domain.identifiers import Sha
from overlord.domain.scope.check import GITLINK_MODE
from overlord.entrypoints.local.checkout import Checkout, commit_of
from overlord.errors import Refused

_AT_ONCE = 8
"""Programs of git that read beside each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """Every path of a commit with its object and size."""

    blobs: Mapping[str, tuple[str, int]]
    submodules: tuple[str, ...]


async def survey(checkout: Checkout) -> Survey:
    """Look at HEAD. Raises Refused for a repository without commits."""
    commit = await commit_of(checkout, "HEAD")
    tree = await _tree(checkout, commit)
    files = await _read(checkout, tree, paths_to_read(frozenset(tree.blobs)))
    sizes = {name: size for name, (_, size) in tree.blobs.items()}
    return survey_of(commit, sizes, files, tree.submodules)


async def _tree(checkout: Checkout, commit: Sha) -> _Tree:
    listing = await git(checkout.git_dir, "ls-tree", "-r", "-l", "-z", "--full-tree", commit)
    blobs, submodules = {}, []
    for entry in listing.split(b"\0"):
        if not entry:
            continue
        about, _, raw = entry.partition(b"\t")
        mode, _, sha, size = about.decode().split()
        name = raw.decode(errors="backslashreplace")
        if mode == GITLINK_MODE:
            submodules.append(name)
        else:
            blobs[name] = (sha, int(size))
    return _Tree(blobs=blobs, submodules=tuple(submodules))


async def _read(checkout: Checkout, tree: _Tree, names: tuple[str, ...]) -> dict[str, bytes]:
    """The beginning of each of these files, as much as is read of it."""
    free = asyncio.Semaphore(_AT_ONCE)

    async def content(name: str) -> bytes:
        async with free:
            blob = tree.blobs[name][0]
            return await git(checkout.git_dir, "cat-file", "blob", blob, limit_bytes=most_bytes(name))

    async with asyncio.TaskGroup() as group:
        tasks = {name: group.create_task(content(name)) for name in names}
    return {name: task.result() for name, task in tasks.items()}


def write(checkout: Checkout, seen: Survey) -> list[str]:
    """Put files with what was detected, as comments to go on from, into the working tree; a sentence for each.

    Raises Refused where there is no working tree, or where `.nebulus` is no plain directory.
    """
    if checkout.root is None:
        raise Refused(f"{checkout.place} has no working tree to write into")
    directory = checkout.root / ".nebulus"
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise Refused(f"{directory} is no directory")
    directory.mkdir(exist_ok=True)
    return [
        _written(checkout.root / ENVIRONMENT_PATH, _environment_text(seen)),
        _written(checkout.root / CHECKS_PATH, _checks_text(seen)),
        "Commit them: they are read at the commit a run starts from.",
    ]


def _written(path: Path, text: str) -> str:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return f"{path} is there already, and was left as it is."
    return f"{path} was written."


def _environment_text(seen: Survey) -> str:
    lines = [
        "What sessions and checks of this repository run in. This is detected, without a line here:",
        *(f"  {sentence}" for sentence in seen.setup),
        *(f"  $ {line}" for command in seen.commands for line in command.splitlines()),
        "Add what it misses, as in:",
        "  packages: [libxml2-dev]      Debian packages, added to those detected",
        "  setup: [make generated]      in place of the commands detected; after them with `detect: true`",
        "  variables: {TZ: UTC}",
    ]
    return _comments(lines)


def _checks_text(seen: Survey) -> str:
    lines = [
        "What a change is judged by. This is found, without a line here:",
        f"  tests: {seen.tests}",
        f"  lint: {seen.lint}",
        "Say it otherwise as in:",
        "  tests: {command: [npm, test], junit: results.xml, timeout_s: 600}",
        "  lint: npm run lint",
    ]
    return _comments(lines)


def _comments(lines: list[str]) -> str:
    return "".join(f"# {' '.join(line.splitlines())}\n" for line in lines)
