"""Every job that is under way or paused: its phase and role, its age and cost, and what it waits for.

It is about the daemon's jobs. `--repo .` lists the local runs of the repository you are in; where there is no daemon, they are listed without it.
"""

from dataclasses import dataclass
from datetime import datetime

from overlord.domain.budgets.budget import Cost, cost_text
from overlord.domain.chat.lines import issue_of, listed, paused, since, words
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.inquiry import JobView
from overlord.domain.interface import Interface
from overlord.domain.job import Job, JobId, JobState
from overlord.domain.pause import Pause
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold, Command, Span
from overlord.domain.view.view import Part, Table, View
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.queries.query import Nothing, Query
from overlord.queries.waits_for import Awaited, awaited, queue_reasons
from overlord.store import decisions
from overlord.store.spaces import pauses

_WAITS = 60
COLUMNS = ("job", "issue", "state", "phase", "role", "age", "cost", "waits for")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedJob:
    """A job that has not ended. `paused`: why nothing goes on in its repository; empty where it does."""

    job: JobId
    repository: str
    issue: int | None
    """None for the job of a call, which has none."""
    call: str
    """The handle of the call it works on, as `c7`; empty for every other job."""
    title: str
    state: JobState
    contract: str
    phase: str
    role: str
    created_at: datetime
    cost: Cost
    waits_for: Awaited
    paused: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobList:
    """As programs get it."""

    at: datetime
    jobs: tuple[ListedJob, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What is listed, with what the jobs themselves are shown by."""

    found: JobList
    jobs: tuple[Job, ...]
    pauses: tuple[Pause, ...]


def _read(look: Look, _arguments: Nothing) -> Listed:
    connection = look.connection
    views = overview.status(connection, look.settings, at=look.at).jobs
    first = {item.job_id: item for item in reversed(decisions.waiting(connection)) if item.job_id is not None}
    queued = queue_reasons(look)

    def one(view: JobView) -> ListedJob:
        job, pause = view.job, pauses.over(connection, view.job.space)
        return ListedJob(
            job=job.id,
            repository=job.space,
            issue=job.issue_number,
            call=job.call_ref,
            title=job.issue.title,
            state=job.state,
            contract=job.contract,
            phase=job.phase,
            role=job.role,
            created_at=job.created_at,
            cost=view.cost,
            waits_for=awaited(look, job, queued=queued, asked=first.get(job.id), session=view.session),
            paused=pause.describe() if pause is not None else "",
        )

    found = JobList(at=look.at, jobs=tuple(map(one, views)))
    return Listed(found=found, jobs=tuple(view.job for view in views), pauses=pauses.shown(connection))


def _data(listed: Listed) -> JobList:
    return listed.found


def _view(_look: Look, every: Listed) -> View:
    rows = tuple(
        (
            (str(item.job),),
            issue_of(job),
            (Bold(state_in_words(item.state)),),
            (words(item.phase),),
            (words(item.role),),
            (since(item.created_at, every.found.at),),
            (cost_text(item.cost),),
            _waits(item),
        )
        for item, job in zip(every.found.jobs, every.jobs, strict=True)
    )
    parts: list[Part] = [
        listed(Table(COLUMNS, rows), "No job is under way."),
        *paused(every.pauses),
    ]
    return View(summary=count(len(rows), "open job"), parts=tuple(parts), has_title=True)


def _waits(item: ListedJob) -> tuple[Span, ...]:
    command = item.waits_for.command
    text = words(item.waits_for.text, _WAITS)
    return (text,) if command is None else (f"{text}: ", Command(command))


QUERY = Query(
    read=_read,
    view=_view,
    data=_data,
    usage="list",
    means="every job under way, and what each waits for",
    position=26,
    finds_local=True,
    gaps={Interface.MCP: "`status` and `jobs` show the same"},
)
