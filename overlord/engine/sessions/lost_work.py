"""Commits of a job that are kept nowhere any more: somebody removed a mirror before they were pushed.

What the forge has is fetched again before this is asked. A turn whose own commits alone are lost begins again where it began. Where
the work of an earlier turn is lost too, a person is asked, once: the job starts over from its first phase, or ends.
"""

from dataclasses import dataclass

from overlord.domain.decision import Subject, Verb
from overlord.domain.event import EventName
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job, JobChanges
from overlord.engine.runtime.parts import Parts
from overlord.errors import GitFailed
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs

_BEGINNING = "The work so far is lost"


@dataclass(frozen=True, slots=True)
class AskPerson:
    """What is lost cannot be made again without one."""

    body: str


async def go_back(parts: Parts, job: Job) -> Job | AskPerson:
    """The job as it is where all of its commits are there; else put back to the newest one that is. The mirror must be fresh."""
    known = [sha for sha in (job.head_sha, job.role_sha, job.phase_sha) if sha is not None]
    gone = [sha for sha in known if not await _is_there(parts, job, sha)]
    if not gone:
        return job
    before = job.role_sha or job.phase_sha
    if gone == [job.head_sha] and before != job.head_sha:
        where = f"at {before[:12]}" if before else "at its base"
        said = f"commit {gone[0][:12]} is kept nowhere any more; the turn of {job.role or 'its role'} begins again {where}"
        return await _put_back(parts, job, said, {"head_sha": before, "consultation": ""})
    if not await _is_allowed(parts, job):
        return AskPerson(
            f"{_BEGINNING}: commit {gone[0][:12]} is neither in the mirror nor at the forge.\n\nPut the mirror back if you have a"
            f" copy of it, then try again. Without it, trying again starts the job over from its first phase; its plan and what you"
            f" answered are kept."
        )
    contract = (await parts.turn_of(job)).contract
    said = f"commit {gone[0][:12]} is kept nowhere any more; the job starts over from phase {contract.start}"
    changes: JobChanges = {
        "phase": contract.start,
        "role": "",
        "consultation": "",
        "head_sha": None,
        "phase_sha": None,
        "role_sha": None,
        "revision": 0,
        "losses": 0,
    }
    return await _put_back(parts, job, said, changes)


async def _is_there(parts: Parts, job: Job, commit: Sha) -> bool:
    try:
        await parts.git.tree_of(job.space, commit)
    except GitFailed:
        return False
    return True


async def _is_allowed(parts: Parts, job: Job) -> bool:
    """Whether a person who was told of this very loss said that it is tried again."""
    answered = await parts.database.read(lambda c: decisions.answered(c, job.id))
    return any(
        item.subject is Subject.DISPATCH_REFUSED
        and item.verb is Verb.RETRY
        and item.head_sha == job.head_sha
        and item.body.startswith(_BEGINNING)
        for item in answered
    )


async def _put_back(parts: Parts, job: Job, said: str, changes: JobChanges) -> Job:
    return await parts.database.write(
        Failpoint.BASE_CHOSEN,
        lambda c: jobs.note(
            c, job.id, EventName.STEP_FAILED, at=parts.clock.now(), data={"trouble": said}, **changes
        ),
    )
