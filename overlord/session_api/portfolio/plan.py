"""What a lead proposes: a plan with its tasks, read within bounds, held against what is there, and kept with its event.

Everything in it is a model's words. Nothing of it counts before a person approves it.
"""

import json
import sqlite3
from dataclasses import replace
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from minion.protocol import PlanVerdict, PortfolioTool, ProposedPlan, encode
from overlord.domain.event import EventName, Json
from overlord.domain.portfolio.plan import PlanFound, PlanGround, judged
from overlord.domain.portfolio.plan_draft import as_markdown, to_do
from overlord.domain.session import Session
from overlord.domain.text.redaction import Redactor
from overlord.errors import Refused
from overlord.failpoints import Failpoint
from overlord.session_api import wire
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.portfolio.caller import caller, check_at_work
from overlord.store import jobs, ledger
from overlord.store.contracts import plan_files
from overlord.store.portfolio import initiatives, plan_drafts

MAX_PLAN_BYTES = 2_000_000
MOST_PROPOSALS = 12
"""In one session. Then a person is asked about what is there."""
SECRET = "The plan holds something that is secret here: leave that out."


async def plan(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /session/plan`: a proposed plan. The answer has what is held against it; it is kept where that is nothing."""
    proposed = await wire.read(request, wire.PROPOSED_PLAN, limit=MAX_PLAN_BYTES)
    await caller(parts, session, PortfolioTool.PROPOSE_PLAN)
    ground = await parts.database.read(lambda c: _ground(c, parts, session))
    found = await parts.beside(session.id, lambda: _judged(proposed, ground, parts.redactor))

    def keep(connection: sqlite3.Connection) -> int:
        made = _made(connection, session)
        if not found.problems and _ground(connection, parts, session) != ground:
            raise HTTPException(503, "the initiative has just changed: try again")
        _keep(connection, parts, session, found)
        return made + 1

    try:
        made = await parts.database.write(Failpoint.PLAN_PROPOSED, keep)
    except Refused as error:  # links that make a circle with other initiatives' tasks
        found = replace(found, problems=(parts.redactor.redact(f"{str(error).capitalize()}."),))
        made = await parts.database.write(Failpoint.PLAN_PROPOSED, keep)
    verdict = PlanVerdict(
        valid=not found.problems, problems=found.problems, left=max(MOST_PROPOSALS - made, 0)
    )
    return Response(encode(verdict), media_type="application/json")


def _ground(connection: sqlite3.Connection, parts: SessionApiParts, session: Session) -> PlanGround:
    """What the plan is held against. Raises HTTPException 403 for a session that plans nothing."""
    initiative = initiatives.of_job(connection, session.job_id)
    if initiative is None:
        raise HTTPException(403, "this session plans no initiative: only a lead proposes a plan")
    most = parts.settings.space(initiative.space).portfolio.most_tasks
    return plan_drafts.ground(connection, session.job_id, parts.settings.repositories, most)


def _judged(proposed: ProposedPlan, ground: PlanGround, redactor: Redactor) -> PlanFound:
    """What is held against it. One with a secret in it is judged without, and not kept."""
    clean = without_secrets(proposed, wire.PROPOSED_PLAN, redactor)
    found = judged(clean, ground)
    problems = tuple(map(redactor.redact, found.problems))
    return replace(found, problems=problems if clean == proposed else (*problems, SECRET))


def without_secrets(record: Any, kind: Any, redactor: Redactor) -> Any:
    """The same record; each text is looked through by itself, however it was spelt in the request."""
    values = json.loads(kind.dump_json(record))
    return kind.validate_json(json.dumps(_redacted(values, redactor)))


def _redacted(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.redact(value)
    if isinstance(value, dict):
        return {key: _redacted(item, redactor) for key, item in value.items()}
    return [_redacted(item, redactor) for item in value] if isinstance(value, list) else value


def _keep(connection: sqlite3.Connection, parts: SessionApiParts, session: Session, found: PlanFound) -> None:
    """The plan with its tasks and the artifacts that the gate shows, or what is held against it."""
    at, job = parts.clock.now(), session.job_id
    initiative = initiatives.of_job(connection, job)
    assert initiative is not None, "it was there when the plan was judged"
    number = len(found.tasks)
    if found.problems:
        plan_drafts.keep_problems(connection, job, found, at=at)
    else:
        draft = plan_drafts.keep(connection, job, found, session_id=session.id, at=at)
        shown = plan_drafts.lines_of(connection, draft)
        number = to_do(shown)
        files = {"plan/plan.md": draft.text, "plan/tasks.md": as_markdown(shown)}
        plan_files.put(connection, job, files, session_id=session.id, at=at)
    data: dict[str, Json] = {"initiative": initiative.ref, "session": session.id}
    data |= {"tasks": number, "problems": len(found.problems)}
    jobs.note(connection, job, EventName.PLAN_PROPOSED, at=at, data=data)


def _made(connection: sqlite3.Connection, session: Session) -> int:
    """How many plans a session has proposed. Raises HTTPException 429 where it may propose no more, 409 once it handed in its work."""
    check_at_work(connection, session)
    entries = ledger.entries(connection, job_id=session.job_id)
    made = sum(
        1
        for entry in entries
        if entry.name == EventName.PLAN_PROPOSED and entry.details.get("session") == session.id
    )
    if made >= MOST_PROPOSALS:
        raise HTTPException(
            429,
            f"this session has proposed {MOST_PROPOSALS} plans, which is the most: end the session with task_complete; "
            "a person is asked about what is there",
        )
    return made
