"""Put other words in a note's place. Its number stays."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import WordsArgument
from overlord.domain.conversation.knowledge_argument import NoteArgument
from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.verbs.knowledge import edit_note, note_of
from overlord.verbs.right import Right
from overlord.verbs.verb import Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class EditNote:
    """Which, and its words from now on."""

    note: Annotated[str, NoteArgument()]
    words: Annotated[
        str, WordsArgument(missing="Say what it says from now on.", help="Its words from now on.")
    ]


VERB = Verb(
    arguments=EditNote,
    act=lambda context, arguments: edit_note(context, arguments.note, arguments.words),
    space=lambda context, arguments: note_of(context, arguments.note).space,
    right=Right.APPROVER,
    usage="knowledge-edit n12 All endpoints return data, error and meta.",
    means="put other words in a note's place",
    position=63,
    failpoint=Failpoint.NOTE_CHANGED,
    terminal="knowledge edit",
    gaps={
        Interface.MCP: "what counts as known, a person decides; what an agent learned it writes with `brain_write`"
    },
)
