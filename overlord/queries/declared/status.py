"""What is going on: open jobs, what waits for people, what is paused, and repositories that give trouble; or one job in detail.

With a job: its phase and roles, its session, its budgets, its artifacts, its gates and its last events. It is about
the daemon's jobs. `--repo .` is about the local runs of the repository you are in; where there is no daemon, so it is without it.
"""

from dataclasses import dataclass, replace
from typing import Annotated

from overlord.domain.budgets.budget import Cost, cost_text
from overlord.domain.chat.lines import decisions_table, jobs_table, listed, look_at, paused, waits, words
from overlord.domain.conversation.contract_argument import JobIfAnyArgument
from overlord.domain.decision import Decision
from overlord.domain.inquiry import SpaceError, Status
from overlord.domain.job import Job
from overlord.domain.model_fault import ModelOutage
from overlord.domain.pause import Pause
from overlord.domain.text.plain import count
from overlord.domain.text.reference import Target
from overlord.domain.view.span import Bold, Mark
from overlord.domain.view.view import Note, Paragraph, Part, View
from overlord.queries import job_status, overview
from overlord.queries.job_status import JobStatus
from overlord.queries.job_status_view import job_status_view
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store.budgets import costs


@dataclass(frozen=True, slots=True, kw_only=True)
class OfStatus:
    """Everything, or one job."""

    job: Annotated[Target | None, JobIfAnyArgument()] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusData:
    """As programs get it."""

    jobs: tuple[Job, ...]
    decisions: tuple[Decision, ...]
    today: Cost
    spaces: tuple[SpaceError, ...]
    pauses: tuple[Pause, ...]
    models: tuple[ModelOutage, ...]
    settings: tuple[str, ...]


def _read(look: Look, arguments: OfStatus) -> Status | JobStatus:
    if arguments.job is not None:
        return job_status.read(look, look.newest_job(arguments.job))
    found, problem = (
        _narrowed(look, overview.status(look.connection, look.settings, at=look.at)),
        look.settings_problem,
    )
    if not problem or any(problem in line for line in found.settings):
        return found
    return replace(found, settings=(*found.settings, f"The settings do not load: {problem}"))


def _narrowed(look: Look, found: Status) -> Status:
    """For who may see some repositories, what is about these."""
    if not look.spaces:
        return found
    day = look.at.date().isoformat()
    spent = [
        cost for _, space, cost in costs.by_day_and_space(look.connection, day, day) if look.is_theirs(space)
    ]
    priced = [cost.nusd for cost in spent if cost.nusd is not None]
    return replace(
        found,
        jobs=tuple(item for item in found.jobs if look.is_theirs(item.job.space)),
        waiting=tuple(replace(item, initiative="") for item in found.waiting if look.is_theirs(item.space)),
        poll_errors=tuple(item for item in found.poll_errors if look.is_theirs(item.name)),
        pauses=tuple(item for item in found.pauses if look.sees(item.space)),
        today=Cost(tokens=sum(cost.tokens for cost in spent), nusd=sum(priced) if priced else None),
        settings=(),
    )


def _data(status: Status | JobStatus) -> StatusData | JobStatus:
    if isinstance(status, JobStatus):
        return status
    return StatusData(
        jobs=tuple(view.job for view in status.jobs),
        decisions=tuple(asked.decision for asked in status.waiting),
        today=status.today,
        spaces=status.poll_errors,
        pauses=status.pauses,
        models=status.outages,
        settings=status.settings,
    )


def _view(look: Look, status: Status | JobStatus) -> View:
    if isinstance(status, JobStatus):
        return job_status_view(status)
    text = f"{count(len(status.jobs), 'open job')}, {waits(status.waiting)}"
    table = jobs_table(status.jobs, status.at, is_local=look.is_local)
    parts: list[Part] = [listed(table, "No open jobs. Label an issue to start one.")]
    if status.waiting:
        waiting = [asked.decision for asked in status.waiting]
        parts += [decisions_table(waiting, status.at), *look_at(waiting)]
    parts += paused(status.pauses)
    for outage in status.outages:
        line = outage.line(status.at)
        parts.append(Paragraph((Mark("⚠️"), words(f"{line[:1].upper()}{line[1:]}.", 500))))
    parts += [Paragraph((words(line, 500),)) for line in status.settings]
    for space in status.poll_errors:
        what = "cannot be found" if space.is_gone else "gives trouble"
        parts.append(Paragraph((Mark("⚠️"), Bold(space.name), f" {what}: {words(space.trouble)}")))
    parts.append(Note(f"Today: {cost_text(status.today)}."))
    return View(summary=text, parts=tuple(parts), has_title=True)


QUERY = Query(
    read=_read,
    view=_view,
    data=_data,
    arguments=OfStatus,
    usage="status",
    means="what is going on; with a job (`status 7`), all about that one",
    position=1,
    is_narrowed=True,
    survives_bad_settings=True,
    finds_local=True,
)
