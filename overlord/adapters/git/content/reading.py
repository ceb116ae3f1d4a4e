"""What is read of commits in the mirrors, for the judge and for people: never what a reference stands for now."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.adapters.git.content.diff import (
    parse_batch,
    parse_batch_check,
    parse_changes,
    parse_listing,
    parse_sizes,
)
from overlord.adapters.git.content.listing import LISTING_CHANGES, listed
from overlord.adapters.git.content.memory import Memory
from overlord.adapters.git.content.symbols import search
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.scope.check import Change
from overlord.domain.scope.occurrences import Occurrences
from overlord.errors import ChangeTooLong, GitFailed
from overlord.home import Home

_PLAIN_DIFF = ("--no-ext-diff", "--no-textconv")


class GitReading:
    """The reading half of `ports.Git`."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._memory = Memory()

    async def changes(self, name: RepositoryName, base: Sha, head: Sha) -> Sequence[Change]:
        async def ask() -> Sequence[Change]:
            return parse_changes(
                await git(self._home.mirror(name), *LISTING_CHANGES, base, head, "--", bounded=True)
            )

        return await self._memory.recall(("changes", name, base, head), ask, len)

    async def diff(self, name: RepositoryName, base: Sha, head: Sha, *, limit_bytes: int) -> str:
        arguments = ("diff", "-M", "--no-color", *_PLAIN_DIFF, base, head, "--")

        async def ask() -> str:
            output = await git(self._home.mirror(name), *arguments, limit_bytes=limit_bytes + 1, bounded=True)
            text = output[:limit_bytes].decode(errors="replace")
            cut = f"\n[cut: the diff is longer than {limit_bytes} bytes]\n"
            return text if len(output) <= limit_bytes else text + cut

        return await self._memory.recall(("diff", name, base, head, limit_bytes), ask, len)

    async def patch(self, name: RepositoryName, base: Sha, head: Sha, *, limit_bytes: int) -> bytes:
        arguments = (
            "diff",
            "--binary",
            "--full-index",
            "--no-renames",
            "--no-color",
            *_PLAIN_DIFF,
            base,
            head,
            "--",
        )
        output = await git(self._home.mirror(name), *arguments, limit_bytes=limit_bytes + 1, bounded=True)
        if len(output) > limit_bytes:
            raise ChangeTooLong(f"the change is longer than {limit_bytes:,} bytes")
        return output

    async def merge_base(self, name: RepositoryName, one: Sha, other: Sha) -> Sha | None:
        output = await git(self._home.mirror(name), "merge-base", one, other, fine=(0, 1), bounded=True)
        return Sha(output.decode().strip()) or None

    async def sizes(self, name: RepositoryName, commit: Sha) -> Mapping[str, int]:
        return parse_sizes(await listed(self._home.mirror(name), commit, "-l"))

    async def read_file(self, name: RepositoryName, commit: Sha, path: str) -> bytes | None:
        mirror = self._home.mirror(name)
        if await self._resolve(mirror, f"{commit}:{path}") is None:
            return None
        try:
            return await git(mirror, "cat-file", "blob", f"{commit}:{path}", bounded=True)
        except GitFailed:
            return None  # a directory or a submodule has this name

    async def listing(self, name: RepositoryName, commit: Sha) -> Mapping[str, str]:
        async def ask() -> Mapping[str, str]:
            return parse_listing(await listed(self._home.mirror(name), commit))

        return await self._memory.recall(("listing", name, commit), ask, lambda found: 100 * len(found))

    async def read_files(
        self, name: RepositoryName, commit: Sha, paths: Sequence[str], *, limit_bytes: int = 1_000_000
    ) -> Mapping[str, bytes]:
        question = ("files", name, commit, tuple(paths), limit_bytes)
        return await self._memory.recall(
            question,
            lambda: self._read_files(name, commit, paths, limit_bytes),
            lambda found: sum(map(len, found.values())),
        )

    async def occurrences(self, name: RepositoryName, commit: Sha, words: Sequence[str]) -> Occurrences:
        async def ask() -> Occurrences:
            return await search(self._home.mirror(name), commit, words)

        def size(found: Occurrences) -> int:
            return 100 * sum(map(len, (*found.definitions.values(), *found.mentions.values())))

        question = ("occurrences", name, commit, tuple(words))
        return await self._memory.recall(question, ask, size)

    async def _read_files(
        self, name: RepositoryName, commit: Sha, paths: Sequence[str], limit_bytes: int
    ) -> Mapping[str, bytes]:
        mirror = self._home.mirror(name)
        asked = {path: f"{commit}:{path}" for path in paths if "\n" not in path}
        checked = await git(
            mirror, "cat-file", "--batch-check", stdin=_as_lines((commit, *asked.values())), bounded=True
        )
        there, _, sizes = checked.partition(b"\n")
        if there.endswith(b" missing"):
            raise GitFailed(f"commit {commit} is not in the mirror of {name}")
        named = dict(zip(asked, parse_batch_check(sizes), strict=True))
        small = [path for path, size in named.items() if size is not None and size <= limit_bytes]
        found: dict[str, bytes] = {}
        if small:
            output = await git(
                mirror, "cat-file", "--batch", stdin=_as_lines(asked[path] for path in small), bounded=True
            )
            found |= parse_batch(small, output)
        for path in named.keys() - small:
            if named[path] is not None:
                found[path] = await git(
                    mirror, "cat-file", "blob", asked[path], limit_bytes=limit_bytes, bounded=True
                )
        return found

    async def _resolve(self, repository: Path, revision: str) -> Sha | None:
        """The object a revision names, or None for one that names nothing. Raises GitFailed when git cannot say."""
        return (await self._resolve_all(repository, [revision]))[0]

    async def _resolve_all(self, repository: Path, revisions: Sequence[str]) -> Sequence[Sha | None]:
        """The same of some revisions, in their order."""
        if not is_there(repository):
            return [None] * len(revisions)
        asked = _as_lines(revisions)
        output = await git(repository, "cat-file", "--batch-check=%(objectname)", stdin=asked, bounded=True)
        answers = output.decode().splitlines()
        return [None if answer.endswith(" missing") else Sha(answer) for answer in answers[: len(revisions)]]


def _as_lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode(errors="surrogateescape")


def is_there(repository: Path) -> bool:
    """Whether it was made, and what is written at its making has come to the disk: a machine may have been cut off."""
    try:
        return all((repository / name).stat().st_size for name in ("HEAD", "config"))
    except OSError:
        return False
