"""The job that is to be mended: which one it is, and what it tells those who mend it."""

import sqlite3

from overlord.domain.conversation.pull_card import Story, state_in_words
from overlord.domain.decision import Decision, Subject
from overlord.domain.job import TERMINAL, Job, JobState
from overlord.domain.text.plain import plain_line, visible
from overlord.engine.evaluation import trial
from overlord.entrypoints.local.documents import Document
from overlord.errors import NotFound, Refused
from overlord.store import decisions, jobs
from overlord.store.contracts import role_notes
from overlord.store.conversation import steering

SPENT = frozenset(
    {Subject.ESCALATION, Subject.EXHAUSTED, Subject.FAILED, Subject.CHANGED_TESTS, Subject.SCOPE}
)
"""What a job waits for whose attempts did not lead to good work."""
_FAILED = frozenset({JobState.FAILED, JobState.CANCELLED})
_MOST_CHECKS, _MOST_CHARS = 20, 20_000


def find(connection: sqlite3.Connection, space: str, number: int | None) -> Job:
    """The job of this number, or the last that failed. Raises NotFound, and Refused for one that did not fail."""
    if number is not None:
        job = jobs.get(connection, number)
        if job.space != space or job.issue.number <= trial.ISSUE_NUMBER:
            raise NotFound(f"there is no job {number} of this repository")
        _check_failed(connection, job)
        return job
    for job in jobs.all_jobs(connection):
        is_here = job.space == space and job.issue.number > trial.ISSUE_NUMBER
        if is_here and not jobs.is_succeeded(connection, job) and _has_failed(connection, job):
            return job
    raise NotFound("no job has failed here; name one, or give --file with a report")


def _has_failed(connection: sqlite3.Connection, job: Job) -> bool:
    return job.state in _FAILED or any(
        item.subject in SPENT for item in decisions.waiting(connection, job.id)
    )


def _check_failed(connection: sqlite3.Connection, job: Job) -> None:
    if _has_failed(connection, job):
        return
    run = job.issue.number
    if job.state is JobState.WAITING:
        raise Refused(
            f"job {job.id} did not fail: it waits for an answer; `overlord resume {run}` asks again"
        )
    if job.state is JobState.IN_REVIEW or job.state in TERMINAL:
        raise Refused(f"job {job.id} did not fail: it passed; `overlord retry {run}` does it once more")
    raise Refused(f"job {job.id} did not fail: it is under way; `overlord resume {run}` goes on with it")


def title_of(job: Job) -> str:
    """What the mending is called."""
    return f"Fix: {plain_line(job.issue.title, limit=200).removeprefix('Fix: ')}"


def report_of(connection: sqlite3.Connection, story: Story) -> tuple[Document, ...]:
    """What was wanted, what failed, and what people said, each as a document. Untrusted: models and repositories had their word."""
    job = story.job
    wanted = "\n\n".join(filter(None, (job.issue.title, job.issue.body)))
    found = [
        Document(name="What was wanted", text=visible(wanted)[:_MOST_CHARS]),
        Document(name="What failed", text=_failure(story)[:_MOST_CHARS]),
    ]
    if said := _said(connection, story):
        found.append(Document(name="What people said", text=said[:_MOST_CHARS]))
    return tuple(found)


def _failure(story: Story) -> str:
    job = story.job
    lines = [
        f"Job {job.id} {state_in_words(job.state)} in phase {job.phase}, role {job.role or '(none yet)'}."
    ]
    lines += [f"Why: {job.reason}"] if job.reason else []
    for check in story.evaluations[-1].checks[:_MOST_CHECKS] if story.evaluations else ():
        lines.append(f"{check.name}: {check.score or 'not made'}: {check.summary}")
    if story.evaluations and (feedback := story.evaluations[-1].feedback):
        lines += ["", feedback]
    lines += [f"\nIt asks: {item.title}\n{item.body}" for item in story.decisions]
    lines += [f"\nThe last session says: {story.summary}"] if story.summary else []
    return visible("\n".join(lines))


def _said(connection: sqlite3.Connection, story: Story) -> str:
    lines = [_answer(item) for item in story.answered if item.answer]
    lines += [f"{item.actor}: {item.text}" for item in steering.of_job(connection, story.job.id)]
    lines += [
        f"{item.source} ({item.kind}): {item.text}" for item in role_notes.of_job(connection, story.job.id)
    ]
    return visible("\n".join(lines))


def _answer(item: Decision) -> str:
    return f"{item.answered_by}, asked “{item.title}”: {item.answer}"
