"""Add a task to an initiative: the first line says what, lines with a dash are its acceptance criteria.

In a terminal quote the lines, or give `-` alone and type them, or have a file read: `< task.md`.
"""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import InitiativeArgument, WordsArgument
from overlord.domain.interface import Interface
from overlord.domain.text.reference import InitiativeRef
from overlord.failpoints import Failpoint
from overlord.verbs.portfolio import add_task, space_of
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAdd:
    """Of which initiative, and what is wanted."""

    initiative: Annotated[InitiativeRef, InitiativeArgument()]
    words: Annotated[
        str,
        WordsArgument(
            missing="Say what is wanted, in a line.",
            noun="the words",
            help="What is wanted; lines that begin with a dash are acceptance criteria.",
        ),
    ]


def _act(context: Context, arguments: TaskAdd) -> Done:
    return add_task(context, arguments.initiative, arguments.words)


VERB = Verb(
    arguments=TaskAdd,
    act=_act,
    space=lambda context, arguments: space_of(context, arguments.initiative),
    right=Right.WRITER,
    usage='task-add i3 "Round as banks do"',
    means="add a task; lines with a dash are its acceptance criteria",
    position=36,
    failpoint=Failpoint.TASK_CHANGED,
    makes_new=True,
    terminal="tasks add",
    has_runs=False,
    gaps={Interface.COMMENT: "a comment stands at one issue, and this is about the portfolio"},
)
