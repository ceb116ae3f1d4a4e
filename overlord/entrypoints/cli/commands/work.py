"""`overlord scope` and `resume`: verbs that are a look, or about local runs, as well."""

import re
from typing import Annotated

import typer

from overlord.entrypoints.cli.commands import run as local
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.verb_command import give, patterns
from overlord.verbs.declared.resume import Resume
from overlord.verbs.declared.scope import WidenScope
from overlord.verbs.registry import Command

EXPLAIN = "explain"

RUN = re.compile("[0-9]{1,9}")
"""The number of a run; a repository of such a name is written with its owner."""


def scope(
    job: Annotated[
        str,
        typer.Argument(help="A job's number, or its issue as '#42'; or `explain`, and then one of these."),
    ],
    paths: Annotated[
        list[str], typer.Argument(metavar="PATTERNS...", help="What it may write too, as '+src/**'.")
    ],
    _repo: Repo = "",
) -> None:
    """Let a job write more paths, for 14 days; its running session too. `scope explain '#42'` tells what it may, and why."""
    if job == EXPLAIN:
        from overlord.entrypoints.cli.commands.scope_foretold import explain

        explain(paths[0])
        return
    give(Command(name="scope", arguments=WidenScope(job=state.target(job), patterns=patterns(paths))))


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
    merge: local.MergeNow = None,
    json: local.Json = False,
) -> None:
    """Let paused work go on (`resume owner/repo`, `resume --all`), or a run (`resume 2`).

    With nothing named, or with a run's number, it is about what `overlord run`, `build`, `init` or `fix` began in this
    repository: go on with what was interrupted, and ask what waits for your answer. If another process works on it, this
    shows what happens there until it rests, and Ctrl-C detaches. All options but --all are for that.
    """
    if what and everything:
        raise typer.BadParameter("give a repository, a run or --all, and only one of them")
    what, everything = ("", True) if what == "everything" else (what, everything)
    run = int(what) if RUN.fullmatch(what) else None
    if run is not None or not (what or everything):
        local.resume(number=run, repo=repo, model=model, runner=runner, budget=budget, merge=merge, json=json)
    else:
        give(Command(name="resume", arguments=Resume(space=what or None)))
