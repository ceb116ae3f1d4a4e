"""Taking up what people labelled: poll each space, claim each labelled issue once, resume what was labelled again."""

import sqlite3
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job, JobId, JobState, branch_name
from overlord.domain.repositories.forge import IssueState
from overlord.engine.conversation import process_comments
from overlord.engine.delivery import follow_pulls
from overlord.engine.intake import work_requests
from overlord.engine.issues import claim, missing_repository, projection, renamed_repository
from overlord.engine.runtime.early_fetch import Heads
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.poll_errors import PollErrors, wait_asked
from overlord.engine.runtime.poll_outcome import UNSEEN
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import cleanup
from overlord.engine.skills import review_pulls
from overlord.errors import ExternalServiceError, ForgeMissing, ForgeUnavailable, Refused
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.store.spaces import shortages, spaces
from overlord.store.spaces.spaces import Space
from overlord.verbs import commands


async def poll(parts: Parts, name: RepositoryName) -> Progress:
    """Look at issues that people want worked on; ask a space whose turn it is for labelled ones and for the fate of
    its pull requests.

    Raises what the forge answers when it asks to be left alone for a while.
    """
    poll_errors = PollErrors()
    is_granted = await work_requests.grant(parts, name, poll_errors)
    moved = await _poll_in_turn(parts, name) or is_granted
    if len(poll_errors):
        raise ForgeUnavailable(str(poll_errors))  # to be asked again, less and less often
    return moved


async def _poll_in_turn(parts: Parts, name: RepositoryName) -> Progress:
    now = parts.clock.now()
    space = await parts.database.read(lambda c: spaces.get(c, name))
    hinted = parts.hints.is_due(name, parts.clock.monotonic())
    is_ours = name in parts.settings.repositories
    if not is_ours or not is_to_poll(space, now, interval_s(parts.settings), hinted=hinted):
        return Progress.IDLE
    if parts.hints.take(name, parts.clock.monotonic()):
        parts.poll_schedule.forget(name)  # also where this poll was due anyway, before its hint was
    moved, poll_errors = Progress.IDLE, PollErrors()
    failure: ExternalServiceError | None = None
    try:
        if await renamed_repository.is_itself(parts, name):
            moved = await _poll_space(parts, name, poll_errors)
    except ExternalServiceError as error:
        poll_errors.add(error, advice=UNSEEN if isinstance(error, ForgeMissing) else "")
        failure = error
    for where, why in parts.unopened.values():
        if where == name:
            poll_errors.add(why)
    await parts.database.write(
        Failpoint.SPACE_POLLED, lambda c: spaces.note_poll(c, name, at=now, trouble=str(poll_errors))
    )
    asked_s = None if failure is None else wait_asked(failure)
    again_in_s = max(interval_s(parts.settings), asked_s or 0.0)
    is_reached = failure is None or asked_s is not None
    parts.poll_outcomes.note(name, str(poll_errors), is_reached=is_reached, again_in_s=round(again_in_s))
    await missing_repository.note(parts, name, failure)
    await cleanup.orphans(parts)
    if failure is not None and asked_s is not None:
        raise failure
    return moved


def is_to_poll(space: Space, now: datetime, between_s: float, *, hinted: bool) -> bool:
    """Whether it is a space's turn to be asked, or it is said to have news."""
    return not space.paused and (hinted or is_due(space.polled_at, now, between_s))


def is_due(polled_at: datetime | None, now: datetime, between_s: float) -> bool:
    """Whether a space is to be asked again; a clock that was set back does not stop the polling."""
    return polled_at is None or not timedelta(0) <= now - polled_at < timedelta(seconds=between_s)


def in_order(issues: Iterable[IssueState], priority_label: str) -> list[IssueState]:
    """The order of claims: high priority first, then oldest."""
    return sorted(
        issues,
        key=lambda item: (priority_label not in item.issue.labels, item.created_at, item.issue.number),
    )


async def _poll_space(parts: Parts, name: RepositoryName, poll_errors: PollErrors) -> Progress:
    """See whether a space has news, and if so look at all of it; else only at pull requests whose turn it is."""
    now = parts.clock.monotonic()
    mark = await parts.forge.activity(name)
    if not parts.poll_schedule.is_new(name, mark, now):
        with poll_errors.kept():
            return await follow_pulls.pulls(parts, name, poll_errors, only=await _pulls_due(parts, now))
        return Progress.IDLE
    parts.poll_schedule.forget(name)
    looked = await _look_at_all(parts, name, poll_errors)
    if looked.is_all and not len(poll_errors):
        parts.poll_schedule.saw(name, mark, now)
    return looked.moved


async def _pulls_due(parts: Parts, now: float) -> Collection[JobId]:
    """The jobs in all spaces whose pull request is to be looked at though nothing is said to have changed."""
    return parts.poll_schedule.due(await parts.database.read(jobs.ids_with_pulls), now)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookResult:
    """What one look at a repository came to."""

    moved: Progress = Progress.IDLE
    """Whether a job was begun or moved."""
    is_all: bool = True
    """Whether nothing is left that asks to be looked at again: no label that could not be acted on yet, no pull request unread."""


