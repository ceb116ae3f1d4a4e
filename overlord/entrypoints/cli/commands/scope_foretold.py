"""`overlord scope explain`: what a job's session may write and why; before there is one, what its first would be given now.

Nothing is written and nothing waits for the daemon. What it has not fetched yet is fetched into a directory of its own.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from minion.protocol import Issue, Scope, SessionKind
from overlord.domain.contracts.turn import Turn
from overlord.domain.conversation.pull_card import scope_reasons
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.job import Job
from overlord.domain.scope.reason import lines
from overlord.domain.text.reference import IssueRef, Target, space_named
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.terminal.show import line, show_text
from overlord.errors import ExternalServiceError, NotFound, Refused, StoreError
from overlord.home import Home
from overlord.settings.load import Settings, contract_for
from overlord.store import jobs, sessions
from overlord.store.budgets import grants
from overlord.store.contracts import job_contracts

if TYPE_CHECKING:
    from overlord.adapters.git.mirrors import GitMirrors
    from overlord.adapters.github.forge import GitHubForge
    from overlord.engine.scope.allow import Allowed, Facts


def explain(text: str) -> None:
    """Raises NotFound and Refused as `jobs.meant` does, ExternalServiceError where the forge is needed and does not answer."""
    target = state.target(text)
    job = _known(target)
    if job is not None and _explained(job):
        return
    settings = state.settings()
    if job is None:
        assert isinstance(target, IssueRef), "a number of no job is not known"
        space = space_named(target.space, settings.repositories)
        inference = asyncio.run(_of_issue(settings, RepositoryName(space), target.number))
        show_text(f"No job works on {space}#{target.number} yet. If it were taken up now, its first session")
    else:
        inference = asyncio.run(_of_job(settings, job))
        show_text(f"Job {job.id}, {job.issue_ref}, has had no session. Its first one, as things are now,")
    show_text(f"may write {line(inference.allowed.scope.describe())} (at {inference.base[:12]}).")
    for reason in lines(inference.allowed.reasons):
        show_text(f"  {line(reason)}")
    if inference.allowed.needs_approval:
        show_text("Its contract asks a person first.")


def _known(target: Target) -> Job | None:
    """The job that is meant; None for an issue that never had one."""
    try:
        with state.reading() as connection:
            return jobs.meant(connection, target)
    except (NotFound, StoreError):
        if isinstance(target, IssueRef):
            return None
        raise


def _explained(job: Job) -> bool:
    """The scope of its last session, as its container was given it, and with what was granted since; whether there is one."""
    with state.reading() as connection:
        session = sessions.last_of(connection, job.id, SessionKind.WORK)
        granted = grants.scope_ever_granted(connection, job.id)
        upcoming = grants.scope_granted(connection, job.id, at=datetime.now(UTC)) if job.is_open else ()
    if session is None:
        return False
    show_text(
        f"Job {job.id}, {job.issue_ref}: {session.id} may write {line(Scope.parse(session.scope).describe())}."
    )
    for reason in scope_reasons(session, granted):
        show_text(f"  {line(reason)}")
    for grant in upcoming:
        if not set(grant.patterns) <= set(Scope.parse(session.scope).patterns):
            show_text(
                f"Its next session may write {line(', '.join(grant.patterns))} too: granted by {line(grant.by)}."
            )
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Foretold:
    allowed: "Allowed"
    base: Sha


async def _of_job(settings: Settings, job: Job) -> _Foretold:
    from overlord.engine.scope.allow import facts_of

    with state.reading() as connection:
        facts = facts_of(connection, job, at=datetime.now(UTC))
        contract = job_contracts.of_job(connection, job.id, lambda: contract_for(settings, job.space))
    turn = Turn.of(contract, job)
    name = job.space
    if job.base_sha and (own := _own(settings, name)) is not None:
        return await _foretold(settings, own, facts, turn, job.base_sha)
    async with _forge(settings) as forge, _mirror(settings, forge, name, job.base_branch) as git:
        return await _foretold(settings, git, facts, turn, await git.branch_head(name, job.base_branch))


async def _of_issue(settings: Settings, name: RepositoryName, number: int) -> _Foretold:
    from overlord.engine.scope.allow import Facts

    async with _forge(settings) as forge:
        issue = await _read_issue(forge, name, number)
        branch = settings.space(name).base_branch or (await forge.repository(name)).default_branch
        async with _mirror(settings, forge, name, branch) as git:
            contract = contract_for(settings, name)
            turn = Turn.in_phase(contract, contract.start)
            facts = Facts(space=name, issue=issue)
            return await _foretold(settings, git, facts, turn, await git.branch_head(name, branch))


async def _read_issue(forge: "GitHubForge", name: RepositoryName, number: int) -> Issue:
    """An issue as a job would take it up."""
    from overlord.engine.issues.claim import as_taken_up

    found = await forge.issue(name, number)
    if found.is_pull:
        raise Refused(f"{name}#{number} is a pull request")
    return await as_taken_up(forge, name, found.issue)


async def _foretold(
    settings: Settings, git: "GitMirrors", facts: "Facts", turn: Turn, base: Sha | None
) -> _Foretold:
    from overlord.engine.scope.allow import composed, is_scope_in_issue
    from overlord.engine.scope.infer import worked_out

    if base is None:
        raise Refused(f"{facts.space} has no commit to start from")
    inference = None
    if is_scope_in_issue(settings, turn, facts.issue, facts):
        labels = settings.space(facts.space).scope_map
        inference = await worked_out(git, facts.space, facts.issue, base, labels)
    return _Foretold(allowed=composed(settings, turn, facts, inference), base=base)


@asynccontextmanager
async def _forge(settings: Settings) -> AsyncIterator["GitHubForge"]:
    from overlord.adapters.github.connection import connect
    from overlord.adapters.github.forge import GitHubForge

    forge = connect(GitHubForge, settings)
    try:
        yield forge
    finally:
        await forge.close()


@asynccontextmanager
async def _mirror(
    settings: Settings, forge: "GitHubForge", name: RepositoryName, branch: str
) -> AsyncIterator["GitMirrors"]:
    """A mirror in which the branch is as it is now: fetched apart, where the forge answers; else the daemon's, read as it is."""
    from overlord.adapters.git.mirrors import GitMirrors

    with tempfile.TemporaryDirectory(prefix="overlord-explain-") as place:
        apart = GitMirrors(Home(Path(place)), extent=settings.extent)
        try:
            await apart.refresh_mirror(name, await forge.remote(name), branches=[branch])
        except ExternalServiceError:
            if (own := _own(settings, name)) is None:
                raise
            apart = own
        yield apart


def _own(settings: Settings, name: RepositoryName) -> "GitMirrors | None":
    """The daemon's mirrors, to be read; None where it has none of this repository."""
    from overlord.adapters.git.mirrors import GitMirrors

    home = Home(settings.home)
    return GitMirrors(home, extent=settings.extent) if home.mirror(name).exists() else None
