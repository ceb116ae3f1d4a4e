"""`overlord mcp install|uninstall`: Overlord in another agent's configuration. What is written is shown first, and asked for."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from overlord.domain.text.plain import visible
from overlord.entrypoints.invocation import TOKEN
from overlord.entrypoints.local.asking import can_ask
from overlord.entrypoints.mcp.install.client import CLIENTS, Client, ClientName, ClientScope, Server
from overlord.entrypoints.process_environment import environment
from overlord.entrypoints.terminal.show import diff, show_text
from overlord.errors import Refused

if TYPE_CHECKING:
    from overlord.entrypoints.mcp.install.change import Change

Which = Annotated[ClientName, typer.Argument(help="The agent.", metavar="CLIENT")]
Scope = Annotated[
    ClientScope | None,
    typer.Option(
        metavar="project|user",
        help="The checkout's configuration, or your own; your own for codex, the checkout's for the others, when left out.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Write it without asking.")]


def install(
    client: Which,
    scope: Scope = None,
    url: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Reach a daemon over HTTP at this address; else the agent starts a server here.",
        ),
    ] = "",
    yes: Yes = False,
    only_print: Annotated[bool, typer.Option("--print", help="Print the entry, and write nothing.")] = False,
) -> None:
    """Write Overlord into the configuration of an agent: claude, codex, cursor, opencode or gemini. Shows it first, and asks.

    Everything else in the file stays as it is. No secret is written: with --url the entry names the variable that holds it.
    """
    from overlord.entrypoints.mcp.install import change

    known, where = CLIENTS[client], _scope(client, scope)
    server = Server(url=_mcp_url(url)) if url else _own_server()
    if only_print:
        show_text(change.snippet(known, where, server).rstrip("\n"))
        return
    path, root = _file(known, where)
    made = change.install(known, where, path, server, root=root)
    if not made.is_needed:
        show_text(f"{known.title} has Overlord already: {made.path} stays as it is.")
        return
    _write(made, yes=yes)
    show_text(f"Written to {made.path}. Start {known.title} anew. {known.after}")
    if url:
        show_text(f"The access token is read from {TOKEN}: export it where {known.title} is started.")


def uninstall(client: Which, scope: Scope = None, yes: Yes = False) -> None:
    """Take Overlord out of the configuration of an agent. Shows it first, and asks."""
    from overlord.entrypoints.mcp.install import change

    known, where = CLIENTS[client], _scope(client, scope)
    path, root = _file(known, where)
    made = change.uninstall(known, where, path, root=root)
    if not made.is_needed:
        show_text(f"There is no Overlord in {made.path}; nothing was changed.")
        return
    _write(made, yes=yes)
    show_text(f"Overlord is no longer in {made.path}. Start {known.title} anew.")


def _write(made: "Change", *, yes: bool) -> None:
    """Show it, ask, and write it. Raises Refused where nobody can be asked, and for a no."""
    show_text(f"{made.path}{' (new)' if made.before is None else ''}")
    diff(visible(made.diff()))
    if not yes:
        if not can_ask():
            raise Refused(
                "there is no terminal to ask at; look at what is shown, and add --yes to have it written"
            )
        if not typer.confirm("Write that?"):
            raise Refused("nothing was written")
    made.carry_out()


def _scope(client: ClientName, scope: ClientScope | None) -> ClientScope:
    if scope is not None:
        return scope
    return ClientScope.USER if client is ClientName.CODEX else ClientScope.PROJECT


def _file(client: Client, scope: ClientScope) -> tuple[Path, Path]:
    """The file that is meant, and the directory below which no link is followed. A person's own file may be a link, as people keep
    such files elsewhere. Raises Refused outside a checkout."""
    here = Path.cwd()
    root = next((place for place in (here, *here.parents) if (place / ".git").exists()), None)
    if scope is ClientScope.PROJECT and root is None:
        raise Refused(
            f"{here} is in no git checkout: go into one, or write your own configuration with --scope user"
        )
    path = client.file(scope, root or here, environment())
    if scope is ClientScope.PROJECT and root is not None:
        return path, root
    path = path.resolve()
    return path, path.parent


def _own_server() -> Server:
    """This program, as an agent starts it."""
    from overlord.entrypoints.mcp.install.client import absolute, inherited, own_program
    from overlord.settings.env import ENVIRONMENT

    variables = environment()
    return Server(
        command=own_program(sys.argv[0], variables, sys.executable),
        variables=absolute(variables, ("OVERLORD_HOME", "OVERLORD_CONFIG")),
        inherited=inherited(variables, tuple(ENVIRONMENT)),
    )


def _mcp_url(url: str) -> str:
    """The address of a daemon's MCP: of a page's address, `/mcp` there. Raises typer.BadParameter."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address, parts = False, urlsplit("")
    if (
        not is_address
        or parts.query
        or parts.fragment
        or parts.username
        or not url.isprintable()
        or " " in url
    ):
        raise typer.BadParameter("give an address as https://overlord.example.org", param_hint="--url")
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path if path.endswith('/mcp') else f'{path}/mcp'}"
