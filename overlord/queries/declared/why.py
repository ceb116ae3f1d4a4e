"""Where a job stands and how it came there: what it waits for, what was held against it, the last events."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.budgets.budget import cost_text
from overlord.domain.chat.lines import decisions_table, happened, issue_of, look_at, result_of, words
from overlord.domain.conversation.argument import JobArgument
from overlord.domain.conversation.pull_card import state_of
from overlord.domain.evaluation import describe
from overlord.domain.inquiry import Why
from overlord.domain.text.plain import count
from overlord.domain.text.reference import Target
from overlord.domain.view.span import Bold
from overlord.domain.view.view import Bullets, Heading, Note, Paragraph, Part, View
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.queries.query import Query

_FINDING = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class OfJob:
    """A job."""

    job: Annotated[Target | None, JobArgument()]


def _read(look: Look, arguments: OfJob) -> Why:
    number = look.newest_job(arguments.job).id
    is_public = look.here is not None
    return overview.why(look.connection, number, at=look.at, is_local=look.is_local, is_public=is_public)


def _view(_look: Look, why: Why) -> View:
    job = why.view.job
    doing = f": {words(why.view.doing, 500)}" if why.view.doing else ""
    result = (" ", *result_of(job, is_local=False)) if job.pull_number is not None else ()
    parts: list[Part] = [
        Heading(f"Job {job.id}: {job.issue_ref}"),
        Paragraph((*issue_of(job), *result)),
        Paragraph((Bold(state_of(job).capitalize()), doing)),
    ]
    if why.decisions:
        parts += [decisions_table(why.decisions, why.at), *look_at(why.decisions)]
    said = tuple((f"{item.outcome()} {item.actor} says: {words(item.text, 200)}",) for item in why.unread)
    if said:
        parts.append(Bullets(said))
    if why.findings:
        found = tuple((words(describe(item), _FINDING),) for item in why.findings)
        parts += [Heading("What was held against it"), Bullets(found)]
    if why.told:
        parts += [
            Heading("What happened"),
            Bullets(tuple(happened(line.at, line.sentence) for line in why.told)),
        ]
    earlier = f"{count(why.earlier, 'earlier event')} · " if why.earlier else ""
    parts.append(Note(f"{earlier}{cost_text(why.view.cost)}"))
    return View(summary=f"Job {job.id}: {job.issue_ref}", parts=tuple(parts))


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfJob,
    usage="why #42",
    means="where its job stands, and how it came there",
    position=4,
)
