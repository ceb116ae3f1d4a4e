"""`overlord init` in a repository: an architect is asked, a person confirms, and the contract is a commit on a branch."""

import sqlite3
from dataclasses import dataclass

from overlord.domain.conversation.issue_request import InitMode, RequestKind, RequestOptions
from overlord.domain.decision import Decision
from overlord.domain.job import Job, JobState
from overlord.entrypoints.local import checkout, start
from overlord.entrypoints.local import record as records
from overlord.entrypoints.local.build.offer_merge import MergeWish
from overlord.entrypoints.local.documents import Document
from overlord.entrypoints.local.local_session import LocalSession
from overlord.entrypoints.local.start import WorkRequest
from overlord.entrypoints.local.work import job_of
from overlord.entrypoints.terminal.show import card, show_text
from overlord.errors import NotFound, Refused
from overlord.failpoints import Failpoint
from overlord.store import decisions
from overlord.store.bootstrap import contract_drafts, issue_requests
from overlord.verbs import commands

CONTRACT = ".nebulus/contract"
BODY = (
    "An architect looks at this repository, asks what nothing says, writes vision.md and architecture.md, and proposes the contract by"
    " which jobs work here. A person confirms it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InitRequest:
    """What the user said."""

    is_review: bool = False
    discovers: bool = True
    is_dry_run: bool = False
    accepts: bool = False
    merge: MergeWish = MergeWish.ASK
    proposes: bool = False
    documents: tuple[Document, ...] = ()
    model: str = ""
    agent: str = ""
    runner: str = ""
    budget_usd: float | None = None


async def init(local_session: LocalSession, asked: InitRequest) -> int:
    """Have a contract proposed. Raises Refused where there is one already, or none to review."""
    _check_none_waits(local_session)
    await _check_present(local_session, asked)
    title = "Review the contract" if asked.is_review else "Propose a contract"
    options = RequestOptions(
        mode=InitMode.REVIEW if asked.is_review else InitMode.NEW,
        discovers=asked.discovers and not asked.is_dry_run,
        documents=tuple((item.name, item.text) for item in asked.documents),
    )
    work_request = WorkRequest(
        title=title,
        body=BODY,
        model=asked.model,
        agent=asked.agent,
        runner=asked.runner,
        budget_usd=asked.budget_usd,
        kind=RequestKind.INIT,
        options=options,
        accepts=asked.accepts,
        merge=asked.merge,
        proposes=asked.proposes,
        is_preview=asked.is_dry_run,
    )
    code = await start.run(local_session, work_request)
    if asked.is_dry_run and code == 0:
        return await _previewed(local_session)
    if code == 0 and not local_session.json:
        show_text('\nJobs go by this contract once it is merged. Then: `overlord build "what you want"`.')
    return code


def _check_none_waits(local_session: LocalSession) -> None:
    """Raises Refused while an earlier one waits for its user: its questions and its contract are still there."""
    space = local_session.place.repository

    def waiting(connection: sqlite3.Connection) -> Job | None:
        known = issue_requests.last_init(connection, space)
        if known is None or known.issue_number is None:
            return None
        job = job_of(connection, space, known.issue_number)
        return job if job is not None and job.state is JobState.WAITING else None

    job = local_session.read(waiting)
    if job is not None:
        raise Refused(
            f"run {job.issue.number} of init waits for you: `overlord resume {job.issue.number}` goes on with it,"
            f" `overlord job stop {job.id}` ends it"
        )


async def _check_present(local_session: LocalSession, asked: InitRequest) -> None:
    own = local_session.place.checkout
    if own is None:
        return
    listing = await checkout.listing(own)
    there = any(path.startswith(f"{CONTRACT}/") for path in listing)
    if there and not asked.is_review:
        raise Refused(f"there is a contract in {CONTRACT} already; `overlord init --review` starts from it")
    if asked.is_review and not there:
        raise Refused(f"there is no contract in {CONTRACT} to review; `overlord init` proposes one")


async def _previewed(local_session: LocalSession) -> int:
    """Show what was proposed, and end the job: nothing of it is kept in the repository."""
    place = local_session.place
    record = records.every(place)[-1]
    job = local_session.read(lambda c: job_of(c, place.repository, record.number))
    if job is None:
        raise NotFound("nothing was proposed")
    draft = local_session.read(lambda c: contract_drafts.of_job(c, job.id))
    if job.state is not JobState.WAITING or draft is None:
        return 1
    [*asked] = local_session.read(lambda c: decisions.waiting(c, job.id))
    local_session.write(
        Failpoint.JOB_STOPPED,
        lambda c: commands.stop_job(
            c, job.id, actor="cli", reason="it was a dry run", at=local_session.now()
        ),
    )
    _show(local_session, asked, draft.text, draft.problems)
    return 1 if draft.problems else 0


def _show(local_session: LocalSession, asked: list[Decision], text: str, problems: tuple[str, ...]) -> None:
    if local_session.json:
        local_session.screen.end({"contract": text, "problems": list(problems), "dry_run": True})
        return
    for decision in asked:
        card(decision.body)
    show_text("\nThe contract as it would be committed:\n")
    show_text("\n".join(f"  {row}" if row.strip() else "" for row in text.splitlines()))
    show_text("\nThis was a dry run: nothing is in your repository. `overlord init` does it.")
