"""The swarm that tests share: made by the first that needs it, taken away by the last, whatever process they are in."""

import asyncio
import contextlib
import json
import re
import socket
import subprocess
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from os import getpid
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from overlord.adapters.docker.engine import DockerEngine
from overlord.adapters.docker.profile import Profile
from overlord.adapters.swarm.runner import SwarmRunner
from overlord.adapters.swarm.spec import MARK
from overlord.config_files import config_directory
from overlord.domain.identifiers import SessionId
from overlord.embedded.swarm_lab import (
    ROOT,
    SwarmLab,
    clear_lab,
    forget_place,
    lab_lock,
    lacking,
    locked,
    made_lab,
    make_lab,
)
from tests import live
from tests.puppet import PUPPET, SessionApi
from tests.required import missing
from tests.runners import IMAGE

OPTIONS = ("--no-new-privileges", f"--seccomp-profile={config_directory() / 'seccomp.json'}")
"""How docs/swarm.md says an engine is to be started that cannot be asked for these walls."""
Result = TypeVar("Result")
GRACE_S = 2.0
LET_GO_S = 30.0
STAYS_S = 3600.0
_UNNAMED = re.compile(r"[0-9a-f]{64}")


@contextlib.contextmanager
def shared_lab() -> Iterator[SwarmLab]:
    """The lab, with the images of sessions on its nodes; or the swarm that somebody gave. Skips, or fails, where there can be none."""
    if (given := live.swarm()) is not None:
        yield given
        return
    if why := lacking():
        missing("docker", f"a lab of engines: {why}")
    with ExitStack() as stack:
        with _users() as users:
            stack.enter_context(lab_lock(shared=True))
            lab = made_lab()
            if lab is None or not users:
                lab = _ran(_make())
            users.add(_name(getpid()))
        try:
            yield lab
        finally:
            with _users() as users:
                users.discard(_name(getpid()))
                if not users:
                    _ran(clear_lab())
                    forget_place("gate", "nodes", "lock", "users")


def _ran(act: Coroutine[Any, Any, Result]) -> Result:
    """What comes of it, in a loop of its own: the one of the test may be running."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, act).result()


async def _make() -> SwarmLab:
    lab = await make_lab(ROOT, options=OPTIONS)
    archive = ROOT / "images.tar"
    # Setups run on the manager alone.
    for nodes, images in ((lab.nodes[1:], [IMAGE]), ([lab.manager], [IMAGE, f"{IMAGE}-setup"])):
        saved = subprocess.run(
            ["docker", "save", "-o", archive, *images], check=False, capture_output=True, text=True
        )
        if saved.returncode != 0:
            await clear_lab()
            missing("docker", f"{saved.stderr}: run `make images`")
        await asyncio.gather(*(node.load(archive) for node in nodes))
    archive.unlink()
    return lab


@contextlib.contextmanager
def _users() -> Iterator[set[str]]:
    """The processes that have the lab, to be changed; those that died have it no more."""
    with locked("users") as file:
        file.seek(0)
        users = {
            user
            for user in json.loads(file.read() or "[]")
            if user == _name(int(str(user).partition(" ")[0]))
        }
        yield users
        file.seek(0)
        file.truncate()
        json.dump(sorted(users), file)


def _name(pid: int) -> str:
    """A process's number and when it began, as numbers are given out again; empty for one that is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return f"{pid} {stat.rpartition(')')[2].split()[19]}"


@contextlib.contextmanager
def nodes_lock(*, alone: bool) -> Iterator[None]:
    """Have the nodes together with other tests; or alone, to cut them off and switch them off."""
    with ExitStack() as stack:
        # Who wants them alone gets them next: nobody else passes the gate meanwhile.
        with locked("gate"):
            stack.enter_context(locked("nodes", shared=not alone))
        yield


