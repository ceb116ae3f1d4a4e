"""`overlord queue`, `why`, `cost`, `brief` and `overlord job history`: what a person asks to see."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from overlord.domain.budgets.budget import cost_text
from overlord.domain.chat.answer import cap_text
from overlord.domain.chat.briefing import SECTIONS, suggestion
from overlord.domain.conversation.decision_words import answer_command
from overlord.domain.conversation.look_argument import Span
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.evaluation import describe
from overlord.domain.inquiry import Cap
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Meant, Repo
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.terminal.show import age, as_json, line, show_command, show_text, table
from overlord.queries import overview
from overlord.store import jobs


def queue(json: Json = False, _repo: Repo = "") -> None:
    """The jobs that wait for a session, in the order they are begun, and what each waits for."""
    settings = state.settings()
    with state.reading() as connection:
        found = overview.queue(connection, settings, at=datetime.now(UTC))
    if json:
        as_json(found)
        return
    rows = [
        (
            str(item.job.id),
            f"{item.job.issue_ref} {item.job.issue.title[:50]}",
            item.why[:120],
            age(item.job.created_at),
        )
        for item in found.jobs
    ]
    if rows:
        table(("job", "issue", "waits", "age"), rows)
    else:
        show_text("Nothing is queued.")
    show_text(f"{found.running} of {found.most} sessions at once are taken.")
    for pause in found.pauses:
        show_text(line(pause.line))


def why(job: Meant, json: Json = False, _repo: Repo = "") -> None:
    """Where a job stands and how it came there: what it waits for, what was held against it, the last events."""
    target = state.target(job)
    with state.reading() as connection:
        job_id = jobs.meant(connection, target).id
        found = overview.why(connection, job_id, at=datetime.now(UTC), is_local=state.is_local())
    if json:
        as_json(found)
        return
    meant = found.view.job
    show_text(line(f"Job {meant.id}: {meant.issue_ref}, {meant.issue.title}"))
    text = f": {found.view.doing}" if found.view.doing else ""
    show_text(line(f"{state_in_words(meant.state)}{text}"))
    for decision in found.decisions:
        show_text(f"decision {decision.id}: {line(decision.title)}")
        show_command(f"decisions show {decision.id}", indent="    ")
    for message in found.unread:
        show_text(line(f"{message.outcome()} {message.actor} says: {message.text[:200]}"))
    for finding in found.findings:
        show_text(line(f"held against it: {describe(finding)}"))
    earlier = f" (the last {len(found.told)} of {len(found.told) + found.earlier})" if found.earlier else ""
    show_text(f"What happened{earlier}:")
    for entry in found.told:
        show_text(f"  {entry.at:%Y-%m-%d %H:%M:%S}Z  {line(entry.sentence)}")
    show_text(f"It has cost {cost_text(found.view.cost)}.")


def cost(
    of: Annotated[Span, typer.Argument(help="What it is asked of.")] = Span.TODAY,
    job: Annotated[str, typer.Argument(help="With `job`: its number, or its issue.")] = "",
    json: Json = False,
    _repo: Repo = "",
) -> None:
    """What was spent: today, over the last week, or by one job; and what its budgets leave."""
    if (of is Span.JOB) is not bool(job):
        raise typer.BadParameter("type `cost`, `cost week`, or `cost job 7`")
    if of is Span.JOB:
        _job_cost(job, json=json)
        return
    settings = state.settings()
    days = overview.WEEK if of is Span.WEEK else 1
    with state.reading() as connection:
        found = overview.cost(connection, settings, at=datetime.now(UTC), days=days)
    if json:
        as_json(found)
        return
    rows = [(day.day, share.name, cost_text(share.cost)) for day in found.days for share in day.spaces]
    if rows:
        table(("day", "repository", "cost"), rows)
    name = "Today" if days == 1 else f"The last {days} days"
    show_text(f"{name}: {cost_text(found.total)}. Days are those of UTC.")
    _show_caps(found.caps)


def _job_cost(job: str, *, json: bool) -> None:
    settings, target = state.settings(), state.target(job)
    with state.reading() as connection:
        number = jobs.meant(connection, target).id
        found = overview.job_cost(connection, settings, number, at=datetime.now(UTC))
    if json:
        as_json(found)
        return
    if found.sessions:
        table(("session", "cost"), [(share.name, cost_text(share.cost)) for share in found.sessions])
    show_text(f"Job {found.job.id}, {found.job.issue_ref}: {cost_text(found.total)}.")
    _show_caps(found.caps)


def _show_caps(caps: Sequence[Cap]) -> None:
    for cap in caps:
        show_text(line(cap_text(cap)))


def brief(
    hours: Annotated[
        float, typer.Option(min=0, max=24 * 366, help="How far back what ended is told.")
    ] = 24.0,
    json: Json = False,
    _repo: Repo = "",
) -> None:
    """What waits for you, what ended and what was spent: the morning briefing, now."""
    at = datetime.now(UTC)
    with state.reading() as connection:
        found = overview.brief(connection, since=at - timedelta(hours=hours), at=at)
    if json:
        as_json(found)
        return
    for kind, name in SECTIONS.items():
        if waiting := found.of_kind(kind):
            show_text(name.upper())
        for asked in waiting:
            decision = asked.decision
            show_text("  " + line(f"{decision.id}: {decision.title}; it blocks {decision.blocks}"))
            show_command(
                answer_command(decision, decision.verbs[0]), indent="     ", comment=suggestion(asked)
            )
    if found.proposed:
        show_text("PROPOSALS")
    for proposal in found.proposed:
        show_text("  " + line(f"{proposal.name}: {proposal.title} ({proposal.space})"))
        show_command(f"proposals show {proposal.name}", indent="     ")
    if found.drafts:
        show_text("SKILL DRAFTS")
    for draft in found.drafts:
        show_text("  " + line(f"{draft.label}: {draft.title} ({draft.space})"))
        show_command(f"skills drafts {draft.label}", indent="     ")
    for name, ended in (
        ("FINISHED", found.finished),
        ("FAILED OR ENDED", found.failed),
        ("TO REVIEW", found.to_review),
    ):
        if ended:
            show_text(name)
        for job in ended:
            pull = f", pull request #{job.pull_number}" if job.pull_number else ""
            reason = f" ({job.reason})" if job.reason else ""
            show_text("  " + line(f"job {job.id}: {job.issue_ref} {job.issue.title[:80]}{pull}{reason}"))
    if found.is_empty:
        show_text("Nothing waits for you, and nothing ended.")
    show_text(f"Spent in {hours:g} h: {cost_text(found.spent)}.")
