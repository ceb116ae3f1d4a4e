"""`overlord demo`: the whole story in an embedded world. Only the forge's far side and the model's words are stand-ins.

The operator's page is open from the start, so that the jobs can be watched in a browser too. At the end it stays open where somebody is
there to close it: at a terminal, until Ctrl-C. In a pipe and in CI the demo ends by itself, and answers the gates of a contract
(`gate.py`).
"""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.resources import as_file
from pathlib import Path
from typing import Any

from rich.text import Text

from overlord.app import Overlord, overlord
from overlord.config_files import config_directory
from overlord.domain.identifiers import RepositoryName, SessionId
from overlord.domain.job import Job, JobState
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.model import EmbeddedModel
from overlord.embedded.play import read_script
from overlord.entrypoints.demo import clean, gate
from overlord.entrypoints.demo.cluster import embedded_cluster
from overlord.entrypoints.demo.story import Ground, Story
from overlord.entrypoints.demo.swarm import swarm_settings
from overlord.entrypoints.invocation import command
from overlord.entrypoints.local.interruption import INTERRUPTED, Interruption
from overlord.entrypoints.terminal.logs import conceal
from overlord.entrypoints.terminal.show import card, console, show_text
from overlord.entrypoints.terminal.show import diff as say_diff
from overlord.entrypoints.terminal.watch import Watch
from overlord.entrypoints.web.server import page_served
from overlord.entrypoints.web.sign_in import TOKEN
from overlord.errors import ExternalServiceError, ImageUnusable
from overlord.settings.load import Settings, load, rebuilt
from overlord.store import decisions, jobs, ledger, sessions

REPOSITORY = "demo/till"
PATIENCE_S = 180.0
"""How long the demo waits for its jobs; a machine that needs longer is told so."""

STOP_S = 2.0
"""What a session gets to end by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _World:
    story: Story
    home: Path
    forge: EmbeddedForge
    settings: Settings


async def run_demo(story: Story, ground: Ground, *, stays: bool = False, answers: bool = True) -> int:
    """Run the demo and print it as it goes; 0 when every issue ended in a pull request that is ready for review, 130 when somebody
    stopped it before. `stays`: the page is left open at the end, until Ctrl-C. `answers`: nobody is there to answer gates."""
    interruption = Interruption(_leave)
    with interruption.listening():
        return await _play(story, ground, interruption.came, stays=stays, answers=answers)


async def _play(
    story: Story, ground: Ground, interrupted: asyncio.Event, *, stays: bool, answers: bool
) -> int:
    async with _embedded(story, ground) as world:
        console.print(f"An embedded forge and a scripted model; state in {world.home}\n")
        await _open_issues(world)
        async with AsyncExitStack() as stack:
            conceal(world.settings.secrets())
            try:
                running = await stack.enter_async_context(overlord(world.settings, falls_back=True))
            except ImageUnusable as error:
                if ground.runner == "swarm":
                    raise
                console.print(f"An engine answers, but {error}. The demo goes on with processes.")
                settings = rebuilt(world.settings, runner="process")
                running = await stack.enter_async_context(overlord(settings))
            page = _signed_in(running, await stack.enter_async_context(page_served(running)))
            show = _Show(world=world, running=running, page=page, stays=stays and bool(page), answers=answers)
            is_done = await show.play(interrupted)
            await _stop_sessions(running)
            if is_done is None:
                console.print(f"Stopped. What it made is in {world.home}", soft_wrap=True)
                return INTERRUPTED
    return 0 if is_done else 1


async def _open_issues(world: _World) -> None:
    for title, body in world.story.issues:
        number = await world.forge.open_issue(REPOSITORY, title, body)
        await world.forge.label(REPOSITORY, number, "nebulus-ready")
        console.print(f"alice labels issue #{number} [bold]nebulus-ready[/]: {title}")
    console.print()


def _signed_in(running: Overlord, address: str) -> str:
    """The page's address, with what signs its owner in; empty where there is no page."""
    return f"{address}?{TOKEN}={running.parts.home.page_token.read_text(encoding='ascii')}" if address else ""


