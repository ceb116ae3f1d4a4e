"""What the sessions of a repository's first job record: a contract that is proposed, and what documents and code answer.

Everything in a call is a model's words. It is read in a thread within limits, held against the commit the session sees, and kept
with its event in one transaction; the answer says what was held against it, in sentences that a model can act on.
"""

import asyncio
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from minion.protocol import Bootstrap, Brief
from overlord.domain.bootstrap.documents import GIVEN
from overlord.domain.bootstrap.proposal import HEADING, Proposal, propose
from overlord.domain.conversation.issue_request import RequestKind
from overlord.domain.discovery.recording import Recording, RecordingError, read_recording, record
from overlord.domain.discovery.text import for_session
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.job import Job
from overlord.domain.session import Session, SessionState
from overlord.domain.text.redaction import Redactor
from overlord.errors import ExternalServiceError, SettingsError
from overlord.failpoints import Failpoint
from overlord.session_api import wire
from overlord.session_api.parts import SessionApiParts
from overlord.settings.load import Settings, check_prices
from overlord.store import jobs, ledger, sessions
from overlord.store.bootstrap import contract_drafts, discoveries, issue_requests
from overlord.store.contracts import plan_files
from overlord.store.rows import adapter

MAX_CONTRACT_BYTES = 400_000
MAX_DISCOVERY_BYTES = 400_000
MOST_PROPOSALS = 12
"""In one session. Then a person gets the best one with what is left."""
MOST_RECORDINGS = 30
"""In one session."""
MOST_SOURCE_BYTES = 1_000_000
"""Of one file that an answer names as its source."""
MOST_SOURCES_BYTES = 20_000_000
"""Of all files that one call names."""
SOURCES_IN_PLAN = (GIVEN, "plan/present/", "plan/survey.md")
"""What Overlord has laid into the plan from documents and code. A quote of anything else there would be the session's own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit:
    event: EventName
    most: int
    reached: str
    then: str


_LIMITS = {
    Bootstrap.CONTRACT: _Limit(
        event=EventName.CONTRACT_PROPOSED,
        most=MOST_PROPOSALS,
        reached=f"this session has proposed {MOST_PROPOSALS} contracts, which is the most",
        then="a person gets the best one with what is left",
    ),
    Bootstrap.DISCOVERY: _Limit(
        event=EventName.DISCOVERY_RECORDED,
        most=MOST_RECORDINGS,
        reached=f"this session has recorded {MOST_RECORDINGS} times, which is the most",
        then="a person is asked what is open",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Caller:
    job: Job
    brief: Brief


async def contract(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /session/contract`: a proposed contract, as `{"contract": {…}}` or `{"contract": {"yaml": "…"}}`. The answer has what the
    rules hold against it, and the best one so far."""
    body = await wire.read_bytes(request, limit=MAX_CONTRACT_BYTES)
    caller = await _caller(parts, session, Bootstrap.CONTRACT)
    value = await asyncio.to_thread(_contract_in, body)
    paths = frozenset(await _listing(parts, caller))
    found = _priced(await asyncio.to_thread(_judged, value, paths, parts.redactor), parts.settings)
    draft, made = await parts.database.write(
        Failpoint.CONTRACT_PROPOSED, lambda c: _keep_proposal(c, parts, session, found)
    )
    said = {"valid": not found.problems, "problems": found.problems, "yaml": draft.text}
    return JSONResponse({**said, "left": MOST_PROPOSALS - made})


def _contract_in(body: bytes) -> object:
    """What was proposed; a text for YAML. Raises HTTPException 400."""
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise HTTPException(400, f"the request is no JSON: {why}") from None
    if not isinstance(sent, dict) or sent.keys() != {"contract"}:
        raise HTTPException(400, 'the request must be {"contract": …} and nothing else')
    value: object = sent["contract"]
    if isinstance(value, dict) and value.keys() == {"yaml"} and isinstance(value["yaml"], str):
        return value["yaml"]
    return value


