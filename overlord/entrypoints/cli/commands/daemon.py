"""`overlord serve` and `overlord demo`: the daemon, and the daemon in an embedded world."""

import asyncio
import logging
import sys
from typing import Annotated, Literal

import typer

from overlord.entrypoints.demo.story import STORIES, DemoContract, Ground
from overlord.entrypoints.process_environment import environment
from overlord.errors import ContainersMissing
from overlord.settings.load import load

LogForm = Literal["plain", "json", "console"]


def serve(
    json: Annotated[bool, typer.Option("--json", help="Log as JSON lines: --log json.")] = False,
    log: Annotated[
        LogForm | None,
        typer.Option(
            help="How to log: a sentence for each event, JSON lines, or every field for people. Else as `log.format` says."
        ),
    ] = None,
) -> None:
    """Run the daemon in the foreground until it is told to stop."""
    if json and log not in {None, "json"}:
        raise typer.BadParameter("give --json or --log, not both")
    from overlord.entrypoints import daemon, process_consent
    from overlord.entrypoints.terminal import logs

    settings = load(environment())
    logs.configure_from(settings.log, "json" if json else log)
    try:
        asyncio.run(daemon.serve(settings))
    except ContainersMissing as error:
        if not process_consent.ask(settings, str(error)):
            raise
        asyncio.run(daemon.serve(settings))


def demo(
    runner: Annotated[
        Literal["auto", "docker", "process", "swarm", "kubernetes"],
        typer.Option(help="What sessions run in; swarm and kubernetes are made here for the demo."),
    ] = "auto",
    *,
    swarm: Annotated[
        str,
        typer.Option(help="With `--runner swarm`: a manager of a swarm you have, as tcp://10.0.0.5:2375."),
    ] = "",
    host: Annotated[
        str, typer.Option(help="With --swarm: this machine's address, as its nodes reach it.")
    ] = "",
    contract: Annotated[
        DemoContract, typer.Option(help="The contract that the job goes by.")
    ] = DemoContract.DEFAULT,
    clean: Annotated[
        bool, typer.Option("--clean", help="Run none; remove what earlier ones left: folders, containers.")
    ] = False,
    stay: Annotated[
        bool | None,
        typer.Option(
            "--stay/--no-stay",
            help="Leave the page open at the end, until Ctrl-C. If neither is given: at a terminal, and not in CI.",
        ),
    ] = None,
) -> None:
    """Take a labelled issue to a pull request in an embedded world: no account, no key, no network."""
    from overlord.entrypoints.demo import clean as demo_clean
    from overlord.entrypoints.demo import demo as story
    from overlord.entrypoints.terminal import logs

    logs.configure_logs(json=False, level=logging.WARNING)
    if clean:
        demo_clean.show(asyncio.run(demo_clean.clean(environment().get("DOCKER_HOST") or None)))
        return
    is_watched = sys.stdin.isatty() and sys.stdout.isatty() and not environment().get("CI")
    stays = is_watched if stay is None else stay
    ground = Ground(runner=runner, manager=swarm, host=host)
    played = story.run_demo(STORIES[contract], ground, stays=stays, answers=not is_watched)
    raise typer.Exit(asyncio.run(played))
