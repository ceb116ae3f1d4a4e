"""Have a note of one repository count in all of them."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.knowledge_argument import NoteArgument
from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.verbs.knowledge import promote_note
from overlord.verbs.right import Right
from overlord.verbs.verb import Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteNote:
    """Which."""

    note: Annotated[str, NoteArgument()]


VERB = Verb(
    arguments=PromoteNote,
    act=lambda context, arguments: promote_note(context, arguments.note),
    space=lambda _context, _arguments: "",
    right=Right.APPROVER,
    usage="knowledge-promote n12",
    means="have a note of one repository count in all of them",
    position=64,
    failpoint=Failpoint.NOTE_CHANGED,
    terminal="knowledge promote",
    gaps={
        Interface.MCP: "what counts as known, a person decides; what an agent learned it writes with `brain_write`"
    },
)
