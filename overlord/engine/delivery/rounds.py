"""IN_REVIEW → QUEUED or EVALUATING: what people, others' checks and the base branch hold against a pull request.

Each thing is taken up once. Those of one look make a round together, and its sessions are told them.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

from minion.protocol import SessionKind
from overlord.domain.contracts.turn import Turn
from overlord.domain.conversation import follow_up
from overlord.domain.conversation.follow_up import RequestedChange
from overlord.domain.decision import DecisionState, Subject
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job, JobChanges, JobState, RoundKind
from overlord.domain.question import ask
from overlord.domain.repositories.forge import Pull
from overlord.domain.skills.draft import SkillDraft
from overlord.domain.text.plain import count, plain_line
from overlord.engine.bootstrap import pushed_contract
from overlord.engine.conversation import pull_comments
from overlord.engine.delivery import deliver
from overlord.engine.issues.writers import Writers
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.skills import review_pulls, skill_job
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs, sessions
from overlord.store.conversation import follow_ups
from overlord.store.conversation.follow_ups import FollowUp
from overlord.store.skills import drafts

LOG_BYTES = 200_000
BEGINS = {
    RoundKind.REVIEW: EventName.CHANGES_REQUESTED,
    RoundKind.CI: EventName.CI_FAILED,
    RoundKind.CONFLICT: EventName.CONFLICT_FOUND,
}
_WHY = {
    RoundKind.REVIEW: "reviewers ask for changes",
    RoundKind.CI: "checks failed on the pull request",
    RoundKind.CONFLICT: "it conflicts with its base branch",
}


async def look(parts: Parts, job: Job, pull: Pull, *, has_news: bool) -> Progress:
    """See what has come up at an open pull request that nobody works on; whether that moved its job. Without news in its
    space nobody has said anything."""
    if job.state not in {JobState.IN_REVIEW, JobState.WAITING}:
        return Progress.IDLE
    if job.head_sha == job.pushed_sha != pull.head_sha:
        return await _take_foreign(parts, job, pull.head_sha)
    is_taken_up = await _take_up_comments(parts, job, pull, has_news=has_news)
    if is_taken_up or job.state is JobState.WAITING:
        return is_taken_up
    if pull.mergeable is False:
        return await _rebase(parts, job)
    if (special := await skill_job.of(parts, job)) is not None:
        # No session could change anything for failed checks; what the draft was approved over may be another text by now.
        return Progress.of(await special.is_outdated(parts, job) and await _rebase(parts, job))
    if parts.settings.space(job.space).delivery.follow_checks and (asked := await _failed(parts, job)):
        return await _begin(parts, job, RoundKind.CI, asked)
    return Progress.IDLE


async def _take_up_comments(parts: Parts, job: Job, pull: Pull, *, has_news: bool) -> Progress:
    asked = await _requested_in_reviews(parts, job, pull) if has_news else []
    known = await parts.database.read(lambda c: follow_ups.keys(c, job.id))
    asked += await parts.database.read(
        lambda c: pull_comments.asked_at(c, job.space, pull.number, known=known)
    )
    if asked and (special := await skill_job.of(parts, job)) is not None:
        await special.answer_review(parts, job, pull, asked)
        await parts.database.write(
            Failpoint.ROUND_BEGUN, lambda c: _note_answered(c, job, special.draft, asked)
        )
        return Progress.MOVED
    return Progress.of(bool(asked) and await _begin(parts, job, RoundKind.REVIEW, asked))


def _note_answered(
    connection: sqlite3.Connection, job: Job, draft: SkillDraft, asked: Sequence[RequestedChange]
) -> None:
    """What reviewers say of a skill begins no round: they were told how to have another text, and no commit will answer them."""
    lines = [_taken_up(connection, job, job.round, RoundKind.REVIEW, item) for item in asked]
    follow_ups.add(connection, [replace(item, is_owed=False) for item in lines])
    drafts.remark(connection, draft, f"{_WHY[RoundKind.REVIEW]} ({count(len(asked), 'point')})")


async def _requested_in_reviews(parts: Parts, job: Job, pull: Pull) -> list[RequestedChange]:
    """What those who may write ask for, in reviews and at lines of the diff, and was not taken up yet."""
    known = await parts.database.read(lambda c: follow_ups.keys(c, job.id))
    name = job.space
    writers = Writers(parts, name)
    found = []
    for review in follow_up.open_requests(await parts.forge.reviews(name, pull.number)):
        asked = follow_up.of_review(review)
        if asked.key in known:
            continue
        if await writers.counts(review.author, is_bot=review.is_bot, text=review.body):
            found.append(asked)
    comments = await parts.forge.review_comments(name, pull.number)
    for thread in follow_up.threads(comments).values():
        lines = [
            comment
            for comment in thread
            if await writers.counts(comment.author, is_bot=comment.is_bot, text=comment.body)
        ]
        if lines and (asked := follow_up.of_thread(lines)).key not in known:
            found.append(asked)
    return found


async def _failed(parts: Parts, job: Job) -> list[RequestedChange]:
    """The checks that failed on the head, once none is waited for any more."""
    known = await parts.database.read(lambda c: follow_ups.keys(c, job.id))
    name, head = job.space, job.head
    checks = await parts.forge.checks_of(
        name, head, but=(deliver.STATUS_CONTEXT, review_pulls.STATUS_CONTEXT)
    )
    if checks.is_pending:
        return []
    found = []
    for check in checks.failed:
        if follow_up.of_check(check, head, "").key in known:
            continue
        log = "" if check.log is None else await parts.forge.check_log(name, check.log, limit_bytes=LOG_BYTES)
        found.append(follow_up.of_check(check, head, log))
    return found


async def _begin(
    parts: Parts, job: Job, kind: RoundKind, asked: Sequence[RequestedChange], **changes: Unpack[JobChanges]
) -> Progress:
    """Make a round of these, or a person's decision when there were enough rounds."""
    at, most = parts.clock.now(), parts.settings.space(job.space).delivery.rounds
    listed = "\n".join(f"- {plain_line(item.finding.message, limit=200)}" for item in asked)
    data: dict[str, Json] = {"head": job.head_sha, "asked": [item.key for item in asked]}

    def begin(connection: sqlite3.Connection) -> bool:
        now = jobs.get(connection, job.id)
        if (now.state, now.head_sha) != (job.state, job.head_sha) or decisions.unapplied(connection, job.id):
            return False
        had, number = follow_ups.rounds(connection, job.id, kind), _round(connection, now)
        follow_ups.add(connection, [_taken_up(connection, now, number, kind, item) for item in asked])
        moved: dict[str, Any] = {"round": number, "round_kind": kind, "revision": 0, **changes}
        moved |= _whose_turn(connection, parts, now, asked, moved.get("head_sha", now.head_sha))
        is_answer = now.state is JobState.WAITING  # a person's word to go on
        if had < most or is_answer:
            decisions.close_waiting(connection, job.id, DecisionState.SUPERSEDED, at=at)
            jobs.move(connection, job.id, BEGINS[kind], at=at, data=data, reason=_WHY[kind], **moved)
            return True
        body = f"{_WHY[kind]}, after {count(had, 'round')} of that.\n\n{listed}"
        reason = body.splitlines()[0]
        waits = jobs.move(
            connection, job.id, EventName.ROUNDS_SPENT, at=at, data=data, reason=reason, **moved
        )
        decisions.raise_decision(connection, ask(waits, Subject.ROUNDS, body, at=at))
        return True

    return Progress.of(await parts.database.write(Failpoint.ROUND_BEGUN, begin))


