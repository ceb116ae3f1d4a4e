"""`overlord skills …`, in the order it is listed."""

import typer

from overlord.entrypoints.cli.lazy_group import LazyGroup, Loaded
from overlord.entrypoints.cli.verb_list import add_queries

app = typer.Typer(cls=LazyGroup, help="Skills: instructions that Minions load.", no_args_is_help=True)


@app.command()
def validate() -> Loaded:
    """Judge skill files: their form, conflicts between them, and what in their text could do harm. 1 if any is rejected."""
    from overlord.entrypoints.cli.commands.skills import validate as skill_validate

    return skill_validate.validate


add_queries(app, "skills")


@app.command()
def drafts() -> Loaded:
    """Skills that are drafted and wait for a person, or are on their way; with a number that one, whole."""
    from overlord.entrypoints.cli.commands.skills import draft

    return draft.list_drafts


@app.command()
def edit() -> Loaded:
    """Change a draft's text in $VISUAL or $EDITOR. What is not taken is kept, and said."""
    from overlord.entrypoints.cli.commands.skills import draft

    return draft.edit


@app.command()
def approve() -> Loaded:
    """Say yes, word for word: a Minion writes the one file, and a pull request waits for its reviewers."""
    from overlord.entrypoints.cli.commands.skills import draft

    return draft.approve


@app.command()
def reject() -> Loaded:
    """Say no. What it was made for rests until somebody takes it up again."""
    from overlord.entrypoints.cli.commands.skills import draft

    return draft.reject


@app.command()
def retire() -> Loaded:
    """Have a skill's file deleted: as a draft, which is then approved like any other."""
    from overlord.entrypoints.cli.commands.skills import draft

    return draft.retire
