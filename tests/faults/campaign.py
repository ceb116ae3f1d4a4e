"""A world whose daemon is a process that can be killed for good, and stories that are told to it in spite of that.

The forge, the model and the sessions live on. What is cut off is run again, as a supervisor or a person would do it.
"""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from overlord.domain.job import Job, JobState
from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.chat.delivery import EVENTS, Delivered
from overlord.embedded.play import say
from overlord.failpoints import Failpoint
from overlord.home import Home
from overlord.store import decisions, jobs, ledger
from overlord.store.database import open_reader
from overlord.wakeup import notify
from tests.faults import cut as processes
from tests.faults.chat_invariants import of_chat
from tests.faults.cut import Cut, Cuts, Place
from tests.faults.invariants import differences, must_hold, state_of, violations
from tests.faults.player import OPENING, played
from tests.forked import FORKS
from tests.world import REPO, World, made_world

DEADLINE_S = float(os.environ.get("FAULT_DEADLINE_S", "300"))
"""How long one process may take; only a broken one does."""
PLAYS = 6
"""Conversations an issue may begin: its sessions, again after each loss."""

ALICE = "alice"
"""Whose word counts in the chat, where there is one."""

RECOVERY = 12
"""Within how many points of its start the daemon that comes after one of a chain's cuts is killed too."""


@dataclass
class Campaign:
    """One world under fire. `cuts` are still to come: each process takes the first, until it has ended one."""

    world: World
    cuts: list[Cut] = field(default_factory=list)
    chain: list[Cut] = field(default_factory=list)
    """Cuts still to come in whatever order they are met: each process takes all, and the one after each is cut off early."""
    chance: random.Random = field(default_factory=lambda: random.Random(0))
    refused: str = ""
    passes_s: float = 0.0
    rounds: int = 0
    """What the operator's settings file says last."""
    heard: list[Delivered] = field(default_factory=list)
    """What people did in the chat and was acknowledged."""

    @property
    def chat(self) -> EmbeddedChat:
        assert self.world.chat is not None, "this world has no chat"
        return self.world.chat

    @property
    def place(self) -> Place:
        world = self.world
        environment = {
            "OPENAI_BASE_URL": f"{world.model_url}/v1",
            "OPENAI_API_KEY": world.model.key,
            "OVERLORD_MODEL": "scripted",
            "OVERLORD_REPOS": REPO,
        }
        return Place(
            root=world.root,
            given=world.given(),
            environment=environment,
            refused=self.refused,
            passes_s=self.passes_s,
        )

    async def settle(self) -> None:
        """Let daemons work until every job waits for people or has ended."""
        await self._go_through(processes.until_settled, DEADLINE_S)

    async def settle_after(self, seconds: float) -> None:
        """As `settle`, and so much passes under the daemon's eyes before."""
        self.passes_s = seconds
        await self.settle()
        self.passes_s = 0.0

    async def saves(self, text: str) -> None:
        """The operator saves their settings file under the eyes of a daemon."""
        await self._go_through(processes.until_settings_are_read, DEADLINE_S, text)

    async def writes(self, point: Failpoint, act: Callable[..., object], *, holds: bool = False) -> None:
        """Somebody writes through a daemon, and again after each cut: `act` then finds what is there."""
        target = partial(processes.until_written, holds=holds)
        await self._go_through(target, DEADLINE_S, point, act)

    async def until_holding(self) -> None:
        await self._go_through(processes.until_holding, DEADLINE_S)

    async def command(self, *words: str, done: Sequence[int] = (0,)) -> None:
        """A person's command; given again when it was cut off, and then it may be told that it was done (`done`)."""
        code = await self._go_through(processes.command, *words)
        assert code in done, f"overlord {' '.join(words)}: exit code {code}\n{self.log()}"

    async def says(self, act: Callable[[EmbeddedChat], Awaitable[Delivered | None]]) -> Delivered:
        """Somebody acts in the chat, and again when that was not acknowledged (or `act` gives nothing). Daemons live until
        it was, and then until all is settled."""
        self.place.said.unlink(missing_ok=True)
        acting = asyncio.create_task(self._acknowledged(act))
        try:
            await self._go_through(processes.until_said, DEADLINE_S)
            return await acting
        finally:
            acting.cancel()

    async def _acknowledged(self, act: Callable[[EmbeddedChat], Awaitable[Delivered | None]]) -> Delivered:
        chat = self.chat
        while True:
            await chat.until(lambda: chat.links > 0, timeout_s=DEADLINE_S)
            said = await act(chat)
            if said is not None and said.kind == EVENTS:  # which Slack sends again by itself
                await chat.until(partial(_is_acknowledged, said), timeout_s=DEADLINE_S)
            if said is not None and said.acked:
                self.heard.append(said)
                self.place.said.touch()
                notify(Home(self.place.home).wakeup)
                return said

    async def _go_through(self, target: Callable[..., None], *arguments: Any) -> int:
        while (code := await self._end_of(target, *arguments)) == -signal.SIGKILL:
            self._note_cut()
        if target is not processes.command:
            assert code == 0, f"exit code {code}\n{self.log()}"
        return code

    def _armed(self) -> Cuts:
        """Where the next process may end."""
        return (*self.chain, *self.cuts[:1])

    def _note_cut(self) -> None:
        assert self.place.cut.exists(), f"somebody else killed it\n{self.log()}"
        number = int(self.place.cut.read_text())
        if number < len(self.chain):
            del self.chain[number]
            self.cuts = [Cut(count=self.chance.randint(1, RECOVERY))]
        else:
            del self.cuts[0]

    async def _end_of(self, target: Callable[..., None], *arguments: Any) -> int:
        self.place.cut.unlink(missing_ok=True)
        process = FORKS.Process(target=target, args=(self.place, self._armed(), *arguments))
        process.start()
        try:
            await asyncio.to_thread(process.join, DEADLINE_S + 10)
            assert process.exitcode is not None, f"it does not end\n{self.log()}"
            return process.exitcode
        finally:
            process.kill()
            process.join()
            process.close()

    def log(self) -> str:
        """The end of what the processes said."""
        return self.place.log.read_text(errors="replace")[-6000:] if self.place.log.exists() else ""

    def play(self) -> None:
        """Let the model answer the sessions of one more issue."""
        for _ in range(PLAYS):
            self.world.model_will(say("Go on."), when=OPENING)

    async def issue(self, title: str, *, label: str = "nebulus-ready") -> int:
        self.play()
        return await self.world.issue(title, label=label)

    def now(self) -> datetime:
        """The time that the next process finds."""
        return datetime.fromisoformat(self.place.time.read_text())

    def later(self, **amount: float) -> None:
        """Move the clock that the next process finds."""
        self.place.time.write_text((self.now() + timedelta(**amount)).isoformat())

    def job(self, issue: int) -> Job:
        """The last job of an issue."""
        with contextlib.closing(open_reader(self.place.home / "overlord.db")) as connection:
            return next(job for job in jobs.all_jobs(connection) if job.issue.number == issue)

    def expect(self, issue: int, *states: JobState) -> Job:
        """The last job of an issue, which must be in one of these states."""
        job = self.job(issue)
        wrong = f"job {job.id} is {job.state} ({job.reason}), not {' or '.join(states)}"
        must_hold([wrong] * (job.state not in states), self.log())
        return job

    def events(self, issue: int) -> list[str]:
        """What happened to the last job of an issue."""
        with contextlib.closing(open_reader(self.place.home / "overlord.db")) as connection:
            return [entry.name for entry in ledger.entries(connection, job_id=self.job(issue).id)]

    def waiting(self) -> list[int]:
        """The decisions that wait for people, by number."""
        with contextlib.closing(open_reader(self.place.home / "overlord.db")) as connection:
            return [decision.id for decision in decisions.waiting(connection)]

    async def close(self, issue: int) -> None:
        """Be done with an issue, so that the next story stands alone."""
        await self.dismiss(issue)
        await self.settle()

    async def dismiss(self, issue: int) -> None:
        """Close an issue's pull request, or stop its job; the next daemon finds out."""
        job = self.job(issue)
        if job.is_open and job.pull_number is not None:
            await self.world.forge.close_pull(REPO, job.pull_number)
        elif job.is_open:
            await self.command("job", "stop", str(job.id))

    async def check(self, *, rewound: bool = False) -> None:
        """Raise AssertionError with all that is not as it must be, now and after another look at everything. `rewound`: the
        database came back from before some of the work, so what was paid since and whose a branch is are not known."""
        found = self._violations()
        if rewound:
            found = [wrong for wrong in found if "nobody's" not in wrong and "were metered" not in wrong]
        before = state_of(self.world)
        await self.settle()
        found += differences(before, state_of(self.world))
        must_hold(found, self.log())

    def _violations(self) -> list[str]:
        settings = self.world.settings()
        with contextlib.closing(open_reader(self.place.home / "overlord.db")) as connection:
            replies = [seen.tokens for seen in self.world.model.requests if seen.status == 200]
            found = violations(
                connection,
                self.world.forge,
                Home(self.place.home),
                canaries=settings.secrets(),
                labels=settings.labels,
                replies=replies,
            )
            if self.world.chat is not None:
                found += of_chat(connection, self.chat, heard=self.heard, canaries=settings.secrets())
            return found


