"""`overlord token …`: who may sign in at the page and use the HTTP API."""

import typer

from overlord.entrypoints.cli.lazy_group import LazyGroup
from overlord.entrypoints.cli.verb_list import add_queries, add_verbs

app = typer.Typer(
    cls=LazyGroup,
    help="Access tokens: who may sign in at the page and use the HTTP API.",
    no_args_is_help=True,
)

add_queries(app, "token")
add_verbs(app, "token")
