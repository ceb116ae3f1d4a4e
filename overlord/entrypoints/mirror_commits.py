"""What queries read of commits (`queries/look.py`): from this machine's mirrors as they are. Nothing is fetched, nothing is written."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from overlord.domain.contracts.contract_files import MOST_BYTES, PATHS
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.repositories.extent import Extent
from overlord.domain.scope.check import Change
from overlord.errors import GitFailed
from overlord.home import Home
from overlord.queries.look import FilesAtBase

if TYPE_CHECKING:
    from overlord.adapters.git.mirrors import GitMirrors

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorCommits:
    """The mirrors of a home. Each look starts its own git: it is asked for in a thread of readers, or on a command line."""

    home: Home
    extent: Callable[[str], Extent]

    def contract_files(self, space: str, branches: tuple[str, ...]) -> FilesAtBase | None:
        async def read(git: "GitMirrors") -> FilesAtBase | None:
            name = RepositoryName(space)
            for branch in branches:
                if (head := await git.branch_head(name, branch)) is not None:
                    files = await git.read_files(name, head, PATHS, limit_bytes=MOST_BYTES + 1)
                    return FilesAtBase(commit=head, files=files) if files else None
            return None

        return self._asked(space, read)

    def changes(self, space: str, base: Sha, head: Sha) -> tuple[Change, ...] | None:
        async def read(git: "GitMirrors") -> Sequence[Change]:
            return await git.changes(RepositoryName(space), base, head)

        try:
            found = self._asked(space, read)
        except GitFailed:
            return None  # the commits are not in it any more
        return None if found is None else tuple(found)

    def paths(self, space: str, commit: Sha) -> tuple[str, ...] | None:
        async def read(git: "GitMirrors") -> Sequence[str]:
            return tuple(await git.listing(RepositoryName(space), commit))

        try:
            found = self._asked(space, read)
        except GitFailed:
            return None
        return None if found is None else tuple(found)

    def files(self, space: str, commit: str, paths: Sequence[str]) -> Mapping[str, bytes]:
        """What of these files a commit has; nothing where there is no mirror. Raises GitFailed, GitUnavailable."""

        async def read(git: "GitMirrors") -> Mapping[str, bytes]:
            return await git.read_files(RepositoryName(space), Sha(commit), paths)

        return self._asked(space, read) or {}

    def _asked(
        self, space: str, read: "Callable[[GitMirrors], Coroutine[Any, Any, Result]]"
    ) -> Result | None:
        """None where there is no mirror. Raises GitFailed, GitUnavailable."""
        if not self.home.mirror(RepositoryName(space)).exists():
            return None
        from overlord.adapters.git.mirrors import GitMirrors

        return asyncio.run(read(GitMirrors(self.home, extent=self.extent)))
