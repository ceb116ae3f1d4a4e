"""Work that a session came upon, where a person is asked before anybody does it."""

from datetime import datetime

from overlord.domain.decision import Decision, DecisionKind, Subject, Verb
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.task import Task
from overlord.domain.text.plain import defused_line, plain_line, quoted

MOST_TITLE = 100


def question(initiative: Initiative, task: Task, *, is_within: bool, at: datetime) -> Decision:
    """What a person is asked about it, not yet stored."""
    outside = (
        ""
        if is_within
        else (
            f"It would write outside of what {initiative.ref} is about ({', '.join(map(defused_line, initiative.paths))}).\n\n"
        )
    )
    came = f"A session of {initiative.ref} came upon this work, and goes on with its own."
    return _asked(initiative, task, f"{came}\n\n{outside}".rstrip(), at=at)


def elsewhere(initiative: Initiative, task: Task, *, at: datetime) -> Decision:
    """The same of a task in another repository than its initiative's: whoever approved the plan decides for theirs alone."""
    where, own = defused_line(task.space), defused_line(initiative.space)
    why = f"The plan of {initiative.ref} in {own} was approved there. This task of it is in {where}, where others decide."
    return _asked(initiative, task, why, at=at)


def _asked(initiative: Initiative, task: Task, why: str, *, at: datetime) -> Decision:
    paths = f"\n\nIt writes {', '.join(map(defused_line, task.paths))}." if task.paths else ""
    criteria = "\n".join(f"- {defused_line(item)}" for item in task.acceptance_criteria)
    about = f"{quoted(task.description)}\n\n" if task.description else ""
    body = f"{why}\n\n{about}Done when:\n\n{criteria}{paths}"
    return Decision(
        id=0,
        job_id=None,
        kind=DecisionKind.APPROVAL,
        subject=Subject.DISCOVERED_TASK,
        title=f"{initiative.ref} {plain_line(initiative.title, limit=60)}: is {task.ref} wanted, “{plain_line(task.subject, limit=MOST_TITLE)}”?",
        body=body,
        verbs=(Verb.APPROVE, Verb.REJECT),
        blocks=f"task {task.ref}",
        created_at=at,
        space=task.space,
        about=task.ref,
    )
