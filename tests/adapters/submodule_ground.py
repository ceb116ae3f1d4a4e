"""A forge with `acme/calc` and `acme/lib`, and an Overlord's git that fetches submodules."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from overlord.domain.identifiers import SessionId, Sha
from overlord.domain.repositories.extent import Extent
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.errors import Unobtainable
from tests.adapters.fetching_ground import NAME, FetchingGround
from tests.plumbing import Files, commit

SESSION = SessionId("j1-work-1")
WITH = Extent(submodules=True)


class Ground(FetchingGround):
    """Both ends."""

    usual = WITH

    def put(self, repository: str, files: Files) -> Sha:
        return commit(self.forge.directory(repository), "main", files)

    async def base(self, modules: dict[str, tuple[str, Sha]], files: Files | None = None) -> Sha:
        """A commit of `acme/calc` with these submodules: address and commit by path."""
        told = "".join(
            f'[submodule "{path}"]\n\tpath = {path}\n\turl = "{url}"\n' for path, (url, _) in modules.items()
        )
        links: Files = {path: ("160000", sha.encode()) for path, (_, sha) in modules.items()}
        made = self.put(NAME, {".gitmodules": told, "README.md": "# calc\n", **links, **(files or {})})
        await self.git.refresh_mirror(NAME, await self.remote())
        return made

    async def refused(self, base: Sha) -> str:
        with pytest.raises(Unobtainable) as refused:
            await self.git.ready_copy(NAME, base, self.remote)
        return str(refused.value)


LIB: Files = {
    "lib.py": "x = 1\n",
    "tool.sh": ("100755", b"#!/bin/sh\n"),
    "deep/link": ("120000", b"../lib.py"),
}


@asynccontextmanager
async def made_ground(root: Path) -> AsyncIterator[Ground]:
    """One on a fresh directory."""
    forge = EmbeddedForge(root / "forge")
    await forge.create_repository(NAME)
    await forge.create_repository("acme/lib")
    async with forge.serve() as url:
        yield Ground(root, forge, url)
    forge.close()
