"""Put another text in the place of a draft of a skill. What is not taken is kept, and said."""

from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef, hint
from overlord.domain.conversation.argument import ApprovalArgument, WordsArgument
from overlord.domain.decision import ApprovalKind, ApprovalRef
from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.verbs.right import Right
from overlord.verbs.skill import edit_draft
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Which draft, and its text from now on."""

    draft: Annotated[ApprovalRef | None, ApprovalArgument(kinds=frozenset({ApprovalKind.DRAFT}))]
    text: Annotated[str, WordsArgument(missing="Say what its text is.", option="file", help="Its text.")]


def _edit(context: Context, arguments: Edit) -> Done:
    assert arguments.draft is not None, "a draft is always named"
    number, by = arguments.draft.number, context.person
    edited = edit_draft(
        context.connection, number, arguments.text, by=by, digest=context.digest, at=context.at
    )
    if edited.trouble:
        again = hint(CommandRef("skills edit", (edited.label,)), " goes on with it")
        said = f"Draft {edited.label} stays as it was: {edited.trouble}"
        return Done(text=said, hint=again, is_refused=True)
    return Done(
        text=f"Draft {edited.label} is changed; the daemon judges it beside the other skills, then it can be approved."
    )


VERB = Verb(
    arguments=Edit,
    act=_edit,
    space=lambda context, arguments: context.approval_space(arguments.draft),
    right=Right.APPROVER,
    usage="edit d3",
    means="put another text in a draft's place",
    position=15,
    failpoint=Failpoint.DRAFT_DECIDED,
    terminal="skills edit",
    gaps={
        Interface.CHAT: "the draft's card has a form for it",
        Interface.MCP: "a draft of a skill is a person's to change",
    },
)
