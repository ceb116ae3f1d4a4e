"""`overlord proposals …`: what Overlord would improve, and a person's word to it."""

import typer

from overlord.domain.decision import ApprovalKind
from overlord.entrypoints.cli.lazy_group import LazyGroup, Loaded
from overlord.entrypoints.cli.verb_list import add_queries

app = typer.Typer(
    cls=LazyGroup,
    help="Proposals: what Overlord would improve, and waits for an answer.",
    no_args_is_help=True,
)

add_queries(app, "proposals")


@app.command("approve")
def _approve() -> Loaded:
    """Say yes: an issue is opened for it and worked on; a skill is drafted first. One that rests is taken up again."""
    from overlord.entrypoints.cli.verb_command import verb_command

    return verb_command("approve", only=ApprovalKind.PROPOSAL, help=_approve.__doc__)


@app.command("reject")
def _reject() -> Loaded:
    """Say no. It comes back only when there is twice as much evidence for it."""
    from overlord.entrypoints.cli.verb_command import verb_command

    return verb_command("reject", only=ApprovalKind.PROPOSAL, help=_reject.__doc__)
