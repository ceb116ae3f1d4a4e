"""Every runner in a form one suite can drive: make it, make it again as the next daemon would, hurt it from outside."""

import asyncio
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from overlord.adapters.docker.engine import DockerEngine
from overlord.adapters.docker.profile import Profile
from overlord.adapters.docker.runner import DockerRunner
from overlord.adapters.process.runner import ProcessRunner
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import Launch
from overlord.domain.session import Ending
from overlord.errors import RunnerRefused, RunnerUnavailable
from overlord.ports.runner import Runner
from tests.memory.runner import Held, MemoryRunner, Program, State
from tests.puppet import DEADLINE_S, PUPPET, SessionApi
from tests.required import missing

IMAGE = "overlord-minion"
# Puppets that every runner can play, the one in memory too.
OBEYS = "say('up'); sys.exit(int(hear() or 9))"
POLITE = """
def bye(*_):
    say('bye'); sys.exit(5)
signal.signal(signal.SIGTERM, bye)
say('up'); rest()
"""
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN); say('up'); rest()"
EXITS = "sys.exit(2)"
MAKES = """
place = os.environ["MINION_ENVIRONMENT"]
found = os.listdir(place)
with open(place + "/made", "w") as file: file.write(os.environ["MINION_ID"])
say(json.dumps(found))
if hear() == "finish":
    with open(place + "/environment.json", "w") as file: file.write("{}")
"""
"""A setup that says what it finds, leaves a file, and is finished when it is told so."""
Make = Callable[..., Runner]
"""Makes a runner over the test's state, for puppets that play a program."""


class Kit(Protocol):
    """One kind of runner. Each `runner` call makes a new object over the same state, as a restarted daemon does."""

    session_api: SessionApi

    def runner(self, program: str = "") -> Runner: ...
    def source(self, program: str) -> str:
        """A Python expression, with its imports in `exec` form, for the same runner in another process."""
        ...

    async def kill_from_outside(self, session: SessionId) -> None:
        """End a session's program as a stranger would."""
        ...


@dataclass
class ProcessKit:
    root: Path
    session_api: SessionApi

    def runner(self, program: str = "") -> ProcessRunner:
        return ProcessRunner(self.root, command=self._command(program))

    def source(self, program: str) -> str:
        return (
            "from pathlib import Path\nfrom overlord.adapters.process.runner import ProcessRunner\n"
            f"runner = ProcessRunner(Path({str(self.root)!r}), command={self._command(program)!r})\n"
        )

    def _command(self, program: str) -> list[str]:
        return [sys.executable, "-c", PUPPET + program]

    async def kill_from_outside(self, session: SessionId) -> None:
        os.kill(self.pid(session), 9)

    def pid(self, session: SessionId) -> int:
        """The session's program, found the way a stranger would: by its environment."""
        mark = f"MINION_WORK={self.root}/{session}/work\0".encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with suppress(OSError):
                if (
                    mark in (entry / "environ").read_bytes()
                    and b"shim" not in (entry / "cmdline").read_bytes()
                ):
                    return int(entry.name)
        raise AssertionError(f"no process of {session}")


@dataclass
class MemoryKit:
    """The runner in memory. Its programs are coroutines, so it plays the puppets it knows: those of PLAYS."""

    session_api: SessionApi
    state: State = field(default_factory=State)

    def runner(self, program: str = "") -> MemoryRunner:
        return MemoryRunner(PLAYS[program] if program else _ends_at_once, state=self.state)

    def source(self, program: str) -> str:
        raise NotImplementedError("it is in no other process")

    async def kill_from_outside(self, session: SessionId) -> None:
        await self.runner().kill(session)


