"""How long a person waits after `overlord init` until they are asked something, without the model: `python -m bench.init`.

Each repository is looked at as the program does it, from the command's start: the first question of the discovery, and with
`--skip-discovery` the gate at which the contract is confirmed. What the model took to answer is left out.
"""

import asyncio
import sys
import time
from collections.abc import Mapping
from statistics import median

from starlette.types import Receive, Scope, Send

from bench.start import FILES, repository
from bench.table import Figure, publish
from overlord.embedded.play import submit
from tests.architect import CONTRACT, proposed, recorded
from tests.local import LocalSession, local_session, made
from tests.world import CALC

ROUNDS = 3
GOAL_S = 3.0
QUESTION, GATE = "\n> ", "choose 1-"


class Timed:
    """The scripted model, and how long it was at work."""

    def __init__(self, user: LocalSession) -> None:
        self._app, self.spent_s = user.model._app, 0.0
        user.model._app = self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        try:
            await self._app(scope, receive, send)
        finally:
            self.spent_s += time.perf_counter() - began


async def waited(files: Mapping[str, str | bytes] | None, *, is_gate: bool) -> float:
    """Seconds from the command until the question is on the screen."""
    async with local_session(CALC) as user:
        user.repo = user.root / "measured"
        if files is None:
            user.repo.mkdir()
        else:
            made(user.repo, files)
        if is_gate:
            user.model.will(*proposed({**CONTRACT, "phases": CONTRACT["phases"]}))
        else:
            user.model.will(recorded(), submit("I looked at everything."))
        model = Timed(user)
        words = ("--skip-discovery",) if is_gate else ()
        began = time.perf_counter()
        terminal = await user.terminal("init", "--git-init", *words)
        await terminal.until(GATE if is_gate else QUESTION)
        took = time.perf_counter() - began
        return took - model.spent_s


async def measured() -> list[Figure]:
    repositories = {"an empty folder": None, "4 files": CALC, f"{FILES:,} files": repository()}
    found = []
    for name, files in repositories.items():
        for what, is_gate in (("first question", False), ("first gate", True)):
            took = [await waited(files, is_gate=is_gate) for _ in range(ROUNDS)]
            found.append(
                Figure(part="init", name=f"{name}: {what}", unit="s", measured=median(took), goal=GOAL_S)
            )
    return found


def main() -> int:
    publish(asyncio.run(measured()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
