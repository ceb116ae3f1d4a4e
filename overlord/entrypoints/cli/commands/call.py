"""`overlord call …`: what other agents called over MCP, and claims about it that anybody can check."""

import typer

from overlord.entrypoints.cli.lazy_group import LazyGroup
from overlord.entrypoints.cli.verb_list import add_queries

app = typer.Typer(
    cls=LazyGroup,
    help="Calls: disciplines that other agents called over MCP.",
    no_args_is_help=True,
)

add_queries(app, "call")
