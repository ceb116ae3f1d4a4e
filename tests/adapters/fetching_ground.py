"""A forge with `acme/calc`, and an Overlord's git that fetches what a commit names beside itself."""

import base64
from pathlib import Path

from minion.workspace.ready import ReadyCopy
from overlord.adapters.git.mirrors import GitMirrors
from overlord.adapters.git.ready import MOST_BYTES
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.launch import Remote
from overlord.domain.repositories.extent import Extent
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.home import Home

NAME = RepositoryName("acme/calc")


class FetchingGround:
    """Both ends."""

    usual = Extent()
    """What is fetched unless a test says otherwise."""

    def __init__(self, root: Path, forge: EmbeddedForge, url: str) -> None:
        self.root, self.forge, self.url = root, forge, url
        self.home = Home(root / "home")
        self.home.root.mkdir()
        self.git = self.overlord()

    def overlord(self, extent: Extent | None = None, ready_bytes: int = MOST_BYTES) -> GitMirrors:
        return GitMirrors(self.home, extent=lambda _: extent or self.usual, ready_bytes=ready_bytes)

    async def remote(self) -> Remote:
        token = base64.b64encode(f"x-access-token:{self.forge.token}".encode()).decode()
        return Remote(url=f"{self.url}/{NAME}.git", authorization=f"Basic {token}")

    async def laid_out(self, base: Sha, git: GitMirrors | None = None) -> Path:
        place = await (git or self.git).ready_copy(NAME, base, self.remote)
        assert place is not None
        root = self.root / f"tree-{len(list(self.root.glob('tree-*')))}"
        ReadyCopy(place).lay_out(root, head="ref: refs/heads/x", config="", references={"refs/heads/x": base})
        return root
