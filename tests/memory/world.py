"""The world in a box, in memory: the same as `tests/world.py` for a scenario, without servers, git and processes.

Everything of Overlord's own but the adapters is real: the loop, the steps, the store, the gateway with its budgets, the session API's
calls, and the Minion's agent with its tools. What is under test there is what the engine decides, a hundredth of the time.
"""

import asyncio
import contextlib
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from overlord.adapters.mcp import HttpMcp
from overlord.adapters.process.layers import ProcessLayers
from overlord.adapters.trash import Trash
from overlord.app import Overlord, _chat_output, _current, _hooks, _note_start
from overlord.config_files import packaged
from overlord.domain.identifiers import SessionId, Sha
from overlord.domain.review.rubric import load_rubric
from overlord.embedded.model import EmbeddedModel
from overlord.engine.reload import Renewal
from overlord.engine.runtime.parts import Parts
from overlord.engine.tick import Tick
from overlord.entrypoints.chat.talk import talking
from overlord.failpoints import Failpoint
from overlord.home import Home
from overlord.session_api.gateway.assistant import GatewayAssistant
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.server import SessionApiServer
from overlord.settings.model import PRIMARY
from overlord.store import sessions as rows
from overlord.store.database import Database
from overlord.store.evidence import EvidenceStore
from overlord.store.spaces import managed
from overlord.wakeup import Wakeup
from tests.memory.forge import WEB, MemoryForge
from tests.memory.git import MemoryGit
from tests.memory.minion import Ground, SessionApis
from tests.memory.model import MemoryModel
from tests.memory.people import MemoryPeople
from tests.memory.repository import Repository
from tests.memory.runner import MemoryRunner, State
from tests.turning import WorldClock
from tests.world import CALC, REPO, World, _cancelled, ground

StandIns = Mapping[str, Callable[[Any], Any]]
"""For each of `forge`, `git`, `runner` and `assistant`: what is put before it."""


class MemorySessionApis(SessionApiServer):
    """SessionApis without sockets: a session API is open once its session's row says so."""

    async def reconcile(self) -> bool:
        live = await self.parts.database.read(rows.live)
        closed = [session for session in live if session.door_opened_at is None and session.sealed_at is None]
        at = self.parts.clock.now()
        for session in closed:
            await self.parts.database.write(
                Failpoint.SESSION_API_OPENED, partial(rows.mark, session_id=session.id, door_opened_at=at)
            )
        return bool(closed)

    async def close(self) -> None:
        """There is nothing to close."""


