"""A place whose forge's repository is gone, made anew: from the user's own repository, and from what the mirror still has.

The commits of a run that were never pushed are in the mirror alone. Those are looked for when the run goes on
(`engine/sessions/lost_work.py`); here the forge is given back what it had.
"""

import asyncio
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.embedded.forge import repository as bare
from overlord.entrypoints.local import address, transfer
from overlord.entrypoints.local.local_session import LocalSession
from overlord.entrypoints.local.record import Record
from overlord.errors import GitFailed, NotFound, Refused


async def restore_forge(local_session: LocalSession, record: Record, job: Job | None) -> None:
    """Make the forge's repository whole again where it, or the commit this run starts from, is gone.

    Raises Refused when that commit is in the user's repository no more either.
    """
    place = local_session.place
    if await asyncio.to_thread(_has, place.bare, record.forge_base):
        return
    local_session.screen.write(
        f"The repository with run {record.number}'s commits is gone; it is made anew from {place.source}."
    )
    await asyncio.to_thread(bare.create, place.bare, record.base_branch)
    try:
        if place.checkout is not None:
            await transfer.bring_in(place.bare, place.checkout, Sha(record.base))
        else:
            await address.fetch(place.bare, place.source, record.base)
    except (GitFailed, NotFound, Refused) as error:
        raise Refused(
            f"run {record.number} cannot go on: the commit it starts from, {record.base[:12]}, is gone ({error})"
        ) from None
    if job is not None and job.pushed_sha is not None:
        await _bring_branch(place.bare, place.home.mirror(job.space), job.branch, job.pushed_sha)


def _has(directory: Path, commit: str) -> bool:
    return (directory / "HEAD").is_file() and bare.has_commit(directory, commit)


async def _bring_branch(forge: Path, mirror: Path, branch: str, commit: str) -> None:
    """Put a branch that was pushed back, where the mirror still has it. Else the next delivery pushes it anew."""
    if await asyncio.to_thread(_has, mirror, commit):
        await git(mirror, "push", "--quiet", "--no-verify", str(forge), f"+{commit}:refs/heads/{branch}")
