"""Cycles over the real store: what is begun, what became of it, and that nothing is done twice."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from overlord.domain.decision import Audience, Subject, Verb
from overlord.domain.event import EventName, LedgerEvent
from overlord.domain.job import JobState
from overlord.domain.knowledge.note import Note, NoteKind, NoteSource, NoteState
from overlord.domain.person import Person
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.task import Task, TaskState
from overlord.engine.portfolio import opened_issue
from overlord.store import decisions, jobs, ledger
from overlord.store.bootstrap import issue_requests
from overlord.store.knowledge import notes
from overlord.store.portfolio import cycles, endings, initiatives, tasks
from overlord.store.spaces import pauses, work_requests
from overlord.verbs.commands import pause_work, resume_work, work_on
from tests.portfolio_stage import PortfolioStage, made_portfolio, rows, settings_of
from tests.records import NOW, REPO

S, T = InitiativeState, TaskState


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[PortfolioStage]:
    with made_portfolio(tmp_path) as found:
        yield found


def going(stage: PortfolioStage) -> Task:
    """A task whose job is at work."""
    task = stage.task(stage.initiative(issue_number=1))
    stage.settle()
    assert stage.state(task) is T.IN_PROGRESS
    return task


# A task's way


def test_a_task_becomes_one_issue_and_one_job_and_is_done_once_it_is_merged(stage: PortfolioStage) -> None:
    initiative = stage.initiative(issue_number=1)
    task = stage.task(initiative)
    assert stage.cycle().summary == "assigned i1.1"
    [asked] = issue_requests.unopened(stage.connection)
    assert (asked.title, asked.options.task) == ("Do part 0", task.id)
    stage.settle()
    assert stage.again(task).job_id == stage.job(task).id
    stage.merges(task)
    stage.settle()
    assert stage.state(task) is T.DONE
    assert initiatives.get(stage.connection, initiative.id).state is S.DONE
    assert stage.issues[1] is False, "the initiative's issue is closed with it"
    assert len(jobs.all_jobs(stage.connection)) == 1


def test_nothing_changed_is_nothing_done(stage: PortfolioStage) -> None:
    going(stage)
    before = rows(stage.connection)
    for _ in range(3):
        assert stage.cycle().acts == 0
    assert rows(stage.connection) == before


def test_news_that_changes_nothing_adds_no_row(stage: PortfolioStage) -> None:
    going(stage)
    before = rows(stage.connection)
    event = LedgerEvent(name=EventName.SETTINGS_CHANGED, at=stage.now, data={})
    ledger.append(stage.connection, event)
    stage.cycle()
    after = rows(stage.connection)
    changed = {name for name in after if after[name] != before[name]}
    assert changed <= {"ledger", "totals", "portfolio_cycles"}
    assert len(after["portfolio_cycles"]) == len(before["portfolio_cycles"])
    assert stage.cycle().acts == 0 and rows(stage.connection) == after


def test_a_changed_setting_is_something_changed(stage: PortfolioStage, tmp_path: Path) -> None:
    text = "repositories: [acme/calc]\nautonomy: proactive\nportfolio: {schedule: off}\ndelivery: {open_pulls: 1}\n"
    stage.settings = settings_of(tmp_path, text)
    initiative = stage.initiative()
    first, second = stage.task(initiative), stage.task(initiative)
    stage.settle()
    assert stage.again(second).waits == f"waits for one of 1 open pull request of {REPO}"
    stage.settings = settings_of(tmp_path, text.replace("open_pulls: 1", "open_pulls: 2"))
    event = LedgerEvent(name=EventName.SETTINGS_CHANGED, at=stage.now, data={})
    ledger.append(stage.connection, event)
    stage.settle()
    assert stage.state(first) is stage.state(second) is T.IN_PROGRESS


def test_merged_work_of_which_nothing_was_said_is_not_done_again_while_a_person_is_asked(
    stage: PortfolioStage,
) -> None:
    task = going(stage)
    stage.merges(task, is_told=False)
    stage.settle()
    [asked] = stage.asked()
    assert asked.subject is Subject.TASK_MERGED
    assert stage.issues[stage.again(task).issue_number or 0] is False, "it stays closed"
    assert len(jobs.all_jobs(stage.connection)) == 1
    stage.answers(Verb.ACCEPT, "i1.1")
    stage.settle()
    assert stage.state(task) is T.DONE and stage.again(task).is_addressed


def test_merged_work_that_does_not_do_all_of_it_is_worked_on_again_at_the_same_issue(
    stage: PortfolioStage,
) -> None:
    task = going(stage)
    number = stage.again(task).issue_number
    stage.merges(task, is_told=False)
    stage.settle()
    stage.answers(Verb.ONE_MORE, "i1.1")
    stage.settle()
    again = stage.again(task)
    assert (again.state, again.issue_number, again.attempts) == (T.IN_PROGRESS, number, 1)
    assert stage.issues[number or 0] is True, "its issue was opened again"
    stage.merges(task)
    stage.settle()
    assert stage.state(task) is T.DONE and len(jobs.all_jobs(stage.connection)) == 2


def test_merged_work_may_be_given_up_all_the_same(stage: PortfolioStage) -> None:
    task = going(stage)
    stage.merges(task, is_told=False)
    stage.settle()
    stage.answers(Verb.DROP, "i1.1")
    stage.settle()
    assert stage.state(task) is T.CANCELLED
    assert stage.asked() == []


@pytest.mark.parametrize("event", [EventName.STOPPED, EventName.DROPPED, EventName.LIFETIME_EXCEEDED])
def test_a_job_without_a_merge_is_asked_about_and_tried_again_at_the_same_issue(
    stage: PortfolioStage, event: EventName
) -> None:
    task = going(stage)
    number = stage.again(task).issue_number
    stage.ends(task, event)
    stage.settle()
    assert stage.state(task) is T.PENDING
    assert stage.again(task).waits == "waits for a person's answer about it"
    stage.answers(Verb.RETRY, "i1.1")
    stage.settle()
    assert (stage.state(task), stage.again(task).issue_number) == (T.IN_PROGRESS, number)
    assert len(stage.issues) == 1 and len(jobs.all_jobs(stage.connection)) == 2


def test_a_task_that_is_given_up_after_its_job_is_closed_as_not_planned(stage: PortfolioStage) -> None:
    task = going(stage)
    stage.ends(task)
    stage.settle()
    stage.answers(Verb.DROP, "i1.1")
    stage.settle()
    assert stage.state(task) is T.CANCELLED
    assert stage.issues == {101: False, 1: False}


def test_a_waiting_job_frees_its_place_for_the_next_task(tmp_path: Path) -> None:
    text = "repositories: [acme/calc]\nportfolio: {schedule: off}\ndelivery: {open_pulls: 1}\n"
    with made_portfolio(tmp_path, text) as stage:
        initiative = stage.initiative()
        first, second = stage.task(initiative), stage.task(initiative)
        stage.settle()
        assert (stage.state(first), stage.state(second)) == (T.IN_PROGRESS, T.PENDING)
        stage.waits(first)
        stage.settle()
        assert (stage.state(first), stage.state(second)) == (T.IN_PROGRESS, T.IN_PROGRESS)


def test_an_issue_that_could_not_be_opened_is_asked_about_and_opened_once_it_can(
    stage: PortfolioStage,
) -> None:
    task = stage.task(stage.initiative())
    stage.cycle()
    [request] = issue_requests.unopened(stage.connection)
    opened_issue.refused(stage.connection, request, "issues are turned off there.", at=stage.now)
    stage.settle()
    [asked] = stage.asked()
    assert (stage.state(task), asked.body.splitlines()[0]) == (T.PENDING, "issues are turned off there")
    stage.answers(Verb.RETRY, "i1.1")
    stage.settle()
    assert stage.state(task) is T.IN_PROGRESS and len(stage.issues) == 1


def test_a_request_for_work_that_is_refused_is_asked_about_and_not_over_and_over(
    stage: PortfolioStage,
) -> None:
    task = stage.task(stage.initiative())
    stage.cycle()
    [request] = issue_requests.unopened(stage.connection)
    issue_requests.opened(stage.connection, request.id, issue_number=101, at=stage.now)
    tasks.change(stage.connection, task.id, at=stage.now, issue_number=101)
    stage.issues[101] = True
    wish = work_on(stage.connection, REPO, 101, actor="overlord", at=stage.now)
    stage.refuse(wish.id, "It was edited.")
    stage.settle()
    assert [item.subject for item in stage.asked()] == [Subject.TASK_ENDED]
    stage.answers(Verb.RETRY, "i1.1")
    stage.settle()
    assert stage.state(task) is T.IN_PROGRESS and stage.asked() == []


# People at the forge


@pytest.mark.parametrize(("reason", "state"), [("completed", T.DONE), ("not_planned", T.CANCELLED)])
@pytest.mark.parametrize("is_begun", [True, False])
def test_an_issue_that_a_person_closes_ends_its_task(
    stage: PortfolioStage, reason: str, state: TaskState, is_begun: bool
) -> None:
    task = going(stage)
    if not is_begun:
        stage.ends(task)
        stage.settle()
    stage.closed(stage.again(task).issue_number or 0, reason)  # type: ignore[arg-type]
    stage.settle()
    assert stage.state(task) is state and stage.asked() == []


def test_an_issue_that_a_person_opens_again_is_worked_on_again(stage: PortfolioStage) -> None:
    task = going(stage)
    stage.merges(task)
    stage.settle()
    number = stage.again(task).issue_number or 0
    stage.reopened(number)
    stage.settle()
    again = stage.again(task)
    assert (again.state, again.completed_at, again.addressed) == (T.IN_PROGRESS, None, ())
    assert initiatives.get(stage.connection, 1).state is S.ACTIVE
    assert stage.job(task).issue.number == number


def test_an_initiatives_issue_that_a_person_opens_again_is_looked_at_anew(stage: PortfolioStage) -> None:
    task = going(stage)
    stage.merges(task)
    stage.settle()
    stage.reopened(1)
    found = initiatives.get(stage.connection, 1)
    assert (found.state, found.replan, found.completed_at) == (S.ACTIVE, "its issue was opened again", None)
    stage.settle()
    assert initiatives.get(stage.connection, 1).state is S.PLANNING and stage.issues[1] is True


def test_an_initiatives_issue_that_a_person_closes_ends_what_nobody_works_on(stage: PortfolioStage) -> None:
    task = going(stage)
    other = stage.task(initiatives.get(stage.connection, 1))
    tasks.link(stage.connection, other, [task], at=stage.now)
    stage.settle()
    stage.closed(1, "not_planned")
    stage.settle()
    assert (stage.state(task), stage.state(other)) == (T.IN_PROGRESS, T.CANCELLED)
    stage.merges(task)
    stage.settle()
    assert stage.state(task) is T.DONE


def test_a_person_may_have_a_tasks_issue_worked_on_before_its_turn(stage: PortfolioStage) -> None:
    task = going(stage)
    stage.ends(task)
    stage.settle()
    stage.labelled(stage.again(task).issue_number or 0)
    stage.settle()
    assert (stage.state(task), stage.asked()) == (T.IN_PROGRESS, [])
    stage.merges(task)
    stage.settle()
    assert stage.state(task) is T.DONE and len(jobs.all_jobs(stage.connection)) == 2


# Initiatives that end early, repositories that go


def test_a_task_that_is_worked_on_ends_by_itself_after_its_initiative(stage: PortfolioStage) -> None:
    task = going(stage)
    given_up = initiatives.change(stage.connection, 1, at=stage.now, state=S.CANCELLED)
    endings.end_initiative(stage.connection, given_up, at=stage.now, actor="cli:alice")
    stage.settle()
    assert stage.state(task) is T.IN_PROGRESS
    stage.ends(task)
    stage.settle()
    assert (stage.state(task), stage.asked()) == (T.CANCELLED, [])


def test_a_task_that_is_given_up_while_its_issue_is_opened_is_not_worked_on(stage: PortfolioStage) -> None:
    task = stage.task(stage.initiative())
    stage.cycle()
    [request] = issue_requests.unopened(stage.connection)
    ended = tasks.change(stage.connection, task.id, at=stage.now, state=T.CANCELLED)
    endings.end_task(stage.connection, ended, at=stage.now)
    assert issue_requests.unopened(stage.connection) == []
    assert not opened_issue.note(stage.connection, request, 101, at=stage.now), (
        "it was on its way to the forge"
    )
    assert "i1.1" in stage.closes()
    assert jobs.all_jobs(stage.connection) == []


def test_a_task_that_is_given_up_before_its_issue_is_taken_up_is_not_worked_on(stage: PortfolioStage) -> None:
    task = stage.task(stage.initiative())
    tasks.change(stage.connection, task.id, at=stage.now, state=T.IN_PROGRESS, issue_number=101)
    work_on(stage.connection, REPO, 101, actor="overlord", at=stage.now)
    ended = tasks.change(stage.connection, task.id, at=stage.now, state=T.CANCELLED)
    endings.end_task(stage.connection, ended, at=stage.now)
    assert work_requests.waiting(stage.connection) == []


def test_tasks_of_a_repository_that_is_taken_out_wait_and_go_on_once_it_is_back(
    stage: PortfolioStage, tmp_path: Path
) -> None:
    task = stage.task(stage.initiative())
    stage.cycle()
    here = stage.settings
    stage.settings = settings_of(tmp_path, "repositories: [acme/other]\nportfolio: {schedule: off}\n")
    event = LedgerEvent(name=EventName.SPACE_REMOVED, at=stage.now, data={"space": REPO})
    ledger.append(stage.connection, event)
    for _ in range(3):
        stage.cycle()
    again = stage.again(task)
    assert (again.state, again.waits) == (T.PENDING, "its repository is not managed by Overlord any more")
    stage.settings = here
    ledger.append(stage.connection, LedgerEvent(name=EventName.SPACE_ADDED, at=stage.now, data={}))
    stage.settle()
    assert stage.state(task) is T.IN_PROGRESS and len(stage.issues) == 1


def test_one_initiative_that_cannot_be_planned_keeps_nothing_else(stage: PortfolioStage) -> None:
    """Its issue is worked on already: somebody labelled it."""
    stage.labelled(1)
    rests = stage.initiative(state=S.QUEUED, issue_number=1)
    task = stage.task(stage.initiative(issue_number=2))
    stage.settle()
    assert initiatives.get(stage.connection, rests.id).state is S.PLANNING
    assert stage.state(task) is T.IN_PROGRESS


def test_a_pause_keeps_everything_and_says_so(stage: PortfolioStage) -> None:
    task = stage.task(stage.initiative())
    pause_work(stage.connection, REPO, actor="cli:alice", reason="a release", at=stage.now)
    stage.settle()
    assert stage.state(task) is T.PENDING and "a release" in stage.again(task).waits
    assert pauses.of(stage.connection, REPO) is not None
    resume_work(stage.connection, REPO, actor="cli:alice", at=stage.now)
    stage.settle()
    assert stage.state(task) is T.IN_PROGRESS


# Cycles


def test_what_a_cycle_leaves_the_next_one_does(stage: PortfolioStage) -> None:
    assert cycles.last(stage.connection) is None
    stage.cycle()
    assert cycles.asked(stage.connection) is None
    cycles.ask(stage.connection, trigger="person", actor="cli:alice", at=stage.now)
    cycles.ask(stage.connection, trigger="person", actor="cli:bob", at=stage.now)
    stage.cycle()
    assert cycles.asked(stage.connection) is None
    found = cycles.last(stage.connection)
    assert found is not None and found.actor == "cli:alice", "one that waits is enough for both"


def test_what_waits_for_a_person_frees_nothing_that_has_a_pull_request(tmp_path: Path) -> None:
    text = "repositories: [acme/calc]\nportfolio: {schedule: off}\ndelivery: {open_pulls: 1}\n"
    with made_portfolio(tmp_path, text) as stage:
        initiative = stage.initiative()
        first, second = stage.task(initiative), stage.task(initiative)
        stage.settle()
        job = stage.job(first)
        stage.waits(first)
        jobs.repair(stage.connection, job.id, pull_number=5)
        stage.settle()
        assert stage.job(first).state is JobState.WAITING
        assert stage.state(second) is T.PENDING


def a_decision_note(space: str, text: str, question: str) -> Note:
    return Note(
        id=0,
        space=space,
        kind=NoteKind.DECISION,
        text=text,
        question=question,
        state=NoteState.ACTIVE,
        source=NoteSource(),
        actor="slack:U1",
        created_at=NOW,
        updated_at=NOW,
    )


def test_a_persons_word_takes_the_place_of_notes_that_contradict_each_other(stage: PortfolioStage) -> None:
    question = "Which cache do we use?"
    for space, text in ((REPO, f"{question} Redis."), ("", f"{question} Memcached.")):
        notes.add(stage.connection, a_decision_note(space, text, question))
    stage.initiative(issue_number=1)
    stage.cycle()
    [asked] = [item for item in decisions.inbox(stage.connection) if item.subject is Subject.CONFLICT]
    answered = decisions.answer(
        stage.connection,
        asked.id,
        digest=asked.digest,
        verb=Verb.REPLY,
        text="Redis everywhere.",
        actor="slack:U1",
        at=NOW,
        by=Person.of("slack:U1"),
    )
    assert (asked.space, asked.audience) == ("", Audience.APPROVER), "it counts in all repositories"
    assert answered.about == "n1 n2"
    stage.cycle()
    [left] = notes.of_state(stage.connection, NoteState.ACTIVE)
    assert (left.text, left.space, left.question) == ("Redis everywhere.", "", question)
    assert not stage.cycle().acts


def test_a_clock_that_is_set_back_hides_no_change(stage: PortfolioStage) -> None:
    initiative = stage.initiative(issue_number=1, state=S.PAUSED)
    task = stage.task(initiative)
    stage.settle()
    stage.now -= timedelta(hours=1)
    initiatives.change(stage.connection, initiative.id, at=stage.now, state=S.ACTIVE)
    stage.settle()
    assert stage.state(task) is T.IN_PROGRESS


def test_an_initiative_that_is_given_up_takes_its_planning_with_it(stage: PortfolioStage) -> None:
    initiative = stage.initiative(state=S.QUEUED)
    stage.settle()
    planned = initiatives.get(stage.connection, initiative.id)
    job = jobs.live_for(stage.connection, planned.space, planned.issue_number or 0)
    assert job is not None, "a lead plans it"
    ended = initiatives.change(stage.connection, initiative.id, at=stage.now, state=S.CANCELLED)
    endings.end_initiative(stage.connection, ended, at=stage.now, actor="cli:alice")
    assert jobs.get(stage.connection, job.id).state is JobState.CANCELLED
