"""Jobs, as the page shows them: the list, and of each its transcript, its diff, its checks and its evidence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from overlord.domain.evaluation import EvaluationResult
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job, JobState
from overlord.domain.text.reference import JobRef
from overlord.domain.transcript import Exchange
from overlord.entrypoints.web.api.cursor import after, cursor
from overlord.entrypoints.web.api.endpoint import Asked, Endpoint, Parameter
from overlord.entrypoints.web.api.problem import Problem
from overlord.entrypoints.web.pages import change
from overlord.entrypoints.web.pages import job as job_page
from overlord.errors import GitFailed, NotFound
from overlord.queries import registry
from overlord.queries import session as session_query
from overlord.queries.declared.job import JobStory
from overlord.queries.look import Look
from overlord.queries.registry import Question
from overlord.store import evidence, job_history, jobs
from overlord.store.budgets import costs
from overlord.store.checks import evaluations

A_PAGE, MOST_A_PAGE = 50, 200
CURSOR = Parameter(
    name="cursor",
    schema={"type": "string", "description": "`next` of the answer before; without it, from the beginning."},
)
LIMIT = Parameter(
    name="limit",
    schema={"type": "integer", "minimum": 1, "maximum": MOST_A_PAGE, "default": A_PAGE},
)
_GONE = {404: "There is no such job, or it is in a repository that the token is not for."}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLine:
    """A job in a list."""

    id: int
    space: str
    issue: int | None
    """Null for the job of a call, which has none."""
    call: str
    """The handle of the call it works on, as `c7`; empty for every other job."""
    title: str
    state: JobState
    created_at: datetime
    updated_at: datetime
    pull: int | None
    branch: str
    tokens: int
    nusd: int | None
    """What it cost so far, in billionths of a dollar; null where no price is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """A page of the list, the newest first."""

    items: list[JobLine]
    next: str | None
    """The cursor of what follows; null at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLine:
    """One model call of a session."""

    number: int
    exchange: Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """A page of a session's transcript, in order."""

    session: str | None
    sessions: list[str]
    total: int
    items: list[TurnLine]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedPath:
    """One file of a diff."""

    path: str
    status: str
    is_in_scope: bool
    added: int
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDiff:
    """What a job changed against the commit it began from."""

    base: str
    head: str
    files: list[ChangedPath]
    diff: str
    """As git writes it; cut after a million bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChecks:
    """How its work was judged, and what the steps printed."""

    evaluations: list[EvaluationResult]
    logs: list[job_page.CheckLog]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceItem:
    """A file that was kept of a job."""

    kind: str
    sha256: str
    size: int
    at: datetime
    session: str | None
    is_removed: bool


def job_endpoints() -> Iterator[Endpoint]:
    """All of them."""
    filters = (
        Parameter(name="space", schema={"type": "string", "description": "Only this repository."}),
        Parameter(name="state", schema={"type": "string", "enum": [state.value for state in JobState]}),
    )
    yield Endpoint(
        path="/jobs",
        answer=_jobs,
        summary="Every job, the newest first.",
        tag="jobs",
        returns=Jobs,
        parameters=(*filters, CURSOR, LIMIT),
    )
    of_job = partial(Endpoint, tag="jobs", problems=_GONE)
    yield of_job(path="/jobs/{number}", answer=_job, summary="One job, whole.", returns=JobStory)
    session = Parameter(
        name="session", schema={"type": "string", "description": "Which session; the last one if not said."}
    )
    yield of_job(
        path="/jobs/{number}/transcript",
        answer=_transcript,
        summary="What a session and its model said to each other, fifty turns a page.",
        returns=Turns,
        parameters=(session, CURSOR),
    )
    yield of_job(path="/jobs/{number}/diff", answer=_diff, summary="What it has changed.", returns=JobDiff)
    yield of_job(
        path="/jobs/{number}/checks", answer=_checks, summary="How it was judged.", returns=JobChecks
    )
    yield of_job(
        path="/jobs/{number}/evidence",
        answer=_evidence,
        summary="The files that were kept of it.",
        returns=list[EvidenceItem],
    )
    yield of_job(
        path="/jobs/{number}/evidence/{digest}",
        answer=_file,
        summary="One of these files.",
        media_type="application/octet-stream",
    )


async def _jobs(asked: Asked) -> Jobs:
    space, state = asked.parameter("space"), asked.parameter("state")
    if state and state not in set(JobState):
        raise Problem(400, "not-understood", "there is no such state", more={"field": "state"})
    limit = asked.whole("limit", default=A_PAGE, most=MOST_A_PAGE)
    filters = {"space": space, "state": state}
    before = after(asked.parameter("cursor"), "jobs", filters)

    def read(look: Look) -> list[JobLine]:
        spaces = list(asked.visitor.spaces)
        if space:
            named = look.space(space)
            asked.visitor.check_sees([named])
            spaces = [named]
        numbers = job_history.numbers(
            look.connection,
            spaces=spaces,
            state=JobState(state) if state else None,
            before=before,
            limit=limit + 1,
        )
        return [_line(look, job) for job in jobs.of_ids(look.connection, numbers)]

    lines = await asked.site.look(read)
    more = cursor("jobs", filters, lines[limit - 1].id) if len(lines) > limit else None
    return Jobs(items=lines[:limit], next=more)


def _line(look: Look, job: Job) -> JobLine:
    cost = costs.of_job(look.connection, job.id)
    return JobLine(
        id=job.id,
        space=job.space,
        issue=job.issue_number,
        call=job.call_ref,
        title=job.issue.title,
        state=job.state,
        created_at=job.created_at,
        updated_at=job.updated_at,
        pull=job.pull_number,
        branch=job.branch,
        tokens=cost.tokens,
        nusd=cost.nusd,
    )


def _seen(asked: Asked, look: Look) -> Job:
    """The job of an address. Raises NotFound also for one that the visitor may not see."""
    job = job_page.head(look, asked.number()).job
    asked.visitor.check_sees([job.space])
    return job


async def _job(asked: Asked) -> Any:
    def read(look: Look) -> object:
        job = _seen(asked, look)
        arguments = registry.find("job").arguments(job=JobRef(number=job.id))
        return Question(name="job", arguments=arguments).value(look)

    return await asked.site.look(read)


async def _transcript(asked: Asked) -> Turns:
    number, session = asked.number(), asked.parameter("session")
    named = f"transcript {number} {session}"
    first, home = after(asked.parameter("cursor"), named, {}), asked.site.running.parts.home

    def read(look: Look) -> job_page.Transcript:
        _seen(asked, look)
        return job_page.transcript(look, home, number, session, first)

    found = await asked.site.look(read)
    has_more = found.first + len(found.turns) < found.total
    return Turns(
        session=found.session.id if found.session is not None else None,
        sessions=[one.id for one in found.sessions],
        total=found.total,
        items=[TurnLine(number=turn.number, exchange=turn.exchange) for turn in found.turns],
        next=cursor(named, {}, found.after) if has_more else None,
    )


async def _diff(asked: Asked) -> JobDiff:
    def read(look: Look) -> Any:
        job = _seen(asked, look)
        ran = session_query.sessions_of(look.connection, job.id)
        return job.space, session_query.change_of(look.connection, job.id), job_page.scope_of(ran)

    space, commits, scope = await asked.site.look(read)
    git, name = asked.site.running.parts.git, RepositoryName(space)
    try:
        names = await git.changes(name, commits.base, commits.head)
        text = await git.diff(name, commits.base, commits.head, limit_bytes=change.MOST_BYTES)
    except GitFailed:
        raise NotFound("the commits are not kept any more") from None
    files = change.files_of(names, scope)
    shown = [
        ChangedPath(
            path=file.path,
            status=file.status,
            is_in_scope=file.is_in_scope,
            added=file.added,
            removed=file.removed,
        )
        for file in files
    ]
    return JobDiff(base=commits.base, head=commits.head, files=shown, diff=text)


async def _checks(asked: Asked) -> JobChecks:
    def read(look: Look) -> JobChecks:
        job = _seen(asked, look)
        shown = job_page.checks(look, job.id)
        judged: Sequence[EvaluationResult] = evaluations.history(look.connection, job)
        return JobChecks(evaluations=list(judged), logs=list(shown.logs))

    return await asked.site.look(read)


async def _evidence(asked: Asked) -> list[EvidenceItem]:
    def read(look: Look) -> list[EvidenceItem]:
        job = _seen(asked, look)
        return [
            EvidenceItem(
                kind=item.kind,
                sha256=item.sha256,
                size=item.size,
                at=item.at,
                session=item.session_id,
                is_removed=item.removed_at is not None,
            )
            for item in evidence.exhibits(look.connection, job.id)
        ]

    return await asked.site.look(read)


async def _file(asked: Asked) -> Response:
    home, digest = asked.site.running.parts.home, asked.path("digest")

    def read(look: Look) -> Any:
        job = _seen(asked, look)
        return job.id, *job_page.file(look, home, job.id, digest)

    number, item, content = await asked.site.look(read)
    name = quote(f"job-{number}-{item.kind}-{digest[:12]}", safe="")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}", "cache-control": "no-store"}
    return Response(content, media_type="application/octet-stream", headers=headers)
