"""The artifacts of a job's plan: read from what a session pushed, and never left in a commit of the job."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from minion.protocol import Scope
from overlord.domain.contracts.contract import is_plan
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.engine.bootstrap import init_job
from overlord.engine.runtime.parts import Parts
from overlord.store.contracts import plan_files

MOST_FILES = 100
MOST_BYTES = 200_000
"""Of one artifact."""
MOST_BYTES_IN_ALL = 2_000_000


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
    """Everything below `plan/` in its tree, which is taken out of the commit."""


async def of_commit(parts: Parts, job: Job, head: Sha, scope: Scope) -> PlanWork:
    """What a session did to the plan, by the commit that holds all it left. A session that may not write there pushes nothing of
    it, so that what is not in its tree was not removed. What sessions propose by a tool, Overlord keeps: their copy counts for nothing."""
    listing = await parts.git.listing(job.space, head)
    paths = frozenset(path for path in listing if is_plan(path))
    known = await parts.database.read(lambda c: plan_files.of_job(c, job.id))
    found = await parts.git.read_files(
        job.space, head, sorted(paths)[: MOST_FILES + 1], limit_bytes=MOST_BYTES + 1
    )
    texts, unusable = _readable(found, paths)
    differing = {path: text for path, text in texts.items() if known.get(path) != text}
    may_write = any(scope.allows(path) for path in (*paths, *known, "plan/x"))
    gone = dict.fromkeys(known.keys() - paths) if may_write else {}
    if await init_job.of(parts, job) is not None:
        for ours in (init_job.DRAFT, init_job.DISCOVERY):
            differing.pop(ours, None)
            gone.pop(ours, None)
    return PlanWork(
        changed={path: text for path, text in {**differing, **gone}.items() if scope.allows(path)},
        outside=tuple(sorted(path for path in {**differing, **gone} if not scope.allows(path))),
        unusable=unusable,
        paths=paths,
    )


def _readable(found: Mapping[str, bytes], paths: Collection[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    texts, unusable, room = dict[str, str](), list[str](), MOST_BYTES_IN_ALL
    if len(paths) > MOST_FILES:
        return {}, (f"plan/ has {len(paths)} files; it may have {MOST_FILES}.",)
    for path in sorted(paths):
        content = found.get(path)
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
