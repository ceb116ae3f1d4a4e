"""The contract that a job takes at its first dispatch, and keeps: the repository's own at base, or the one its settings name."""

import sqlite3
from datetime import timedelta
from typing import NamedTuple

from minion.protocol import ScopeMode
from overlord.domain.contracts.contract import Contract, own_plan
from overlord.domain.contracts.reading import CONTRACT_DIR, CONTRACT_FILES, read_contract
from overlord.domain.contracts.turn import Turn
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job, JobChanges
from overlord.engine.bootstrap import init_job
from overlord.engine.contracts import fix_start
from overlord.engine.contracts.fix_start import FixStart
from overlord.engine.portfolio import lead_job
from overlord.engine.runtime.parts import Parts
from overlord.engine.skills import skill_job
from overlord.errors import ContractError, Refused, SettingsError
from overlord.failpoints import Failpoint
from overlord.settings.load import built_in_contract, check_prices
from overlord.store import jobs
from overlord.store.contracts import job_contracts


async def ensure(parts: Parts, job: Job, base: Sha) -> Job:
    """The job, with its contract taken. Raises ContractError for one that cannot be gone by."""
    row = await parts.database.read(lambda c: job_contracts.get(c, job.id))
    if row is not None:
        await _look_at_base(parts, job, row)
        return job
    contract, source = await _found(parts, job, base)
    await _check_usable(parts, job, base, contract)
    ground = await _ground(parts, job, base)
    start = await fix_start.find(parts, job, contract)

    def take(connection: sqlite3.Connection) -> Job:
        if ground is not None:
            init_job.keep_ground(connection, parts, job, ground)
        lead_job.note_taken(connection, parts, job)
        return _take(connection, parts, job, _Taken(contract, source, start))

    return await parts.database.write(Failpoint.CONTRACT_TAKEN, take)


async def _ground(parts: Parts, job: Job, base: Sha) -> init_job.Ground | None:
    """What the sessions of a job of `init` begin with. Raises ContractError where the repository cannot be looked at."""
    special = await init_job.of(parts, job)
    if special is None:
        return None
    try:
        return await init_job.ground(parts, job, base, special)
    except Refused as error:
        raise ContractError(str(error)) from None


class _Taken(NamedTuple):
    """What a job takes."""

    contract: Contract
    source: str
    start: FixStart | None


def _take(connection: sqlite3.Connection, parts: Parts, job: Job, taken: _Taken) -> Job:
    at = parts.clock.now()
    contract, source, start = taken
    job_contracts.keep(connection, job.id, contract, source, at=at)
    now = jobs.get(connection, job.id)
    is_fresh = now.base_sha is None or now.phase not in contract.phases
    hours = contract.lifetime_h or 0.0
    changes: JobChanges = {
        "phase": contract.start if is_fresh else now.phase,
        "contract": contract.name,
        "expires_at": now.created_at + timedelta(hours=hours) if is_fresh else now.expires_at,
    }
    if start is not None:
        changes |= fix_start.carry_over(connection, parts, job, start)
    data: dict[str, Json] = {
        "contract": contract.name,
        "source": source,
        "digest": job_contracts.digest_of(contract),
        "constitution": contract.constitution,
        "phase": changes["phase"],
        **(start.data if start is not None else {}),
    }
    return jobs.note(connection, job.id, EventName.CONTRACT_TAKEN, at=at, data=data, **changes)


async def _found(parts: Parts, job: Job, base: Sha) -> tuple[Contract, str]:
    """The contract, and where it was read."""
    if await skill_job.of(parts, job) is not None:
        return built_in_contract("default"), "the built-in contract default"
    if (special := await init_job.of(parts, job)) is not None:
        return special.contract, "the contract of init"
    if (lead := await lead_job.of(parts, job)) is not None:
        if lead.initiative.has_ended:
            raise ContractError(f"{lead.initiative.ref} is {lead.initiative.state}: there is nothing to plan")
        return lead.contract, lead_job.SOURCE
    named = parts.settings.space(job.space).contract
    if job.head_sha is None:  # work that began before contracts were kept goes on as it began
        own = await own_contract(parts, job, base)
        if own is not None:
            return own, f"{CONTRACT_DIR} at {base[:10]}"
    return parts.contract(job.space), f"contract: {named}"


