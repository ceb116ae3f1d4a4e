"""The verbs of local runs: start one, go on with what is open, try one again. Each ends at the run's last page."""

import re
import sqlite3
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from overlord.adapters.runner_choice import choose_runner
from overlord.domain.conversation.issue_request import RequestKind, RequestOptions
from overlord.domain.decision import Verb
from overlord.domain.interface import Interface
from overlord.domain.job import Job, JobState
from overlord.entrypoints.local import address, checkout, preflight, recovery, result, transfer
from overlord.entrypoints.local import record as records
from overlord.entrypoints.local.asking import can_ask
from overlord.entrypoints.local.build import offer_merge, pull_request
from overlord.entrypoints.local.build.offer_merge import MergeWish
from overlord.entrypoints.local.interruption import INTERRUPTED
from overlord.entrypoints.local.local_session import LocalSession
from overlord.entrypoints.local.record import Record
from overlord.entrypoints.local.work import ACTIVE, has_answers, job_of, moving, work
from overlord.entrypoints.terminal.show import line, person
from overlord.errors import GitFailed, NotFound, Refused
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs
from overlord.store.bootstrap import issue_requests
from overlord.verbs import commands

DONE = {JobState.IN_REVIEW, JobState.COMPLETED}
_AGAIN = (Verb.RETRY, Verb.ONE_MORE, Verb.RECHECK, Verb.REDELIVER)
"""What trying again means, by what a decision offers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRequest:
    """What the user said on the command line; what is empty is as it was, or as the settings have it."""

    title: str = ""
    body: str = ""
    base: str = ""
    scope: tuple[str, ...] = ()
    model: str = ""
    runner: str = ""
    budget_usd: float | None = None
    agent: str = ""
    kind: RequestKind | None = None
    """What its job is for, where that is more than an issue."""
    options: RequestOptions = field(default_factory=RequestOptions)
    accepts: bool = False
    """Whether what an architect proposes counts as the user's answer to its questions."""
    is_preview: bool = False
    """Whether nobody is asked and no last page is shown: who calls shows what came of it."""
    merge: MergeWish = MergeWish.UNSAID
    proposes: bool = False
    """Whether the result becomes a pull request at the forge its repository comes from."""
    fixes: int | None = None
    """The job that the run mends."""
    based_on: Record | None = None
    """The run whose start is its start too."""

    def over(self, record: Record) -> Record:
        """A run with these options."""
        return replace(
            record,
            scope=self.scope or record.scope,
            model=self.model or record.model,
            runner=self.runner or record.runner,
            budget_usd=record.budget_usd if self.budget_usd is None else self.budget_usd,
            merge=self.merge or record.merge,
            proposes=self.proposes or record.proposes,
            fixes=self.fixes or record.fixes,
            agent=self.agent or record.agent,
        )


async def run(local_session: LocalSession, work_request: WorkRequest) -> int:
    """Start a new run and work it. Raises Refused while another one is under way."""
    _check_alone(local_session, 0)
    draft = work_request.over(
        Record(number=0, title=work_request.title, base="", forge_base="", base_branch="", onto="")
    )
    await _check_ready(local_session, draft, work_request.kind)
    if (like := work_request.based_on) is not None:
        draft = replace(
            draft, base=like.base, forge_base=like.forge_base, base_branch=like.base_branch, onto=like.onto
        )
    else:
        draft = await _based(local_session, draft, work_request.base)
    number = await local_session.forge.open_issue(
        local_session.place.repository, work_request.title, work_request.body, author=local_session.author()
    )
    if work_request.kind is not None:
        local_session.write(
            Failpoint.ISSUE_REQUESTED, lambda c: _request(c, local_session, work_request, number)
        )
    local_session.screen.write(f"Run {number}: {line(work_request.title)}")
    draft = replace(draft, number=number, accepts=work_request.accepts)
    return await _finish(
        local_session,
        records.save(local_session.place, draft),
        labels=True,
        is_preview=work_request.is_preview,
    )


def _request(
    connection: sqlite3.Connection, local_session: LocalSession, work_request: WorkRequest, number: int
) -> None:
    """Say what the job of an issue is for, before anybody takes it up."""
    assert work_request.kind is not None
    issue_requests.request(
        connection,
        space=local_session.place.repository,
        kind=work_request.kind,
        title=work_request.title,
        body=work_request.body,
        options=work_request.options,
        actor=person(),
        at=local_session.now(),
        issue_number=number,
    )


