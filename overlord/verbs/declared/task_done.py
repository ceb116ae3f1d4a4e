"""Say that a task is done, and what was done."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import TaskArgument, WordsArgument
from overlord.domain.interface import Interface
from overlord.domain.text.reference import TaskRef
from overlord.failpoints import Failpoint
from overlord.verbs.portfolio import finish_task, space_of
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDone:
    """Which task, and what was done."""

    task: Annotated[TaskRef, TaskArgument()]
    words: Annotated[
        str,
        WordsArgument(
            missing="Say what was done.",
            noun="the words",
            help="What was done; it is kept as the completion notes.",
        ),
    ]


def _act(context: Context, arguments: TaskDone) -> Done:
    return finish_task(context, arguments.task, arguments.words)


VERB = Verb(
    arguments=TaskDone,
    act=_act,
    space=lambda context, arguments: space_of(context, arguments.task),
    right=Right.WRITER,
    usage='task-done i3.4 "Rotated by hand"',
    means="say that a task is done, and what was done",
    position=38,
    failpoint=Failpoint.TASK_CHANGED,
    terminal="tasks done",
    has_runs=False,
    gaps={
        Interface.COMMENT: "a comment stands at one issue, and this is about the portfolio",
        Interface.MCP: "that a task is done without a job is a person's word",
    },
)