def _leave() -> None:
    """Somebody does not want to wait for the end either."""
    os._exit(INTERRUPTED)


@asynccontextmanager
async def _embedded(story: Story, ground: Ground) -> AsyncIterator[_World]:
    home = clean.make_home()
    async with AsyncExitStack() as stack:
        demo = stack.enter_context(as_file(config_directory() / "demo"))
        forge, model = EmbeddedForge(home / "forge"), EmbeddedModel(read_script(demo / story.script))
        stack.callback(forge.close)
        forge_url = await stack.enter_async_context(forge.serve())
        model_url = await stack.enter_async_context(model.serve())
        await forge.create_repository(REPOSITORY, source=demo / "repository")
        settings = load(
            {"OVERLORD_HOME": str(home), "DOCKER_HOST": os.environ.get("DOCKER_HOST", "")},
            repositories=[REPOSITORY],
            disk={"least_free_gb": 0, "least_free_files": 0},
            runner=ground.runner,
            poll_s=1,
            portfolio={"retrospectives": False},
            contract=story.contract,
            forge={"api_url": forge_url, "token": forge.token},
            model={"base_url": f"{model_url}/v1", "name": "scripted", "api_key": model.key},
            **await _elsewhere(ground, stack, home),
        )
        yield _World(story=story, home=home, forge=forge, settings=settings)


