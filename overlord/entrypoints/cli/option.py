"""Options and arguments that several commands have, in the same words."""

from collections.abc import Callable
from typing import Annotated

import typer

from overlord.domain.text.reference import number_in

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Why = Annotated[str, typer.Argument(help="Why; it is kept with the answer.")]
Digest = Annotated[str, typer.Option(help="The digest you were shown; refuses if it has changed.")]
Everything = Annotated[bool, typer.Option("--all", help="The last hundred, whatever became of them.")]


def numbered(named: Callable[[str], int | None], text: str) -> Callable[[str], int]:
    """How a word names one: by what `named` reads, as p3, or by its number alone."""

    def number(word: str) -> int:
        found = named(word)
        found = number_in(word) if found is None else found
        if found is None:
            raise typer.BadParameter(text)
        return found

    return number
