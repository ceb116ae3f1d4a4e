"""`overlord serve` and `overlord demo`: the daemon, and the daemon in an embedded world."""

import asyncio
import logging
import os
from typing import Annotated

import typer

from overlord.settings import load


def serve(
    json: Annotated[bool, typer.Option("--json", help="Log as JSON lines.")] = False,
) -> None:
    """Run the daemon in the foreground until it is told to stop."""
    from overlord.entrypoints import daemon, logs

    settings = load(os.environ)
    logs.configure_from(settings.log, json=json)
    asyncio.run(daemon.serve(settings))


def demo(
    runner: Annotated[str, typer.Option(help="auto, docker or process.")] = "auto",
) -> None:
    """Take a labelled issue to a pull request in an embedded world: no account, no key, no network."""
    from overlord.entrypoints import demo as story
    from overlord.entrypoints import logs

    logs.configure_logs(json=False, level=logging.WARNING)
    raise typer.Exit(asyncio.run(story.tell(runner)))
