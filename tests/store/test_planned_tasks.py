"""What an approved plan makes of tasks that were there before: what was shown, and what a person changed meanwhile stays."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest

from minion.protocol import PlannedTask
from overlord.domain.decision import Decision, DecisionKind, DecisionState, Subject, Verb
from overlord.domain.job import Job
from overlord.domain.portfolio import discovered
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.plan import PlanFound
from overlord.domain.portfolio.plan_draft import PlanDraft, PlanLine
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import Task, TaskState
from overlord.store import decisions
from overlord.store.portfolio import initiatives, issue_work, plan_drafts, tasks
from overlord.store.portfolio.issue_work import Link
from overlord.store.schema.migrations import migrate
from tests import stored
from tests.leading import TEXT
from tests.portfolio_views import a_task, an_initiative
from tests.records import NOW, REPO, later


@pytest.fixture
def store() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        migrate(connection)
        yield connection


@pytest.fixture
def job(store: sqlite3.Connection) -> Job:
    """A lead's, of the first initiative."""
    job = stored.claim(store)
    an_added(store, 1, issue_number=job.issue.number)
    return job


def an_added(store: sqlite3.Connection, number: int, **given: Any) -> Initiative:
    common = {"slug": "", "key": f"key {number}", "state": InitiativeState.QUEUED}
    made = initiatives.add(store, an_initiative(0, **common, **given))
    assert made is not None
    return made


def added(store: sqlite3.Connection, many: int, **given: Any) -> list[Task]:
    rows = (a_task(0, subject=f"Do part {number}", **given) for number in range(1, many + 1))
    return [tasks.add(store, row) for row in rows]


def listed(task: Task, **given: Any) -> PlannedTask:
    """A task of a plan that says what the one there says."""
    values = {"subject": task.subject, "acceptance_criteria": task.acceptance_criteria, "task": task.number}
    return PlannedTask(**{**values, **given})


def proposed(store: sqlite3.Connection, job: Job, *planned: PlannedTask) -> PlanDraft:
    found = PlanFound(text=TEXT, tasks=planned, still_holds=False, problems=())
    return plan_drafts.keep(store, job.id, found, session_id="s", at=later(60))


def approved(store: sqlite3.Connection, draft: PlanDraft, **given: Any) -> tuple[PlanLine, ...]:
    """What was shown of it at last."""
    shown = plan_drafts.lines_of(store, draft)
    plan_drafts.accept(store, draft, actor="cli:ada", at=later(120), **given)
    return shown


def waits(store: sqlite3.Connection, task: Task) -> Sequence[str]:
    rows = [row.blocker_id for row in tasks.links(store, task.initiative_id) if row.blocked_id == task.id]
    return [tasks.get(store, row).ref for row in rows]


def asked_about(store: sqlite3.Connection, task: Task) -> Decision:
    question = Decision(
        id=0,
        job_id=None,
        kind=DecisionKind.DECISION,
        subject=Subject.TASK_ENDED,
        title="What now?",
        body="",
        verbs=(Verb.RETRY, Verb.DROP),
        blocks=f"task {task.ref}",
        created_at=NOW,
        space=REPO,
        about=task.ref,
    )
    return decisions.raise_decision(store, question)


def test_what_a_task_waits_for_in_another_initiative_is_kept(store: sqlite3.Connection, job: Job) -> None:
    one, two = added(store, 2)
    other = tasks.add(store, a_task(0, initiative_id=an_added(store, 2).id))
    tasks.link(store, two, [other], at=NOW)
    approved(store, proposed(store, job, listed(one), listed(two, blocked_by=(1,))))
    assert waits(store, two) == ["i1.1", "i2.1"]


def test_what_a_new_task_waits_for_in_another_initiative_outlasts_the_next_proposal(
    store: sqlite3.Connection, job: Job
) -> None:
    new = PlannedTask(subject="New", acceptance_criteria=("it is there",))
    proposed(store, job, new)
    [row] = tasks.of_initiative(store, 1)
    other = tasks.add(store, a_task(0, initiative_id=an_added(store, 2).id))
    tasks.link(store, row, [other], at=NOW)
    proposed(store, job, new)
    assert waits(store, row) == ["i2.1"]


