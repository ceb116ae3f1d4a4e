"""The artifacts of a job's plan: read from what a session pushed, and never left in a commit of the job."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from minion.protocol import Scope
from overlord.domain.contracts.contract import is_plan
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.engine.bootstrap import init_job
from overlord.engine.portfolio import lead_job
from overlord.engine.runtime.parts import Parts
from overlord.store.contracts import plan_files

MOST_FILES = 100
MOST_BYTES = 200_000
"""Of one artifact."""
MOST_BYTES_IN_ALL = 2_000_000
_RECORDED = "has what was recorded with its tool, and is changed with that tool alone: what was written there was left out."


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWork:
    """What a session did to the plan."""

    changed: Mapping[str, str | None] = field(default_factory=dict)
    """The artifacts it made anew, with their text; None for what it removed."""
    outside: tuple[str, ...] = ()
    """Artifacts it changed or removed and may not; they stay as they were."""
    unusable: tuple[str, ...] = ()
    """Why some of what it left is no artifact, as sentences."""
    paths: frozenset[str] = frozenset()
    """Everything below `plan/` in its tree, which is taken out of the commit, and what the repository has there, which goes back in."""


async def of_commit(parts: Parts, job: Job, head: Sha, scope: Scope, *, parent: Sha) -> PlanWork:
    """What a session did to the plan, by the commit that holds all it left, which is put on `parent`. A session that may not write
    there pushes nothing of it, so that what is not in its tree was not removed. What sessions record by a tool, Overlord keeps: their
    copy of that counts for nothing."""
    paths, own = [
        frozenset(path for path in await parts.git.listing(job.space, commit) if is_plan(path))
        for commit in (head, parent)
    ]
    if head == parent and own:
        return PlanWork()  # nothing is pushed over what the repository has there
    known = await parts.database.read(lambda c: plan_files.of_job(c, job.id))
    kept = await _recorded(parts, job)
    found = await parts.git.read_files(
        job.space, head, sorted(paths)[: MOST_FILES + 1], limit_bytes=MOST_BYTES + 1
    )
    texts, unusable = _readable(found, paths, known)
    differing = {path: text for path, text in texts.items() if known.get(path) != text}
    may_write = any(scope.allows(path) for path in (*paths, *known, "plan/x"))
    gone = dict.fromkeys(known.keys() - paths) if may_write else {}
    made = {path: text for path, text in {**differing, **gone}.items() if path not in kept}
    allowed = frozenset(path for path in made if scope.allows(path))
    # A lead's copy is older than what it has proposed since: it was given that before.
    replaced = sorted(kept & differing.keys() & known.keys() - lead_job.RECORDED)
    return PlanWork(
        changed={path: text for path, text in made.items() if path in allowed},
        outside=tuple(sorted(made.keys() - allowed)),
        unusable=(*unusable, *(f"{path} {_RECORDED}" for path in replaced)),
        paths=paths | own,
    )


async def _recorded(parts: Parts, job: Job) -> frozenset[str]:
    """What Overlord alone writes."""
    if await init_job.of(parts, job) is not None:
        return init_job.RECORDED
    return lead_job.RECORDED if await lead_job.of(parts, job) is not None else frozenset()


def _readable(
    found: Mapping[str, bytes], paths: Collection[str], known: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The text of each artifact, and what is wrong with those that are new; what Overlord laid there has its own limits."""
    texts, unusable, room = dict[str, str](), list[str](), MOST_BYTES_IN_ALL
    if len(paths) > MOST_FILES:
        return {}, (f"plan/ has {len(paths)} files; it may have {MOST_FILES}.",)
    for path in sorted(paths):
        content = found.get(path)
        laid = known.get(path, "\0").encode(errors="replace")
        if content is not None and content == laid[: MOST_BYTES + 1]:
            texts[path] = known[path]
            continue
        room -= len(content or b"")
        if content is None:
            unusable.append(f"{path} is no plain file.")
        elif len(content) > MOST_BYTES or room < 0:
            unusable.append(f"{path} is too large: an artifact may have {MOST_BYTES:,} bytes.")
        else:
            try:
                texts[path] = content.decode()
            except UnicodeDecodeError:
                unusable.append(f"{path} is no text.")
    return texts, tuple(unusable)
