"""The commits of other repositories that a commit names: fetched by Overlord where a space's settings ask for it.

What names them is hostile. It decides what is fetched, within bounds, and never what runs, whom a credential reaches, or
where on this machine anything lies.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.adapters.git.content.diff import shown
from overlord.adapters.git.content.listing import TooLong, listed
from overlord.adapters.git.content.reading import is_there
from overlord.adapters.git.fetch import QUIETLY, cleared, is_taken, signed_in
from overlord.domain.identifiers import Sha
from overlord.domain.launch import Remote
from overlord.domain.repositories.submodule_address import address, origin
from overlord.errors import GitFailed, Unobtainable

DEEPEST = 5
"""How deep submodules of submodules may lie."""
MOST = 64
"""How many one commit may have, with those below them."""
_MODULES_BYTES = 200_000
_KEPT = "refs/overlord/"
"""A commit has a reference here once all that it needs is there."""
_WHOLE = "--depth=2147483647"
"""All of the history, below an earlier cut too; from a server that only knows files, which nothing bounds, none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A submodule of a commit: where its files belong, and the bare repository that has its own commit."""

    path: bytes
    repository: Path
    commit: Sha


class Submodules:
    """Those of one commit. `place` is where the repository of an address is kept."""

    def __init__(self, remote: Remote, place: Callable[[str], Path], *, most_bytes: int) -> None:
        self._remote = remote
        self._place = place
        self._left_bytes = most_bytes
        self._found: list[Module] = []

    async def gather(self, repository: Path, commit: Sha) -> list[Module]:
        """Every one of them, those that hold others first. Raises Unobtainable."""
        await self._below(repository, commit, self._remote.url, b"", 0)
        return self._found

    async def _below(self, repository: Path, commit: Sha, parent: str, prefix: bytes, depth: int) -> None:
        links = await _links(repository, commit)
        addresses = await _addresses(repository, commit) if links else {}
        for path, sha in links.items():
            name = shown(prefix + path)
            if depth == DEEPEST or len(self._found) == MOST:
                raise Unobtainable(
                    f"The submodule {name} is one too many: {MOST} are fetched, and {DEEPEST} one in another."
                )
            if path not in addresses:
                raise Unobtainable(f"The submodule {name} has no address in .gitmodules.")
            try:
                url = address(addresses[path], parent, self._remote.url)
            except ValueError as error:
                raise Unobtainable(
                    f"The submodule {name} is not fetched: {error} ({addresses[path][:200]})."
                ) from None
            module = Module(path=prefix + path, repository=self._place(url), commit=sha)
            await self._fetch(module, url)
            self._found.append(module)
            await self._below(module.repository, sha, url, module.path + b"/", depth + 1)

    async def _fetch(self, module: Module, url: str) -> None:
        """Have the commit of a submodule. Raises Unobtainable."""
        repository, commit = module.repository, module.commit
        if not is_there(repository):
            repository.parent.mkdir(parents=True, exist_ok=True)
            await git(repository, "init", "--quiet", "--bare", "--template=", str(repository))
        kind = await _object_kind(repository, commit)
        if not kind:
            await self._get(module, url)
            kind = await _object_kind(repository, commit)
        if kind != "commit":
            raise _missing(module, url, f"{commit} is there, and is a {kind}")

    async def _get(self, module: Module, url: str) -> None:
        """Fetch the commit and name it. Raises Unobtainable."""
        repository, commit = module.repository, module.commit
        if is_taken(repository):
            raise GitFailed(f"a git of an earlier start is still fetching {url}, or was killed just now")
        try:
            await self._ask(repository, url, f"+{commit}:{_KEPT}{commit}", reach="--depth=1")
        except GitFailed as refused:
            # Not every server gives a commit by its name alone.
            try:
                await self._ask(repository, url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
            except GitFailed:
                raise _missing(module, url, str(refused)) from None
            try:
                await git(repository, "rev-list", "--quiet", "--objects", commit, "--not", "--all")
            except GitFailed:
                raise _missing(module, url, f"it has no commit {commit}") from None
            await git(repository, "update-ref", f"{_KEPT}{commit}", commit)

    async def _ask(self, repository: Path, url: str, *references: str, reach: str = _WHOLE) -> None:
        is_forges = origin(url) == origin(self._remote.url)
        remote = Remote(url=url, authorization=self._remote.authorization if is_forges else "")
        before = _packed(repository)
        allowed = {"GIT_ALLOW_PROTOCOL": f"https:{origin(self._remote.url)[0]}" if is_forges else "https"}
        try:
            with cleared(repository, is_alone=True):
                await git(
                    repository,
                    *QUIETLY,
                    reach,
                    url,
                    *references,
                    # As one pack, so that the limit is one on all of it.
                    settings={**signed_in(remote), "fetch.unpackLimit": "1"},
                    environment=allowed,
                    largest_file_bytes=max(self._left_bytes, 512),
                )
        finally:
            self._left_bytes -= _packed(repository) - before


async def _object_kind(repository: Path, commit: Sha) -> str:
    """What kind of object lies under a commit's name; empty when it was not fetched with all that it needs."""
    return (
        (await git(repository, "for-each-ref", "--format=%(objecttype)", f"{_KEPT}{commit}")).decode().strip()
    )


def _packed(repository: Path) -> int:
    return sum(pack.stat().st_size for pack in (repository / "objects" / "pack").glob("*.pack"))


async def _links(repository: Path, commit: Sha) -> dict[bytes, Sha]:
    """The submodules in a commit's own tree, with the commits they are at."""
    try:
        entries = await listed(repository, commit)
    except TooLong as error:
        raise Unobtainable(f"{error}.") from None
    return {
        path: Sha(words.rpartition(b" ")[2].decode())
        for words, _, path in (entry.partition(b"\t") for entry in entries.split(b"\0")[:-1])
        if words.startswith(b"160000 ")
    }


async def _addresses(repository: Path, commit: Sha) -> Mapping[bytes, str]:
    """The addresses in a commit's .gitmodules, by path; none when it cannot be read."""
    words = ("config", "-z", "--list", "--no-includes", f"--blob={commit}:.gitmodules")
    try:
        printed = await git(repository, *words, limit_bytes=_MODULES_BYTES)
    except GitFailed:
        return {}
    data: dict[bytes, dict[bytes, bytes]] = {}
    for item in printed.split(b"\0"):
        key, _, value = item.partition(b"\n")
        section, _, name = key.rpartition(b".")
        if section.startswith(b"submodule."):
            data.setdefault(section, {})[name] = value
    return {
        about[b"path"]: about[b"url"].decode(errors="replace")
        for about in data.values()
        if about.get(b"path") and about.get(b"url")
    }


def _missing(module: Module, url: str, why: str) -> Unobtainable:
    return Unobtainable(f"The submodule {shown(module.path)} cannot be had from {url}: {why}.")