@dataclass
class _Play:
    """A puppet's line to the session API, as a coroutine has it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    @asynccontextmanager
    async def at(cls, held: Held) -> AsyncIterator["_Play"]:
        reader, writer = await asyncio.open_unix_connection(held.launch.session_api / "s")
        try:
            yield cls(reader, writer)
        finally:
            writer.close()

    async def say(self, text: str) -> None:
        self.writer.write(f"{text}\n".encode())
        await self.writer.drain()

    async def hear(self) -> str:
        return (await self.reader.readline()).decode().strip()


async def _ends_at_once(_held: Held) -> int:
    return 0


async def _obeys(held: Held) -> int:
    async with _Play.at(held) as play:
        await play.say("up")
        return int(await play.hear() or 9)


async def _is_polite(held: Held) -> int:
    async with _Play.at(held) as play:
        await play.say("up")
        await held.asked_to_stop.wait()
        await play.say("bye")
        return 5


async def _is_deaf(held: Held) -> int:
    async with _Play.at(held) as play:
        await play.say("up")
        await asyncio.Event().wait()
        return 0


async def _exits_with_two(_held: Held) -> int:
    return 2


async def _makes(held: Held) -> int:
    async with _Play.at(held) as play:
        await play.say("[]")
        held.has_finished_layer = await play.hear() == "finish"
        return 0


PLAYS: Mapping[str, Program] = {
    OBEYS: _obeys,
    POLITE: _is_polite,
    DEAF: _is_deaf,
    EXITS: _exits_with_two,
    MAKES: _makes,
}


@dataclass
class DockerKit:
    root: Path
    session_api: SessionApi
    instance: str = field(default_factory=lambda: f"test-{uuid.uuid4().hex[:10]}")
    profile: Profile = field(default_factory=Profile)
    address: str | None = None

    def runner(self, program: str = "") -> DockerRunner:
        return DockerRunner(
            self.root,
            image=IMAGE,
            instance=self.instance,
            profile=self.profile,
            command=self._command(program),
            address=self.address,
        )

    def without(self, **walls: object) -> "DockerKit":
        """The same kit with walls taken away (or moved)."""
        return replace(self, profile=replace(self.profile, **walls))  # type: ignore[arg-type]

    def source(self, program: str) -> str:
        return (
            "from pathlib import Path\nfrom overlord.adapters.docker.runner import DockerRunner\n"
            f"runner = DockerRunner(Path({str(self.root)!r}), image={IMAGE!r}, instance={self.instance!r},"
            f" command={self._command(program)!r})\n"
        )

    def _command(self, program: str) -> list[str]:
        return ["python", "-c", PUPPET + program]

    def name(self, session: SessionId) -> str:
        return f"overlord-{self.instance}-{session}"

    async def kill_from_outside(self, session: SessionId) -> None:
        engine = DockerEngine(address=self.address)
        await engine.signal(self.name(session), "KILL")
        engine.close()


def launch(
    kit: Kit, name: str = "s1", environment: Mapping[str, str] | None = None, memory_mb: int = 256
) -> Launch:
    return Launch(
        session=SessionId(name),
        job="job-1",
        environment={"MINION_ID": name, **(environment or {})},
        session_api=kit.session_api.path,
        memory_mb=memory_mb,
        access=getattr(kit, "access", None) or kit.session_api.access,
    )


async def ending_of(runner: Runner, session: SessionId) -> Ending:
    """Wait until `follow` tells the end of this session, and look."""
    async with asyncio.timeout(DEADLINE_S):
        async for told in runner.follow():
            if told == session and (running := await runner.find(session)) is not None and running.ending:
                return running.ending
    raise AssertionError("the runner was closed")


async def clean(runner: Runner) -> None:
    for running in await runner.sessions():
        await runner.remove(running.session)
    await runner.close()


def docker(*arguments: str, host: str = "") -> str:
    """What the `docker` command says, of another engine with its address; it must succeed."""
    to = ["--host", host] if host else []
    return subprocess.run(
        ["docker", *to, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def forget(instance: str, *, host: str = "") -> None:
    """Remove an instance's images and volumes, by the label all of them carry."""
    label = f"label=overlord.instance={instance}"
    listed = docker(
        "image", "ls", "--format", "{{.Repository}}:{{.Tag}} {{.ID}}", "--filter", label, host=host
    )
    lines = [line.split() for line in listed.splitlines()]
    tags = docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", host=host).splitlines()
    names = [
        tag
        for tag in tags
        if tag.startswith(("overlord-ground:", "overlord-environment:")) and instance in tag
    ]
    names += [identifier for name, identifier in lines if name == "<none>:<none>"]
    volumes = docker("volume", "ls", "--quiet", "--filter", label, host=host).split()
    for what, found in (("image", names), ("volume", volumes)):
        if found:
            to = ["--host", host] if host else []
            subprocess.run(["docker", *to, what, "rm", "--force", *found], check=False, capture_output=True)


async def engine_or_skip() -> None:
    """Skip where no engine answers or the image is not built; fail there when OVERLORD_REQUIRE says docker."""
    engine = DockerEngine()
    try:
        await engine.image(IMAGE)
    except RunnerUnavailable as error:
        missing("docker", str(error))
    except RunnerRefused as error:
        missing("docker", f"{error}: run `make images`")
    finally:
        engine.close()
