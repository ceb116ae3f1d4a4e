"""`overlord check`: the judge tried on a repository as it is, without a change and without a model."""

import asyncio
from contextlib import suppress

from overlord.app import Overlord, overlord
from overlord.domain.checks.trial import Trial
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.engine.evaluation import trial
from overlord.engine.evaluation.trial import Refusal
from overlord.entrypoints.local import address, checkout, transfer
from overlord.entrypoints.local.local_session import LocalSession
from overlord.entrypoints.local.place import MANY
from overlord.entrypoints.local.work import NO_WALLS
from overlord.entrypoints.terminal.logs import conceal
from overlord.entrypoints.terminal.show import person
from overlord.entrypoints.terminal.watch import Watch
from overlord.settings.load import Settings

BRANCH = "trial"
ROOM = {"sessions": {"concurrent": MANY}}
"""Beside a trial nothing is worked on; a session of a run that was interrupted is still on the books, and in nobody's way."""


async def make(local_session: LocalSession, runner: str, base: str) -> Trial | Refusal:
    """Try HEAD, or another commit. Raises what bringing it in and starting an Overlord raise."""
    place = local_session.place
    commit = await _brought(local_session, base)
    await local_session.forge.move_default(place.repository, BRANCH, commit)
    async with local_session.forge.serve() as url:
        overrides = ROOM | {"forge": {"api_url": url, "token": local_session.forge.token}}
        settings = place.settings(
            local_session.environment, **overrides, **({"runner": runner} if runner else {})
        )
        conceal(settings.secrets())
        async with overlord(settings, needs_model=False, falls_back=True) as running:
            if not running.parts.runner.capabilities.isolates_files:
                local_session.screen.write(NO_WALLS)
            with local_session.screen.live():
                return await _tried(local_session, running, settings, commit)


async def _brought(local_session: LocalSession, base: str) -> Sha:
    """The commit, in the forge's repository."""
    own = local_session.place.checkout
    if own is None:
        commit, _ = await address.fetch(local_session.place.bare, local_session.place.source, base or "HEAD")
        return commit
    return await transfer.bring_in(
        local_session.place.bare, own, await checkout.commit_of(own, base or "HEAD")
    )


async def _tried(
    local_session: LocalSession, running: Overlord, settings: Settings, commit: Sha
) -> Trial | Refusal:
    parts = running.parts
    name = RepositoryName(settings.repositories[0])
    await trial.free(parts)
    await parts.git.refresh_mirror(name, await parts.forge.remote(name))
    job = await trial.begin(parts, name, BRANCH, commit, actor=person())
    watch = Watch(running, after=0, is_local=True)
    await watch.news()

    async def step() -> Trial | Refusal | None:
        return await trial.step(parts, job)

    steps: asyncio.Task[Trial | Refusal] = asyncio.create_task(running.pursue(step))
    stop = asyncio.create_task(local_session.interruption.came.wait())
    try:
        while not steps.done():
            seen = running.watchers.count
            for news in await watch.news():
                if news.job == job.id:
                    local_session.screen.show_news(news)
            notified = asyncio.create_task(running.watchers.wait(seen, timeout_s=1.0))
            await asyncio.wait({steps, stop, notified}, return_when=asyncio.FIRST_COMPLETED)
            notified.cancel()
            if stop.done():
                return Refusal(why="stopped")
        return steps.result()
    finally:
        for task in (steps, stop):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(steps, stop, return_exceptions=True)
        await trial.clear(parts, job)
