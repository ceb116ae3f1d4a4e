"""`overlord`: parses, calls, renders. Errors are one sentence that names the fix; each kind has its exit code."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer

from overlord import errors
from overlord.domain.text import visible
from overlord.entrypoints.cli import (
    backup,
    check,
    decision,
    doctor,
    draft,
    gc,
    init,
    inquiry,
    job,
    ledger,
    proposal,
    skill_registry,
    skills,
    space,
    state,
    work,
)
from overlord.entrypoints.cli import run as local
from overlord.entrypoints.cli.show import as_json, console, error_console, say
from overlord.entrypoints.process_environment import conceal_environment, environment
from overlord.settings import contract_for, load

EXIT_CODES = """\
Exit codes: 0 done · 1 it was done and the answer is bad (a broken ledger, a rejected skill, a demo or run that ended badly \
or waits for a person) · 2 wrong usage · 3 wrong configuration · 4 no such thing · 5 refused as things stand · 6 state or \
far end unavailable · 7 another daemon has taken over · 130 interrupted, nothing lost.
"""

_CODES: tuple[tuple[type[errors.OverlordError], int], ...] = (
    (errors.SettingsError, 3),
    (errors.ContractError, 3),
    (errors.NotFound, 4),
    (errors.Refused, 5),
    (errors.StateReplaced, 6),
    (errors.Fenced, 7),
    (errors.OverlordError, 6),
)

app = typer.Typer(
    help="Labelled GitHub issues in, evaluated pull requests out.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(job.app, name="job")
app.add_typer(ledger.app, name="ledger")
app.add_typer(decision.app, name="decisions")
app.add_typer(space.app, name="space")
app.add_typer(proposal.app, name="proposals")
app.add_typer(skills.app, name="skills")
skills.app.command("list")(skill_registry.list_skills)
skills.app.command("show")(skill_registry.show)
skills.app.command("stats")(skill_registry.stats)
skills.app.command("pulls")(skill_registry.pulls)
skills.app.command("drafts")(draft.list_drafts)
skills.app.command("edit")(draft.edit)
skills.app.command("approve")(draft.approve)
skills.app.command("reject")(draft.reject)
skills.app.command("retire")(draft.retire)
config_app = typer.Typer(help="The configuration.", no_args_is_help=True)
app.add_typer(config_app, name="config")
app.command("status")(job.status)
app.command("queue")(inquiry.queue)
app.command("why")(inquiry.why)
app.command("cost")(inquiry.cost)
app.command("brief")(inquiry.brief)
app.command("work")(work.work)
app.command("stop")(work.stop)
app.command("scope")(work.scope)
app.command("pause")(work.pause)
app.command("doctor")(doctor.doctor)
app.command("run")(local.run)
app.command("resume")(work.resume)
app.command("retry")(local.retry)
app.command("history")(local.history)
app.command("init")(init.init)
app.command("check")(check.check)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.command("gc")(gc.gc)


def _print_version(asked: bool) -> None:
    if asked:
        console.print(version("overlord"))
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Labelled GitHub issues in, evaluated pull requests out."""
    state.choose("")


@app.command()
def serve(
    json: Annotated[bool, typer.Option("--json", help="Log as JSON lines.")] = False,
) -> None:
    """Run the daemon in the foreground until it is told to stop."""
    from overlord.entrypoints import agreement, daemon, logs

    settings = load(environment())
    logs.configure_from(settings.log, json=json)
    try:
        asyncio.run(daemon.serve(settings))
    except errors.ContainersMissing as error:
        if not agreement.ask(settings, str(error)):
            raise
        asyncio.run(daemon.serve(settings))


@app.command()
def demo(
    runner: Annotated[str, typer.Option(help="auto, docker or process.")] = "auto",
) -> None:
    """Take a labelled issue to a pull request in an embedded world: no account, no key, no network."""
    from overlord.entrypoints import demo as story
    from overlord.entrypoints import logs

    logs.configure_logs(json=False, level=logging.WARNING)
    raise typer.Exit(asyncio.run(story.tell(runner)))


@config_app.command("check")
def config_check(
    json: Annotated[bool, typer.Option("--json", help="Print the settings as JSON, secrets masked.")] = False,
) -> None:
    """Read the configuration as the daemon would, and say what it comes to."""
    settings = state.settings()
    for name in settings.repositories or ("",):
        contract_for(settings, name)
    if json:
        as_json(settings.model_dump(mode="json"))
        return
    repositories = ", ".join(settings.repositories) or "none: set OVERLORD_REPOS=owner/repo"
    address = settings.model.base_url or "no address: set OPENAI_BASE_URL"
    say("The configuration is sound.")
    say(f"  home          {settings.home}\n  repositories  {repositories}\n  runner        {settings.runner}")
    say(f"  model         {settings.model.name or 'none'} at {address}")
    say(f"  forge         {settings.forge.api_url}\n  contract      {settings.contract}")


def run(command: Callable[[], None]) -> int:
    """Run a command, turning our own errors into a sentence and an exit code."""
    try:
        command()
    except errors.OverlordError as error:
        error_console.print(f"overlord: {visible(str(error))}", markup=False, highlight=False, soft_wrap=True)
        return next(code for kind, code in _CODES if isinstance(error, kind))
    except BrokenPipeError:
        return _unheard()
    except SystemExit as ending:
        if isinstance(ending.__context__, BrokenPipeError):  # Typer and Rich make it an exit with 1
            return _unheard()
        _flush()
        raise
    return 0


def _unheard() -> int:
    """Whoever read our output has left: there is nothing more to say, and nothing went wrong."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _unheard()


def main() -> None:
    """The console script."""
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):  # --version and --help read no settings
        conceal_environment()
    sys.exit(run(app))