@dataclass
class SwarmKit:
    """The runner of swarms, on the lab."""

    root: Path
    session_api: SessionApi
    lab: SwarmLab
    instance: str = field(default_factory=lambda: f"test-{uuid4().hex[:10]}")
    profile: Profile = field(default_factory=Profile)
    constraints: tuple[str, ...] = ()
    start_s: float = 60.0
    idle_s: float = 0.0
    """How long the relay stays when no session is left."""

    def runner(self, program: str = "") -> SwarmRunner:
        return SwarmRunner(
            self.root,
            image=IMAGE,
            instance=self.instance,
            profile=self.profile,
            command=self._command(program),
            address=self.lab.manager.address,
            engines=self._engines(),
            constraints=self.constraints,
            start_s=self.start_s,
            grace_s=GRACE_S,
            idle_s=self.idle_s,
        )

    def on(self, *constraints: str) -> "SwarmKit":
        """The same kit, for nodes that are like this."""
        return replace(self, constraints=constraints)

    def source(self, program: str) -> str:
        return (
            "from pathlib import Path\nfrom overlord.adapters.swarm.runner import SwarmRunner\n"
            f"runner = SwarmRunner(Path({str(self.root)!r}), image={IMAGE!r}, instance={self.instance!r},"
            f" command={self._command(program)!r}, address={self.lab.manager.address!r},"
            f" engines={self._engines()!r}, grace_s={GRACE_S}, idle_s={self.idle_s})\n"
        )

    def _engines(self) -> tuple[str, ...]:
        return tuple(node.address for node in self.lab.nodes[1:])

    def _command(self, program: str) -> list[str]:
        return ["python", "-c", PUPPET + program]

    async def kill_from_outside(self, session: SessionId) -> None:
        for node in self.lab.nodes:
            for label in (
                f"{MARK}={self.instance}/{session}",
                f"overlord.instance={self.instance}",
            ):
                for container in (await node.docker("ps", "-q", "--filter", f"label={label}")).split():
                    await node.docker("kill", container)

    async def emptied(self, *, alone: bool = False) -> dict[str, list[str]]:
        """What nodes have of this instance, by their names, once they had time to let go of it: containers, networks, volumes,
        services. `alone`: every volume that no container has is this instance's. A relay that stays is left out."""
        left = dict[str, list[str]]()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LET_GO_S):
                while left := await self._left(alone=alone):
                    pass  # each look takes its time
        return left

    async def _left(self, *, alone: bool) -> dict[str, list[str]]:
        found = dict[str, list[str]]()
        for node in self.lab.nodes:
            containers = await node.docker("ps", "-a", "--format", "{{.Names}}")
            networks = await node.docker("network", "ls", "--format", "{{.Name}}")
            volumes = await node.docker("volume", "ls", "--format", "{{.Name}}")
            lines = [*containers.split(), *networks.split(), *volumes.split()]
            unused = await node.docker("volume", "ls", "--quiet", "--filter", "dangling=true")
            if node is self.lab.manager:
                lines += (await node.docker("service", "ls", "--format", "{{.Name}}")).split()
            own = f"{self.instance}-s-" if self.idle_s else self.instance
            kept = [line for line in lines if own in line]
            kept += [line for line in unused.split() if alone and _UNNAMED.fullmatch(line)]
            if kept:
                found[node.name] = kept
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRelay:
    """An instance whose network and relay serve test after test, each with a session API at the same port."""

    lab: SwarmLab
    instance: str
    port: int

    def kit(self, root: Path, session_api: SessionApi) -> SwarmKit:
        return SwarmKit(root, session_api, self.lab, instance=self.instance, idle_s=STAYS_S)


@contextlib.contextmanager
def shared_relay(lab: SwarmLab, root: Path) -> Iterator[SharedRelay]:
    with socket.create_server((lab.host, 0)) as free:
        port = free.getsockname()[1]
    shared = SharedRelay(lab=lab, instance=f"test-{uuid4().hex[:10]}", port=port)
    yield shared
    _ran(_removed(shared.kit(root, SessionApi(root))))


async def remove_networks(kit: SwarmKit) -> None:
    """Take the relays and networks that no session needs."""
    runner = replace(kit, idle_s=0.0).runner()
    await runner.remove(SessionId("none"))
    await runner.close()


async def _removed(kit: SwarmKit) -> None:
    """The same, and nothing of the instance is left."""
    await remove_networks(kit)
    assert await replace(kit, idle_s=0.0).emptied() == {}


@contextlib.asynccontextmanager
async def engine_of(address: str) -> AsyncIterator[DockerEngine]:
    engine = DockerEngine(address=address)
    yield engine
    engine.close()
