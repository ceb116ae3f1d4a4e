"""What an issue's own words say of where its fix goes: worked out at base, where the settings ask for it and nothing else says it."""

import asyncio
from collections.abc import Mapping

from minion.protocol import ScopeError
from overlord.domain.job import Job
from overlord.domain.scope_file import SCOPE_PATH, ScopeFileError, parse_scope_file
from overlord.domain.scope_inference import Inference, infer
from overlord.domain.scope_text import candidates
from overlord.engine.parts import Parts
from overlord.ports import RepositoryName, Sha

MOST_REMEMBERED = 200


async def inferred(parts: Parts, job: Job, base: Sha) -> Inference | None:
    """The scope of a job's issue, and why; None where it is not told from the issue. Raises ScopeError for a
    `.nebulus/scope.yaml` that does not parse."""
    space = parts.settings.space(job.space)
    if not space.infer_scope or space.scope_of(job.issue.number) is not None:
        return None
    labels = tuple(sorted(space.scope_map.items()))
    key = (job.space, base, job.issue, labels)
    if (known := parts.inferred.get(key)) is None:
        known = parts.inferred[key] = await _worked_out(parts, job, base, dict(labels))
        while len(parts.inferred) > MOST_REMEMBERED:
            del parts.inferred[next(iter(parts.inferred))]
    return known


async def _worked_out(parts: Parts, job: Job, base: Sha, said: Mapping[str, tuple[str, ...]]) -> Inference:
    name = RepositoryName(job.space)
    found = await parts.git.read_files(name, base, (SCOPE_PATH,))
    try:
        file = parse_scope_file(found.get(SCOPE_PATH))
    except ScopeFileError as error:
        raise ScopeError(str(error)) from None
    paths = await parts.git.listing(name, base)
    names = await parts.git.definitions(name, base, candidates(job.issue))
    # Of the labels that both name the settings' word counts, and case does not, as at the forge.
    opened = {label.casefold(): patterns for label, patterns in (*file.labels.items(), *said.items())}
    labels = {label: opened[label.casefold()] for label in job.issue.labels if label.casefold() in opened}
    # With many files this takes seconds.
    return await asyncio.to_thread(infer, job.issue, frozenset(paths), names, labels, file.always)
