"""Write down something that counts from now on: in a repository, or in all.

`Which cache do we use? Redis.` is a note that answers a question: whoever asks that again is told.
"""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.access_argument import SpacesArgument
from overlord.domain.conversation.argument import WordsArgument
from overlord.domain.conversation.knowledge_argument import NoteKindArgument
from overlord.domain.interface import Interface
from overlord.errors import Refused
from overlord.failpoints import Failpoint
from overlord.verbs.knowledge import add_note, split_space
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class AddNote:
    """What it is, its words, and where it counts."""

    kind: Annotated[str, NoteKindArgument()]
    words: Annotated[
        str, WordsArgument(missing="Say what is to be known.", help="What is to be known: one thing.")
    ]
    spaces: Annotated[tuple[str, ...], SpacesArgument()] = ()


def _meant(context: Context, arguments: AddNote) -> tuple[str, str]:
    """Where it counts, and its words."""
    named, words = split_space(arguments.words)
    if len(arguments.spaces) > 1:
        raise Refused("a note counts in one repository, or in all; name one, or none")
    named = next(iter(arguments.spaces), named)
    return (context.space(named) if named else ""), words


def _add(context: Context, arguments: AddNote) -> Done:
    space, words = _meant(context, arguments)
    return add_note(context, arguments.kind, words, space)


VERB = Verb(
    arguments=AddNote,
    act=_add,
    space=lambda context, arguments: _meant(context, arguments)[0],
    right=Right.APPROVER,
    usage="knowledge-add convention owner/repo All endpoints return data and error.",
    means="write down what sessions are to know; without a repository in all of them",
    position=60,
    failpoint=Failpoint.NOTE_CHANGED,
    terminal="knowledge add",
    gaps={
        Interface.MCP: "what counts as known, a person decides; what an agent learned it writes with `brain_write`"
    },
)
