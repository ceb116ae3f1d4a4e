"""The review: the model reads issue, diff and results as data, answers a strict form, and the rubric decides what it weighs.

It is asked only when every other check passed, and can only lower the verdict. It is on the books as a session of its own.
"""

import secrets
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime

from structlog.contextvars import bind_contextvars

from minion.protocol import Brief, SessionKind
from overlord.config_files import packaged
from overlord.domain.decision import Subject
from overlord.domain.disciplines.prompts import page
from overlord.domain.evaluation import CheckName, CheckResult
from overlord.domain.job import Job
from overlord.domain.review.claim import Claim, claims_for, claims_of
from overlord.domain.review.review import ReviewAnswer, ReviewProblem, judge_review, parse_review
from overlord.domain.review.review_request import Part, messages_for, review_parts
from overlord.domain.session import Account, Session
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import launcher
from overlord.engine.sessions.evaluation_input import EvaluationInput, evaluation_input_of
from overlord.engine.sessions.guidance import guidance
from overlord.engine.skills import model_account as account
from overlord.engine.skills import skill_job
from overlord.errors import ModelRefused
from overlord.failpoints import Failpoint
from overlord.store import sessions
from overlord.store.checks import evaluations
from overlord.store.checks.evaluations import EvaluationRow
from overlord.store.evidence import record
from overlord.store.rows import adapter

PART_CHARS = 60_000
"""As much of a diff as one request holds."""
TRIES = 2
"""An answer out of form is asked for once more."""


async def step(parts: Parts, job: Job, row: EvaluationRow) -> Progress:
    """Ask for the review and write its score down."""
    evaluation_input = await evaluation_input_of(parts, job, row.head_sha)
    session = await _account(parts, job, since=row.at)
    bind_contextvars(session_id=session.id)  # of this step's task
    try:
        result = await _review(parts, job, row, evaluation_input, session)
    except ModelRefused as error:
        summary = f"the review could not be made: {error}"
        result = CheckResult(
            name=CheckName.REVIEW, score=None, summary=summary, subject=Subject.CHECKS_UNAVAILABLE
        )
    kept = account.transcript(parts, session)

    def made(connection: sqlite3.Connection) -> None:
        if kept is not None:
            record(connection, *kept)
        evaluations.add_check(connection, row, result, at=parts.clock.now())

    await parts.database.write(Failpoint.REVIEW_MADE, made)
    return Progress.MOVED


async def _account(parts: Parts, job: Job, *, since: datetime) -> Session:
    """The books of one evaluation's review, however often it is tried: those that were opened at `since` or later, or new ones."""
    kind = SessionKind.REVIEW
    last = await parts.database.read(lambda c: sessions.last_of(c, job.id, kind))
    if last is not None and last.prepared_at >= since:
        return last
    ordinal = await parts.database.read(lambda c: sessions.count(c, job.id, kind)) + 1
    session = account.row(parts, job, kind, ordinal)
    await launcher.prepare(parts, job, session, Failpoint.REVIEW_PREPARED)
    return session


async def _review(
    parts: Parts, job: Job, row: EvaluationRow, evaluation_input: EvaluationInput, session: Session
) -> CheckResult:
    pieces = review_parts(evaluation_input.diff, evaluation_input.changes, PART_CHARS)
    special = await skill_job.of(parts, job)
    rubric = special.rubric if special else parts.rubric
    words = await guidance(parts, job, evaluation_input.base)
    claims, asked_for = claims_of(row.checks), await _asked_for(parts, job)
    issue = f"{job.issue.title}\n{job.issue.body}\n{asked_for}"
    answers = []
    for piece in pieces:
        asked = claims_for(claims, piece.files, [one.files for one in pieces])
        messages = messages_for(
            piece,
            issue=job.issue,
            checks=row.checks,
            guidance=words,
            rubric=rubric,
            prompt=packaged("prompts/review.md"),
            laws=page("review").laws,
            fence=f"data-{secrets.token_hex(8)}",
            claims=asked,
            asked_for=asked_for,
        )

        def read(
            text: str, piece: Part = piece, asked: Sequence[Claim] = asked
        ) -> ReviewAnswer | ReviewProblem:
            return parse_review(text, piece, rubric, asked, issue)

        answers.append(await _ask_model(parts, session.account(job.space), messages, read))
    return judge_review(pieces, answers, rubric, claims)


async def _asked_for(parts: Parts, job: Job) -> str:
    """What people who may write here said to the job since it was claimed: answers, messages, reviews and comments it worked on."""
    data: dict[str, None] = {}
    for session in await parts.database.read(lambda c: sessions.of_job(c, job.id)):
        if session.kind is SessionKind.WORK:
            brief: Brief = adapter(Brief).validate_json(session.brief)
            people = [found for found in brief.findings if found.check == "people"]
            data |= dict.fromkeys(answer.answer for answer in brief.answers)
            data |= dict.fromkeys(message.text for message in brief.messages)
            data |= dict.fromkeys(f"{found.message}\n{found.evidence}" for found in people)
    return "\n\n".join(data)


async def _ask_model(
    parts: Parts,
    account: Account,
    messages: list[dict[str, str]],
    read: Callable[[str], ReviewAnswer | ReviewProblem],
) -> ReviewAnswer | ReviewProblem:
    for _ in range(TRIES):
        text = await parts.assistant.answer(account, messages)
        answer = read(text)
        if isinstance(answer, ReviewAnswer):
            return answer
        messages = [*messages, {"role": "assistant", "content": text or "(nothing)"}, answer.correction()]
    return answer
