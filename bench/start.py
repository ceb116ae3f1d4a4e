"""How long until a session has its files, on a repository of 7,000: `python -m bench.start [image]`.

*Ready* is the program's start (the container's, where an engine answers) to its second model request: the first is answered at
once, and the second waits for the working copy. Each way begins with a ready copy of Overlord's, and with a plain clone.
"""

import asyncio
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bench.table import Figure, publish
from minion.protocol import Limits
from overlord.adapters.docker.engine import DockerEngine
from overlord.adapters.docker.runner import DockerRunner
from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.launch import Launch, Remote
from overlord.errors import RunnerRefused, RunnerUnavailable
from overlord.home import Home
from tests.minion.session_api import SessionApi, call, opened

ROOT = Path(__file__).parents[1]
NAME = RepositoryName("bench/large")
IMAGE = "overlord-minion"
FILES, ROUNDS = 7_000, 5
GOAL_MS = 300.0
DEADLINE_S = 60.0
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"
"""Files in memory, as in a container: what a disk makes of 7,000 new ones depends on what was deleted from it last."""
WORDS = [f"word{number}" for number in range(2_000)]


def repository() -> dict[str, str | bytes]:
    """As many files as a large project has, of the sizes they have there: 5 KB each, some much larger."""
    chance = random.Random(7)
    return {
        f"src/part{number % 60}/group{number % 7}/module{number}.py": "".join(
            f"# {' '.join(chance.choices(WORDS, k=9))}\n"
            for _ in range(int(chance.lognormvariate(8, 1.1)) // 70 + 1)
        )
        for number in range(FILES)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The repository behind a session API, and Overlord's ready copy of it."""

    session_api: SessionApi
    ready: Path
    made_ms: float


@contextmanager
def ground(root: Path) -> Iterator[Ground]:
    with opened(root / "door", repository(), limits=Limits(turns=5)) as session_api:
        ready, made_ms = asyncio.run(made_copy(root / "home", session_api))
        session_api.will(call("run_command", command="true"), call("task_blocked", reason="measured"))
        session_api.remembers = False
        for place in (root, session_api.root):
            place.chmod(0o755)
        session_api.socket.chmod(0o666)
        yield Ground(session_api=session_api, ready=ready, made_ms=made_ms)


async def made_copy(root: Path, session_api: SessionApi) -> tuple[Path, float]:
    """A ready copy of a session's repository, as Overlord makes one below a home, and the milliseconds that took."""
    home = Home(root)
    root.mkdir()
    git = GitMirrors(home)
    await git.refresh_mirror(NAME, Remote(url=str(session_api.repository)))
    began = time.perf_counter()
    ready = await git.ready_copy(NAME, Sha(session_api.brief.base_sha))
    if ready is None:
        raise SystemExit("git made no ready copy of the repository")
    return ready, (time.perf_counter() - began) * 1000


def in_process(place: Ground, ready: Path | None) -> float:
    """One session as a process of this machine; milliseconds until it was ready."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=MEMORY) as work:
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "PYTHONSAFEPATH": "1",
            "MINION_SCOPE": place.session_api.brief.scope.to_json(),
            "OVERLORD_URL": place.session_api.url,
            "MINION_WORK": work,
            **({} if ready is None else {"MINION_READY": str(ready)}),
        }
        place.session_api.turns.clear()
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "minion"], env=environment, check=True, capture_output=True)
        return (place.session_api.turns[1][0] - began) * 1000


def in_container(place: Ground, ready: Path | None, *, image: str, root: Path) -> float:
    """One session in a container, its files in memory; milliseconds from the container's start until it was ready."""
    return asyncio.run(_contained(place, ready, image, root))


async def _contained(place: Ground, ready: Path | None, image: str, root: Path) -> float:
    runner, engine = DockerRunner(root, image=image, instance=f"bench-{os.getpid()}"), DockerEngine()
    session = SessionId("s1")
    place.session_api.turns.clear()
    scope = {"MINION_ID": session, "MINION_SCOPE": place.session_api.brief.scope.to_json()}
    try:
        await runner.start(
            Launch(
                session=session, job="1", environment=scope, session_api=place.session_api.root, ready=ready
            )
        )
        await asyncio.to_thread(place.session_api.wait_for, lambda: len(place.session_api.turns) > 1)
        shown = await engine.inspect(f"overlord-bench-{os.getpid()}-{session}")
        began = datetime.fromisoformat(shown["State"]["StartedAt"][:26].rstrip("Z") + "+00:00").timestamp()
        return (place.session_api.turns[1][0] + time.time() - time.perf_counter() - began) * 1000
    finally:
        await runner.remove(session)
        await runner.close()
        engine.close()


Way = Callable[[Ground, Path | None], float]


def rows(place: Ground, way: str, run: Way) -> list[Figure]:
    """The three rows of one way: the median of each kind of start, the kinds taken in turn."""
    run(place, place.ready)  # bytecode and file caches
    pairs = [(run(place, place.ready), run(place, None)) for _ in range(ROUNDS)]
    second, plain = (statistics.median(values) for values in zip(*pairs, strict=True))
    beside = {"part": "start", "unit": "ms", "yardstick": "plain clone", "beside": plain}
    return [
        Figure(**beside, name=f"{way}: first start (copy made)", measured=place.made_ms + second),
        Figure(**beside, name=f"{way}: second start", measured=second, goal=GOAL_MS),
    ]


def ways(image: str, root: Path) -> Mapping[str, Way]:
    """How sessions can be run here."""
    found: dict[str, Way] = {"process": in_process}
    why = asyncio.run(_no_engine(image))
    if why:
        print(why)
        return found
    return {**found, "container": lambda place, ready: in_container(place, ready, image=image, root=root)}


async def _no_engine(image: str) -> str:
    engine = DockerEngine()
    try:
        await engine.image(image)
    except (RunnerUnavailable, RunnerRefused) as error:
        return f"No containers: {error}"
    finally:
        engine.close()
    return ""


def main() -> int:
    if shutil.which("git") is None:
        print("The benchmark needs git.")
        return 1
    image = sys.argv[1] if len(sys.argv) > 1 else IMAGE
    with tempfile.TemporaryDirectory(prefix="bench-", dir=MEMORY) as name, suppress(KeyboardInterrupt):
        root = Path(name)
        with ground(root) as place:
            print(f"A session's start until it has its files, {FILES:,} of them")
            ready = ways(image, root / "containers").items()
            publish([row for way, run in ready for row in rows(place, way, run)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
