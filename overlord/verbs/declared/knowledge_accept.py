"""Have a draft of a note count; one that was withdrawn counts again."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import WordsArgument
from overlord.domain.conversation.knowledge_argument import NoteArgument
from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.verbs.knowledge import accept_note, note_of
from overlord.verbs.right import Right
from overlord.verbs.verb import Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptNote:
    """Which, and why."""

    note: Annotated[str, NoteArgument()]
    reason: Annotated[str, WordsArgument()] = ""


VERB = Verb(
    arguments=AcceptNote,
    act=lambda context, arguments: accept_note(context, arguments.note, arguments.reason),
    space=lambda context, arguments: note_of(context, arguments.note).space,
    right=Right.APPROVER,
    usage="knowledge-accept n12",
    means="have a draft of a note count",
    position=61,
    failpoint=Failpoint.NOTE_CHANGED,
    terminal="knowledge accept",
    gaps={
        Interface.MCP: "what counts as known, a person decides; what an agent learned it writes with `brain_write`"
    },
)