async def resume(local_session: LocalSession, number: int | None, work_request: WorkRequest) -> int:
    """Go on with what was interrupted; where nothing was, ask what waits, the newest first. Or with the run that is named.

    A run that only waits for an answer stands in the way of no other, and its code is not that of a run that passed.
    """
    named = (
        [records.get(local_session.place, number)]
        if number is not None
        else records.every(local_session.place)[::-1]
    )
    merges = number is not None and work_request.merge is MergeWish.YES
    open_runs = [
        record
        for record in named
        if _is_open(local_session, record) or (merges and _is_done(local_session, record))
    ]
    if not open_runs:
        local_session.screen.write('Nothing is open here. `overlord run "what you want"` starts something.')
    begun = [record for record in open_runs if not _waits(local_session, record)]
    code = 0
    for record in begun or open_runs:
        local_session.screen.write(f"Run {record.number}: {line(record.title)}")
        wanted = work_request.over(record)
        if not _is_done(local_session, wanted):
            await _check_ready(local_session, wanted)
        ended = await _finish(local_session, records.save(local_session.place, wanted), goes_on=True)
        if ended == INTERRUPTED:
            return ended
        code = max(code, ended)
    for record in open_runs if begun else ():
        if record not in begun:
            local_session.screen.write(
                f"Run {record.number} waits for an answer: `overlord resume {record.number}`"
            )
    return code


async def retry(local_session: LocalSession, number: int | None, work_request: WorkRequest) -> int:
    """Work a run again: one that waits goes on where it is, one that has ended starts over from where HEAD is now."""
    every = records.every(local_session.place)
    if not every:
        raise NotFound(f"{local_session.place.source} has no runs yet")
    record = records.get(local_session.place, number) if number is not None else every[-1]
    _check_alone(local_session, record.number)
    record = work_request.over(record)
    job = local_session.read(lambda c: job_of(c, local_session.place.repository, record.number))
    await _check_ready(local_session, record)
    local_session.screen.write(f"Run {record.number}: {line(record.title)}")
    if job is not None and job.state is JobState.WAITING:
        local_session.write(Failpoint.DECISION_ANSWERED, lambda c: _answer_again(c, job))
    elif job is not None and job.state not in ACTIVE:
        record = await _based(local_session, record, work_request.base)
        await _close(local_session, job)
        return await _finish(local_session, records.save(local_session.place, record), labels=True)
    return await _finish(local_session, records.save(local_session.place, record))


async def _finish(
    local_session: LocalSession,
    record: Record,
    *,
    labels: bool = False,
    goes_on: bool = False,
    is_preview: bool = False,
) -> int:
    """Work a run until it rests, and show its last page."""
    place = local_session.place
    job = local_session.read(lambda c: job_of(c, place.repository, record.number))
    if job is None or labels or (job.is_open and job.state not in DONE):
        async with local_session.forge.serve() as url:
            settings, choice = await local_session.settings(record, url)
            if choice.notice:
                local_session.screen.write(choice.notice)
            await recovery.restore_forge(local_session, record, job)
            await local_session.forge.move_default(place.repository, record.base_branch, record.forge_base)
            if job is None or labels:
                _ask_for_fix(local_session, record)
                await local_session.forge.label(place.repository, record.number, settings.labels.work)
            ended = await work(
                settings,
                issue=record.number,
                after_job=job.id if job is not None and labels else 0,
                screen=local_session.screen,
                interruption=local_session.interruption,
                goes_on=goes_on,
                asks=can_ask() and not local_session.json and not is_preview,
                accepts=record.accepts,
            )
        job, interrupted = ended.job, ended.interrupted
    else:
        settings, interrupted = place.settings(local_session.environment), False
    if is_preview:
        return INTERRUPTED if interrupted else 0
    outcome = await result.deliver(result.read(place, record, settings, job, interrupted=interrupted))
    outcome = await offer_merge.settle(await pull_request.settle(outcome, local_session.environment))
    await result.show(outcome, local_session.screen, json=local_session.json)
    if can_ask() and not local_session.json:
        await offer_merge.offer(outcome, local_session.interruption)
    return outcome.code


def _ask_for_fix(local_session: LocalSession, record: Record) -> None:
    """Write down, before the issue is taken up, which job its own mends: so a kill in between forgets nothing."""
    space = local_session.place.repository

    def ask(connection: sqlite3.Connection) -> None:
        if issue_requests.of_issue(connection, space, record.number) is None:
            issue_requests.request(
                connection,
                space=space,
                kind=RequestKind.FIX,
                title=record.title,
                body="",
                options=RequestOptions(from_job=record.fixes),
                actor=person(),
                at=local_session.now(),
                issue_number=record.number,
            )

    if record.fixes is not None:
        local_session.write(Failpoint.ISSUE_REQUESTED, ask)


