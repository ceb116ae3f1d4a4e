"""Open jobs, or all of them."""

from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import jobs_table, listed
from overlord.domain.conversation.look_argument import FlagArgument
from overlord.domain.interface import Interface
from overlord.domain.job import Job
from overlord.domain.text.plain import count
from overlord.domain.view.span import Command
from overlord.domain.view.view import View
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store import jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class OfJobs:
    """Which of them."""

    all: Annotated[bool, FlagArgument(help="Closed jobs too.")]


def _read(look: Look, arguments: OfJobs) -> tuple[Job, ...]:
    read = jobs.all_jobs if arguments.all else jobs.open_jobs
    return tuple(job for job in read(look.connection) if look.is_theirs(job.space))


def _view(look: Look, found: tuple[Job, ...]) -> View:
    views = [overview.view(look.connection, job, at=look.at) for job in found]
    table = jobs_table(views, look.at, is_local=look.is_local)
    text = f"{count(len(found), 'job')}"
    return View(
        summary=text,
        parts=(listed(table, "No jobs; ", Command(CommandRef("jobs", ("--all",))), " shows closed ones."),),
        has_title=True,
    )


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfJobs,
    usage="jobs",
    means="open jobs, or all of them",
    position=21,
    is_narrowed=True,
    terminal="job list",
    gaps={Interface.CHAT: "`status` and `history` show them there"},
)
