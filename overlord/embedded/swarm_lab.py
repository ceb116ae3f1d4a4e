"""A Docker Swarm of several real engines on one machine: each a `dockerd` in a network namespace of its own, joined by a bridge.

What happens to nodes of a swarm can be made to happen here: a cut cable, a machine that dies, a node that is drained. One lab at a
time on a machine, and only root can make it. What a lab made stands in a file, so the next one clears up after one that was killed.

Tried first: `ip netns exec`, which mounts another /sys, where an engine finds no cgroups; and a bridge among this machine's own
interfaces, where the firewall of its own engine drops what nodes say to each other. So `nsenter`, and the bridge in a namespace too.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

NET = "198.18.77"
"""The nodes' addresses begin so: of the range that is set aside for trials of networks."""
HOST = f"{NET}.254"
"""Where nodes find this machine."""
PORT = 2375
ROOT = Path("/tmp/overlord-swarm-lab")  # noqa: S108 - nothing of it is trusted; what counts is in PLACE
PLACE = Path("/run/overlord-swarm-lab")
"""Where a lab is written down: root's alone."""
_SWITCH = "overlord-lab"
_VETH = "overlord-lab"
_UP_S = 60.0
_LOOK_S = 0.1
_STOP_S = 20.0
LOCK_S = 300.0
"""How long whoever wants the lab waits for those that have it."""


class LabFailed(Exception):
    """This machine does not let a lab be made, or a command of one failed; says why."""


def lacking() -> str:
    """Why this machine can have no lab; empty when it can."""
    if os.geteuid() != 0:
        return "only root can make network namespaces and start engines"
    missing = [
        name for name in ("dockerd", "docker", "ip", "nsenter", "unshare") if shutil.which(name) is None
    ]
    return f"there is no {', no '.join(missing)}" if missing else ""


@dataclass(slots=True)
class LabNode:
    """One engine of a lab."""

    number: int
    root: Path
    options: Sequence[str]

    @property
    def name(self) -> str:
        return f"node-{self.number}"

    @property
    def ip(self) -> str:
        return f"{NET}.{self.number}"

    @property
    def address(self) -> str:
        """What `DOCKER_HOST` would be for it."""
        return f"tcp://{self.ip}:{PORT}"

    @property
    def namespace(self) -> str:
        return f"{_SWITCH}-{self.number}"

    async def docker(self, *arguments: str) -> str:
        """What the `docker` command says of this engine. Raises LabFailed."""
        return await _run("docker", "--host", self.address, *arguments)

    async def begin(self) -> None:
        """Start its engine, and wait until it answers. Raises LabFailed with its last words."""
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / "dockerd.pid").unlink(missing_ok=True)
        # It outlives the loop that starts it, so it is no child of this program.
        await _run(
            *("setsid", "--fork", "nsenter", f"--net=/run/netns/{self.namespace}", "unshare", "--uts"),
            *("sh", "-c", 'hostname "$0" && exec dockerd "$@" >>"$LOG" 2>&1', self.name),
            *("--data-root", str(self.root / "data"), "--exec-root", str(self.root / "run")),
            *("--pidfile", str(self.root / "dockerd.pid"), "--host", self.address, "--tls=false"),
            *("--log-level", "warn", "--shutdown-timeout", "3", *self.options),
            environment={"LOG": str(self.root / "log")},
        )
        for _ in range(int(_UP_S / _LOOK_S)):
            with contextlib.suppress(LabFailed):
                await self.docker("version")
                return
            if not _processes(self.namespace, self.root):
                break
            await asyncio.sleep(_LOOK_S)
        words = (self.root / "log").read_text(encoding="utf-8", errors="replace")[-2000:]
        raise LabFailed(f"the engine of {self.name} does not come up: {words}")

    async def cut(self) -> None:
        """Pull its cable: it goes on, and nobody hears of it."""
        await _run("ip", "-n", _SWITCH, "link", "set", f"n{self.number}", "down")

    async def heal(self) -> None:
        await _run("ip", "-n", _SWITCH, "link", "set", f"n{self.number}", "up")

    async def stop(self) -> None:
        """Switch the machine off: nothing of it says goodbye."""
        await _end(self.namespace, self.root)
        # As on a machine, where it is memory: helpers' sockets and process numbers of before would be taken for theirs.
        await asyncio.to_thread(shutil.rmtree, self.root / "run", ignore_errors=True)

    async def start(self) -> None:
        """Switch it on again."""
        await self.begin()

    async def load(self, archive: Path) -> None:
        """Take in an archive of images."""
        await self.docker("load", "--quiet", "--input", str(archive))