def _is_acknowledged(said: Delivered) -> bool:
    return said.acked


@contextlib.asynccontextmanager
async def under_fire(files: dict[str, str] | None = None, **overrides: Any) -> AsyncIterator[Campaign]:
    """A fresh world whose sessions are played, and no daemon yet. With `slack` among the settings, one with a chat."""
    async with made_world(files, **overrides) as world, contextlib.AsyncExitStack() as stack:
        world.overrides.setdefault("delivery", {"open_pulls": 1000})
        world.overrides.setdefault("process", {"python": played(world.root)})
        told = Campaign(world)
        if "slack" in overrides:
            await stack.enter_async_context(_with_chat(told))
        yield told


@contextlib.asynccontextmanager
async def _with_chat(told: Campaign) -> AsyncIterator[None]:
    """A chat whose clock goes with the daemons'."""
    world, kept = told.world, told.place.time

    def now() -> datetime:
        known = datetime.fromisoformat(kept.read_text()) if kept.exists() else world.clock.now()
        return max(known, world.clock.now())

    chat = EmbeddedChat(now=now, retry_after_s=(0.0, 0.0, 0.0))
    alice = chat.add_user(ALICE)
    chat.add_user("bob")
    async with chat.serve() as base_url:
        world.chat = chat
        world.overrides["slack"] = {
            "api_url": f"{base_url}/api/",
            "bot_token": chat.bot_token,
            "app_token": chat.app_token,
            "channel": chat.channel,
            "approvers": [alice],
        }
        yield
