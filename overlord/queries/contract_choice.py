"""Which contract a look is about: a job's own, a built-in one, one that was given as text, or the one of a repository."""

from dataclasses import dataclass

from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.reading import CONTRACT_DIR, read_contract
from overlord.domain.job import Job
from overlord.domain.text.reference import Target
from overlord.errors import NotFound, Refused
from overlord.queries.look import Look
from overlord.settings.load import BUILT_IN_CONTRACTS, built_in_contract, contract_for
from overlord.store import job_history
from overlord.store.contracts import job_contracts

_OTHERWISE = ("main", "master")
"""Where no job and no setting said what the base branch is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A contract, and where it was read."""

    contract: Contract
    source: str
    """`the built-in contract crew`, `.nebulus/contract at 1a2b3c4`."""
    space: str = ""
    """The repository it is of; empty for none."""
    job: Job | None = None


def choose(
    look: Look, *, repository: str = "", job: Target | None = None, built_in: str = "", text: str = ""
) -> Chosen:
    """The one that is named; of nothing, that of the only repository, or of all. Raises ContractError for one that breaks a rule,
    NotFound, Refused where several are named, SettingsError."""
    if sum(map(bool, (repository, job, built_in, text))) > 1:
        raise Refused("name one contract: a repository's, a job's, a built-in one, or a file")
    if text:
        return Chosen(contract=load_contract(text, "the given contract"), source="the given contract")
    if built_in:
        return _built_in(built_in)
    if job is not None:
        return _of_job(look, look.newest_job(job))
    named = repository or (look.settings.repositories[0] if len(look.settings.repositories) == 1 else "")
    return of_space(look, look.space(named) if named else "")


def _built_in(name: str) -> Chosen:
    if name not in BUILT_IN_CONTRACTS:
        raise NotFound(f"no built-in contract is called so; there is {', '.join(BUILT_IN_CONTRACTS)}")
    return Chosen(contract=built_in_contract(name), source=f"the built-in contract {name}")


def _of_job(look: Look, job: Job) -> Chosen:
    row = job_contracts.get(look.connection, job.id)
    if row is None:
        found = of_space(look, job.space)
        source = f"{found.source}: job {job.id} keeps none of its own yet"
        return Chosen(contract=found.contract, source=source, space=job.space, job=job)
    kept = job_contracts.of_job(look.connection, job.id, lambda: contract_for(look.settings, job.space))
    return Chosen(contract=kept, source=f"{row.source}, kept by job {job.id}", space=job.space, job=job)


def of_space(look: Look, space: str) -> Chosen:
    """The contract that a repository's next job would keep, as far as this machine has seen the repository: its own at base goes
    before the one the settings name. Empty for a repository of which nothing is said."""
    if space and (found := look.commits.contract_files(space, _branches(look, space))) is not None:
        source = f"{CONTRACT_DIR} at {found.commit[:7]}"
        return Chosen(contract=read_contract(found.files), source=source, space=space)
    named = look.settings.space(space).contract
    source = f"the built-in contract {named}" if named in BUILT_IN_CONTRACTS else named
    return Chosen(
        contract=contract_for(look.settings, space), source=f"{source}, as the settings say", space=space
    )


def _branches(look: Look, space: str) -> tuple[str, ...]:
    """Where its base may be, the likeliest first."""
    known = [job.base_branch for job in job_history.last_claimed(look.connection, space)]
    own = look.settings.space(space).base_branch
    return tuple(dict.fromkeys(filter(None, (own, *known, *_OTHERWISE))))
