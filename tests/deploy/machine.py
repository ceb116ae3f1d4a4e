"""A machine that boots systemd, in a container: Debian's own, with Overlord's program where the page has it installed.

Nothing of this machine's systemd is used, and any version of cgroups does. A machine is told by a label whose it is: who was killed
before it could clear up is cleared up after by the next.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.test_imports import ROOT
from tests.deploy.server import compose_or_skip, filled_in
from tests.required import missing
from tests.runners import docker

DEADLINE_S = 200.0
"""How long a machine may need for one thing; only a broken one reaches it."""
CONTEXT = ROOT / "tests" / "deploy" / "debian"
PAGE = ROOT / "deploy" / "README.md"
LABEL = "overlord.test.machine"
IMAGES = "overlord-test-machine"
ENGINES_GROUP = 10990
"""That of `docker` in the machine's image."""
MADE_BY_THE_IMAGE = (
    "python3 -m venv /opt/overlord",
    "/opt/overlord/bin/pip install --require-hashes -r requirements/run.lock -r requirements/tracing.lock",
    "/opt/overlord/bin/pip install --no-deps --no-build-isolation .",
)
# What systemd needs to be the first program, and what walls take away again: each of them is tried by somebody who has it.
GIVEN = [
    *("--cgroupns=private", "--tmpfs=/run", "--tmpfs=/run/lock", "--ulimit=core=-1"),
    *(f"--cap-add={name}" for name in ("SYS_ADMIN", "SYSLOG")),
    *("--security-opt=seccomp=unconfined", "--security-opt=apparmor=unconfined"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One such machine, and what an operator types there."""

    name: str

    async def shell(self, text: str, *, ok: bool = True) -> str:
        """Type these lines as root; what they printed."""
        return await self._typed(
            "docker", "exec", "--workdir=/checkout", self.name, "sh", "-euc", text, ok=ok
        )

    async def _typed(self, *command: str, ok: bool) -> str:
        typed = asyncio.to_thread(
            subprocess.run,
            command,
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=DEADLINE_S,
        )
        done = await typed
        assert not ok or done.returncode == 0, (
            f"{command}: {done.stdout}{done.stderr}\n{await self.story() if 'journalctl' not in command[-1] else ''}"
        )
        return done.stdout.strip()

    async def story(self) -> str:
        return await self.shell("journalctl --no-pager --lines 150 2>&1", ok=False)

    async def shown(self, *properties: str) -> dict[str, str]:
        """What systemd knows of the unit."""
        said = await self.shell(f"systemctl show overlord --property={','.join(properties)}")
        return dict(line.split("=", 1) for line in said.splitlines())

    async def until(self, text: str, holds: Callable[[str], bool] = bool) -> str:
        """Type this until what it prints is right; that."""
        try:
            async with asyncio.timeout(DEADLINE_S):
                while not holds(said := await self.shell(text, ok=False)):
                    await _moment()
                return said
        except TimeoutError:
            raise AssertionError(f"never came true: {text}: {said!r}\n{await self.story()}") from None

    async def up(self) -> None:
        """Wait until it has booted."""
        await self.until("systemctl is-system-running", {"running", "degraded"}.__contains__)
        # An engine leaves these read-only, which is one of the walls that are tried.
        await self.shell("mount -o remount,rw,bind /proc/sys")

    async def lose_power(self) -> None:
        await asyncio.to_thread(docker, "kill", self.name)

    async def power_on(self) -> None:
        await asyncio.to_thread(docker, "start", self.name)
        await self.up()

    async def install(self, settings: Mapping[str, str]) -> None:
        """Do what the page says, up to the start: the program is there already, and these settings are filled in."""
        lines = written(0).splitlines()
        assert [line for line in lines if line in MADE_BY_THE_IMAGE] == list(MADE_BY_THE_IMAGE)
        await self.shell("\n".join(line for line in lines if line not in MADE_BY_THE_IMAGE))
        example = (ROOT / "deploy" / ".env.example").read_text(encoding="utf-8")
        kept = [line for line in example.splitlines() if not line.startswith(("OVERLORD_HOME=", "ENGINE_"))]
        text = filled_in("\n".join(kept), dict(settings))
        await self.shell(f"cat >/etc/overlord/overlord.env <<'END'\n{text}\nEND")

    async def drop_in(self, name: str, *lines: str) -> None:
        """Lines over the unit's own."""
        text = "\n".join(("[Service]", *lines))
        place = "/etc/systemd/system/overlord.service.d"
        await self.shell(
            f"mkdir -p {place} && cat >{place}/{name}.conf <<'END'\n{text}\nEND\nsystemctl daemon-reload"
        )


def written(number: int) -> str:
    """The commands of one block in the page's part about a machine without Compose."""
    part = PAGE.read_text(encoding="utf-8").partition("\n## Without Compose\n")[2].partition("\n## ")[0]
    return part.split("```")[2 * number + 1].strip()


async def _moment() -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.2):
            await asyncio.Event().wait()


async def image_or_skip() -> str:
    """The machine's image, made once of what goes into it; skips where there is no engine."""
    if os.getuid() != 0:
        missing("systemd", "only root can give a machine in a container what systemd needs")
    await compose_or_skip()
    return await asyncio.to_thread(_image)


def _image() -> str:
    digest = hashlib.sha256(docker("image", "inspect", "--format", "{{.Id}}", "overlord").encode())
    for file in sorted(CONTEXT.iterdir()):
        digest.update(file.read_bytes())
    tag = f"{IMAGES}:{digest.hexdigest()[:16]}"
    with _alone():
        _clear_up()
        if subprocess.run(["docker", "image", "inspect", tag], check=False, capture_output=True).returncode:
            _build(tag)
        for older in docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", IMAGES).split():
            if older != tag:  # the engine keeps one that another run's machine still boots
                subprocess.run(["docker", "rmi", older], check=False, capture_output=True)
    return tag


def _build(tag: str) -> None:
    given = [name for name in ("http_proxy", "https_proxy", "no_proxy") if os.environ.get(name)]
    arguments = [word for name in given for word in ("--build-arg", name)]
    command = ["docker", "build", "--quiet", "--tag", tag, *arguments, str(CONTEXT)]
    built = subprocess.run(command, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One at a time, of all that run on this machine."""
    with open(Path(tempfile.gettempdir()) / "overlord-test-machine.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _owner() -> str:
    """This process, told from a later one of the same number."""
    return f"{os.getpid()}-{_began(os.getpid())}"


def _began(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _clear_up() -> None:
    """Remove what those left that were killed: their machines, and the folders (and engines in them) the machines saw."""
    for identifier in docker("ps", "--all", "--quiet", "--filter", f"label={LABEL}").split():
        asked = ["docker", "inspect", "--format", "{{json .Config.Labels}}", identifier]
        said = subprocess.run(asked, check=False, capture_output=True, text=True).stdout
        if not said:
            continue  # gone by itself meanwhile
        labels = json.loads(said)
        pid, _, began = labels[LABEL].partition("-")
        if _began(int(pid)) != began:
            subprocess.run(["docker", "rm", "--force", identifier], check=False, capture_output=True)
            for place in filter(is_test_folder, labels.get(f"{LABEL}.folders", "").split(":")):
                _remove(Path(place))


def is_test_folder(place: str) -> bool:
    """Whether a label names a folder that a test made: what anything else names is nobody's to remove."""
    folder = Path(place)
    is_made_here = folder.parent in {Path(tempfile.gettempdir()), Path("/tmp")}
    return is_made_here and folder.name.startswith(("ov-", "engine-"))


def _remove(folder: Path) -> None:
    """A folder, and the engine whose all it is, with what that ran."""
    marks = [f"{folder}/", *(place.name for place in (folder / "data-root" / "containers").glob("*"))]
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            told = (entry / "cmdline").read_bytes() + (entry / "cgroup").read_bytes()
            if entry.name.isdigit() and any(mark.encode() in told for mark in marks):
                os.kill(int(entry.name), signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.asynccontextmanager
async def booted(mounts: Mapping[Path, str], *, folders: Sequence[Path] = ()) -> AsyncIterator[Machine]:
    """A machine while the block runs, with these folders of this one mounted; `folders` are all that is there for it alone."""
    image = await image_or_skip()
    machine = Machine(name=f"overlord-test-{uuid.uuid4().hex[:10]}")
    seen = {ROOT / "deploy": "/checkout/deploy:ro", ROOT / "tests/deploy/walls.py": "/walls.py:ro", **mounts}
    words = [f"--volume={there}:{here}" for there, here in seen.items()]
    labels = {LABEL: _owner(), f"{LABEL}.folders": ":".join(str(folder) for folder in folders)}
    words += [f"--label={name}={value}" for name, value in labels.items()]
    words += ["--name", machine.name, "--add-host=host.docker.internal:host-gateway", *GIVEN]
    try:
        await asyncio.to_thread(docker, "run", "--detach", *words, image)
        await machine.up()
        yield machine
    finally:
        remove = ["docker", "rm", "--force", "--volumes", machine.name]
        await asyncio.to_thread(subprocess.run, remove, check=False, capture_output=True)
