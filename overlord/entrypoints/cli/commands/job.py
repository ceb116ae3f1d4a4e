"""`overlord job …`."""

from typing import Annotated, Any

import typer

from overlord.domain.conversation.pull_card import evidence_parts, state_in_words, where_work_is
from overlord.domain.event_description import describe_event
from overlord.domain.text.plain import count
from overlord.domain.text.reference import JobRef
from overlord.domain.view.view import View
from overlord.engine.issues.job_summary import story_of
from overlord.entrypoints.cli.commands import job_work, state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.cli.verb_list import bind_queries
from overlord.entrypoints.terminal.show import (
    as_json,
    line,
    show_text,
)
from overlord.entrypoints.terminal.view_text import show_view
from overlord.settings.load import contract_for
from overlord.store import evidence, jobs, ledger

app = typer.Typer(help="Jobs: issues being worked.", no_args_is_help=True)

bind_queries(app, "job")
app.command()(job_work.transcript)
app.command()(job_work.diff)
app.command()(job_work.logs)

Number = Annotated[int, typer.Argument(help="The job's number, as `overlord job list` shows it.")]
Reason = Annotated[str, typer.Option(help="Why; it is kept in the ledger.")]


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
        show_text(f"\n{place}; `overlord job diff {job.id}` shows it.")
    show_text("")
    show_view(View(summary="", parts=evidence_parts(story)))
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


def _data(entry: ledger.Entry) -> dict[str, Any]:
    from json import loads

    data: dict[str, Any] = loads(entry.data)
    return data
