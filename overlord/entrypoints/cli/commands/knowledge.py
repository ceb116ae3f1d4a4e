"""`overlord knowledge …`: what was learned, and what a person says of it."""

import typer

from overlord.entrypoints.cli.lazy_group import LazyGroup
from overlord.entrypoints.cli.verb_list import add_queries, add_verbs

app = typer.Typer(
    cls=LazyGroup,
    help="Knowledge: what was learned, and sessions are told.",
    no_args_is_help=True,
)

add_queries(app, "knowledge")
add_verbs(app, "knowledge")
