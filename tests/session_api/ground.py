"""A keeper with real sockets on a temporary home: what a session on the other side of a session API can do, and what it cannot."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import httpx

from minion.loopback import Loopback
from minion.protocol import Event, EventKind, SessionKind, encode
from minion.reach import FarEnd, Reach
from overlord.adapters.clock import SystemClock
from overlord.adapters.git.mirrors import GitMirrors
from overlord.adapters.mcp import HttpMcp
from overlord.adapters.model import OpenAIModel
from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.job import Job
from overlord.domain.launch import Remote
from overlord.domain.session import Session
from overlord.embedded.model import EmbeddedModel
from overlord.home import Home
from overlord.ports.access import NoRemoteAccess, RemoteAccess
from overlord.ports.hooks import Hooks, NoHooks
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.remote.access import session_listener
from overlord.session_api.server import SessionApiServer
from overlord.settings.current import CurrentSettings
from overlord.settings.load import Settings, load
from overlord.store import jobs, sessions
from overlord.store.database import Database
from overlord.wakeup import Wakeup
from tests import stored
from tests.plumbing import commit, run
from tests.records import REPO
from tests.turning import WorldClock

DEADLINE_S = 180
BOTH = ("unix", "tls")
"""A module that has these as its `WAYS` is run for sessions on this machine and on others."""


class HeardBell(Wakeup):
    """A bell that tells when somebody waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_for = asyncio.Event()

    async def wait(self, seen: int, *, timeout_s: float | None) -> bool:
        self.waited_for.set()
        return await super().wait(seen, timeout_s=timeout_s)


@dataclass
class Ground:
    """Database, keeper, a scripted model and a mirror with a secret branch beside `main`."""

    home: Home
    settings: Settings
    database: Database
    model: EmbeddedModel
    client: OpenAIModel
    base: Sha
    secret: Sha
    clock: WorldClock = field(default_factory=WorldClock)
    wakeup: HeardBell = field(default_factory=HeardBell)
    mcp: HttpMcp = field(default_factory=HttpMcp)
    hooks: Hooks = field(default_factory=NoHooks)
    way: str = "unix"
    """How sessions come: by their sockets, or over TLS as from other machines."""
    access: RemoteAccess = field(default_factory=NoRemoteAccess)
    reaches: dict[str, Reach] = field(default_factory=dict)
    keeper: SessionApiServer = field(init=False)

    def __post_init__(self) -> None:
        self.keeper = self.another_keeper()

    def another_keeper(self) -> SessionApiServer:
        """What the next daemon builds on the same home."""
        return SessionApiServer(
            SessionApiParts(
                current=CurrentSettings(self.settings),
                home=self.home,
                database=self.database,
                model=self.client,
                git=GitMirrors(self.home),
                mcp=self.mcp,
                hooks=self.hooks,
                clock=self.clock,
                wakeup=self.wakeup,
            )
        )

    async def restart(self) -> None:
        await self.keeper.close()
        self.keeper = self.another_keeper()
        await self.keeper.reconcile()

    async def job(self, number: int = 7) -> Job:
        def claimed(connection: Any) -> Job:
            job = stored.claim(connection, number)
            jobs.repair(connection, job.id, base_sha=self.base)
            return jobs.get(connection, job.id)

        return await self.database.write("by hand", claimed)

    async def session(
        self, job: Job | None = None, kind: SessionKind = SessionKind.WORK, **given: Any
    ) -> Session:
        """A prepared session with its repository and an open door."""
        job = job or await self.job()
        session = await self.database.write("by hand", lambda c: stored.prepare(c, job, kind, **given))
        refs = {job.base_branch: self.base, session.branch: self.base}
        writable = session.branch if kind is SessionKind.WORK else None
        await GitMirrors(self.home).prepare_session(job.space, SessionId(session.id), refs, writable)
        await self.keeper.reconcile()
        return session

    async def stored(self, session: Session) -> Session:
        return await self.database.read(lambda c: sessions.get(c, session.id))

    async def end(self, session: Session) -> None:
        await self.database.write(
            "by hand", lambda c: sessions.end(c, session, at=self.clock.now(), ending="exited")
        )

    def door(self, session: Session) -> Path:
        """The socket that a session's own programs speak to."""
        if self.way == "unix":
            return self.home.socket(session.id)
        if session.id not in self.reaches:
            self.reaches[session.id] = self.reach(session.id)
        return self.reaches[session.id].socket

    def reach(self, session: str) -> Reach:
        """The way of a session on another machine."""
        access = self.access.session(session)
        assert access is not None
        return Reach(FarEnd.of({"MINION_ID": session, **access.environment()}))

    def repository(self, session: Session) -> Path:
        return self.home.session_repository(session.id)

    def knocks(self, session: Session) -> bool:
        """Whether somebody answers at a session's socket."""
        with socket.socket(socket.AF_UNIX) as end:
            try:
                end.connect(str(self.home.socket(session.id)))
            except OSError:
                return False
        return True


