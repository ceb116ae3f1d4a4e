"""`overlord build` and `overlord fix`: a run under the repository's own contract, from a requirement or from what failed."""

from collections.abc import Sequence
from dataclasses import replace

from overlord.entrypoints.local import record as records
from overlord.entrypoints.local import start
from overlord.entrypoints.local.build import contract_at, failed_job
from overlord.entrypoints.local.build.requirement import body_of
from overlord.entrypoints.local.documents import Document
from overlord.entrypoints.local.local_session import LocalSession
from overlord.entrypoints.local.record import Record
from overlord.entrypoints.local.start import WorkRequest
from overlord.entrypoints.terminal.show import line
from overlord.queries.job_story import story_of
from overlord.settings.load import contract_for
from overlord.store.contracts import job_contracts


async def build(
    local_session: LocalSession, work_request: WorkRequest, documents: Sequence[Document] = ()
) -> int:
    """Have a requirement built. Raises ContractError before anything is made where the contract cannot be gone by."""
    await _say_contract(local_session, work_request.base)
    return await start.run(local_session, _with_documents(local_session, work_request, documents))


async def fix(
    local_session: LocalSession, number: int | None, work_request: WorkRequest, report: Sequence[Document]
) -> int:
    """Have a failed job mended, from the phase that failed; `number` is None for the last that did. With a report and no title of a
    job, the report alone is what is to be mended."""
    place = local_session.place
    if work_request.title:
        return await build(local_session, work_request, report)
    settings = place.settings(local_session.environment)
    job = local_session.read(lambda c: failed_job.find(c, place.repository, number))
    contract = contract_for(settings, place.repository)
    told = local_session.read(lambda c: failed_job.report_of(c, story_of(c, job, contract)))
    known = records.get(place, job.issue.number)
    found = await contract_at.find(place, settings, "")
    kept = local_session.read(lambda c: job_contracts.get(c, job.id))
    is_same = kept is not None and kept.digest == job_contracts.digest_of(found.contract)
    local_session.screen.write(_beginning(job.id, job.phase, known, is_same=is_same))
    wanted = replace(
        work_request,
        title=failed_job.title_of(job),
        fixes=job.id,
        based_on=known if is_same else None,
        scope=work_request.scope or known.scope,
    )
    return await start.run(local_session, _with_documents(local_session, wanted, (*report, *told)))


def _beginning(job: int, phase: str, known: Record, *, is_same: bool) -> str:
    if is_same:
        return (
            f"It begins at phase {phase}, where job {job} failed, from {line(known.onto)} {known.base[:12]}."
        )
    return f"The contract is another one than that of job {job}: it begins at the start, from HEAD."


async def _say_contract(local_session: LocalSession, base: str) -> None:
    """Say under which contract it is, where the repository has none of its own."""
    place = local_session.place
    found = await contract_at.find(place, place.settings(local_session.environment), base)
    if not found.is_own:
        local_session.screen.write(
            f"The repository has no contract of its own: it goes by {found.source}. `overlord init` proposes one."
        )


def _with_documents(
    local_session: LocalSession, work_request: WorkRequest, documents: Sequence[Document]
) -> WorkRequest:
    body, cut = body_of(work_request.body, documents)
    for sentence in cut:
        local_session.screen.write(sentence)
    return replace(work_request, body=body)