@dataclass(slots=True)
class SwarmLab:
    """The nodes; the first one manages."""

    nodes: Sequence[LabNode]
    host: str = HOST
    """This machine, as nodes reach it."""
    ids: dict[str, str] = field(default_factory=dict)
    """The nodes' ids in the swarm, by their names."""

    @property
    def manager(self) -> LabNode:
        return self.nodes[0]

    async def drain(self, node: LabNode) -> None:
        await self.manager.docker("node", "update", "--availability", "drain", self.ids[node.name])

    async def activate(self, node: LabNode) -> None:
        await self.manager.docker("node", "update", "--availability", "active", self.ids[node.name])

    async def until(self, node: LabNode, state: str) -> None:
        """Wait until the manager takes a node to be `ready` or `down`."""
        for _ in range(int(_UP_S / _LOOK_S)):
            shown = await self.manager.docker(
                "node", "inspect", "--format", "{{.Status.State}}", self.ids[node.name]
            )
            if shown == state:
                return
            await asyncio.sleep(_LOOK_S)
        raise LabFailed(f"{node.name} does not become {state}")

    async def load(self, archive: Path) -> None:
        """Give all nodes an archive of images."""
        await asyncio.gather(*(node.load(archive) for node in self.nodes))


@contextlib.asynccontextmanager
async def swarm_lab(
    root: Path = ROOT, *, nodes: int = 3, options: Sequence[str] = ()
) -> AsyncIterator[SwarmLab]:
    """A swarm for as long as the block lasts; another lab of this machine is waited for. `options` are for each `dockerd`.
    Raises LabFailed."""
    if why := lacking():
        raise LabFailed(why)
    with lab_lock():
        try:
            yield await make_lab(root, nodes=nodes, options=options)
        finally:
            await clear_lab()
            forget_place("lock")


async def make_lab(root: Path, *, nodes: int = 3, options: Sequence[str] = ()) -> SwarmLab:
    """Make one that outlives this program; `clear_lab` is owed. What an earlier one left is cleared first."""
    await clear_lab()
    await asyncio.to_thread(_fresh, root)
    made = [LabNode(number, root / f"{number}", tuple(options)) for number in range(1, nodes + 1)]
    _write({"root": str(root), "nodes": nodes, "options": list(options)})
    await _lay_cables(made)
    await asyncio.gather(*(node.begin() for node in made))
    lab = SwarmLab(made)
    await _join(lab)
    _write({"root": str(root), "nodes": nodes, "options": list(options), "ids": lab.ids})
    return lab


def made_lab() -> SwarmLab | None:
    """The lab another program made, if there is one."""
    told = _read()
    if "ids" not in told:
        return None
    root, options = Path(told["root"]), tuple(told["options"])
    nodes = [LabNode(number, root / f"{number}", options) for number in range(1, told["nodes"] + 1)]
    return SwarmLab(nodes, ids=told["ids"])


async def clear_lab() -> None:
    """Take away everything of a lab, whoever made it. None there is no error."""
    told = _read()
    if not told:
        return
    root = Path(told["root"])
    numbers = range(1, int(told["nodes"]) + 1)
    await asyncio.gather(*(_end(f"{_SWITCH}-{number}", root / f"{number}") for number in numbers))
    for name in (*(f"{_SWITCH}-{number}" for number in numbers), _SWITCH):
        await _run("ip", "netns", "del", name, fails=True)
    # Images on three engines are very many files, and a mount that could not be taken away is not gone into.
    await _run("rm", "-rf", "--one-file-system", str(root), fails=True)
    _file().unlink(missing_ok=True)


