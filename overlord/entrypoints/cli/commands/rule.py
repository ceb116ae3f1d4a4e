"""`overlord rules …`: questions that are answered always."""

import typer

from overlord.entrypoints.cli.lazy_group import LazyGroup
from overlord.entrypoints.cli.verb_list import add_queries, add_verbs

app = typer.Typer(
    cls=LazyGroup,
    help="Rules: questions of sessions that are answered always.",
    no_args_is_help=True,
)

add_queries(app, "rules")
add_verbs(app, "rules")
