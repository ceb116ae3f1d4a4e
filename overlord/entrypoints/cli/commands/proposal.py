"""`overlord proposals …`: what Overlord would improve, and a person's word to it."""

from typing import Annotated

import typer

from overlord.domain.chat.proposal_card import seen_at, type_in_words
from overlord.domain.decision import ApprovalKind
from overlord.domain.proposals.proposal import ProposalStatus
from overlord.domain.text.reference import proposal_in
from overlord.entrypoints.cli.commands import state
from overlord.entrypoints.cli.commands.state import Repo
from overlord.entrypoints.cli.lazy_group import LazyGroup, Loaded
from overlord.entrypoints.cli.option import Everything, Json, numbered
from overlord.entrypoints.terminal.show import age, as_json, line, show_command, show_text, table
from overlord.store.proposals import proposals

app = typer.Typer(
    cls=LazyGroup,
    help="Proposals: what Overlord would improve, and waits for an answer.",
    no_args_is_help=True,
)


_number = numbered(proposal_in, "give a proposal as p3")


Which = Annotated[int, typer.Argument(parser=_number, metavar="P3", help="The proposal, as p3.")]


def list_proposals(
    everything: Everything = False,
    json: Json = False,
    _repo: Repo = "",
) -> None:
    """Every proposal that waits for a person, or was approved and is not done."""
    with state.reading() as connection:
        found = proposals.newest(connection) if everything else proposals.unfinished(connection)
    if json:
        as_json(found)
    elif not found:
        show_text("Nothing is proposed.")
    else:
        rows = [
            (
                item.name,
                item.status,
                type_in_words(item),
                item.space,
                item.title,
                item.impact,
                item.risk,
                age(item.created_at),
            )
            for item in found
        ]
        table(("id", "status", "type", "repository", "what", "impact", "risk", "age"), rows)


def show(number: Which, json: Json = False, _repo: Repo = "") -> None:
    """One proposal, with what it rests on."""
    with state.reading() as connection:
        proposal = proposals.get(connection, number)
    if json:
        as_json({"proposal": proposal, "digest": proposal.digest})
        return
    show_text(f"proposal {proposal.name}, {proposal.status}: {line(proposal.title)}\n")
    show_text(
        f"{type_in_words(proposal)} for {proposal.space} · impact {proposal.impact} · risk {proposal.risk}\n"
    )
    show_text(f"{proposal.rationale}\n\n  > {line(proposal.sample)}\n")
    if proposal.answer:
        show_text(f"people answered:\n\n  > {line(proposal.answer)}\n")
    show_text(f"Proposed: {proposal.action}\n")
    show_text(seen_at(proposal))
    if proposal.decided_by:
        text = f": {line(proposal.reason)}" if proposal.reason else ""
        verb = "rejected" if proposal.status is ProposalStatus.REJECTED else "approved"
        show_text(line(f"{verb} by {proposal.decided_by}{text}"))
    if proposal.issue_number is not None:
        show_text(f"its issue is {proposal.space}#{proposal.issue_number}")
    elif proposal.is_approved and proposal.is_drafted and not proposal.rests:
        show_text("its draft is among `overlord skills drafts`")
    if proposal.rests:
        show_text(line(f"it rests: {proposal.note}"))
    if proposal.rests or proposal.status is ProposalStatus.PENDING:
        show_command(f"proposals approve {proposal.name}")
    if proposal.status is ProposalStatus.PENDING:
        show_command(f"proposals reject {proposal.name} 'why'")
    show_text(f"shown as {proposal.digest}")


@app.command("list")
def _list() -> Loaded:
    """Every proposal that waits for a person, or was approved and is not done."""
    return list_proposals


@app.command("show")
def _show() -> Loaded:
    """One proposal, with what it rests on."""
    return show


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
