"""`overlord mcp`: the server that other agents start in a checkout, and its place in their configuration."""

from typing import Annotated

import typer

from overlord.entrypoints.cli.lazy_group import LazyGroup, Loaded
from overlord.entrypoints.invocation import check_here

app = typer.Typer(
    cls=LazyGroup,
    help="Serve MCP on standard input and output for the checkout one is in: other agents start it.",
    invoke_without_command=True,
)


@app.callback()
def serve(
    ctx: typer.Context,
    checkout: Annotated[
        str, typer.Option(metavar="DIRECTORY", help="The checkout, where it is not the working directory.")
    ] = "",
) -> None:
    """Serve MCP on standard input and output for the checkout one is in: other agents start it."""
    if ctx.invoked_subcommand is not None:
        return
    check_here("`mcp`")
    from overlord.entrypoints.mcp import stdio

    stdio.main(checkout)


@app.command()
def install() -> Loaded:
    """Write Overlord into the configuration of an agent: claude, codex, cursor, opencode or gemini. Shows it first, and asks."""
    from overlord.entrypoints.cli.commands import mcp_install

    return mcp_install.install


@app.command()
def uninstall() -> Loaded:
    """Take Overlord out of the configuration of an agent. Shows it first, and asks."""
    from overlord.entrypoints.cli.commands import mcp_install

    return mcp_install.uninstall
