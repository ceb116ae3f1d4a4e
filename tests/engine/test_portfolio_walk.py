"""No silent stuck state: whatever people and jobs do, each unfinished task is worked on, can be begun, or says why not."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.task import Task, TaskState
from overlord.errors import Refused
from overlord.store import jobs
from overlord.store.portfolio import endings, initiatives, tasks
from overlord.store.spaces import work_requests
from overlord.verbs.commands import pause_work, resume_work
from tests.portfolio_stage import PortfolioStage, made_portfolio
from tests.records import REPO

S, T = InitiativeState, TaskState
Move = Callable[[PortfolioStage, random.Random], None]
ENDS = (EventName.STOPPED, EventName.DROPPED, EventName.LIFETIME_EXCEEDED, EventName.UNLABELLED)


def some(stage: PortfolioStage, chance: random.Random, *states: TaskState) -> Task | None:
    found = tasks.of_states(stage.connection, states)
    return chance.choice(found) if found else None


def working(stage: PortfolioStage, chance: random.Random) -> Task | None:
    found = [
        task
        for task in tasks.of_states(stage.connection, [T.IN_PROGRESS])
        if task.issue_number and jobs.live_for(stage.connection, task.space, task.issue_number)
    ]
    return chance.choice(found) if found else None


def merge(stage: PortfolioStage, chance: random.Random) -> None:
    task = working(stage, chance)
    if task is not None and stage.job(task).state is JobState.QUEUED:
        stage.merges(task, is_told=chance.random() < 0.5)


def end(stage: PortfolioStage, chance: random.Random) -> None:
    if (task := working(stage, chance)) is not None:
        stage.ends(task, chance.choice(ENDS))


def wait(stage: PortfolioStage, chance: random.Random) -> None:
    if (task := working(stage, chance)) is not None:
        stage.waits(task)


def answer(stage: PortfolioStage, chance: random.Random) -> None:
    if asked := stage.asked():
        decision = chance.choice(asked)
        stage.answers(chance.choice(decision.verbs), decision.about)


def close(stage: PortfolioStage, chance: random.Random) -> None:
    if (task := some(stage, chance, T.PENDING, T.IN_PROGRESS)) is not None and task.issue_number:
        stage.closed(task.issue_number, chance.choice(["completed", "not_planned"]))


def reopen(stage: PortfolioStage, chance: random.Random) -> None:
    task = some(stage, chance, T.DONE, T.CANCELLED)
    if task is not None and task.issue_number and not stage.issues[task.issue_number]:
        stage.reopened(task.issue_number)


def label(stage: PortfolioStage, chance: random.Random) -> None:
    task = some(stage, chance, T.PENDING)
    if task is not None and task.issue_number and stage.issues[task.issue_number]:
        stage.labelled(task.issue_number)


def refuse(stage: PortfolioStage, chance: random.Random) -> None:
    stage.cycle()
    if found := work_requests.waiting(stage.connection):
        stage.refuse(chance.choice(found).id, "It was edited after that was asked.")


def link(stage: PortfolioStage, chance: random.Random) -> None:
    blocked, blocker = some(stage, chance, T.PENDING), some(stage, chance, *T)
    if blocked is not None and blocker is not None:
        try:
            tasks.link(stage.connection, blocked, [blocker], at=stage.now)
        except Refused as error:
            assert "in a circle" in str(error)


def rest(stage: PortfolioStage, chance: random.Random) -> None:
    found = chance.choice(initiatives.every(stage.connection))
    moves = {S.ACTIVE: S.PAUSED, S.PAUSED: S.ACTIVE}
    if found.state in moves:
        initiatives.change(stage.connection, found.id, at=stage.now, state=moves[found.state])


def give_up(stage: PortfolioStage, chance: random.Random) -> None:
    found = chance.choice(initiatives.every(stage.connection))
    if not found.has_ended and chance.random() < 0.2:
        ended = initiatives.change(stage.connection, found.id, at=stage.now, state=S.CANCELLED)
        endings.end_initiative(stage.connection, ended, at=stage.now, actor="cli:alice")


def pause(stage: PortfolioStage, chance: random.Random) -> None:
    try:
        if chance.random() < 0.5:
            pause_work(stage.connection, REPO, actor="cli:alice", at=stage.now)
        else:
            resume_work(stage.connection, REPO, actor="cli:alice", at=stage.now)
    except Refused:
        return


MOVES: tuple[Move, ...] = (
    *(merge, merge, end, wait, answer, answer, close, reopen),
    *(label, refuse, link, rest, give_up, pause),
)


def stuck(stage: PortfolioStage) -> Mapping[str, str]:
    """Unfinished tasks that nobody works on and that do not say why."""
    asked = {item.about for item in stage.asked()}
    found = dict[str, str]()
    for task in tasks.of_states(stage.connection, [T.PENDING, T.IN_PROGRESS]):
        live = task.issue_number and jobs.live_for(stage.connection, task.space, task.issue_number)
        if task.state is T.PENDING and not task.waits:
            found[task.ref] = "pending, and nothing keeps it"
        elif task.state is T.IN_PROGRESS and not live and task.ref not in asked:
            found[task.ref] = "in progress, and nobody works on it"
        elif task.waits == "waits for a person's answer about it" and task.ref not in asked:
            found[task.ref] = "nobody was asked"
    for initiative in initiatives.unfinished(stage.connection):
        own = tasks.of_initiative(stage.connection, initiative.id)
        if (
            initiative.state is S.ACTIVE
            and own
            and all(task.has_ended for task in own)
            and not initiative.replan
        ):
            found[initiative.ref] = "all of its tasks have ended"
    return found


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_stuck_without_a_word(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    text = "repositories: [acme/calc]\nportfolio: {schedule: off}\nautonomy: proactive\n"
    with made_portfolio(tmp_path, text) as stage:
        for number in (1, 2):
            initiative = stage.initiative(issue_number=number)
            for row in range(4):
                stage.task(initiative, paths=(f"src/{row // 2}/**",) if row < 3 else ())
        stage.settle()
        for step in range(40):
            move = chance.choice(MOVES)
            move(stage, chance)
            stage.settle()
            assert stuck(stage) == {}, f"after step {step}, {move.__name__}"
            _once(stage)


def _once(stage: PortfolioStage) -> None:
    """No task has two issues, two questions or two jobs at once."""
    rows = stage.connection.execute(
        "SELECT about, count(*) FROM decisions WHERE state = 'open' GROUP BY about"
    )
    assert all(many == 1 for about, many in rows if about)
    requests = stage.connection.execute("SELECT count(*) FROM issue_requests WHERE kind = 'task'").fetchone()[
        0
    ]
    named = stage.connection.execute(
        "SELECT count(*) FROM tasks WHERE issue_request_id IS NOT NULL"
    ).fetchone()[0]
    assert requests == named
