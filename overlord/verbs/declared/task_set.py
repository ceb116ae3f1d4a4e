"""Change the priority, paths, dependencies or words of a task."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import TaskArgument, WordsArgument
from overlord.domain.interface import Interface
from overlord.domain.text.reference import TaskRef
from overlord.failpoints import Failpoint
from overlord.verbs.portfolio import set_task, space_of
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSet:
    """Which task, and what of it."""

    task: Annotated[TaskRef, TaskArgument()]
    words: Annotated[
        str,
        WordsArgument(
            missing="Say what is to change, as in: priority high.",
            noun="the words",
            help="What, and its value: priority high, blocked-by i3.1, paths src/**, criterion …",
        ),
    ]


def _act(context: Context, arguments: TaskSet) -> Done:
    return set_task(context, arguments.task, arguments.words)


VERB = Verb(
    arguments=TaskSet,
    act=_act,
    space=lambda context, arguments: space_of(context, arguments.task),
    right=Right.WRITER,
    usage="task-set i3.4 blocked-by i3.1",
    means="change priority, paths, blocked-by, subject, description, labels, or add a criterion",
    position=37,
    failpoint=Failpoint.TASK_CHANGED,
    terminal="tasks set",
    has_runs=False,
    gaps={Interface.COMMENT: "a comment stands at one issue, and this is about the portfolio"},
)
