"""Give a task up."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import TaskArgument, WordsArgument
from overlord.domain.decision import DecisionState
from overlord.domain.interface import Interface
from overlord.domain.text.reference import TaskRef
from overlord.failpoints import Failpoint
from overlord.store import decisions
from overlord.verbs import commands
from overlord.verbs.portfolio import cancel_task, space_of
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCancel:
    """Which task, and why."""

    task: Annotated[TaskRef, TaskArgument()]
    reason: Annotated[str, WordsArgument()] = ""


def _act(context: Context, arguments: TaskCancel) -> Done:
    asked = decisions.about(context.connection, str(arguments.task))
    commands.check_nobody_asked(
        (item for item in asked if item.state is DecisionState.OPEN), context.interface
    )
    return cancel_task(context, arguments.task, arguments.reason)


VERB = Verb(
    arguments=TaskCancel,
    act=_act,
    space=lambda context, arguments: space_of(context, arguments.task),
    right=Right.WRITER,
    usage="task-cancel i3.4",
    means="give a task up",
    position=39,
    failpoint=Failpoint.TASK_CHANGED,
    is_destructive=True,
    terminal="tasks cancel",
    has_runs=False,
    gaps={Interface.COMMENT: "a comment stands at one issue, and this is about the portfolio"},
)
