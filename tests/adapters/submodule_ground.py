"""A forge with `acme/calc` and `acme/lib`, and an Overlord's git that fetches submodules."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from minion.ready import ReadyCopy
from overlord.adapters.git import GitMirrors
from overlord.adapters.git_ready import MOST_BYTES
from overlord.domain.extent import Extent
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.errors import Unobtainable
from overlord.home import Home
from overlord.ports import Remote, RepositoryName, SessionId, Sha
from tests.plumbing import Files, commit

NAME = RepositoryName("acme/calc")
SESSION = SessionId("j1-work-1")
WITH = Extent(submodules=True)


class Ground:
    """Both ends."""

    def __init__(self, root: Path, forge: EmbeddedForge, url: str) -> None:
        self.root, self.forge, self.url = root, forge, url
        self.home = Home(root / "home")
        self.home.root.mkdir()
        self.git = self.overlord()

    def overlord(self, extent: Extent = WITH, ready_bytes: int = MOST_BYTES) -> GitMirrors:
        return GitMirrors(self.home, extent=lambda _: extent, ready_bytes=ready_bytes)

    async def remote(self) -> Remote:
        token = base64.b64encode(f"x-access-token:{self.forge.token}".encode()).decode()
        return Remote(url=f"{self.url}/{NAME}.git", authorization=f"Basic {token}")

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

    async def laid_out(self, base: Sha, git: GitMirrors | None = None) -> Path:
        place = await (git or self.git).ready_copy(NAME, base, self.remote)
        assert place is not None
        root = self.root / f"tree-{len(list(self.root.glob('tree-*')))}"
        ReadyCopy(place).lay_out(root, head="ref: refs/heads/x", config="", references={"refs/heads/x": base})
        return root

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
