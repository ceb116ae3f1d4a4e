"""What an issue's own words say of where its fix goes: worked out at base, unless the settings do not want it or something
else says it."""

import asyncio
from collections.abc import Mapping

from minion.protocol import Issue, ScopeError
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.job import Job
from overlord.domain.scope.file import SCOPE_PATH, ScopeFileError, parse_scope_file
from overlord.domain.scope.inference import infer
from overlord.domain.scope.issue_text import candidates
from overlord.domain.scope.reason import Inference
from overlord.engine.runtime.parts import Parts
from overlord.ports.git import Git

MOST_REMEMBERED = 200


async def inferred(parts: Parts, job: Job, base: Sha) -> Inference:
    """The scope of a job's issue, and why. Raises ScopeError for a `.nebulus/scope.yaml` that does not parse."""
    labels = tuple(sorted(parts.settings.space(job.space).scope_map.items()))
    key = (job.space, base, job.issue, labels)
    if (known := parts.inferred.get(key)) is None:
        known = parts.inferred[key] = await worked_out(parts.git, job.space, job.issue, base, dict(labels))
        while len(parts.inferred) > MOST_REMEMBERED:
            del parts.inferred[next(iter(parts.inferred))]
    return known


async def worked_out(
    git: Git, name: RepositoryName, issue: Issue, base: Sha, declared: Mapping[str, tuple[str, ...]]
) -> Inference:
    """The same anew. `said` is what the settings have labels open."""
    found = await git.read_files(name, base, (SCOPE_PATH,))
    try:
        file = parse_scope_file(found.get(SCOPE_PATH))
    except ScopeFileError as error:
        raise ScopeError(str(error)) from None
    paths = await git.listing(name, base)
    found_at = await git.occurrences(name, base, candidates(issue))
    # Of the labels that both name the settings' word counts, and case does not, as at the forge.
    opened = {label.casefold(): patterns for label, patterns in (*file.labels.items(), *declared.items())}
    labels = {label: opened[label.casefold()] for label in issue.labels if label.casefold() in opened}
    # With many files this takes seconds.
    return await asyncio.to_thread(infer, issue, frozenset(paths), found_at, labels, file.always)