def _judged(value: object, paths: frozenset[str], redactor: Redactor) -> Proposal:
    """What is held against a contract. One with a secret in it is judged as it is kept: without."""
    found = propose(value, existing=paths)
    if found.text.startswith(HEADING) and redactor.redact(found.text) != found.text:
        found = propose(_without_secrets(yaml.safe_load(found.text), redactor), existing=paths)
    text, problems = redactor.redact(found.text), tuple(map(redactor.redact, found.problems))
    if text != found.text:
        problems = (*problems, "it holds something that is secret here: leave that out")
    return Proposal(text=text, contract=None if problems else found.contract, problems=problems)


def _priced(found: Proposal, settings: Settings) -> Proposal:
    """The same, with a problem where it caps dollars over a model without a price: a job under it could not begin."""
    if found.contract is None:
        return found
    try:
        check_prices(settings, found.contract)
    except SettingsError as error:
        return replace(found, contract=None, problems=(f"leave every `usd` out of the contract: {error}",))
    return found


def _without_secrets(value: object, redactor: Redactor) -> object:
    """The same value; a mark among YAML's own signs would be read as one of them."""
    if isinstance(value, str):
        return redactor.redact(value)
    if isinstance(value, dict):
        return {
            _without_secrets(key, redactor): _without_secrets(item, redactor) for key, item in value.items()
        }
    if isinstance(value, list):
        return [_without_secrets(item, redactor) for item in value]
    return value


def _keep_proposal(
    connection: sqlite3.Connection, parts: SessionApiParts, session: Session, found: Proposal
) -> tuple[contract_drafts.ContractDraft, int]:
    """The best proposal so far, and how many the session has made."""
    made = _made(connection, session, Bootstrap.CONTRACT)
    at, best = parts.clock.now(), contract_drafts.of_job(connection, session.job_id)
    is_best = None if best is None else _is_better(found, best)
    draft = contract_drafts.put(
        connection, session.job_id, found.text, found.problems, at=at, is_best=is_best
    )
    _keep_file(connection, parts, session, Bootstrap.CONTRACT, draft.text)
    data: dict[str, Json] = {"session": session.id, "problems": len(found.problems)}
    jobs.note(connection, session.job_id, EventName.CONTRACT_PROPOSED, at=at, data=data)
    return draft, made + 1


def _is_better(found: Proposal, best: contract_drafts.ContractDraft) -> bool | None:
    """Whether a proposal takes the place of the best one; None where the problems say. What cannot be read at all has one problem
    only, and is worse than what can."""
    is_readable, was_readable = found.text.startswith(HEADING), best.text.startswith(HEADING)
    return None if is_readable is was_readable else is_readable


