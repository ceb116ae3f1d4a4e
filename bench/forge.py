"""An embedded forge in a process of its own, so that its work is not counted as the daemon's."""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from overlord.embedded.forge.forge import EmbeddedForge

REPOSITORY = "bench/calc"
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """Its address and token, and the pipe people's doings there are asked for by."""

    url: str
    token: str
    pipe: Connection

    async def open_issues(self, count: int) -> None:
        """People open and label so many issues."""
        self.pipe.send(count)
        await asyncio.to_thread(self.pipe.recv)


@asynccontextmanager
async def forge_apart(root: Path) -> AsyncIterator[Forge]:
    """One that serves a small repository."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, root))
    process.start()
    try:
        url, token = await asyncio.to_thread(ours.recv)
        yield Forge(url=url, token=token, pipe=ours)
    finally:
        ours.send(0)
        await asyncio.to_thread(process.join)


def _serve(pipe: Connection, root: Path) -> None:
    async def run() -> None:
        forge = EmbeddedForge(root / "forge")
        await forge.create_repository(REPOSITORY, files=FILES)
        async with forge.serve() as url:
            pipe.send((url, forge.token))
            while count := await asyncio.to_thread(pipe.recv):
                for number in range(count):
                    await forge.open_issue(
                        REPOSITORY,
                        f"Adding subtracts ({number})",
                        "`add(2, 2)` is 0.",
                        labels=["nebulus-ready"],
                    )
                pipe.send("done")
        forge.close()

    asyncio.run(run())
