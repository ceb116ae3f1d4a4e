"""`overlord serve` and `overlord demo`: the daemon, and the daemon in an embedded world."""

import asyncio
import logging
from typing import Annotated

import typer

from overlord.entrypoints.process_environment import environment
from overlord.errors import ContainersMissing
from overlord.settings import load


def serve(
    json: Annotated[bool, typer.Option("--json", help="Log as JSON lines.")] = False,
) -> None:
    """Run the daemon in the foreground until it is told to stop."""
    from overlord.entrypoints import agreement, daemon, logs

    settings = load(environment())
    logs.configure_from(settings.log, json=json)
    try:
        asyncio.run(daemon.serve(settings))
    except ContainersMissing as error:
        if not agreement.ask(settings, str(error)):
            raise
        asyncio.run(daemon.serve(settings))


def demo(
    runner: Annotated[str, typer.Option(help="auto, docker or process.")] = "auto",
) -> None:
    """Take a labelled issue to a pull request in an embedded world: no account, no key, no network."""
    from overlord.entrypoints import demo as story
    from overlord.entrypoints import logs

    logs.configure_logs(json=False, level=logging.WARNING)
    raise typer.Exit(asyncio.run(story.tell(runner)))
