"""`overlord check`: could Overlord judge work in this repository? Its tests and linter are run on it as it is."""

import asyncio
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from overlord.entrypoints.cli.commands.run import Base, Json, Runner
from overlord.entrypoints.invocation import choose_repository
from overlord.entrypoints.process_environment import environment
from overlord.entrypoints.terminal.show import line, show_text
from overlord.errors import Refused

if TYPE_CHECKING:
    from overlord.domain.checks.trial import Trial
    from overlord.engine.evaluation.trial import Refusal


def check(
    path: Annotated[str, typer.Argument(help="A path in the repository, or an address to clone.")] = ".",
    base: Base = "",
    runner: Runner = None,
    json: Json = False,
) -> None:
    """Run a repository's tests and linter as the judge would, and tell whether work could be judged here. Asks no model."""
    from overlord.domain.checks.trial import Trial
    from overlord.engine.evaluation.trial import Refusal
    from overlord.entrypoints.local import screen, trial
    from overlord.entrypoints.local.local_session import sit_down
    from overlord.entrypoints.local.place import place_of
    from overlord.entrypoints.terminal import logs

    logs.configure_logs(json=False, level=logging.WARNING)
    place = place_of(path, environment())
    choose_repository(place.named)

    async def sitting() -> "Trial | Refusal":
        async with sit_down(place, screen.choose(json=json), environment(), json=json) as local_session:
            made = await trial.make(local_session, runner or "", base)
            if isinstance(made, Trial):
                local_session.screen.end(asdict(made))
            return made

    found = asyncio.run(sitting())
    if isinstance(found, Refusal):
        raise Refused(f"the checks could not be tried: {found.why}")
    if not json:
        _show_trial(found)
    raise typer.Exit(0 if found.judges else 1)


def _show_trial(found: "Trial") -> None:
    show_text(f"\n  tests   {line(found.tests)}\n  lint    {line(found.lint)}")
    for text in found.advice:
        show_text(f"\n{line(text)}")
    if found.output:
        show_text(f"\nThe tests' last words:\n{found.output}")
    if found.judges:
        show_text("\nOverlord can judge work here.")
    elif found.has_tests:
        show_text("\nOverlord cannot judge work here by itself: a person would decide on every change.")
    else:
        show_text(
            "\nJudged here: scope, integrity, lint and the review. Not judged: whether the code works. No test is run."
        )