async def _based(local_session: LocalSession, record: Record, base: str) -> Record:
    """Where the run starts: the user's commit, brought to the forge. What is not committed is said, and stays out."""
    own = local_session.place.checkout
    if own is None:
        commit, branch = await address.fetch(
            local_session.place.bare, local_session.place.source, base or "HEAD"
        )
        forge_base, onto = commit, branch if branch != "HEAD" else commit[:12]
    else:
        commit = await checkout.commit_of(own, base or "HEAD")
        branch = base or await checkout.current_branch(own)
        onto = branch or commit[:12]
        await _warn_uncommitted(local_session, own, f"{base or 'HEAD'} {commit[:12]}")
        forge_base = await transfer.bring_in(local_session.place.bare, own, commit)
        if forge_base != commit:
            local_session.screen.write(
                "This is a shallow clone: the run sees its last commit and no history."
            )
    return replace(record, base=commit, forge_base=forge_base, base_branch=forge_branch(branch), onto=onto)


async def _warn_uncommitted(local_session: LocalSession, own: checkout.Checkout, start: str) -> None:
    try:
        found = await checkout.uncommitted(own)
    except GitFailed as error:
        local_session.screen.write(
            f"Uncommitted changes could not be looked for ({error}); the run starts from {start}."
        )
        return
    if found:
        local_session.screen.write(f"{found}; the run starts from {start} and leaves that alone.")


def forge_branch(branch: str) -> str:
    """What the forge calls the branch a run starts from: one word, so that no two can be in each other's way."""
    flat = re.sub(r"[^A-Za-z0-9_]+", "-", branch).strip("-")[:100] or "detached"
    return f"{flat}-base" if flat.startswith("minion") else flat


async def _check_ready(local_session: LocalSession, record: Record, kind: RequestKind | None = None) -> None:
    """What is wrong with model, scope, budget, runner or agent is said before anything is made. Raises SettingsError."""
    settings, choice = await local_session.settings(record)
    agent = record.agent or settings.space(local_session.place.repository).agent
    if kind is RequestKind.INIT:
        preflight.check_takes_tools(settings, agent)
    if not choice.notice:  # what was found by itself has just answered
        await preflight.check_models(local_session, settings)
    runner = await choose_runner(settings, falls_back=True)
    try:
        await preflight.check_agent(settings, runner, agent)
    finally:
        await runner.close()


def _check_alone(local_session: LocalSession, number: int) -> None:
    """One run at a time: each is worked with its own scope, budget and model. Raises Refused."""
    busy = local_session.read(
        lambda c: [job for job in moving(c, local_session.place.repository) if job.issue.number != number]
    )
    if busy:
        raise Refused(
            f"run {busy[0].issue.number} is under way: `overlord resume` goes on with it,"
            f" `overlord job stop {busy[0].id}` ends it"
        )


def _waits(local_session: LocalSession, record: Record) -> bool:
    """Whether a run goes on only when somebody answers, and nobody has yet."""
    job = local_session.read(lambda c: job_of(c, local_session.place.repository, record.number))
    if job is None or job.state is not JobState.WAITING:
        return False
    return not local_session.read(lambda c: has_answers(c, job))


def _is_open(local_session: LocalSession, record: Record) -> bool:
    """Whether something is left to do for a run: to work, to ask, or to bring home."""
    job = local_session.read(lambda c: job_of(c, local_session.place.repository, record.number))
    if job is None or job.state in ACTIVE or job.state is JobState.WAITING:
        return True
    return job.state in DONE and record.result(job.head_sha) is None


def _is_done(local_session: LocalSession, record: Record) -> bool:
    """Whether a run has passed, and only its branch is to be brought home."""
    job = local_session.read(lambda c: job_of(c, local_session.place.repository, record.number))
    return job is not None and job.state in DONE


def _answer_again(connection: sqlite3.Connection, job: Job) -> None:
    """Answer what the job waits for with what means trying again, if it offers that; else it is asked."""
    for decision in decisions.waiting(connection, job.id):
        verb = next((verb for verb in _AGAIN if verb in decision.verbs), None)
        if verb is not None:
            commands.answer_decision(
                connection,
                decision.id,
                verb,
                actor=person(),
                interface=Interface.TERMINAL,
                digest=decision.digest,
                at=datetime.now(UTC),
            )


async def _close(local_session: LocalSession, job: Job) -> None:
    """Put a job that is over out of the way of the next one for its issue, at the forge too."""
    name, number = local_session.place.repository, job.issue.number

    def close(connection: sqlite3.Connection) -> None:
        if job.is_open:
            reason = "tried again from the start"
            commands.stop_job(connection, job.id, actor=person(), reason=reason, at=datetime.now(UTC))
        # Its last projection would take the work label off again, which is put on for the next job.
        jobs.repair(connection, job.id, projected=jobs.get(connection, job.id).state)

    local_session.write(Failpoint.JOB_STOPPED, close)
    if job.pull_number is not None and local_session.forge.pull(name, job.pull_number).open:
        await local_session.forge.close_pull(name, job.pull_number)
    await local_session.forge.reopen_issue(name, number)
    await local_session.forge.unlabel(name, number, *local_session.forge.issue(name, number).labels)
