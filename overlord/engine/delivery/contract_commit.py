"""What a person confirmed becomes a commit: the contract that an architect proposed, which no session may write where it counts."""

import asyncio
import sqlite3
from hashlib import sha256

from overlord.domain.bootstrap.proposal import review_text
from overlord.domain.contracts.reading import CONTRACT_DIR, CONTRACT_FILES
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.engine.bootstrap import init_job
from overlord.engine.contracts import confirmed
from overlord.engine.runtime.parts import Parts
from overlord.errors import ContractError
from overlord.failpoints import Failpoint
from overlord.store import jobs

MESSAGE = "Contract, as a person confirmed it\n\nIssue {}."


async def ensure(parts: Parts, job: Job) -> Job:
    """The job, with the contract in its branch that a person confirmed last: the text that the gate showed, and no other that was
    proposed since. Raises ContractError for one that does not hold."""
    if await init_job.of(parts, job) is None:
        return job
    meant, parent = await confirmed.last(parts, job), job.head_sha or job.base
    paths = [f"{CONTRACT_DIR}/{name}" for name in CONTRACT_FILES]
    present = await parts.git.read_files(job.space, parent, paths)
    wanted = {paths[0]: meant.text.encode()}
    digest = sha256(wanted[paths[0]]).hexdigest()
    committed = await parts.database.read(lambda c: init_job.committed(c, job))
    if dict(present) == wanted or (paths[0] in present and committed == digest):
        return job  # what is there now in its place, people have put there since
    listing = await parts.git.listing(job.space, parent)
    found = await asyncio.to_thread(review_text, meant.text, existing=frozenset(listing))
    if found.problems:
        raise ContractError(f"the contract that was confirmed does not hold: {found.problems[0]}")
    files: dict[str, bytes | None] = {**dict.fromkeys(present), **wanted}
    # At the time of the person's word: the same commit, however often it is made.
    head = await parts.git.commit_files(
        job.space, parent, files, message=MESSAGE.format(job.issue.number), at=meant.at
    )

    def note(connection: sqlite3.Connection) -> Job:
        at = parts.clock.now()
        data: dict[str, Json] = {"head": head, "from": parent, "decision": meant.decision, "contract": digest}
        return jobs.note(connection, job.id, EventName.CONTRACT_COMMITTED, at=at, data=data, head_sha=head)

    return await parts.database.write(Failpoint.CONTRACT_COMMITTED, note)
