"""`overlord initiatives …` and `overlord tasks …`: what people have done with the portfolio."""

import typer

from overlord.entrypoints.cli.lazy_group import LazyGroup
from overlord.entrypoints.cli.verb_list import add_verbs

initiatives = typer.Typer(
    cls=LazyGroup,
    help="Initiatives: goals of repositories, each with a plan and tasks.",
    no_args_is_help=True,
)
tasks = typer.Typer(cls=LazyGroup, help="Tasks of initiatives.", no_args_is_help=True)
add_verbs(initiatives, "initiatives")
add_verbs(tasks, "tasks")
