"""An embedded forge and a scripted model in a process of their own, so that their work is not counted as the daemon's."""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.model import EmbeddedModel
from overlord.embedded.play import say

REPOSITORY = "bench/calc"
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """Its address and token, those of the model, and the pipe people's doings there are asked for by."""

    url: str
    token: str
    model_url: str
    model_key: str
    pipe: Connection

    async def open_issues(self, count: int) -> None:
        """People open and label so many issues, in each repository as many."""
        await self._ask(("open", count))

    async def pulls(self) -> list[tuple[str, str]]:
        """The repository and the branch of each pull request."""
        found: list[tuple[str, str]] = await self._ask(("pulls", 0))
        return found

    async def _ask(self, what: tuple[str, int]) -> list[tuple[str, str]]:
        self.pipe.send(what)
        answer: list[tuple[str, str]] = await asyncio.to_thread(self.pipe.recv)
        return answer


@asynccontextmanager
async def forge_apart(root: Path, repositories: Sequence[str] = (REPOSITORY,)) -> AsyncIterator[Forge]:
    """One that serves small repositories; the model beside it answers everything with the same words."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, root, repositories))
    process.start()
    try:
        url, token, model_url, model_key = await asyncio.to_thread(ours.recv)
        yield Forge(url=url, token=token, model_url=model_url, model_key=model_key, pipe=ours)
    finally:
        ours.send(None)
        await asyncio.to_thread(process.join)


def _serve(pipe: Connection, root: Path, repositories: Sequence[str]) -> None:
    async def run() -> None:
        forge, model = EmbeddedForge(root / "forge"), EmbeddedModel([])
        model.will(say("Go on."))
        for name in repositories:
            await forge.create_repository(name, files=FILES)
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(forge.serve())
            model_url = await stack.enter_async_context(model.serve())
            pipe.send((url, forge.token, f"{model_url}/v1", model.key))
            while (asked := await asyncio.to_thread(pipe.recv)) is not None:
                pipe.send(await _done(forge, repositories, *asked))
        forge.close()

    asyncio.run(run())


async def _done(
    forge: EmbeddedForge, repositories: Sequence[str], what: str, count: int
) -> list[tuple[str, str]]:
    if what == "pulls":
        return [(name, pull.head_branch) for name in repositories for pull in forge.pulls(name)]
    for number in range(count):
        await forge.open_issue(
            repositories[number % len(repositories)],
            f"Adding subtracts ({number})",
            "`add(2, 2)` is 0.",
            labels=["nebulus-ready"],
        )
    return []
