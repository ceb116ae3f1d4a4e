"""Environments and ready copies that nobody needs any more: by age, then by size, those used longest ago first."""

import sqlite3
from datetime import timedelta

from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.identifiers import RepositoryName
from overlord.engine.runtime.parts import Caretaker, Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.store import environments, jobs, ledger
from overlord.store.environments import Environment

GIGABYTE = 10**9
EVERY_S = 3600.0


async def step(parts: Parts) -> Progress:
    """Remove what is due; whether there was anything."""
    removed = await environments_due(Caretaker.of(parts))
    open_jobs = await parts.database.read(jobs.open_jobs)
    for name in parts.settings.repositories:
        keep = {job.base_sha for job in open_jobs if job.space == name and job.base_sha}
        await parts.git.forget_ready(RepositoryName(name), keep=keep)
    return Progress.of(bool(removed))


async def environments_due(caretaker: Caretaker) -> list[Environment]:
    """Remove the environments that are due; those that are gone."""
    return [environment for environment in await due(caretaker) if await _remove(caretaker, environment)]


async def due(caretaker: Caretaker) -> list[Environment]:
    """The environments that are kept no longer."""
    settings = caretaker.settings.environments
    oldest = caretaker.clock.now() - timedelta(days=settings.keep_days)
    everything = await caretaker.database.read(environments.everything)
    unused = {environment.id for environment in await caretaker.database.read(environments.unused)}
    kept, found = 0, []
    for environment in everything:  # the one used last first
        is_over = environment.used_at < oldest or kept + environment.size > settings.keep_gb * GIGABYTE
        if environment.id in unused and is_over:
            found.append(environment)
        else:
            kept += environment.size
    return found


async def _remove(caretaker: Caretaker, environment: Environment) -> bool:
    if caretaker.runner is None:
        return False
    await caretaker.runner.remove_layer(environment.id)
    if await caretaker.runner.has_layer(environment.id):
        return False  # a container that is not cleared yet still has it: the next look removes it
    data: dict[str, Json] = {
        "environment": environment.id,
        "space": environment.space,
        "size": environment.size,
    }
    event = LedgerEvent(
        name=EventName.ENVIRONMENT_REMOVED, at=caretaker.clock.now(), actor=caretaker.actor, data=data
    )

    def forget(connection: sqlite3.Connection) -> None:
        environments.remove(connection, environment.id)
        ledger.append(connection, event)

    await caretaker.database.write(Failpoint.ENVIRONMENT_FORGOTTEN, forget)
    return True
