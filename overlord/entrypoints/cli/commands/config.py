"""`overlord config check`: the configuration, read as the daemon would."""

from typing import Annotated

import typer

from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.terminal.show import as_json, show_text
from overlord.settings.load import contract_for

app = typer.Typer(help="The configuration.", no_args_is_help=True)


@app.command("check")
def check(
    json: Annotated[bool, typer.Option("--json", help="Print the settings as JSON, secrets masked.")] = False,
) -> None:
    """Read the configuration as the daemon would, and say what it comes to."""
    settings = state.settings()
    for name in settings.repositories or ("",):
        contract_for(settings, name)
    if json:
        as_json(settings.model_dump(mode="json"))
        return
    repositories = ", ".join(settings.repositories) or "none: set OVERLORD_REPOS=owner/repo"
    address = settings.model.base_url or "no address: set OPENAI_BASE_URL"
    show_text("The configuration is sound.")
    show_text(
        f"  home          {settings.home}\n  repositories  {repositories}\n  runner        {settings.runner}"
    )
    show_text(f"  model         {settings.model.name or 'none'} at {address}")
    show_text(f"  forge         {settings.forge.api_url}\n  contract      {settings.contract}")
