"""Parts that views of an initiative and of a task share."""

from collections.abc import Iterable, Sequence

from overlord.command_ref import CommandRef
from overlord.domain.budgets.budget import cost_text
from overlord.domain.chat.lines import Line, happened, words
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.inquiry import HistoryLine
from overlord.domain.portfolio.escalation import Escalation, EscalationState
from overlord.domain.view.span import Bold, Pull, Span
from overlord.domain.view.view import Action, Actions, Bullets, Heading, Note, Part, Table
from overlord.queries.portfolio_initiative import TaskLine
from overlord.store.portfolio.board import OpenQuestion, WorkedJob

MOST_STORY = 15
"""Lines of a story that people are shown here; programs and the page get more."""
_SUBJECT = 60
_WORDS = 300


def tasks_table(found: Sequence[TaskLine]) -> Table:
    """Tasks by their numbers."""
    columns = ("task", "what", "state", "waits", "issue", "pull request")
    return Table(columns, tuple(_task_row(line) for line in found))


def _task_row(line: TaskLine) -> tuple[Line, ...]:
    what = "of a repository that you may not see" if line.is_hidden else words(line.subject, _SUBJECT)
    issue = f"#{line.issue_number}" if line.issue_number is not None else ""
    return (
        (Bold(line.ref),),
        (what,),
        (state_of(line),),
        (waits_text(line),) if line.waits else (),
        (issue,),
        (Pull(line.space, line.pull_number),) if line.pull_number is not None else (),
    )


def waits_text(line: TaskLine) -> str:
    """Why it is not begun, below or beside the word "waits"."""
    return words(line.waits.removeprefix("waits "))


def state_of(line: TaskLine) -> str:
    """How far a task is, in words."""
    if line.is_ready:
        return "ready"
    if line.job_state is not None and not line.waits_for and line.state == "in_progress":
        return state_in_words(line.job_state)
    return line.state.replace("_", " ")


def escalation_list(found: Sequence[Escalation]) -> Iterable[Part]:
    """Those that wait, then those that were answered."""
    waiting = [item for item in found if item.is_open]
    over = [item for item in found if not item.is_open]
    if waiting:
        yield Heading(f"Waiting for an answer ({len(waiting)})")
        yield Bullets(tuple(_waiting(item) for item in waiting))
    if over:
        yield Heading(f"Answered ({len(over)})")
        yield Bullets(tuple(_over(item) for item in over))


def _waiting(item: Escalation) -> Line:
    asked = f", decision {item.decision_id}" if item.decision_id is not None else ""
    blocks = "; it blocks all of the initiative" if item.blocks_initiative else ""
    return (Bold(item.ref), f" ({item.type}{asked}): {words(item.question, _WORDS)}{blocks}")


def _over(item: Escalation) -> Line:
    if item.state is EscalationState.WITHDRAWN:
        said = "nobody needs its answer any more"
    else:
        cites = f" by {item.cites}" if item.cites else f" by {words(item.resolved_by)}"
        said = f"answered{cites}: {words(item.resolution, _WORDS)}"
    return (Bold(item.ref), f" {words(item.question, _WORDS)} - {said}")


def jobs_table(found: Sequence[WorkedJob]) -> Table:
    """What each job cost."""
    rows = tuple(
        (
            (Bold(str(job.job_id)),),
            ("planning" if job.task_number is None else f"task {job.task_number}",),
            (state_in_words(job.state),),
            (cost_text(job.cost),),
        )
        for job in found
    )
    return Table(("job", "worked on", "state", "cost"), rows)


def story_list(told: Sequence[HistoryLine]) -> Iterable[Part]:
    """What happened, the last of it."""
    if not told:
        return
    yield Heading("What happened")
    if (more := len(told) - MOST_STORY) > 0:
        yield Note(f"{more:,} lines before these are left out")
    yield Bullets(tuple(_told(line) for line in told[-MOST_STORY:]))


def _told(line: HistoryLine) -> tuple[Span, ...]:
    by = f", by {words(line.actor)}" if line.actor != "overlord" else ""
    return (*happened(line.at, line.sentence), by)


def ask_list(asked: Sequence[OpenQuestion]) -> Iterable[Part]:
    """What a person is asked now, with how it is looked at."""
    if asked:
        yield Actions(
            tuple(
                Action(words(item.title), CommandRef("decision", (str(item.decision_id),))) for item in asked
            )
        )
