"""What became of what was begun: jobs of tasks and of leads, and initiatives whose tasks have all ended."""

from collections.abc import Iterator

from overlord.domain.decision import DecisionKind, Subject, Verb
from overlord.domain.job import JobState
from overlord.domain.portfolio.cycle.action import Action, Ask, ChangeInitiative, ChangeTask, NoteJob
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.task import Task, TaskState
from overlord.domain.portfolio.view import JobView, PortfolioView
from overlord.domain.text.plain import plain_line

NOT_MANAGED = "its repository is not managed by Overlord any more"
_ENDED_BY = {
    "stopped": "a person stopped its job",
    "dropped": "a person dropped its job",
    "taken_over": "a person took its branch over",
    "issue_closed": "its issue was closed",
    "unlabelled": "the work label was taken off its issue",
    "pr_closed": "its pull request was closed without a merge",
    "lifetime_exceeded": "its job took longer than it may",
    "terminated": "its contract ended its job",
}


def monitor(view: PortfolioView) -> Iterator[Action]:
    """What follows from how jobs stand."""
    for task in view.tasks:
        if task.state is TaskState.IN_PROGRESS:
            yield from _of_task(view, task)
        elif task.state is TaskState.PENDING:
            yield from _begun_by_others(view, task)
    for initiative in view.initiatives:
        if initiative.state is InitiativeState.PLANNING:
            yield from _of_lead(view, initiative)
        elif initiative.state is InitiativeState.ACTIVE:
            yield from _of_tasks(view, initiative)


def _begun_by_others(view: PortfolioView, task: Task) -> Iterator[Action]:
    """Somebody has its issue worked on before its turn: it is not begun twice."""
    job = view.job_of(task.space, task.issue_number)
    if job is not None and not job.is_over:
        yield ChangeTask(
            task_id=task.id, state=TaskState.IN_PROGRESS, reason=f"job {job.id} works on its issue"
        )


def _of_task(view: PortfolioView, task: Task) -> Iterator[Action]:
    job = view.job_of(task.space, task.issue_number)
    if job is None:
        yield from _without_job(view, task)
        return
    if job.id != task.job_id:
        yield NoteJob(job_id=job.id, task_id=task.id)
    if not job.is_over:
        return
    if job.state is JobState.COMPLETED:
        yield from _merged(view, task, job)
    else:
        why = ending_of(job.ending)
        yield from _ended(view, task, why, why, f"Job {job.id} worked on it, and {why}.")


def _without_job(view: PortfolioView, task: Task) -> Iterator[Action]:
    """Its issue is about to be opened or taken up, unless something is in the way."""
    if trouble := view.troubles.get(task.id):
        reason = plain_line(trouble, limit=300)
        yield from _ended(view, task, reason, "its issue could not be taken up", reason)
    elif task.space not in view.spaces:
        if task.initiative_id in view.by_id:
            yield ChangeTask(task_id=task.id, state=TaskState.PENDING, reason=NOT_MANAGED)
        else:
            yield ChangeTask(task_id=task.id, state=TaskState.CANCELLED, reason=NOT_MANAGED)


def _ended(view: PortfolioView, task: Task, reason: str, why: str, body: str) -> Iterator[Action]:
    """Nobody works on it any more: a person says what now. Of an initiative that has ended, it ends too."""
    if task.initiative_id not in view.by_id:
        reason = f"its initiative has ended, and {reason}"
        yield ChangeTask(task_id=task.id, state=TaskState.CANCELLED, reason=reason, is_failed=True)
        return
    yield ChangeTask(task_id=task.id, state=TaskState.PENDING, reason=reason, is_failed=True)
    if not view.is_asked(task.ref, but=Subject.STALE_TASK):
        yield _what_now(task, why, body)


def ending_of(name: str) -> str:
    """How a job ended, for people."""
    return _ENDED_BY.get(name, "its job ended without a merge")


def _merged(view: PortfolioView, task: Task, job: JobView) -> Iterator[Action]:
    """Merged work is done once it has notes, and something was said of each criterion."""
    notes = task.completion_notes or job.summary
    if notes.strip() and task.is_addressed:
        yield ChangeTask(task_id=task.id, state=TaskState.DONE, reason="its work was merged", notes=notes)
    elif not view.is_asked(task.ref, but=Subject.STALE_TASK):
        said = {item.number for item in task.addressed if item.evidence.strip()}
        left = [
            f"{number}. {plain_line(text, limit=300)}"
            for number, text in enumerate(task.acceptance_criteria, start=1)
            if number not in said
        ]
        body = f"Its work was merged by job {job.id}. Nothing was said of these acceptance criteria:\n\n"
        body += "\n".join(left)
        yield Ask(
            about=task.ref,
            space=task.space,
            subject=Subject.TASK_MERGED,
            kind=DecisionKind.APPROVAL,
            title=f"{task.ref} {plain_line(task.subject, limit=100)}: does the merged work do all of it?",
            body=body if left else f"Job {job.id} was merged, and nothing was written down of what it did.",
            verbs=(Verb.ACCEPT, Verb.ONE_MORE, Verb.DROP),
            blocks=f"task {task.ref}",
        )


def _what_now(task: Task, why: str, body: str) -> Ask:
    return Ask(
        about=task.ref,
        space=task.space,
        subject=Subject.TASK_ENDED,
        kind=DecisionKind.DECISION,
        title=f"{task.ref} {plain_line(task.subject, limit=100)}: {why}; what now?",
        body=f"{body}\n\nOther tasks go on.",
        verbs=(Verb.RETRY, Verb.DROP),
        blocks=f"task {task.ref}",
    )


def _of_lead(view: PortfolioView, initiative: Initiative) -> Iterator[Action]:
    if view.is_asked(initiative.ref):
        return
    if trouble := view.lead_troubles.get(initiative.id):
        yield from _planning_ended(initiative, plain_line(trouble, limit=300))
        return
    job = view.job_of(initiative.space, initiative.issue_number)
    if job is None:
        if initiative.space not in view.spaces:
            state = InitiativeState.QUEUED
            yield ChangeInitiative(initiative_id=initiative.id, state=state, reason=NOT_MANAGED)
        return
    if job.id != initiative.job_id:
        yield NoteJob(job_id=job.id, initiative_id=initiative.id)
    if job.is_over:
        yield from _planning_ended(initiative, f"Job {job.id} planned it, and {ending_of(job.ending)}.")


def _planning_ended(initiative: Initiative, why: str) -> Iterator[Action]:
    yield ChangeInitiative(
        initiative_id=initiative.id, state=InitiativeState.PAUSED, reason=f"its planning ended: {why}"
    )
    yield Ask(
        about=initiative.ref,
        space=initiative.space,
        subject=Subject.PLANNING_ENDED,
        kind=DecisionKind.DECISION,
        title=f"{initiative.ref} {plain_line(initiative.title, limit=100)}: its planning ended; what now?",
        body=why,
        verbs=(Verb.RETRY, Verb.DROP),
        blocks=f"initiative {initiative.ref}",
    )


def _of_tasks(view: PortfolioView, initiative: Initiative) -> Iterator[Action]:
    """All of its tasks have ended: so has the initiative."""
    ended = view.ended.get(initiative.id, frozenset())
    if not ended or initiative.replan or view.tasks_of.get(initiative.id):
        return
    is_done = TaskState.DONE in ended
    state = InitiativeState.DONE if is_done else InitiativeState.CANCELLED
    reason = "all of its tasks have ended" if is_done else "all of its tasks were cancelled"
    yield ChangeInitiative(initiative_id=initiative.id, state=state, reason=reason)