async def discovery(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /session/discovery`: answers with where they were read, and questions besides. The answer says what became of each, and
    what was not looked at yet."""
    body = await wire.read_bytes(request, limit=MAX_DISCOVERY_BYTES)
    caller = await _caller(parts, session, Bootstrap.DISCOVERY)
    recording = await asyncio.to_thread(_recording_in, body, parts.redactor)
    plan, known = await parts.database.read(
        lambda c: (plan_files.of_job(c, session.job_id), discoveries.of_job(c, session.job_id))
    )
    if known is None:
        raise HTTPException(409, "this job has no discovery; end the session with task_blocked")
    laid = {path: text for path, text in plan.items() if path.startswith(SOURCES_IN_PLAN)}
    texts = {**await _sources(parts, caller, recording), **laid}
    found = await asyncio.to_thread(record, known, recording, texts)
    text = for_session(found.discovery)

    def keep(connection: sqlite3.Connection) -> int:
        made = _made(connection, session, Bootstrap.DISCOVERY)
        if discoveries.of_job(connection, session.job_id) != known:
            raise HTTPException(503, "the discovery has just changed: try again")
        at, left = parts.clock.now(), len(found.discovery.open)
        discoveries.put(connection, session.job_id, found.discovery, at=at)
        _keep_file(connection, parts, session, Bootstrap.DISCOVERY, text)
        data: dict[str, Json] = {"session": session.id, "recorded": len(found.accepted), "open": left}
        jobs.note(connection, session.job_id, EventName.DISCOVERY_RECORDED, at=at, data=data)
        return made + 1

    made = await parts.database.write(Failpoint.DISCOVERY_RECORDED, keep)
    return JSONResponse(
        {
            "recorded": found.accepted,
            "refused": found.refused,
            "unrecorded": [item.id for item in found.discovery.unrecorded],
            "open": len(found.discovery.open),
            "left": MOST_RECORDINGS - made,
            "text": text,
        }
    )


def _recording_in(body: bytes, redactor: Redactor) -> Recording:
    """What was recorded, without secrets. Raises HTTPException 400 with all that is wrong with it."""
    try:
        recording = read_recording(body)
        # Written anew first: whoever knows a secret could have spelt it in escapes.
        text = recording.model_dump_json(by_alias=True)
        clean = redactor.redact(text)
        return recording if clean == text else read_recording(clean.encode())
    except RecordingError as error:
        raise HTTPException(400, redactor.redact(str(error))) from None


async def _sources(parts: SessionApiParts, caller: _Caller, recording: Recording) -> Mapping[str, str]:
    """The files of the base commit that are named as sources, as far as they are there and not too large together."""
    sources = {*(item.source for item in recording.answers), *(item.source for item in recording.questions)}
    named = sorted(sources - {""})
    if not named:
        return {}
    space, base = RepositoryName(caller.job.space), Sha(caller.brief.base_sha)
    try:
        known = await parts.git.listing(space, base)
        found = await parts.git.read_files(
            space, base, [path for path in named if path in known], limit_bytes=MOST_SOURCE_BYTES
        )
    except ExternalServiceError as error:
        raise HTTPException(503, f"the repository cannot be read now: {error}") from error
    texts, room = dict[str, str](), MOST_SOURCES_BYTES
    for path, content in found.items():
        room -= len(content)
        if room >= 0:
            texts[path] = content.decode("utf-8", "replace")
    return texts


async def _listing(parts: SessionApiParts, caller: _Caller) -> Mapping[str, Any]:
    """The files of the commit the session began with, which has what its job's earlier sessions wrote."""
    try:
        return await parts.git.listing(RepositoryName(caller.job.space), Sha(caller.brief.head_sha))
    except ExternalServiceError as error:
        raise HTTPException(503, f"the repository cannot be read now: {error}") from error


async def _caller(parts: SessionApiParts, session: Session, bootstrap: Bootstrap) -> _Caller:
    """The job and the brief of a session that may record this. Raises HTTPException 403, and 429 where it did so too often."""

    def look(connection: sqlite3.Connection) -> tuple[Job, bool]:
        job = jobs.get(connection, session.job_id)
        request = issue_requests.of_issue(connection, job.space, job.issue.number)
        return job, request is not None and request.kind is RequestKind.INIT

    job, is_init = await parts.database.read(look)
    brief: Brief = adapter(Brief).validate_json(session.brief)
    if not is_init or brief.terms is None or brief.terms.bootstrap is not bootstrap:
        raise HTTPException(
            403, f"this session records no {bootstrap}: only the phase of `init` that is there for it does"
        )
    await parts.database.read(lambda c: _made(c, session, bootstrap))
    return _Caller(job=job, brief=brief)


def _keep_file(
    connection: sqlite3.Connection, parts: SessionApiParts, session: Session, which: Bootstrap, text: str
) -> None:
    changed = {which.path: text}
    plan_files.put(connection, session.job_id, changed, session_id=session.id, at=parts.clock.now())


def _made(connection: sqlite3.Connection, session: Session, which: Bootstrap) -> int:
    """How often a session recorded this. Raises HTTPException 429 where it may not do so again, 409 once its work was handed in: what
    it says then would change what is judged, or what a person was shown."""
    row = sessions.get(connection, session.id)
    if row.report is not None or row.state is SessionState.ENDED:
        raise HTTPException(409, "this session has handed in its work: nothing is recorded any more")
    limit = _LIMITS[which]
    entries = ledger.entries(connection, job_id=session.job_id)
    made = sum(
        1 for entry in entries if entry.name == limit.event and entry.details.get("session") == session.id
    )
    if made >= limit.most:
        raise HTTPException(429, f"{limit.reached}: end the session with task_complete; {limit.then}")
    return made