def asking(own: Contract, named: Contract) -> Contract:
    """The repository's contract with what the settings' one wants of every job: that a person is asked before any file may be
    written. A repository can ask for more than its settings do, and for no less."""
    if not any(role.scope is not None and role.scope.asks_first for role in named.roles.values()):
        return own
    asking = {
        name: role.model_copy(update={"scope": role.scope.model_copy(update={"approval": "required"})})
        for name, role in own.roles.items()
        if role.scope is not None and role.scope.mode is ScopeMode.UNRESTRICTED
    }
    return own.model_copy(update={"roles": {**own.roles, **asking}})


async def own_contract(parts: Parts, job: Job, commit: Sha) -> Contract | None:
    """The repository's own contract at a commit; None where it has none. Raises ContractError."""
    listing = await parts.git.listing(job.space, commit)
    if not any(path.startswith(f"{CONTRACT_DIR}/") for path in listing):
        return None
    paths = [path for name in CONTRACT_FILES if (path := f"{CONTRACT_DIR}/{name}") in listing]
    files = await parts.git.read_files(job.space, commit, paths)
    own = read_contract(files, existing=frozenset(listing))
    return asking(own, parts.contract(job.space))


async def _check_usable(parts: Parts, job: Job, base: Sha, contract: Contract) -> None:
    """Raises ContractError for what settings or repository do not go together with."""
    for name, role in contract.roles.items():
        if role.model is not None and role.model not in parts.settings.models:
            known = ", ".join(parts.settings.models)
            raise ContractError(f"role {name} asks for model {role.model!r}; the settings have {known}")
    try:
        check_prices(parts.settings, contract)
    except SettingsError as error:
        raise ContractError(str(error)) from None
    if contract.has_plan and not await lead_job.is_ours(parts, job):  # its sessions do not see what is there
        listing = await parts.git.listing(job.space, base)
        if taken := own_plan(listing):
            raise ContractError(
                f"contract {contract.name} makes a plan under plan/, and the repository has {taken} there: "
                "rename that, or take a contract without a plan"
            )


async def _look_at_base(parts: Parts, job: Job, row: job_contracts.JobContract) -> None:
    """Say once that the repository's contract is another one by now; this job keeps its own.

    Looked for where a phase begins: between two roles of a phase there is nothing to fetch, and sessions follow at once.
    """
    if not row.is_own:
        return
    if not job.role:
        remote = await parts.forge.remote(job.space)
        await parts.git.refresh_mirror(job.space, remote, branches=[job.base_branch])
    tip = await parts.git.branch_head(job.space, job.base_branch)
    if tip is None or tip == job.base_sha:
        return
    try:
        own = await own_contract(parts, job, tip)
        digest = job_contracts.digest_of(own) if own is not None else "none"
    except ContractError:
        digest = "unreadable"
    if digest == row.seen_at_base:
        return

    def note(connection: sqlite3.Connection) -> None:
        job_contracts.note_seen_at_base(connection, job.id, digest)
        data: dict[str, Json] = {"kept": row.digest, "at_base": digest, "commit": tip}
        jobs.note(connection, job.id, EventName.CONTRACT_CHANGED, at=parts.clock.now(), data=data)

    await parts.database.write(Failpoint.CONTRACT_TAKEN, note)


def turn_in(connection: sqlite3.Connection, parts: Parts, job: Job) -> Turn:
    """Whose turn it is, inside a transaction."""
    return Turn.of(parts.contract_of(connection, job), job)