def _whose_turn(
    connection: sqlite3.Connection, parts: Parts, job: Job, asked: Sequence[RequestedChange], head: Sha | None
) -> JobChanges:
    """Who mends it under a contract of several roles: the one of the last phase that may write most of the files it is about, or
    else who worked last. Its turn begins at the delivered head, so that nothing older is taken back."""
    contract = parts.contract_of(connection, job)
    if contract.keeps_misses:
        return {}
    files = [item.finding.file for item in asked if item.finding.file]
    turns = [Turn.in_phase(contract, job.phase, name) for name in contract.phase(job.phase).actors]
    could = {turn.role_name: sum(map(turn.scope().allows, files)) for turn in turns}
    best = max(could, key=lambda name: (could[name], name == job.role), default=job.role)
    return {"role": best, "role_sha": head}


def _round(connection: sqlite3.Connection, job: Job) -> int:
    """The number of the round that what is said now belongs to: the present one, if nobody has worked on that yet."""
    present = follow_ups.of_round(connection, job)
    is_fresh = present and present[-1].sessions == sessions.count(connection, job.id, SessionKind.WORK)
    return job.round if is_fresh else job.round + 1


def _taken_up(
    connection: sqlite3.Connection, job: Job, number: int, kind: RoundKind, asked: RequestedChange
) -> FollowUp:
    return FollowUp(
        job_id=job.id,
        kind=kind,
        round=number,
        key=asked.key,
        finding=asked.finding,
        head_sha=job.head,
        sessions=sessions.count(connection, job.id, SessionKind.WORK),
        thread=asked.thread,
        is_owed=asked.thread is not None or asked.comment is not None,
    )