async def _labelled(parts: Parts, name: RepositoryName, poll_errors: PollErrors) -> LookResult:
    """Claim each labelled issue once, the most urgent first, and resume what was labelled again."""
    labels = parts.settings.space(name).labels
    labelled = await parts.forge.issues_labelled(name, labels.work)
    moved, is_all, base = Progress.IDLE, True, ""
    for state in in_order(labelled, labels.priority):
        number = state.issue.number
        live = await parts.database.read(partial(jobs.live_for, space=name, issue_number=number))
        if live is not None:
            act = partial(_resume_if_labelled_again, parts, live, state)
        else:
            if not base:
                base = await claim.base_branch(parts, name)
                _fetch_early(parts, name, base, labelled)
            act = partial(_claim, parts, name, state, base)
        with poll_errors.kept():
            taken = await act()
            moved, is_all = moved | taken, is_all and bool(taken)
    return LookResult(moved=moved, is_all=is_all)


def _fetch_early(parts: Parts, name: RepositoryName, base: str, labelled: Sequence[IssueState]) -> None:
    """Fetch what sessions begin on while the issues are claimed."""

    numbers = [state.issue.number for state in labelled]

    async def fetch() -> Heads:
        await parts.git.refresh_mirror(name, await parts.forge.remote(name), branches=[base])
        heads = await parts.git.branch_heads(name, [base, *map(branch_name, numbers)])
        if (head := heads[base]) is not None:
            await parts.git.ready_copy(name, head, partial(parts.forge.remote, name))
        return heads

    parts.early_fetches.begin(name, base, numbers, fetch, now=parts.clock.monotonic())


async def _comments(parts: Parts, name: RepositoryName, poll_errors: PollErrors) -> LookResult:
    return LookResult(moved=await process_comments.comments(parts, name, poll_errors))


async def _pulls(parts: Parts, name: RepositoryName, poll_errors: PollErrors) -> LookResult:
    return LookResult(moved=await follow_pulls.pulls(parts, name, poll_errors))


async def _issues(parts: Parts, name: RepositoryName, poll_errors: PollErrors) -> LookResult:
    return LookResult(moved=await follow_pulls.issues(parts, name, poll_errors))


async def _skill_pulls(parts: Parts, name: RepositoryName, poll_errors: PollErrors) -> LookResult:
    return LookResult(is_all=await review_pulls.pulls(parts, name, poll_errors))


Look = Callable[[Parts, RepositoryName, PollErrors], Awaitable[LookResult]]
LOOKS: Sequence[Look] = (_labelled, _comments, _pulls, _issues, _skill_pulls)
"""What a repository with news is looked at for, in this order: labelled issues, comments, pull requests and issues of jobs, pull
requests that change skills. Where the first fails the repository cannot be seen; what fails later keeps no other waiting."""


async def _look_at_all(parts: Parts, name: RepositoryName, poll_errors: PollErrors) -> LookResult:
    looked = LookResult()
    for number, look in enumerate(LOOKS):
        with poll_errors.kept() if number else nullcontext():
            more = await look(parts, name, poll_errors)
            looked = LookResult(moved=looked.moved or more.moved, is_all=looked.is_all and more.is_all)
    return looked


async def _claim(parts: Parts, name: RepositoryName, state: IssueState, base: str) -> Progress:
    issue = state.issue
    if await parts.database.read(shortages.now) is not None:
        return Progress.IDLE
    last = await parts.database.read(lambda c: jobs.last_for(c, name, issue.number))
    if last is not None and not (
        projection.has_labelled(last) and await _is_labelled(parts, name, issue.number)
    ):
        return Progress.IDLE  # it may be the label that the last one was taken up with
    if not await claim.may_begin(parts, name, state):
        return Progress.IDLE
    snapshot = await claim.snapshot(parts, name, issue)
    contract = parts.contract(name)
    urgent, at = parts.settings.space(name).labels.priority in issue.labels, parts.clock.now()
    act = partial(
        jobs.claim, space=name, issue=snapshot, base_branch=base, contract=contract, at=at, is_urgent=urgent
    )
    claimed = await parts.database.write(Failpoint.JOB_CLAIMED, act)
    if claimed is None:
        return Progress.IDLE
    parts.notify()  # it is worked on while the rest of the poll is asked for
    return Progress.MOVED


async def _resume_if_labelled_again(parts: Parts, job: Job, state: IssueState) -> Progress:
    # A waiting job whose labels are known to be ours carries the work label only if a person put it on since.
    if job.state is not JobState.WAITING or not job.projected.startswith(JobState.WAITING):
        return Progress.IDLE
    name = job.space
    if not await _is_labelled(parts, name, job.issue.number):
        return Progress.IDLE
    if not await claim.may_begin(parts, name, state):
        return Progress.IDLE
    snapshot = await claim.snapshot(parts, name, state.issue)
    at = parts.clock.now()

    def resume(connection: sqlite3.Connection) -> bool:
        if jobs.get(connection, job.id) != job:
            return False  # it has gone on since it was read
        try:
            commands.resume_job(connection, job.id, actor="forge", issue=snapshot, at=at)
        except Refused:
            return False  # it is about to: by what a person answered
        return True

    return Progress.of(await parts.database.write(Failpoint.JOB_RESUMED, resume))


async def _is_labelled(parts: Parts, name: RepositoryName, number: int) -> bool:
    """Whether an issue asks for work now: what lists the issues may be older than the labels we took off."""
    state = await parts.forge.issue(name, number)
    return state.open and parts.settings.space(name).labels.work in state.issue.labels
