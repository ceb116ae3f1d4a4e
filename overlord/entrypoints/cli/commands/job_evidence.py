"""`overlord job brief|export` and `overlord history --detail`: what was kept of a job, to read and to take along."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from minion.protocol import Brief, SessionKind
from overlord.command_ref import CommandRef, hint
from overlord.domain.budgets.budget import cost_text
from overlord.domain.decision_history import Fact, cost_lines, history_text, told
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.job_work import Number
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.option import Json
from overlord.entrypoints.terminal.show import as_json, show_text
from overlord.errors import NotFound
from overlord.queries import session as inquiries_session
from overlord.store import jobs, ledger
from overlord.store.budgets import costs
from overlord.store.checks import evaluations
from overlord.store.rows import adapter


def brief(
    number: Number,
    session: Annotated[
        str, typer.Option(help="A session, by its name; the last one that was briefed if absent.")
    ] = "",
    json: Json = False,
    _repo: Repo = "",
) -> None:
    """What a session was told, word for word: its three layers, and where each part of them comes from."""
    with state.reading() as connection:
        ran = inquiries_session.sessions_of(connection, number, session)
        past = evaluations.closed(connection, jobs.get(connection, number).id)
    briefed = [item for item in ran if item.brief]
    if not session:
        briefed = [item for item in briefed if item.kind is SessionKind.WORK] or briefed
    if not briefed:
        whose = session or f"job {number}"
        shows = hint(CommandRef("job", (str(number),)), " shows what there is")
        raise NotFound(f"no session of {whose} was told anything", hint=shows)
    last = briefed[-1]
    told_brief: Brief = adapter(Brief).validate_json(last.brief)
    if json:
        as_json(adapter(Brief).dump_python(told_brief, mode="json"))
        return
    from overlord.entrypoints.terminal.brief_text import brief_text, evaluation_of

    show_text(brief_text(told_brief, evaluation=evaluation_of(told_brief, last.prepared_at, past)))


def export(
    number: Number,
    to: Annotated[
        Path | None, typer.Option("--to", help="The directory to write; `job-N` here if absent.")
    ] = None,
    json: Json = False,
    _repo: Repo = "",
) -> None:
    """Write all that was kept of a job into a directory that a person can read; it asks no daemon."""
    from overlord.entrypoints.export import record, writing

    place = to if to is not None else Path(f"job-{number}")
    writing.check_free(place)
    with state.reading() as connection:
        kept = record.read(connection, number)
    manifest = writing.write_files(place, record.files(kept, state.home()), job=number)
    if json:
        as_json(manifest)
        return
    removed = len(manifest["removed"]) + len(manifest["missing"])
    gone = f"; {removed} evidence files are not kept any more, as manifest.json says" if removed else ""
    show_text(f"{len(manifest['files'])} files of job {number} are in {place}{gone}. Begin with README.md.")


def tell_history(number: int, repo: str, *, json: bool) -> None:
    """The decision history of a job, from the ledger alone; then what its sessions cost, where that is known."""
    state.choose(repo)
    with state.reading() as connection:
        facts = [
            Fact(at=datetime.fromisoformat(entry.at), name=entry.name, actor=entry.actor, data=entry.details)
            for entry in ledger.entries(connection, job_id=number)
        ]
        spent = [
            (_named(item.id, item.role), cost_text(cost))
            for item, cost in inquiries_session.spent_by_session(connection, number)
        ]
        total = cost_text(costs.of_job(connection, number))
    if not facts:
        raise NotFound(
            f"the ledger has no event of job {number}",
            hint=hint(CommandRef("job history"), " shows those that ended"),
        )
    lines = list(told(facts, is_local=state.is_local()))
    lines += cost_lines(facts[-1].at, spent, total)
    if json:
        as_json(lines)
    else:
        show_text(history_text(number, lines))


def _named(session: str, role: str) -> str:
    return f"{session} ({role})" if role else session