async def _take_foreign(parts: Parts, job: Job, head: Sha) -> Progress:
    """Somebody pushed to the job's branch: it stays, and is judged as ours is; what people approved was another commit."""
    name = job.space
    remote = await parts.forge.remote(name)
    await parts.git.refresh_mirror(name, remote, branches=[job.base_branch], commits=[job.base])
    if await parts.git.branch_head(name, job.branch) != head:
        return Progress.IDLE  # it has moved on since the forge was asked
    onto = await parts.git.branch_head(name, job.base_branch)
    base = await parts.git.merge_base(name, head, onto) if onto else None
    contract = await pushed_contract.pushed(parts, job, head)
    at, data = parts.clock.now(), {"head": head, "before": job.head_sha}

    def take(connection: sqlite3.Connection) -> bool:
        now = jobs.get(connection, job.id)
        if (now.state, now.head_sha) != (job.state, job.head_sha) or decisions.unapplied(connection, job.id):
            return False
        decisions.close_waiting(connection, job.id, DecisionState.SUPERSEDED, at=at)
        pushed_contract.adopt(connection, parts, job, contract)
        jobs.move(
            connection,
            job.id,
            EventName.FOREIGN_PUSH_FOUND,
            at=at,
            actor="forge",
            data=data,
            reason="somebody pushed to its branch",
            head_sha=head,
            role_sha=head if now.role else None,  # nobody takes their work back
            pushed_sha=head,
            pushing_sha=head,
            base_sha=base or job.base_sha,
            revision=0,
        )
        return True

    return Progress.of(await parts.database.write(Failpoint.FOREIGN_PUSH_NOTED, take))


async def _rebase(parts: Parts, job: Job) -> Progress:
    """Bring the base branch into the job's: as code can, to be judged again; else a session makes of both sides one."""
    name, head = job.space, job.head
    remote = await parts.forge.remote(name)
    await parts.git.refresh_mirror(name, remote, branches=[job.base_branch], commits=[head])
    onto = await parts.git.branch_head(name, job.base_branch)
    if onto is None or onto == job.base_sha:
        return Progress.IDLE  # the forge has not looked at what there is now
    title = plain_line(job.issue.title, limit=60)
    message = f"Bring {job.base_branch} into the work on issue {job.issue.number}\n\n{title}"
    merge = await parts.git.merge(name, head, onto, message=message, at=job.updated_at)
    changes: JobChanges = {"base_sha": onto, "head_sha": merge.commit}
    if merge.conflicts:
        asked = [follow_up.of_conflict(path, head, onto) for path in merge.conflicts]
        return await _begin(parts, job, RoundKind.CONFLICT, asked, **changes)
    at, data = parts.clock.now(), {"head": merge.commit, "before": head, "onto": onto}

    def rebased(connection: sqlite3.Connection) -> bool:
        now = jobs.get(connection, job.id)
        if (now.state, now.head_sha) != (JobState.IN_REVIEW, job.head_sha):
            return False
        job_changes: JobChanges = {**changes, "reason": f"{job.base_branch} was brought in", "revision": 0}
        jobs.move(connection, job.id, EventName.REBASED, at=at, data=data, **job_changes)
        return True

    return Progress.of(await parts.database.write(Failpoint.ROUND_BEGUN, rebased))