def test_what_a_person_says_a_task_waits_for_while_a_plan_waits_stands(
    store: sqlite3.Connection, job: Job
) -> None:
    one, two, three = added(store, 3)
    draft = proposed(store, job, listed(one), listed(two), listed(three, blocked_by=(2,)))
    before = plan_drafts.lines_of(store, draft)
    tasks.link(store, three, [one], at=later(90), actor="cli:ada")
    shown = approved(store, draft)
    assert shown != before, "who approves is asked anew"
    assert {line.number: line.waits_for for line in shown}[3] == (1,)
    assert waits(store, three) == ["i1.1"]


def test_a_task_that_a_person_changed_keeps_what_it_waits_for(store: sqlite3.Connection, job: Job) -> None:
    one, two = added(store, 2)
    draft = proposed(store, job, listed(one), listed(two, blocked_by=(1,)))
    tasks.change(store, two.id, at=later(90), actor="cli:ada", priority=Priority.HIGH)
    shown = approved(store, draft)
    assert [line.waits_for for line in shown] == [(), ()]
    assert waits(store, two) == []


def test_what_waited_for_a_task_that_is_proposed_no_more_is_no_persons_change(
    store: sqlite3.Connection, job: Job
) -> None:
    [one] = added(store, 1)
    proposed(store, job, listed(one), PlannedTask(subject="New", acceptance_criteria=("it is there",)))
    tasks.link(store, one, [tasks.named(store, "i1.2")], at=NOW)
    approved(store, proposed(store, job, listed(one, description="More of it.")))
    assert tasks.get(store, one.id).description == "More of it."


def discovered_task(store: sqlite3.Connection) -> tuple[Task, Decision]:
    task = tasks.add(store, a_task(0, state=TaskState.PROPOSED, subject="Found"))
    question = discovered.question(initiatives.get(store, 1), task, is_within=True, at=NOW)
    return task, decisions.raise_decision(store, question)


def test_work_that_a_session_came_upon_becomes_what_the_plan_says(
    store: sqlite3.Connection, job: Job
) -> None:
    [one] = added(store, 1)
    found, asked = discovered_task(store)
    wanted = listed(found, description="More of it.", paths=("docs/**",), blocked_by=(1,))
    shown = approved(store, proposed(store, job, listed(one), wanted))
    [line] = [line for line in shown if line.number == found.number]
    assert (line.is_, line.description, line.waits_for) == ("new", "More of it.", (1,))
    now = tasks.get(store, found.id)
    assert (now.state, now.description, now.paths) == (TaskState.PENDING, "More of it.", ("docs/**",))
    assert waits(store, now) == ["i1.1"]
    assert decisions.get(store, asked.id).state is DecisionState.SUPERSEDED


def test_what_others_are_asked_of_work_that_a_session_came_upon_is_what_the_plan_says(
    store: sqlite3.Connection, job: Job
) -> None:
    found, first = discovered_task(store)
    approved(store, proposed(store, job, listed(found, description="More of it.")), elsewhere={REPO})
    [asked] = decisions.waiting(store)
    assert asked.id != first.id
    assert "More of it." in asked.body
    assert tasks.get(store, found.id).description == "More of it."


def test_what_was_asked_about_a_task_that_is_left_out_needs_no_answer(
    store: sqlite3.Connection, job: Job
) -> None:
    one, two, three = added(store, 3)
    tasks.link(store, two, [one], at=NOW)
    tasks.link(store, one, [three], at=NOW)
    link = Link(blocker_id=one.id, blocked_id=two.id)
    issue_work.mark_said(store, link)
    asked = asked_about(store, one)
    approved(store, proposed(store, job, listed(two, blocked_by=()), listed(three)))
    assert tasks.get(store, one.id).state is TaskState.CANCELLED
    assert decisions.get(store, asked.id).state is DecisionState.SUPERSEDED
    assert waits(store, two) == []
    assert issue_work.unsaid_unlinked(store) == [link], "the forge is still to be told"
    assert waits(store, one) == ["i1.3"], "somebody may open its issue again"
    assert initiatives.get(store, 1).state is InitiativeState.ACTIVE
