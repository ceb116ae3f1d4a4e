"""`overlord demo`: the whole story in an embedded world. Only the forge's far side and the model's words are stand-ins."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.resources import as_file
from pathlib import Path

from rich.text import Text

from overlord.app import Overlord, overlord
from overlord.config_files import config_directory
from overlord.domain.identifiers import RepositoryName, SessionId
from overlord.domain.job import Job, JobState
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.model import EmbeddedModel
from overlord.embedded.play import read_script
from overlord.entrypoints.demo import clean
from overlord.entrypoints.invocation import command
from overlord.entrypoints.local.interruption import INTERRUPTED, Interruption
from overlord.entrypoints.terminal.logs import conceal
from overlord.entrypoints.terminal.show import card, console, show_text
from overlord.entrypoints.terminal.show import diff as say_diff
from overlord.entrypoints.terminal.watch import Watch
from overlord.errors import ExternalServiceError, ImageUnusable
from overlord.settings.load import Settings, load, rebuilt
from overlord.store import jobs, ledger, sessions

REPOSITORY = "demo/till"
PATIENCE_S = 180.0
"""How long the demo waits for its jobs; a machine that needs longer is told so."""

STOP_S = 2.0
"""What a session gets to end by itself."""

ISSUES = (
    (
        "Ten percent off makes everything free",
        "`total([1000], discount=10)` is 0 and should be 900. The test for it fails.",
    ),
    (
        "Discounts above 100 percent are accepted",
        "`total([100], discount=150)` pays the customer. It should raise a ValueError.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _World:
    home: Path
    forge: EmbeddedForge
    settings: Settings


async def run_demo(runner: str) -> int:
    """Run the demo and print it as it goes; 0 when every issue ended in a pull request that is ready for review, 130 when somebody
    stopped it."""
    interruption = Interruption(_leave)
    with interruption.listening():
        return await _play(runner, interruption.came)


async def _play(runner: str, interrupted: asyncio.Event) -> int:
    async with _embedded(runner) as world:
        console.print(f"An embedded forge and a scripted model; state in {world.home}\n")
        for title, body in ISSUES:
            number = await world.forge.open_issue(REPOSITORY, title, body)
            await world.forge.label(REPOSITORY, number, "nebulus-ready")
            console.print(f"alice labels issue #{number} [bold]nebulus-ready[/]: {title}")
        console.print()
        async with AsyncExitStack() as stack:
            conceal(world.settings.secrets())
            try:
                running = await stack.enter_async_context(overlord(world.settings, falls_back=True))
            except ImageUnusable as error:
                console.print(f"An engine answers, but {error}. The demo goes on with processes.")
                settings = rebuilt(world.settings, runner="process")
                running = await stack.enter_async_context(overlord(settings))
            done = await _run(running, interrupted)
            await _stop_sessions(running)
            if interrupted.is_set():
                console.print(f"Stopped. What it made is in {world.home}", soft_wrap=True)
                return INTERRUPTED
            await _show_world(world, running)
    return 0 if done else 1


def _leave() -> None:
    """Somebody does not want to wait for the end either."""
    os._exit(INTERRUPTED)


@asynccontextmanager
async def _embedded(runner: str) -> AsyncIterator[_World]:
    home = clean.make_home()
    async with AsyncExitStack() as stack:
        demo = stack.enter_context(as_file(config_directory() / "demo"))
        forge, model = EmbeddedForge(home / "forge"), EmbeddedModel(read_script(demo / "script.yaml"))
        stack.callback(forge.close)
        forge_url = await stack.enter_async_context(forge.serve())
        model_url = await stack.enter_async_context(model.serve())
        await forge.create_repository(REPOSITORY, source=demo / "repository")
        settings = load(
            {"OVERLORD_HOME": str(home), "DOCKER_HOST": os.environ.get("DOCKER_HOST", "")},
            repositories=[REPOSITORY],
            disk={"least_free_gb": 0, "least_free_files": 0},
            runner=runner,
            poll_s=1,
            forge={"api_url": forge_url, "token": forge.token},
            model={"base_url": f"{model_url}/v1", "name": "scripted", "api_key": model.key},
        )
        yield _World(home=home, forge=forge, settings=settings)


async def _run(running: Overlord, interrupted: asyncio.Event) -> bool:
    """Let it work until every job is in review or waits for a person, or somebody stops it."""
    console.print(f"Sessions run with the [bold]{running.parts.runner.name}[/] runner", end="")
    isolated = running.parts.runner.capabilities.isolates_files
    console.print("." if isolated else ": it isolates nothing, which is fine for a scripted model.")
    console.print()
    stopped, watch = asyncio.Event(), Watch(running)

    async def stop_when_settled() -> None:
        while not interrupted.is_set() and not await _settled(running):
            seen = running.watchers.count
            await watch.show_news()
            await running.watchers.wait(seen, timeout_s=1.0)
        stopped.set()
        running.wakeup.notify()

    async def stop_when_asked() -> None:
        await interrupted.wait()
        console.print("Stopping; Ctrl-C again leaves at once.")
        running.wakeup.notify()

    stopping = asyncio.create_task(stop_when_asked())
    try:
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            group.create_task(running.run(stopped))
            group.create_task(stop_when_settled())
    except TimeoutError:
        console.print(f"[red]The demo did not finish in {PATIENCE_S:.0f} s.[/]")
    stopping.cancel()
    await asyncio.gather(stopping, return_exceptions=True)
    await watch.show_news()
    return all(job.state is JobState.IN_REVIEW for job in await _jobs(running))


async def _stop_sessions(running: Overlord) -> None:
    """Sessions outlive what started them, and nobody comes back to these."""
    await running.tick.close()
    with contextlib.suppress(ExternalServiceError):
        for session in await running.parts.database.read(sessions.live):
            await running.parts.runner.stop(SessionId(session.id), grace_s=STOP_S)


async def _jobs(running: Overlord) -> list[Job]:
    return await running.parts.database.read(jobs.all_jobs)


async def _settled(running: Overlord) -> bool:
    found = await _jobs(running)
    resting = {JobState.IN_REVIEW, JobState.WAITING}
    return len(found) == len(ISSUES) and all(job.state in resting or not job.is_open for job in found)


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