@dataclass
class Visitor:
    """A session's side of its session API."""

    http: httpx.AsyncClient

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.http.get(path, **options)

    async def post(self, path: str, body: bytes | str | Mapping[str, Any], **options: Any) -> httpx.Response:
        content = json.dumps(body) if isinstance(body, Mapping) else body
        return await self.http.post(path, content=content, **options)

    async def say(self, kind: EventKind, **given: Any) -> httpx.Response:
        return await self.post("/session/events", encode(Event(kind=kind, **given)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()


def visitor(ground: Ground, session: Session) -> Visitor:
    transport = httpx.AsyncHTTPTransport(uds=str(ground.door(session)))
    return Visitor(httpx.AsyncClient(transport=transport, base_url="http://door", timeout=DEADLINE_S))


@dataclass
class Clone:
    """A git client inside a session, through the shim it would use."""

    loopback: Loopback
    directory: Path

    @property
    def url(self) -> str:
        return f"{self.loopback.url}/session/repo.git"

    async def git(self, *arguments: str) -> tuple[int, str]:
        identity = {
            f"GIT_{who}_{what}": "m@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        process = await asyncio.create_subprocess_exec(
            "git",
            *arguments,
            cwd=self.directory if self.directory.exists() else None,
            env={"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, **identity},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(DEADLINE_S):
            output, _ = await process.communicate()
        return process.returncode or 0, output.decode(errors="replace")

    async def good(self, *arguments: str) -> str:
        code, output = await self.git(*arguments)
        assert code == 0, f"git {' '.join(arguments)}: {output}"
        return output.strip()

    async def commit(self, path: str, content: str | bytes) -> str:
        data = content.encode() if isinstance(content, str) else content
        (self.directory / path).parent.mkdir(parents=True, exist_ok=True)
        (self.directory / path).write_bytes(data)
        await self.good("add", "--all")
        await self.good("commit", "--quiet", "--message", "work")
        return await self.good("rev-parse", "HEAD")

    async def push(self, refspec: str, *options: str) -> tuple[int, str]:
        return await self.git("push", *options, "origin", refspec)


@asynccontextmanager
async def cloned(ground: Ground, session: Session) -> AsyncIterator[Clone]:
    loopback = Loopback(ground.door(session), patience_s=5)
    try:
        clone = Clone(loopback, ground.home.root.parent / f"clone-{session.id}")
        await clone.good("clone", "--quiet", clone.url, str(clone.directory))
        await clone.good("checkout", "--quiet", session.branch)
        yield clone
    finally:
        loopback.close()


@asynccontextmanager
async def made_ground(root: Path, *, way: str = "unix", **overrides: Any) -> AsyncIterator[Ground]:
    """`root` must be a short path: sockets lie below it. `way` is how sessions come: see `Ground`."""
    if way == "tls":
        overrides = {"session_listener": {"address": "127.0.0.1:0"}, **overrides}
    home = Home(root / "home")
    far = root / "far.git"
    run(far, "init", "--quiet", "--bare", "--initial-branch=main", str(far))
    base = commit(far, "main", {"calc.py": "def add(a, b):\n    return a - b\n"})
    secret = commit(far, "fix", {"calc.py": "def add(a, b):\n    return a + b  # canary\n"}, parent=base)
    async with AsyncExitStack() as stack:
        model = EmbeddedModel()
        url = await stack.enter_async_context(model.serve())
        client = OpenAIModel(f"{url}/v1", model.key)
        stack.push_async_callback(client.close)
        endpoint = {"base_url": f"{url}/v1", "name": "scripted", "api_key": model.key}
        settings = load({"OVERLORD_HOME": str(home.root)}, **{"model": endpoint, **overrides})
        database = await Database.open(home.database, exclusive=True)
        stack.push_async_callback(database.close)
        await GitMirrors(home).refresh_mirror(RepositoryName(REPO), Remote(url=str(far)))
        ground = Ground(home, settings, database, model, client, base, secret, way=way)
        ground.access = await stack.enter_async_context(
            session_listener(ground.keeper.parts, now=SystemClock().now)
        )
        try:
            yield ground
        finally:
            for reach in ground.reaches.values():
                reach.close()
            await ground.mcp.close()
            await ground.keeper.close()