def _fresh(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(mode=0o700)


async def _lay_cables(nodes: Sequence[LabNode]) -> None:
    """A bridge in a namespace of its own, a cable from it to each node and to this machine."""
    inside = ("ip", "-n", _SWITCH)
    await _run("ip", "netns", "add", _SWITCH)
    await _run(*inside, "link", "add", "bridge", "type", "bridge")
    await _run(*inside, "link", "set", "bridge", "up")
    await _run("ip", "link", "add", _VETH, "type", "veth", "peer", "name", "host", "netns", _SWITCH)
    await _run("ip", "addr", "add", f"{HOST}/24", "dev", _VETH)
    await _run("ip", "link", "set", _VETH, "up")
    await _run(*inside, "link", "set", "host", "master", "bridge", "up")
    for node in nodes:
        own = ("ip", "-n", node.namespace)
        await _run("ip", "netns", "add", node.namespace)
        cable = ("type", "veth", "peer", "name", "eth0", "netns", node.namespace)
        await _run(*inside, "link", "add", f"n{node.number}", *cable)
        await _run(*inside, "link", "set", f"n{node.number}", "master", "bridge", "up")
        await _run(*own, "link", "set", "lo", "up")
        await _run(*own, "addr", "add", f"{node.ip}/24", "dev", "eth0")
        await _run(*own, "link", "set", "eth0", "up")
        await _run(*own, "route", "add", "default", "via", HOST)


async def _join(lab: SwarmLab) -> None:
    """Make the swarm. Lost nodes are noticed within seconds: a manager asks for a sign of life each second here."""
    manager = lab.manager
    await manager.docker("swarm", "init", "--advertise-addr", manager.ip, "--dispatcher-heartbeat", "1s")
    token = await manager.docker("swarm", "join-token", "--quiet", "worker")
    for node in lab.nodes[1:]:
        await node.docker("swarm", "join", "--token", token, manager.ip)
    for node in lab.nodes:
        lab.ids[node.name] = await node.docker("info", "--format", "{{.Swarm.NodeID}}")
    for node in lab.nodes:
        await lab.until(node, "ready")


async def _end(namespace: str, root: Path) -> None:
    """Kill everything of a node, and take its mounts away."""
    for _ in range(int(_STOP_S / _LOOK_S)):
        alive = _processes(namespace, root)
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not alive:
            break
        await asyncio.sleep(_LOOK_S)
    for place in reversed(_mounts(root)):
        await _run("umount", "--lazy", place, fails=True)


def _processes(namespace: str, root: Path) -> set[int]:
    """Those in a namespace, those that name the node's root (the engine's helpers do), and all that descend from them."""
    try:
        inode = Path("/run/netns", namespace).stat().st_ino
    except FileNotFoundError:
        inode = 0
    parents, found, mark = dict[int, int](), set[int](), f"{root}/run/".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        with contextlib.suppress(OSError, ValueError):
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if stat[0] in {"Z", "X"}:
                continue
            pid = int(entry.name)
            parents[pid] = int(stat[1])
            if (entry / "ns" / "net").stat().st_ino == inode or mark in (entry / "cmdline").read_bytes():
                found.add(pid)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


def _mounts(root: Path) -> list[str]:
    """What is mounted below a directory, in the order it was mounted."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    places = [line.split()[4].replace("\\040", " ") for line in lines]
    return [place for place in places if place.startswith(f"{root}/")]


@contextlib.contextmanager
def lab_lock(*, shared: bool = False) -> Iterator[None]:
    """Have the one lab of this machine to oneself, or together with others that share it. Waits; raises LabFailed after LOCK_S."""
    with locked("lock", shared=shared):
        yield


@contextlib.contextmanager
def locked(name: str, *, shared: bool = False) -> Iterator[IO[str]]:
    """Hold a lock of the lab's; its file. Waits; raises LabFailed after LOCK_S. Who holds it alone may remove its file."""
    path = PLACE / name
    until = time.monotonic() + LOCK_S
    while (file := _taken(path, shared=shared)) is None:
        if time.monotonic() >= until:
            raise LabFailed(
                f"the lab of this machine is in use: for {LOCK_S:.0f} s nobody let go of {path}; `fuser {path}` shows who has it"
            )
        time.sleep(_LOOK_S)
    with file:
        yield file


def _taken(path: Path, *, shared: bool) -> IO[str] | None:
    """A lock's file with the lock; none while others have it, and when whoever had it removed it."""
    PLACE.mkdir(mode=0o700, exist_ok=True)
    with contextlib.suppress(FileNotFoundError, BlockingIOError), contextlib.ExitStack() as stack:
        file = stack.enter_context(path.open("a+", encoding="utf-8"))
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
            stack.pop_all()
            return file
    return None


def forget_place(*names: str) -> None:
    """Remove locks that are held, in this order, and the directory when there is nothing else in it."""
    for name in names:
        (PLACE / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        PLACE.rmdir()


def _file() -> Path:
    return PLACE / "lab.json"


def _read() -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told


def _write(told: dict[str, Any]) -> None:
    PLACE.mkdir(mode=0o700, exist_ok=True)
    fresh = _file().with_suffix(".new")
    fresh.write_text(json.dumps(told), encoding="utf-8")
    fresh.replace(_file())


async def _run(*command: str, fails: bool = False, environment: Mapping[str, str] | None = None) -> str:
    """What a command says. Raises LabFailed with its error's words, unless it may fail."""
    own = None if environment is None else {**os.environ, **environment}
    # Files, not pipes: what a command leaves running would hold them open.
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as error:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=said, stderr=error, env=own
        )
        if await process.wait() != 0 and not fails:
            error.seek(0)
            raise LabFailed(f"{' '.join(command[:6])}: {error.read().decode(errors='replace').strip()}")
        said.seek(0)
        return said.read().decode().strip()