async def _elsewhere(ground: Ground, stack: AsyncExitStack, home: Path) -> dict[str, Any]:
    """The settings of sessions on other machines, which are made for as long as the stack lasts."""
    if ground.runner == "kubernetes":
        return await embedded_cluster(stack, home)
    if ground.runner == "swarm":
        return await swarm_settings(stack, home, manager=ground.manager, host=ground.host)
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Show:
    """The daemon at work, in front of whoever runs the demo."""

    world: _World
    running: Overlord
    page: str
    """Its address, with the token that signs in; empty where none is open."""
    stays: bool
    answers: bool
    """Whether the demo answers the gates of its contract itself."""

    async def play(self, interrupted: asyncio.Event) -> bool | None:
        """Let it work until every job is in review or waits for a person, show what came of it, and stay. Whether all is in review; None
        where somebody stopped it before it was."""
        runner = self.running.parts.runner
        console.print(f"Sessions run with the [bold]{runner.name}[/] runner", end="")
        isolated = runner.capabilities.isolates_files
        console.print("." if isolated else ": it isolates nothing, which is fine for a scripted model.")
        if self.page:
            show_text("Watch it in a browser:")
            show_text(f"  {self.page}")
        console.print()
        stopped, watch = asyncio.Event(), Watch(self.running)

        async def follow() -> bool | None:
            try:
                is_done = await self._watched(watch, interrupted)
                if is_done is not None:
                    await _show_world(self.world, self.running)
                    await self._stay(watch, interrupted)
                return is_done
            finally:
                stopped.set()
                self.running.wakeup.notify()

        async def ring() -> None:
            await interrupted.wait()
            self.running.watchers.notify()

        ringing = asyncio.create_task(ring())
        async with asyncio.TaskGroup() as group:
            group.create_task(self.running.run(stopped))
            following = group.create_task(follow())
        ringing.cancel()
        await asyncio.gather(ringing, return_exceptions=True)
        return following.result()

    async def _watched(self, watch: Watch, interrupted: asyncio.Event) -> bool | None:
        """Tell what is new until it is over; None where somebody stopped it."""
        try:
            while await self._reaches_gate(watch, interrupted):
                pass
        except TimeoutError:
            console.print(f"[red]The demo did not finish in {PATIENCE_S:.0f} s.[/]")
        if interrupted.is_set():
            console.print("Stopping; Ctrl-C again leaves at once.")
            return None
        return all(job.state is JobState.IN_REVIEW for job in await _jobs(self.running))

    async def _reaches_gate(self, watch: Watch, interrupted: asyncio.Event) -> bool:
        """Tell what is new until a gate is answered, or every job is at rest. Whether it was a gate."""
        async with asyncio.timeout(PATIENCE_S):
            await self._tell(watch, interrupted, until=self._rests)
        database = self.running.parts.database
        asked = None if interrupted.is_set() else await database.read(gate.first_open)
        if asked is None:
            return False
        gate.show(asked)
        if self.answers:
            return await gate.answer(asked, self.world.home)
        gate.say_how_to_answer(asked, self.world.home, self.page)

        async def is_answered() -> bool:
            return not await database.read(lambda c: gate.is_open(c, asked))

        await self._tell(watch, interrupted, until=is_answered)
        return not interrupted.is_set()

    async def _rests(self) -> bool:
        expected = len(self.world.story.issues)
        return await self.running.parts.database.read(lambda c: _are_at_rest(c, expected))

    async def _stay(self, watch: Watch, interrupted: asyncio.Event) -> None:
        """Leave the page open, where somebody is there to close it."""
        if not self.stays:
            return
        console.print("\n[bold]The page is open, until Ctrl-C:[/]")
        show_text(f"  {self.page}")
        await self._tell(watch, interrupted)

    async def _tell(
        self,
        watch: Watch,
        interrupted: asyncio.Event,
        *,
        until: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """Print what is new as it comes, until somebody stops it, or until then."""
        while True:
            seen = self.running.watchers.count
            is_over = interrupted.is_set() or (until is not None and await until())
            await watch.show_news()
            if is_over:
                return
            await self.running.watchers.wait(seen, timeout_s=1.0)


async def _stop_sessions(running: Overlord) -> None:
    """Sessions outlive what started them, and nobody comes back to these."""
    await running.tick.close()
    with contextlib.suppress(ExternalServiceError):
        for session in await running.parts.database.read(sessions.live):
            await running.parts.runner.stop(SessionId(session.id), grace_s=STOP_S)


async def _jobs(running: Overlord) -> list[Job]:
    return await running.parts.database.read(jobs.all_jobs)


def _are_at_rest(connection: sqlite3.Connection, expected: int) -> bool:
    """Whether every job is in review, over, or with people who have not answered."""
    found, answered = jobs.all_jobs(connection), decisions.jobs_with_unapplied(connection)
    waiting = {job.id for job in found if job.state is JobState.WAITING} - answered
    rests = all(job.state is JobState.IN_REVIEW or job.id in waiting or not job.is_open for job in found)
    return len(found) == expected and rests


async def _show_world(world: _World, running: Overlord) -> None:
    for pull in world.forge.pulls(REPOSITORY):
        title = f"pull request #{pull.number}: {pull.title}"
        console.print()
        console.rule(Text(title, "bold"), align="left", style="none")
        card(pull.body)
    for job in reversed(await _jobs(running)):
        if job.head_sha and job.base_sha:
            diff = await running.parts.git.diff(
                RepositoryName(REPOSITORY), job.base_sha, job.head_sha, limit_bytes=20_000
            )
            console.print()
            say_diff(diff)
    broken = await running.parts.database.read(lambda c: list(ledger.problems(c)))
    verdict = "whole" if not broken else "; ".join(broken)
    console.print(f"The ledger is {verdict}. Look at it, and at the job, with:")
    for words in ("ledger export", "job show 1"):
        show_text(f"  {command(words, home=world.home)}")
    show_text("To remove what this demo left:")
    show_text(f"  {command('demo --clean')}")
    console.print("\nTo do the same with a real model on your own repositories, two lines:")
    console.print(
        "  export OPENAI_BASE_URL=https://api.openai.com/v1 OPENAI_API_KEY=… OVERLORD_MODEL=…", soft_wrap=True
    )
    show_text(f"  GITHUB_TOKEN=… OVERLORD_REPOS=owner/repo {command('serve')}")
