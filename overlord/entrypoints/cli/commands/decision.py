"""`overlord decisions …`: what waits for a person, and the answer."""

import typer

from overlord.domain.decision import ApprovalKind
from overlord.entrypoints.cli.lazy_group import LazyGroup, Loaded
from overlord.entrypoints.cli.verb_list import add_queries

app = typer.Typer(cls=LazyGroup, help="Decisions: what waits for a person.", no_args_is_help=True)

add_queries(app, "decisions")


@app.command("answer")
def _answer() -> Loaded:
    """Answer a decision, with one of its answers or in words of your own. The first answer counts, from wherever it comes."""
    from overlord.entrypoints.cli.verb_command import verb_command

    return verb_command("answer")


@app.command("approve")
def _approve() -> Loaded:
    """Say yes: the one answer of the decision that allows what it asks for, or has it tried again."""
    from overlord.entrypoints.cli.verb_command import verb_command

    return verb_command("approve", only=ApprovalKind.DECISION, help=_approve.__doc__)


@app.command("reject")
def _reject() -> Loaded:
    """Say no: the one answer of the decision that refuses what it asks for, or drops the job."""
    from overlord.entrypoints.cli.verb_command import verb_command

    return verb_command("reject", only=ApprovalKind.DECISION, help=_reject.__doc__)
