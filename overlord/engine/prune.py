"""Environments and ready copies that nobody needs any more: by age, then by size, those used longest ago first."""

import sqlite3
from datetime import timedelta

from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.engine.parts import Parts
from overlord.points import Point
from overlord.ports import RepositoryName, Sha
from overlord.store import environments, jobs, ledger
from overlord.store.environments import Environment

GIGABYTE = 10**9
EVERY_S = 3600.0


async def step(parts: Parts) -> bool:
    """Remove what is due; whether there was anything."""
    due = await _due(parts)
    for environment in due:
        await _remove(parts, environment)
    open_jobs = await parts.database.read(jobs.open_jobs)
    for name in parts.settings.repositories:
        keep = {Sha(job.base_sha) for job in open_jobs if job.space == name and job.base_sha}
        await parts.git.forget_ready(RepositoryName(name), keep=keep)
    return bool(due)


async def _due(parts: Parts) -> list[Environment]:
    settings = parts.settings.environments
    oldest = parts.clock.now() - timedelta(days=settings.keep_days)
    everything = await parts.database.read(environments.everything)
    unused = {environment.id for environment in await parts.database.read(environments.unused)}
    kept, due = 0, []
    for environment in everything:  # the one used last first
        is_over = environment.used_at < oldest or kept + environment.size > settings.keep_gb * GIGABYTE
        if environment.id in unused and is_over:
            due.append(environment)
        else:
            kept += environment.size
    return due


async def _remove(parts: Parts, environment: Environment) -> None:
    await parts.runner.remove_layer(environment.id)
    if await parts.runner.has_layer(environment.id):
        return  # a container that is not cleared yet still has it: the next look removes it
    data: dict[str, Json] = {
        "environment": environment.id,
        "space": environment.space,
        "size": environment.size,
    }
    event = LedgerEvent(name=EventName.ENVIRONMENT_REMOVED, at=parts.clock.now(), data=data)

    def forget(connection: sqlite3.Connection) -> None:
        environments.remove(connection, environment.id)
        ledger.append(connection, event)

    await parts.database.write(Point.ENVIRONMENT_FORGOTTEN, forget)
