"""What the judge looks at: Overlord's own diff of a job's head against its base, and what base says of checks."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from overlord.domain.checks.file import CHECKS_PATH, ChecksFile, parse_checks
from overlord.domain.checks.lint import LINT_CONFIGURATION
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.repositories.lfs import LARGEST_POINTER, parse_pointer
from overlord.domain.scope.check import Change
from overlord.engine.runtime.diff_cache import Difference
from overlord.engine.runtime.parts import Parts
from overlord.engine.sessions import environment

DIFF_BYTES = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationInput:
    """What is judged of one head; the same for every check of an evaluation."""

    base: Sha
    head: Sha
    changes: Sequence[Change]
    diff: str


async def evaluation_input_of(parts: Parts, job: Job, head_sha: str) -> EvaluationInput:
    """The diff, read from the mirror once for all checks of an evaluation."""
    name, base, head = job.space, job.base, Sha(head_sha)
    if (known := parts.diffs.get((name, base, head))) is None:
        changes, diff = await asyncio.gather(
            parts.git.changes(name, base, head), parts.git.diff(name, base, head, limit_bytes=DIFF_BYTES)
        )
        known = Difference(changes=changes, diff=diff)
        parts.diffs.put((name, base, head), known)
    return EvaluationInput(base=base, head=head, changes=known.changes, diff=known.diff)


async def checks_of(parts: Parts, job: Job) -> ChecksFile | None:
    """The repository's own checks, read at base, and for what they leave open those of its kind of project.

    Raises ChecksFileError when they do not parse, EnvironmentFailed when the environment's own file does not.
    """
    found = await _at_base(parts, job, (CHECKS_PATH,))
    checks = parse_checks(found.get(CHECKS_PATH))
    usual = await environment.recipe_at(parts, job, job.base)
    if usual.tests is None and usual.lint is None:
        return checks
    return ChecksFile(
        tests=(checks and checks.tests) or usual.tests, lint=(checks and checks.lint) or usual.lint
    )


async def lint_configuration_at_base(parts: Parts, job: Job) -> Mapping[str, str]:
    """The linters' configuration files that exist at base, with their content."""
    found = await _at_base(parts, job, LINT_CONFIGURATION)
    return {path: content.decode(errors="replace") for path, content in found.items()}


async def kept_in_lfs(parts: Parts, job: Job, paths: Sequence[str]) -> list[str]:
    """Those of the paths whose content Git LFS keeps: what a session makes of it has no way there.

    None where sessions find its pointers and no more; those are files like others.
    """
    if not paths or not parts.settings.extent(job.space).lfs:
        return []
    name, base = job.space, job.role_base
    found = await parts.git.read_files(name, base, paths, limit_bytes=LARGEST_POINTER + 1)
    return [path for path, content in found.items() if parse_pointer(content) is not None]


async def _at_base(parts: Parts, job: Job, paths: Sequence[str]) -> Mapping[str, bytes]:
    return await parts.git.read_files(job.space, job.base, paths)
