"""`overlord work`, `stop`, `scope`, `pause`, `resume`: what a person tells a daemon to do."""

import json as jsonlib
import re
import sqlite3
import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from minion.protocol import Scope, ScopeError
from overlord.domain.job import Job
from overlord.domain.text.reference import issue_in
from overlord.entrypoints.cli.commands import run as local
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.job import Reason
from overlord.entrypoints.cli.commands.state import Meant, Repo
from overlord.entrypoints.terminal.show import line, person, show_text
from overlord.errors import Refused
from overlord.failpoints import Failpoint
from overlord.queries import overview
from overlord.store.spaces import work_requests
from overlord.store.spaces.work_requests import WorkRequestState
from overlord.verbs import commands

WAIT_S = 10.0
_LOOKS_EVERY_S = 0.2
EXPLAIN = "explain"

RUN = re.compile("[0-9]{1,9}")
"""The number of a run; a repository of such a name is written with its owner."""
Space = Annotated[str, typer.Argument(help="A repository: owner/repo, or its name alone.")]


def work(
    issue: Annotated[str, typer.Argument(help="An issue: '#42', owner/repo#42, or its address.")],
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for the daemon's answer.")] = WAIT_S,
) -> None:
    """Have an issue worked on, label or not; one whose job waits goes on."""
    found = issue_in(issue)
    if found is None:
        raise typer.BadParameter("give an issue as '#42', owner/repo#42 or its address")
    command = commands.WorkOn(space=state.space(found.space), number=found.number, actor=person())
    work_request = state.write(
        Failpoint.WORK_WISHED, lambda c: commands.work_on(c, command, at=datetime.now(UTC))
    )
    if not state.is_heard():
        show_text("It is written down, and taken up when the daemon runs: `overlord serve`.")
        return
    until = time.monotonic() + wait
    while work_request.state is WorkRequestState.OPEN and time.monotonic() < until:
        time.sleep(_LOOKS_EVERY_S)
        with state.reading() as connection:
            work_request = work_requests.get(connection, work_request.id)
    if work_request.state is WorkRequestState.REFUSED:
        raise Refused(work_request.answer)
    show_text(
        line(work_request.answer)
        or "It is asked for; the daemon has not answered yet. `overlord status` shows what it does."
    )


def stop(job: Meant, reason: Reason = "", _repo: Repo = "") -> None:
    """End a job. Its session is stopped; branch, pull request and evidence stay."""
    target = state.target(job)

    def end(connection: sqlite3.Connection) -> Job:
        number = overview.job_meant(connection, target).id
        command = commands.StopJob(job_id=number, actor=person(), reason=reason)
        return commands.stop_job(connection, command, at=datetime.now(UTC))

    ended = state.write(Failpoint.JOB_STOPPED, end)
    show_text(f"Job {ended.id} is {ended.state}.")


def scope(
    job: Annotated[
        str,
        typer.Argument(help="A job's number, or its issue as '#42'; or `explain`, and then one of these."),
    ],
    patterns: Annotated[list[str], typer.Argument(help="What it may write too, as '+src/**'.")],
    _repo: Repo = "",
) -> None:
    """Let a job write more paths, for 14 days; its running session too. `scope explain '#42'` tells what it may, and why."""
    if job == EXPLAIN:
        from overlord.entrypoints.cli.commands.scope_foretold import explain

        explain(patterns[0])
        return
    target = state.target(job)
    try:
        wider = Scope.parse(jsonlib.dumps([pattern.removeprefix("+") for pattern in patterns])).patterns
    except ScopeError as error:
        raise typer.BadParameter(str(error)) from None

    def widen(connection: sqlite3.Connection) -> tuple[Job, str]:
        meant = overview.job_meant(connection, target)
        command = commands.WidenScope(job_id=meant.id, patterns=wider, actor=person())
        return meant, commands.widen_scope(connection, command, at=datetime.now(UTC))

    meant, outcome = state.write(Failpoint.DECISION_ANSWERED, widen)
    show_text(f"Job {meant.id} may write {line(outcome)}.")


def pause(
    space: Space = "",
    reason: Annotated[str, typer.Option(help="Why; jobs that wait for its end say so.")] = "",
) -> None:
    """Begin nothing new in a repository, or at all; `overlord resume` ends that.

    What runs goes on and is judged. Labels and comments are read, and their jobs queue.
    """
    command = commands.PauseWork(space=state.space(space) if space else None, actor=person(), reason=reason)
    made = state.write(Failpoint.WORK_PAUSED, lambda c: commands.pause_work(c, command, at=datetime.now(UTC)))
    show_text(f"Paused: {made.what}. `overlord resume {made.space or '--all'}` ends it.")


def pause_space(space: Space, reason: Annotated[str, typer.Option(help="Why.")] = "") -> None:
    """Begin nothing new in a repository, as `overlord pause`."""
    pause(space, reason)


def resume_space(space: Space) -> None:
    """Let a paused repository go on, as `overlord resume`."""
    _resume_work(space)


def resume(
    *,
    what: Annotated[
        str,
        typer.Argument(
            metavar="REPOSITORY|RUN",
            help="A repository: owner/repo, or its name alone. Or a run's number, as `history` shows it.",
        ),
    ] = "",
    everything: Annotated[bool, typer.Option("--all", help="End the pause of everything.")] = False,
    repo: local.Repo = ".",
    model: local.Model = "",
    runner: local.Runner = None,
    budget: local.Budget = None,
    json: local.Json = False,
) -> None:
    """Let paused work go on (`resume owner/repo`, `resume --all`), or a run (`resume 2`).

    With nothing named, or a run, it is about `overlord run`: go on with what was interrupted, and ask what
    waits for an answer. All other options are for that.
    """
    if what and everything:
        raise typer.BadParameter("give a repository, a run or --all, and only one of them")
    run = int(what) if RUN.fullmatch(what) else None
    if run is not None or not (what or everything):
        local.resume(number=run, repo=repo, model=model, runner=runner, budget=budget, json=json)
    else:
        _resume_work(what)


def _resume_work(space: str) -> None:
    command = commands.ResumeWork(space=state.space(space) if space else None, actor=person())
    paused = state.write(
        Failpoint.WORK_RESUMED, lambda c: commands.resume_work(c, command, at=datetime.now(UTC))
    )
    show_text(f"Going on: {command.space or 'everything'}.")
    for other in paused:
        show_text(line(other.line))
