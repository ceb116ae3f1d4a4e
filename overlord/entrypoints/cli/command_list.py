"""Every command of `overlord`, in the order it is listed: its name, its one line of help, and where it is.

A verb's command is derived from its declaration (`verbs/declared/`), a query's from its own (`queries/declared/`). Any other new command is a function in this folder and a loader
here, or in the module of its group.
"""

from typing import Annotated

import typer

from overlord.entrypoints.cli.exit_code import EXIT_CODES
from overlord.entrypoints.cli.lazy_group import LazyGroup, Loaded
from overlord.entrypoints.cli.verb_list import add_queries, add_verbs
from overlord.entrypoints.invocation import check_here, choose_address

HERE_ALONE = frozenset(
    {
        *("serve", "demo", "open", "init", "check", "doctor", "config", "gc", "backup", "restore"),
        *("run", "build", "fix", "retry", "history", "ledger", "training", "completion"),
    }
)
"""Commands that are about this machine: those that are about the state of a daemon find out by themselves."""

app = typer.Typer(
    cls=LazyGroup,
    help="Labelled GitHub issues in, evaluated pull requests out.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(version("overlord"))
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    url: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Ask the daemon whose page is there, and not this machine's."),
    ] = "",
    token: Annotated[str, typer.Option(help="The access token for it; better given in OVERLORD_TOKEN.")] = "",
) -> None:
    """Labelled GitHub issues in, evaluated pull requests out."""
    from overlord.entrypoints.cli.commands import state

    state.choose("")
    choose_address(url, token)
    if ctx.invoked_subcommand in HERE_ALONE:
        check_here(f"`{ctx.invoked_subcommand}`")


add_queries(app)
add_verbs(app)


@app.command()
def scope() -> Loaded:
    """Let a job write more paths, for 14 days; its running session too. `scope explain '#42'` tells what it may, and why."""
    from overlord.entrypoints.cli.commands import work

    return work.scope


@app.command()
def doctor() -> Loaded:
    """Look at everything Overlord needs: configuration, git, disk, engine, image, model; sign-in, permissions, labels."""
    from overlord.entrypoints.cli.commands import doctor

    return doctor.doctor


@app.command()
def run() -> Loaded:
    """Have one thing done in a repository, and judged; the result is a branch in it, and nothing else is touched."""
    from overlord.entrypoints.cli.commands import run

    return run.run


@app.command()
def build() -> Loaded:
    """Have a requirement built under the repository's own contract; the result is a branch, merged only if you say so."""
    from overlord.entrypoints.cli.commands import build

    return build.build


@app.command()
def fix() -> Loaded:
    """Have a failed job mended, from the phase that failed, or what a report says from the start."""
    from overlord.entrypoints.cli.commands import build

    return build.fix


@app.command()
def resume() -> Loaded:
    """Let paused work go on (`resume owner/repo`, `resume --all`), or a run (`resume 2`)."""
    from overlord.entrypoints.cli.commands import work

    return work.resume


@app.command()
def retry() -> Loaded:
    """Work a run again: one that waits goes on where it is, one that has ended starts over from HEAD."""
    from overlord.entrypoints.cli.commands import run

    return run.retry


@app.command()
def history() -> Loaded:
    """Every run of a repository, newest first; with `--detail JOB` every decision of one job, from its ledger alone."""
    from overlord.entrypoints.cli.commands import run

    return run.history


@app.command()
def init() -> Loaded:
    """Have an architect, a model, propose the contract that jobs go by in this repository. You confirm it; the result is a branch."""
    from overlord.entrypoints.cli.commands import init

    return init.init


@app.command()
def check() -> Loaded:
    """Run a repository's tests and linter as the judge would, and tell whether work could be judged here. Asks no model."""
    from overlord.entrypoints.cli.commands import check

    return check.check


@app.command()
def backup() -> Loaded:
    """Write a backup, also while the daemon works: database, evidence, unfinished commits, the portfolio's files and overlord.yaml."""
    from overlord.entrypoints.cli.commands import backup

    return backup.backup


