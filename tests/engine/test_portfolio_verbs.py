"""What people do with initiatives and tasks, and what they are told when it cannot be done."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from overlord.domain.interface import Interface
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import TaskState
from overlord.domain.text.reference import InitiativeRef, TaskRef
from overlord.errors import Refused
from overlord.store.portfolio import initiatives, tasks
from overlord.verbs import portfolio
from overlord.verbs.verb import Context
from tests.portfolio_stage import PortfolioStage, made_portfolio
from tests.records import REPO, contract

S, T = InitiativeState, TaskState
I1, T1, T2 = InitiativeRef(number=1), TaskRef(initiative=1, number=1), TaskRef(initiative=1, number=2)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[PortfolioStage]:
    with made_portfolio(tmp_path) as found:
        yield found


def of(stage: PortfolioStage) -> Context:
    return Context(
        connection=stage.connection,
        current_settings=lambda: stage.settings,
        contract=lambda _space: contract(),
        interface=Interface.TERMINAL,
        at=stage.now,
        actor="cli:alice",
    )


def test_an_initiative_has_its_first_line_as_title_and_the_rest_as_goal(stage: PortfolioStage) -> None:
    done = portfolio.add_initiative(of(stage), REPO, "Faster start\n\nUnder half a second.\nMeasured.")
    made = initiatives.get(stage.connection, 1)
    assert done.text == f"Initiative i1 in {REPO}: it is planned next"
    assert (made.title, made.goal, made.state) == (
        "Faster start",
        "Under half a second.\nMeasured.",
        S.QUEUED,
    )


def test_a_task_has_lines_with_a_dash_as_criteria(stage: PortfolioStage) -> None:
    stage.initiative(paths=("src/**",))
    words = "Rotate refresh tokens\nThey live for a day.\n- old ones fail\n* [ ] it is tested\n"
    assert portfolio.add_task(of(stage), I1, words).text == "Task i1.1 is added, with 2 acceptance criteria."
    made = tasks.named(stage.connection, "i1.1")
    assert (made.subject, made.description) == ("Rotate refresh tokens", "They live for a day.")
    assert (made.acceptance_criteria, made.paths) == (("old ones fail", "it is tested"), ("src/**",))


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("priority urgent", "priority", Priority.URGENT),
        ("Paths: src/** docs/**", "paths", ("src/**", "docs/**")),
        ("title A new one", "title", "A new one"),
        ("budget $20", "nusd_budget", 20_000_000_000),
        ("budget 500000", "token_budget", 500_000),
    ],
)
def test_one_thing_of_an_initiative_is_changed(
    stage: PortfolioStage, words: str, field: str, value: object
) -> None:
    stage.initiative()
    portfolio.set_initiative(of(stage), I1, words)
    assert getattr(initiatives.get(stage.connection, 1), field) == value


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("priority low", "priority", Priority.LOW),
        ("labels a, b a", "labels", ("a", "b")),
        ("criterion it is fast", "acceptance_criteria", ("it works", "it is tested", "it is fast")),
        ("description Two\nlines", "description", "Two\nlines"),
        ("subject Another", "subject", "Another"),
    ],
)
def test_one_thing_of_a_task_is_changed(stage: PortfolioStage, words: str, field: str, value: object) -> None:
    stage.task(stage.initiative())
    portfolio.set_task(of(stage), T1, words)
    assert getattr(tasks.named(stage.connection, "i1.1"), field) == value


def test_a_task_that_waits_no_more_is_begun_at_once(stage: PortfolioStage) -> None:
    initiative = stage.initiative(issue_number=1)
    first, second = stage.task(initiative), stage.task(initiative)
    assert portfolio.set_task(of(stage), T2, "blocked-by 1").text == "i1.2 waits for i1.1."
    stage.settle()
    assert (stage.state(first), stage.state(second)) == (T.IN_PROGRESS, T.PENDING)
    assert portfolio.set_task(of(stage), T2, "blocked-by").text == "i1.2 waits for no other task."
    stage.settle()
    assert stage.state(second) is T.IN_PROGRESS


def test_an_initiative_rests_goes_on_and_is_given_up(stage: PortfolioStage) -> None:
    task = stage.task(stage.initiative(issue_number=1))
    portfolio.pause_initiative(of(stage), I1, "a release")
    stage.settle()
    assert stage.again(task).waits == "its initiative is paused"
    portfolio.resume_initiative(of(stage), I1)
    stage.settle()
    assert stage.state(task) is T.IN_PROGRESS
    other = stage.task(initiatives.get(stage.connection, 1))
    done = portfolio.cancel_initiative(of(stage), I1, "nobody needs it")
    assert done.text == "i1 is given up. What is worked on goes on to its end: i1.1."
    assert (stage.state(task), stage.state(other)) == (T.IN_PROGRESS, T.CANCELLED)


def test_who_finishes_a_task_says_so_of_each_criterion(stage: PortfolioStage) -> None:
    task = stage.task(stage.initiative(state=S.PAUSED))
    assert portfolio.finish_task(of(stage), T1, "By hand.").text == "i1.1 is done."
    found = stage.again(task)
    assert (found.state, found.completion_notes, found.is_addressed) == (T.DONE, "By hand.", True)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda c: portfolio.add_initiative(c, REPO, "  "), "say what is wanted, in a line"),
        (lambda c: portfolio.add_initiative(c, REPO, "x" * 201), "has at most 200 characters; this has 201"),
        (lambda c: portfolio.set_initiative(c, I1, "colour red"), "say what is to change: priority, budget,"),
        (lambda c: portfolio.set_initiative(c, I1, "priority soon"), "one of urgent, high, normal, low"),
        (lambda c: portfolio.set_initiative(c, I1, "budget much"), "a budget is dollars as"),
        (lambda c: portfolio.set_initiative(c, I1, "paths ../x"), "paths are patterns as a scope has them"),
        (lambda c: portfolio.set_initiative(c, I1, "title"), "say the new title"),
        (lambda c: portfolio.resume_initiative(c, I1), "i1 does not rest: it is active"),
        (lambda c: portfolio.set_task(c, T1, "subject"), "say what the task is called"),
        (lambda c: portfolio.set_task(c, T1, "criterion"), "say the acceptance criterion"),
        (lambda c: portfolio.set_task(c, T1, f"labels {' '.join(map(str, range(11)))}"), "at most 10 labels"),
        (lambda c: portfolio.set_task(c, T1, "blocked-by i1.1"), "in a circle: i1.1 waits for i1.1"),
        (lambda c: portfolio.finish_task(c, T1, " "), "a task is done with notes alone"),
        (lambda c: portfolio.add_task(c, I1, "x\n" + "- y\n" * 21), "at most 20 acceptance criteria"),
        (lambda c: portfolio.add_task(c, I1, "x\n- " + "y" * 501), "at most 500 characters"),
    ],
)
def test_what_cannot_be_done_is_said(
    stage: PortfolioStage, act: Callable[[Context], object], said: str
) -> None:
    stage.task(stage.initiative())
    with pytest.raises(Refused) as refused:
        act(of(stage))
    assert said in str(refused.value)


def test_what_a_job_works_on_and_what_has_ended_is_left(stage: PortfolioStage) -> None:
    task = stage.task(stage.initiative(issue_number=1))
    stage.settle()
    for act in (portfolio.finish_task, portfolio.cancel_task):
        with pytest.raises(Refused, match=r"job 1 works on i1\.1"):
            act(of(stage), T1, "x")
    stage.merges(task)
    stage.settle()
    with pytest.raises(Refused, match=r"i1\.1 has ended: it is done"):
        portfolio.set_task(of(stage), T1, "priority low")
    with pytest.raises(Refused, match="i1 has ended: it is done"):
        portfolio.add_task(of(stage), I1, "x")


def test_an_initiative_has_so_many_tasks_at_most(tmp_path: Path) -> None:
    text = "repositories: [acme/calc]\nportfolio: {schedule: off, most_tasks: 1}\n"
    with made_portfolio(tmp_path, text) as stage:
        stage.task(stage.initiative())
        with pytest.raises(Refused, match="i1 has 1 task, and 1 is the most of one initiative"):
            portfolio.add_task(of(stage), I1, "x")


def test_what_is_only_proposed_does_not_rest(stage: PortfolioStage) -> None:
    stage.initiative(state=S.PROPOSED)
    with pytest.raises(Refused, match="i1 is only proposed"):
        portfolio.pause_initiative(of(stage), I1, "")
