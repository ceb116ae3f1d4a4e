"""Every proposal that waits for a person, or was approved and is not done."""

from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import listed, proposals_table
from overlord.domain.conversation.look_argument import FlagArgument
from overlord.domain.proposals.proposal import EnhancementProposal, ProposalStatus
from overlord.domain.text.plain import count
from overlord.domain.view.view import Action, Actions, View
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store.proposals import proposals


@dataclass(frozen=True, slots=True, kw_only=True)
class OfProposals:
    """Which of them."""

    all: Annotated[bool, FlagArgument(help="The last hundred, whatever became of them.")]


def _read(look: Look, arguments: OfProposals) -> tuple[EnhancementProposal, ...]:
    read = proposals.newest if arguments.all else proposals.unfinished
    return tuple(item for item in read(look.connection) if look.is_theirs(item.space))


def _view(look: Look, found: tuple[EnhancementProposal, ...]) -> View:
    waiting = [item for item in found if item.status is ProposalStatus.PENDING]
    text = f"{count(len(waiting), 'proposal')} waiting for a person"
    table = listed(proposals_table(found, look.at), "Nothing is proposed.")
    shown = tuple(Action("See one, whole", CommandRef("proposal", (item.name,))) for item in waiting[:1])
    return View(summary=text, parts=(table, Actions(shown)), has_title=True)


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfProposals,
    usage="proposals",
    means="what Overlord would improve, and waits for an answer",
    position=12,
    is_narrowed=True,
    terminal="proposals list",
)
