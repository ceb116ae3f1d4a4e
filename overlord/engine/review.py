"""The review: the model reads issue, diff and results as data, answers a strict form, and the rubric decides what it weighs.

It is asked only when every other check passed, and can only lower the verdict. It is on the books as a session of its own.
"""

import secrets
import sqlite3

from structlog.contextvars import bind_contextvars

from minion.protocol import Scope, SessionKind
from overlord.domain.budget import NANO
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult
from overlord.domain.job import Job
from overlord.domain.review import ReviewAnswer, ReviewProblem, judge_review, parse_review
from overlord.domain.review_request import Part, messages_for, review_parts
from overlord.domain.session import Session, SessionState, session_id
from overlord.engine import dispatch
from overlord.engine.material import Material, material_of
from overlord.engine.parts import Parts
from overlord.errors import ModelRefused
from overlord.points import Point
from overlord.settings import packaged
from overlord.store import evaluations, sessions
from overlord.store.evaluations import EvaluationRow
from overlord.store.evidence import Exhibit, record

PART_CHARS = 60_000
"""As much of a diff as one request holds."""
TRIES = 2
"""An answer out of form is asked for once more."""


async def step(parts: Parts, job: Job, row: EvaluationRow) -> bool:
    """Ask for the review and write its score down."""
    material = await material_of(parts, job, row.head_sha)
    session = await _opened(parts, job, row)
    bind_contextvars(session_id=session.id)  # of this step's task
    try:
        result = await _review(parts, job, row, material, session)
    except ModelRefused as error:
        summary = f"the review could not be made: {error}"
        result = CheckResult(
            name=CheckName.REVIEW, score=None, summary=summary, subject=Subject.CHECKS_UNAVAILABLE
        )
    exhibit = _transcript(parts, session)

    def made(connection: sqlite3.Connection) -> None:
        if exhibit is not None:
            record(connection, exhibit)
        evaluations.add_check(connection, row, result, at=parts.clock.now())

    await parts.database.write(Point.REVIEW_MADE, made)
    return True


async def _review(
    parts: Parts, job: Job, row: EvaluationRow, material: Material, session: Session
) -> CheckResult:
    pieces = review_parts(material.diff, material.changes, PART_CHARS)
    guidance = await dispatch.guidance(parts, job, material.base)
    answers = []
    for piece in pieces:
        messages = messages_for(
            piece,
            issue=job.issue,
            checks=row.checks,
            guidance=guidance,
            rubric=parts.rubric,
            prompt=packaged("prompts/review.md"),
            fence=f"data-{secrets.token_hex(8)}",
        )
        answers.append(await _asked(parts, job.space, session, piece, messages))
    return judge_review(pieces, answers, parts.rubric)


async def _asked(
    parts: Parts, space: str, session: Session, piece: Part, messages: list[dict[str, str]]
) -> ReviewAnswer | ReviewProblem:
    for _ in range(TRIES):
        text = await parts.assistant.answer(
            session, messages, model=parts.settings.space(space).checks.review_model
        )
        answer = parse_review(text, piece, parts.rubric)
        if isinstance(answer, ReviewAnswer):
            return answer
        messages = [*messages, {"role": "assistant", "content": text or "(nothing)"}, answer.correction()]
    return answer


async def _opened(parts: Parts, job: Job, row: EvaluationRow) -> Session:
    """The review's account, one for each evaluation however often it is tried: it runs nowhere and has no door."""
    last = await parts.database.read(lambda c: sessions.last_of(c, job.id, SessionKind.REVIEW))
    if last is not None and last.prepared_at >= row.at:
        return last
    at, budget = parts.clock.now(), parts.settings.space(job.space).budget
    ordinal = await parts.database.read(lambda c: sessions.count(c, job.id, SessionKind.REVIEW)) + 1
    session = Session(
        id=session_id(job.id, SessionKind.REVIEW, ordinal),
        job_id=job.id,
        kind=SessionKind.REVIEW,
        state=SessionState.ENDED,
        brief="",
        scope=Scope.unrestricted().to_json(),
        branch=job.branch,
        token_budget=budget.session_tokens,
        nusd_budget=round(budget.session_usd * NANO) if budget.session_usd else None,
        time_limit_s=0,
        prepared_at=at,
        ending="no container",
    )
    await parts.database.write(Point.REVIEW_PREPARED, lambda c: sessions.prepare(c, session))
    return session


def _transcript(parts: Parts, session: Session) -> Exhibit | None:
    """What was asked and answered, already redacted."""
    path = parts.home.transcript(session.id)
    if not path.exists():
        return None
    content = path.read_bytes()
    return Exhibit(
        job_id=session.job_id,
        session_id=session.id,
        kind="transcript",
        sha256=parts.evidence.put(content),
        size=len(content),
        at=parts.clock.now(),
    )
