"""Have a note count no more; a draft is rejected."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import WordsArgument
from overlord.domain.conversation.knowledge_argument import NoteArgument
from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.verbs.knowledge import note_of, withdraw_note
from overlord.verbs.right import Right
from overlord.verbs.verb import Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawNote:
    """Which, and why."""

    note: Annotated[str, NoteArgument()]
    reason: Annotated[str, WordsArgument()] = ""


VERB = Verb(
    arguments=WithdrawNote,
    act=lambda context, arguments: withdraw_note(context, arguments.note, arguments.reason),
    space=lambda context, arguments: note_of(context, arguments.note).space,
    right=Right.APPROVER,
    usage="knowledge-withdraw n12 it is not so any more",
    means="have a note count no more; a draft is rejected",
    position=62,
    failpoint=Failpoint.NOTE_CHANGED,
    terminal="knowledge withdraw",
    gaps={
        Interface.MCP: "what counts as known, a person decides; what an agent learned it writes with `brain_write`"
    },
)
