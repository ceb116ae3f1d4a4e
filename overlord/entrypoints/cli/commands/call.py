"""`overlord call …`: what other agents called over MCP, and claims about it that anybody can check."""

import typer

from overlord.entrypoints.cli.lazy_group import LazyGroup, Loaded
from overlord.entrypoints.cli.verb_list import add_queries, add_verbs

app = typer.Typer(
    cls=LazyGroup,
    help="Calls: disciplines that other agents called over MCP.",
    no_args_is_help=True,
)

add_queries(app, "call")
add_verbs(app, "call")


@app.command()
def export() -> Loaded:
    """Write what a call came to as one file, with its evidence and its part of the ledger: a claim that anybody can check."""
    from overlord.entrypoints.cli.commands import call_claim

    return call_claim.export


@app.command()
def verify() -> Loaded:
    """Check claims: digests, the ledger's chain, the commit that holds them, and with --rerun their commands. 1 if one does not hold."""
    from overlord.entrypoints.cli.commands import call_claim

    return call_claim.verify


@app.command()
def trailers() -> Loaded:
    """Print a line for each call, to end a commit's message with: what was called, whether it was verified, and its evidence."""
    from overlord.entrypoints.cli.commands import call_claim

    return call_claim.trailers
