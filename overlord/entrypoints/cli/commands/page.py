"""`overlord open`: the operator's page, for whoever owns this home."""

import webbrowser
from typing import Annotated

import typer

from overlord.command_ref import CommandRef, hint
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.terminal.show import show_text
from overlord.errors import Refused


def open_page(
    show: Annotated[bool, typer.Option("--print", help="Only print the address, which signs in.")] = False,
) -> None:
    """Open the page of the daemon that runs here in a browser, signed in.

    The address holds a token that only who owns OVERLORD_HOME can read: give it to nobody.
    """
    home = state.home()
    if not (home.page.exists() and home.page_token.exists() and state.is_heard()):
        raise Refused("no page is open", hint=hint("start it: ", CommandRef("serve")))
    address, _, known = home.page.read_text(encoding="ascii").strip().partition("\n")
    url = f"{address}?token={home.page_token.read_text(encoding='ascii').strip()}" if known else address
    if show or not webbrowser.open(url):
        show_text(url)
    else:
        show_text(f"Opened {address}")
