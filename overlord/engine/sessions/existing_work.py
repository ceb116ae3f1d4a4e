"""Work at the forge that the database does not know: it is older than that work, as a copy that was put back is.

It is not done a second time unless a person, who is asked once, wants that.
"""

from overlord.domain.decision import Subject
from overlord.domain.job import Job
from overlord.engine.runtime.parts import Parts
from overlord.store import decisions


def is_to_look(job: Job) -> bool:
    """Whether a job has no work that the database knows of: then its branch is not to be at the forge."""
    return job.head_sha is None and job.pushed_sha is None


async def question(parts: Parts, job: Job) -> str | None:
    """What to ask a person about a branch that is taken; None when they have answered, or it is a mere leftover."""
    answered = await parts.database.read(lambda c: decisions.answered(c, job.id))
    if any(decision.subject is Subject.FOUND_WORK for decision in answered):
        return None
    pulls = await parts.forge.pulls_from(job.space, job.branch)
    lines = [pull for pull in pulls if pull.open or pull.merged]
    if not lines:
        return None
    pull = lines[0]
    what = "merged" if pull.merged else "open"
    return (
        f"Pull request {pull.number} from {job.branch} is {what}, and this database knows nothing of it: it may be an "
        f"older copy.\n\nTrying again works on another branch and opens another pull request; taking over or dropping "
        f"ends this job and leaves {pull.url} as it is."
    )
