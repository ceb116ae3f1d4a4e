"""`overlord status` and `overlord job …`."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from overlord.domain.budgets.budget import cost_text
from overlord.domain.conversation.pull_card import evidence_card, state_in_words, where_work_is
from overlord.domain.event_description import describe_event
from overlord.domain.inquiry import JobView, age_text
from overlord.domain.job import Job
from overlord.domain.text.plain import count
from overlord.domain.text.reference import JobRef
from overlord.engine.issues.job_summary import story_of
from overlord.entrypoints.cli.commands import job_work, state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.terminal.show import (
    age,
    as_json,
    card,
    console,
    line,
    show_command,
    show_text,
    table,
)
from overlord.queries import overview
from overlord.settings.load import contract_for
from overlord.store import evidence, jobs, ledger

app = typer.Typer(help="Jobs: issues being worked.", no_args_is_help=True)

app.command()(job_work.transcript)
app.command()(job_work.diff)
app.command()(job_work.logs)

Number = Annotated[int, typer.Argument(help="The job's number, as `overlord job list` shows it.")]
Reason = Annotated[str, typer.Option(help="Why; it is kept in the ledger.")]


def status(json: Json = False, _repo: Repo = "") -> None:
    """What is going on: open jobs, what waits for people, what is paused, and repositories that give trouble."""
    settings, problem = state.settings_or_why()
    with state.reading() as connection:
        found = overview.status(connection, settings, at=datetime.now(UTC))
    if problem and not any(problem in setting for setting in found.settings):
        found = replace(found, settings=(*found.settings, f"The settings do not load: {problem}"))
    waiting = [asked.decision for asked in found.waiting]
    if json:
        jobs_now = [view.job for view in found.jobs]
        spaces = {
            "spaces": found.poll_errors,
            "pauses": found.pauses,
            "models": found.outages,
            "settings": found.settings,
        }
        as_json({"jobs": jobs_now, "decisions": waiting, "today": found.today, **spaces})
        return
    if found.jobs:
        table(_columns(), map(_row, found.jobs))
    else:
        console.print("No open jobs. Label an issue to start one.")
    for decision in waiting:
        show_text(f"decision {decision.id}: {line(decision.title)}")
        show_command(f"decisions show {decision.id}", indent="    ")
    show_text(f"Today: {cost_text(found.today)}.")
    for pause in found.pauses:
        show_text(line(pause.line))
    for outage in found.outages:
        setting = outage.line(found.at)
        show_text(line(f"{setting[:1].upper()}{setting[1:]}."))
    for setting in found.settings:
        show_text(line(setting))
    for space in found.poll_errors:
        show_text(line(f"{space.name}: {'paused ' if space.is_gone else ''}{space.trouble}"))


@app.command("list")
def list_jobs(
    every: Annotated[bool, typer.Option("--all", help="Closed jobs too.")] = False,
    json: Json = False,
    _repo: Repo = "",
) -> None:
    """Open jobs, or all of them."""
    with state.reading() as connection:
        found = jobs.all_jobs(connection) if every else jobs.open_jobs(connection)
        rows = [_row(overview.view(connection, job, at=datetime.now(UTC))) for job in found]
    if json:
        as_json(found)
    elif rows:
        table(_columns(), rows)
    else:
        show_text("No jobs." if every else "No open jobs; `overlord job list --all` shows closed ones.")


@app.command()
def show(number: Number, json: Json = False, _repo: Repo = "") -> None:
    """One job's story: what happened, what was checked, what it cost."""
    settings = state.settings()
    with state.reading() as connection:
        job = jobs.get(connection, number)
        story = story_of(connection, job, contract_for(settings, job.space))
        entries = list(ledger.entries(connection, job_id=number))
        files = evidence.exhibits(connection, number)
    if json:
        as_json({"story": story, "ledger": entries, "evidence": files})
        return
    show_text(line(f"Job {job.id}: {job.issue_ref}, {job.issue.title}"))
    show_text(line(f"{state_in_words(job.state)}: {job.reason}") + "\n")
    for entry in entries:
        if sentence := describe_event(entry.name, _data(entry), is_local=state.is_local()):
            show_text(f"{entry.at[:19].replace('T', ' ')}Z  {sentence}")
    if place := where_work_is(job):
        show_text(f"\n{place}")
    show_text("")
    card(evidence_card(story))
    show_text(f"\n{count(len(files), 'evidence file')} in {state.home().evidence}")


@app.command()
def stop(number: Number, reason: Reason = "", _repo: Repo = "") -> None:
    """End a job. Its session is stopped; branch, pull request and evidence stay."""
    from overlord.entrypoints.cli.verb_command import give
    from overlord.verbs.registry import command_about

    give(command_about("stop", JobRef(number=number), reason))


@app.command()
def retry(number: Number, _repo: Repo = "") -> None:
    """Try again what a job waits for, as the answer of its decision that does."""
    from overlord.entrypoints.cli.verb_command import give
    from overlord.verbs.registry import command_about

    give(command_about("retry", JobRef(number=number)))


@app.command()
def history(json: Json = False, _repo: Repo = "") -> None:
    """The jobs that ended last: how, at what cost, after how long."""
    with state.reading() as connection:
        found = overview.history(connection, at=datetime.now(UTC))
    if json:
        as_json(found)
        return
    rows = [
        (
            str(item.job.id),
            f"{item.job.issue_ref} {item.job.issue.title[:50]}",
            ": ".join(filter(None, (state_in_words(item.job.state), item.job.reason[:60]))),
            _where_result_is(item.job),
            cost_text(item.cost),
            age_text(item.took_s),
            age(item.ended_at),
        )
        for item in found.jobs
    ]
    if rows:
        table(("job", "issue", "ended", _result_column(), "cost", "took", "ago"), rows)
    else:
        show_text("No job has ended yet.")


def _columns() -> tuple[str, ...]:
    return ("job", "issue", "state", "doing", _result_column(), "age")


def _row(view: JobView) -> tuple[str, ...]:
    job = view.job
    issue = f"{job.issue_ref} {job.issue.title[:50]}"
    return (str(job.id), issue, job.state, view.doing[:80], _where_result_is(job), age(job.created_at))


def _where_result_is(job: Job) -> str:
    """Where what it has come to is: its pull request, or its branch where there is no forge."""
    if job.pull_number is None:
        return "-"
    return job.branch if state.is_local() else f"#{job.pull_number}"


def _result_column() -> str:
    return "branch" if state.is_local() else "pull request"


def _data(entry: ledger.Entry) -> dict[str, Any]:
    from json import loads

    data: dict[str, Any] = loads(entry.data)
    return data
