"""How long a person waits after `overlord init` until they are asked something, without the model: `python -m bench.init`.

Each repository is looked at as the program does it, from the command's start: the first question of the discovery, and with
`--skip-discovery` the gate at which the contract is confirmed. The scripted model answers at once, so none of it is the model's.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Mapping
from statistics import median

from bench.start import FILES, repository
from bench.table import Figure, publish
from overlord.embedded.play import submit
from tests.architect import CONTRACT, ROLE, proposed, recorded
from tests.local import LocalSession, git, local_session, made
from tests.world import CALC

ROUNDS = 3
GOAL_S = 3.0
OF_ANY = {**CONTRACT, "roles": {"developer": {**ROLE, "scope": {"mode": "unrestricted"}}}}
QUESTION, GATE = "\n> ", "choose 1-"


async def waited(files: Mapping[str, str | bytes] | None, *, is_gate: bool) -> tuple[float, float]:
    """Seconds from the command until the question is on the screen, and what a clone of the repository and a Python that does nothing
    take beside it."""
    async with local_session(CALC) as user:
        user.repo = user.root / "measured"
        if files is None:
            user.repo.mkdir()
        else:
            made(user.repo, files)
        if is_gate:
            user.model.will(*proposed(CONTRACT if files is CALC else OF_ANY))
        else:
            user.model.will(recorded(), submit("I looked at everything."))
        words = ("--skip-discovery",) if is_gate else ()
        began = time.perf_counter()
        terminal = await user.terminal("init", "--git-init", *words)
        await terminal.until(GATE if is_gate else QUESTION)
        took = time.perf_counter() - began
        return took, beside(user)


def beside(user: LocalSession) -> float:
    began = time.perf_counter()
    git(user.root, "clone", "--quiet", "--no-local", str(user.repo), "beside")
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


async def measured() -> list[Figure]:
    repositories = {"an empty folder": None, "4 files": CALC, f"{FILES:,} files": repository()}
    found = []
    for name, files in repositories.items():
        for what, is_gate in (("first question", False), ("first gate", True)):
            pairs = [await waited(files, is_gate=is_gate) for _ in range(ROUNDS)]
            took, clone = (median(values) for values in zip(*pairs, strict=True))
            row = {"part": "init", "unit": "s", "yardstick": "git clone", "beside": clone}
            found.append(Figure(**row, name=f"{name}: {what}", measured=took, goal=GOAL_S))
    return found


def main() -> int:
    publish(asyncio.run(measured()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
