"""What a job's sessions are to run in: found out from files of the base commit, never by running anything of it.

Dependency files a change brings along count only once a person allowed them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from minion.protocol import is_protected
from overlord.domain.environments.change import changed_inputs, dependencies_differ
from overlord.domain.environments.file import EnvironmentFileError
from overlord.domain.environments.recipe import Recipe, environment_key, recipe, wanted
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.job import Job
from overlord.engine.portfolio import lead_job
from overlord.engine.runtime.parts import Parts
from overlord.errors import RunnerRefused
from overlord.store.budgets import grants

COMPARED_BYTES = 1_000_000
"""As much of a dependency file as is compared; what is longer counts as different."""


class EnvironmentFailed(Exception):
    """There is no environment and will be none until a person did something. The words are for that person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """The environment that belongs to a commit. `taken` are dependency files of `head` in place of base's."""

    key: str
    recipe: Recipe
    base: Sha
    head: Sha
    taken: tuple[str, ...] = ()
    digest: str = ""
    """What a person's approval of the taken files is bound to: their names and contents."""


async def allowed(parts: Parts, job: Job, base: Sha) -> Need | None:
    """What the job's sessions run in: base's environment, with its own dependency files once a person allowed them. A job of
    `init` or of a lead runs nothing of its repository's, and needs none."""
    if await lead_job.is_ours(parts, job):
        return None
    asked = await unapproved(parts, job, base)
    if asked is None and job.head_sha:
        return await need_of(parts, job, base, head=job.head_sha)
    return await need_of(parts, job, base)


async def unapproved(parts: Parts, job: Job, base: Sha) -> Need | None:
    """The environment the job's head asks for by changing dependency files, if no person allowed that yet."""
    if not job.head_sha:
        return None
    need = await need_of(parts, job, base, head=job.head_sha)
    if need is None or not need.taken:
        return None
    may = await parts.database.read(lambda c: grants.may_install(c, job.id, need.digest))
    return None if may else need


async def recipe_at(parts: Parts, job: Job, commit: Sha) -> Recipe:
    """What a commit of the job's repository needs. Raises EnvironmentFailed for settings that do not parse."""
    name = job.space
    blobs = await parts.git.listing(name, commit)
    try:
        return recipe(await parts.git.read_files(name, commit, wanted(blobs)), blobs)
    except EnvironmentFileError as error:
        raise EnvironmentFailed(str(error)) from None


async def need_of(parts: Parts, job: Job, base: Sha, *, head: Sha | None = None) -> Need | None:
    """What a commit needs; None when there is nothing to set up. Raises EnvironmentFailed for settings that do not parse.

    With `head`, a change whose dependency files a person allowed to be installed: those, over everything else of base.
    """
    name = job.space
    blobs = dict(await parts.git.listing(name, base))
    files = dict(await parts.git.read_files(name, base, wanted(blobs)))
    taken: tuple[str, ...] = ()
    try:
        if head is not None:
            taken = await _dependencies_of(parts, name, base, head)
            blobs, files = await _over(parts, name, head, taken, (blobs, files))
        asked = recipe(files, blobs)
    except EnvironmentFileError as error:
        raise EnvironmentFailed(str(error)) from None
    if asked.is_empty:
        return None
    try:
        ground = await parts.runner.ground(asked.image, space=job.space)
    except RunnerRefused as error:
        raise EnvironmentFailed(str(error)) from None
    # A taken file belongs to what it makes, also where no recipe would look at it.
    named = replace(asked, inputs=(*asked.inputs, *taken))
    return Need(
        # What a repository's setup leaves may hold its code, and what its secrets opened: no other one runs in it.
        key=environment_key(named, blobs, f"{job.space.casefold()} {ground}"),
        recipe=asked,
        base=base,
        head=head or base,
        taken=taken,
        # Whole: whoever writes the files must not find two sets of them with one digest.
        digest=sha256(json.dumps([(path, blobs.get(path)) for path in taken]).encode()).hexdigest(),
    )


async def _dependencies_of(parts: Parts, name: RepositoryName, base: Sha, head: Sha) -> tuple[str, ...]:
    """The files in which head asks for other dependencies than base. Raises EnvironmentFileError."""
    names = await parts.git.listing(name, base)
    at_base = recipe(await parts.git.read_files(name, base, wanted(names)), names)
    known = parts.diffs.get((name, base, head))
    changes = known.changes if known else await parts.git.changes(name, base, head)
    touched = changed_inputs(at_base, changes)
    changed = [path for path in touched if not is_protected(path)]  # those are base's, whatever is approved
    before, after = [
        await parts.git.read_files(name, commit, changed, limit_bytes=COMPARED_BYTES)
        for commit in (base, head)
    ]
    return tuple(path for path in changed if _differ(path, before.get(path), after.get(path)))


def _differ(path: str, old: bytes | None, new: bytes | None) -> bool:
    longest = max(len(content or b"") for content in (old, new))
    return longest >= COMPARED_BYTES or dependencies_differ(path, old, new)


async def _over(
    parts: Parts,
    name: RepositoryName,
    head: Sha,
    taken: tuple[str, ...],
    base: tuple[Mapping[str, str], Mapping[str, bytes]],
) -> tuple[dict[str, str], dict[str, bytes]]:
    """Base's listing and files with the taken ones as they are at head."""
    theirs = await parts.git.listing(name, head) if taken else {}
    blobs = {path: blob for path, blob in base[0].items() if path not in taken}
    blobs |= {path: theirs[path] for path in taken if path in theirs}
    files = {path: content for path, content in base[1].items() if path not in taken}
    files |= await parts.git.read_files(name, head, [path for path in wanted(blobs) if path in taken])
    return blobs, files
