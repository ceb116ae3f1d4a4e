"""Somebody pushes another contract to the branch of a job of `init`: that is the proposal from then on, and a person is asked about it."""

import asyncio
import sqlite3
from dataclasses import dataclass

from overlord.domain.bootstrap.proposal import review_text
from overlord.domain.contracts.reading import CONTRACT_DIR, CONTRACT_FILES
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.engine.bootstrap import init_job
from overlord.engine.runtime.parts import Parts
from overlord.store.bootstrap import contract_drafts
from overlord.store.contracts import plan_files

PUSHED = "forge"
"""Who wrote the artifact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """A contract in a commit of somebody else's."""

    text: str
    problems: tuple[str, ...]


async def pushed(parts: Parts, job: Job, head: Sha) -> Pushed | None:
    """The contract in that commit; None where it has none, and for other jobs. One with a secret in it is not taken over: the one that
    was confirmed takes its place."""
    if await init_job.of(parts, job) is None:
        return None
    path = f"{CONTRACT_DIR}/{CONTRACT_FILES[0]}"
    files = await parts.git.read_files(job.space, head, [path], limit_bytes=init_job.MOST_BYTES)
    text = files.get(path, b"").decode(errors="replace")
    if not text or parts.current.redactor.redact(text) != text:
        return None
    listing = await parts.git.listing(job.space, head)
    found = await asyncio.to_thread(review_text, text, existing=frozenset(listing))
    return Pushed(text=text, problems=tuple(found.problems))


def adopt(connection: sqlite3.Connection, parts: Parts, job: Job, found: Pushed | None) -> None:
    """Write it down as the proposal, in the transaction that takes the commit over."""
    if found is None or plan_files.of_job(connection, job.id).get(init_job.DRAFT) == found.text:
        return
    at = parts.clock.now()
    plan_files.put(connection, job.id, {init_job.DRAFT: found.text}, session_id=PUSHED, at=at)
    contract_drafts.put(connection, job.id, found.text, found.problems, at=at, is_best=True)