@app.command()
def restore() -> Loaded:
    """Make a home of a backup. The home must not have a database; what is newer outside is adopted by the next start."""
    from overlord.entrypoints.cli.commands import backup

    return backup.restore


@app.command()
def gc() -> Loaded:
    """Remove now what is kept no longer, as `keep` and `environments` in the settings say; the daemon does it once a day."""
    from overlord.entrypoints.cli.commands import gc

    return gc.gc


@app.command()
def serve() -> Loaded:
    """Run the daemon in the foreground until it is told to stop."""
    from overlord.entrypoints.cli.commands import daemon

    return daemon.serve


@app.command("open")
def _open() -> Loaded:
    """Open the page of the daemon that runs here in a browser, signed in."""
    from overlord.entrypoints.cli.commands import page

    return page.open_page


@app.command()
def demo() -> Loaded:
    """Take a labelled issue to a pull request in an embedded world: no account, no key, no network."""
    from overlord.entrypoints.cli.commands import daemon

    return daemon.demo


@app.command()
def job() -> Loaded:
    """Jobs: issues being worked."""
    from overlord.entrypoints.cli.commands import job

    return job.app


@app.command()
def ledger() -> Loaded:
    """The ledger: every fact, hash-chained."""
    from overlord.entrypoints.cli.commands import ledger

    return ledger.app


@app.command()
def training() -> Loaded:
    """Training data from jobs that ended."""
    from overlord.entrypoints.cli.commands import training

    return training.app


@app.command()
def decisions() -> Loaded:
    """Decisions: what waits for a person."""
    from overlord.entrypoints.cli.commands import decision

    return decision.app


@app.command()
def space() -> Loaded:
    """The repositories managed by Overlord."""
    from overlord.entrypoints.cli.commands import space

    return space.app


@app.command()
def token() -> Loaded:
    """Access tokens: who may sign in at the page and use the HTTP API."""
    from overlord.entrypoints.cli.commands import token

    return token.app


@app.command()
def proposals() -> Loaded:
    """Proposals: what Overlord would improve, and waits for an answer."""
    from overlord.entrypoints.cli.commands import proposal

    return proposal.app


@app.command()
def contract() -> Loaded:
    """Contracts: the rules a job runs under. Roles, phases, gates."""
    from overlord.entrypoints.cli.commands import contract

    return contract.app


@app.command()
def skills() -> Loaded:
    """Skills: instructions that Minions load."""
    from overlord.entrypoints.cli.commands.skills import group as skills

    return skills.app


@app.command()
def knowledge() -> Loaded:
    """Knowledge: what was learned, and sessions are told."""
    from overlord.entrypoints.cli.commands import knowledge

    return knowledge.app


@app.command()
def rules() -> Loaded:
    """Rules: questions of sessions that are answered always."""
    from overlord.entrypoints.cli.commands import rule

    return rule.app


@app.command()
def call() -> Loaded:
    """Calls: disciplines that other agents called over MCP."""
    from overlord.entrypoints.cli.commands import call

    return call.app


@app.command()
def initiatives() -> Loaded:
    """Initiatives: goals of repositories, each with a plan and tasks."""
    from overlord.entrypoints.cli.commands.portfolio import initiatives

    return initiatives


@app.command()
def tasks() -> Loaded:
    """Tasks of initiatives."""
    from overlord.entrypoints.cli.commands.portfolio import tasks

    return tasks


@app.command()
def mcp() -> Loaded:
    """Serve MCP on standard input and output for the checkout one is in: other agents start it."""
    from overlord.entrypoints.cli.commands import mcp

    return mcp.app


@app.command()
def completion() -> Loaded:
    """Print what makes a shell complete commands and options: bash, zsh or fish."""
    from overlord.entrypoints.cli import completion

    return completion.completion


@app.command()
def config() -> Loaded:
    """The configuration."""
    from overlord.entrypoints.cli.commands import config

    return config.app