@dataclass
class MemoryWorld(World):
    """A `World` whose external services are in memory. `before` puts something of a test's own before a port."""

    forge: MemoryPeople
    before: StandIns = field(default_factory=dict)
    git: MemoryGit = field(init=False)
    runner_state: State = field(default_factory=State)
    session_api: SessionApis = field(default_factory=SessionApis)
    passes: Wakeup = field(default_factory=Wakeup)
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(32))

    def __post_init__(self) -> None:
        self.git = MemoryGit(self.forge.objects, self._far, Home(self.root / "home"))

    def _far(self, url: str) -> Repository:
        return self.forge.contents(url.removeprefix(f"{WEB}/").removesuffix(".git"))

    async def start(self) -> None:
        self._stack = contextlib.AsyncExitStack()
        self._running = await self._stack.enter_async_context(self._overlord())
        self._stack.push_async_callback(_cancelled, asyncio.create_task(self.turning.follow()))
        if self.chat is not None:
            await self._stack.enter_async_context(talking(self._running))
            await self.chat.until(lambda: self.chat is not None and self.chat.links > 0)

    @contextlib.asynccontextmanager
    async def _overlord(self) -> AsyncIterator[Overlord]:
        """As `app.overlord`, with ports in memory."""
        settings, clock = self.settings(), self.clock
        wakeup = Wakeup(also=(watchers := Wakeup()))
        home = Home(settings.home)
        async with contextlib.AsyncExitStack() as stack:
            _copy_schema(home.database)
            database = await Database.open(home.database, exclusive=True)
            stack.push_async_callback(database.close)
            held = _current(settings, await database.read(managed.added))
            model = MemoryModel(self.model, self.model.key)
            git = self._before("git", self.git)
            hooks = _hooks(held, home, database, clock)
            session_api = MemorySessionApis(
                SessionApiParts(
                    current=held,
                    hooks=hooks,
                    home=home,
                    database=database,
                    model=model,
                    git=git,
                    mcp=HttpMcp(),
                    spare_models=dict.fromkeys((PRIMARY, *settings.endpoints), model),
                    clock=clock,
                    wakeup=wakeup,
                    watchers=watchers,
                    pause=_no_pause,
                )
            )
            layers = ProcessLayers(home.processes / ".layers", Trash(home.trash), python=sys.executable)
            world = Ground(
                self.root, self.git, self.forge.objects, self.session_api, self.passes, layers, self.threads
            )
            runner = MemoryRunner(world.run, state=self.runner_state, layers=layers)
            stack.push_async_callback(runner.close)
            parts = Parts(
                current=held,
                home=home,
                database=database,
                evidence=EvidenceStore(home.evidence),
                forge=self._before("forge", MemoryForge(self.forge)),
                git=git,
                runner=self._before("runner", runner),
                assistant=self._before("assistant", GatewayAssistant(session_api.parts)),
                clock=clock,
                rubric=load_rubric(packaged("rubric.yaml"), "the built-in rubric"),
                notify=wakeup.notify,
                hooks=hooks,
                chat_output=_chat_output(settings, clock, home, database, stack),
            ).watched()
            await database.take_over(Failpoint.DAEMON_STARTED, partial(_note_start, parts=parts))
            stack.push_async_callback((tick := Tick(parts)).close)
            stack.push_async_callback(hooks.close)
            renewal = Renewal(parts, settings)
            self.session_api.open(session_api.app_of)
            stack.callback(self.session_api.open, None)
            yield Overlord(
                parts=parts,
                session_api=session_api,
                tick=tick,
                renewal=renewal,
                wakeup=wakeup,
                watchers=watchers,
                passes=self.passes,
            )

    def _before(self, port: str, given: Any) -> Any:
        return self.before[port](given) if port in self.before else given

    async def git_log(self, branch: str) -> list[tuple[str, str]]:
        known, found = self.forge.contents(REPO), list[tuple[str, str]]()
        sha: Sha | None = known.heads[branch]
        while sha is not None:
            commit = known.objects.commits[sha]
            found.append((commit.author.partition(" <")[0], commit.message.splitlines()[0]))
            sha = commit.parents[0] if commit.parents else None
        return found

    async def git_show(self, branch: str, path: str) -> str:
        known = self.forge.contents(REPO)
        content = known.file(known.heads.get(branch, Sha(branch)), path)
        assert content is not None, f"{path} is not there"
        return content.decode()

    async def kill_session(self, session: str) -> None:
        await MemoryRunner(state=self.runner_state).kill(SessionId(session))

    async def end(self) -> None:
        """Let every session that still runs end."""
        self.let_go()
        runner = MemoryRunner(state=self.runner_state)
        for session in list(self.runner_state.sessions):
            await runner.remove(session)
        self.threads.shutdown(wait=True)


async def _no_pause(_seconds: float) -> None:
    await asyncio.sleep(0)


@cache
def _schema() -> bytes:
    """A database as the migrations leave it, made once."""
    with tempfile.TemporaryDirectory(dir=ground()) as place:
        path = Path(place) / "overlord.db"

        async def make() -> None:
            await (await Database.open(path, exclusive=True)).close()

        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, make()).result()
        return path.read_bytes()


def _copy_schema(path: Path) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(_schema())


@contextlib.asynccontextmanager
async def made_memory_world(
    files: dict[str, str] | None = None, *, before: StandIns | None = None, **overrides: Any
) -> AsyncIterator[MemoryWorld]:
    """A fresh world in memory around one repository; `overrides` go over the settings."""
    root = Path(tempfile.mkdtemp(prefix="ov-", dir=ground()))
    clock = WorldClock()
    people, model = MemoryPeople(root / "forge", now=clock.now), EmbeddedModel()
    try:
        await people.create_repository(REPO, files=CALC if files is None else files)
        async with MemoryWorld(
            root, people, model, clock, WEB, "http://model.test", overrides, before=before or {}
        ) as world:
            try:
                yield world
            finally:
                await world.end()
    finally:
        people.close()
        shutil.rmtree(root, ignore_errors=True)
