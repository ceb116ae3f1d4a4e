"""`overlord completion`: what lets a shell complete the command line. It prints, and changes no file of anybody's."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined] # it is not marked as exported

Shell = Literal["bash", "zsh", "fish"]
SHELLS: tuple[Shell, ...] = ("bash", "zsh", "fish")


def completion(
    shell: Annotated[Shell | None, typer.Argument(help="The shell; yours, if absent.")] = None,
) -> None:
    """Print what makes a shell complete commands and options: bash, zsh or fish.

    bash: put source <(overlord completion bash) into ~/.bashrc. zsh: source <(overlord completion zsh) into ~/.zshrc, after compinit.
    fish: overlord completion fish >~/.config/fish/completions/overlord.fish
    """
    wanted = shell or next((name for name in SHELLS if name == Path(os.environ.get("SHELL", "")).name), None)
    if wanted is None:
        raise typer.BadParameter(f"say which shell: {', '.join(SHELLS)}")
    script = get_completion_script(prog_name="overlord", complete_var="_OVERLORD_COMPLETE", shell=wanted)
    typer.echo(script)
