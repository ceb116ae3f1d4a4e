"""What leads and sessions of tasks say: plans and tasks are bounded, judged and kept, and never trusted."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest

from minion.protocol import (
    PLAN_PATH,
    TASKS_PATH,
    Outcome,
    PortfolioBrief,
    PortfolioTool,
    Report,
    SessionKind,
    encode,
)
from overlord.domain.decision import Subject
from overlord.domain.job import Job
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.plan_draft import PlanDraft
from overlord.domain.portfolio.task import Task, TaskState
from overlord.domain.session import Session
from overlord.session_api.portfolio.plan import MOST_PROPOSALS
from overlord.settings.load import load
from overlord.store import decisions, sessions
from overlord.store.contracts import plan_files
from overlord.store.portfolio import initiatives, plan_drafts, tasks
from tests.domain.test_plan import a_task
from tests.leading import MEND, TEXT, WRITE, a_plan, an_initiative
from tests.records import NOW, a_brief
from tests.session_api.ground import Ground, visitor

TOKEN = "ghp_" + "a" * 36


async def lead(
    ground: Ground, tool: PortfolioTool | None = PortfolioTool.PROPOSE_PLAN, **given: Any
) -> Session:
    """A session of a lead, whose job's issue is its initiative's own."""
    job = await ground.job()

    def make(connection: Any) -> None:
        made = initiatives.add(connection, an_initiative(at=NOW, **given))
        assert made is not None
        initiatives.change(
            connection, made.id, at=NOW, issue_number=job.issue.number, state=InitiativeState.PLANNING
        )

    await ground.database.write("by hand", make)
    return await session_of(ground, job, tool)


async def session_of(ground: Ground, job: Job, tool: PortfolioTool | None, ordinal: int = 1) -> Session:
    portfolio = PortfolioBrief(briefing="b", initiative="i1", tools=(tool,) if tool else ())
    brief = replace(
        a_brief(job, SessionKind.WORK, ordinal),
        base_sha=ground.base,
        head_sha=ground.base,
        portfolio=portfolio if tool else None,
    )
    return await ground.session(job, ordinal=ordinal, brief=encode(brief).decode())


async def worker(ground: Ground, autonomy: str = "proactive", **given: Any) -> Session:
    """A session on task 1 of an initiative."""
    endpoint = {"base_url": "http://model.test", "name": "scripted", "api_key": ground.model.key}
    settings = load({"OVERLORD_HOME": str(ground.home.root)}, model=endpoint, autonomy=autonomy)
    ground.keeper.parts.current.take(settings)
    job = await ground.job()

    def make(connection: Any) -> None:
        made = initiatives.add(connection, an_initiative(at=NOW, **given))
        assert made is not None
        task = tasks.add(connection, a_row(1))
        tasks.change(connection, task.id, at=NOW, issue_number=job.issue.number, state=TaskState.IN_PROGRESS)

    await ground.database.write("by hand", make)
    return await session_of(ground, job, PortfolioTool.ADD_TASK)


def a_row(number: int, **given: Any) -> Task:
    return a_task(number, **{"initiative_id": 1, "id": 0, **given})


async def post(ground: Ground, session: Session, path: str, body: Any) -> httpx.Response:
    async with visitor(ground, session) as inside:
        return await inside.post(path, body)


async def propose(ground: Ground, session: Session, **plan: Any) -> dict[str, Any]:
    response = await post(ground, session, PLAN_PATH, plan)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def refusal(response: httpx.Response) -> str:
    message: str = response.json()["error"]["message"]
    return message


async def rows(ground: Ground) -> Sequence[Task]:
    return await ground.database.read(lambda c: tasks.of_initiative(c, 1))


async def draft(ground: Ground, session: Session) -> PlanDraft:
    found = await ground.database.read(lambda c: plan_drafts.of_job(c, session.job_id))
    assert found is not None
    return found


async def test_a_plan_that_holds_is_kept_as_proposed_tasks_and_shown(ground: Ground) -> None:
    session = await lead(ground)
    verdict = await propose(ground, session, **a_plan(MEND, WRITE))
    assert verdict == {"valid": True, "problems": [], "left": MOST_PROPOSALS - 1}
    first, second = await rows(ground)
    assert (first.state, first.created_by) == (TaskState.PROPOSED, f"session:{session.id}")
    [link] = await ground.database.read(tasks.links)
    assert (link.blocker_id, link.blocked_id) == (first.id, second.id)
    files = await ground.database.read(lambda c: plan_files.of_job(c, session.job_id))
    assert files["plan/plan.md"].strip() == TEXT.strip()
    assert "## i1.1 Make add() add (new)" in files["plan/tasks.md"]


async def test_the_next_plan_takes_the_place_of_the_last_and_no_number_is_given_twice(ground: Ground) -> None:
    session = await lead(ground)
    await propose(ground, session, **a_plan(MEND, WRITE))
    await propose(ground, session, **a_plan({**MEND, "priority": "low"}, {**WRITE, "subject": "Another"}))
    assert {item.number: item.subject for item in await rows(ground)} == {1: MEND["subject"], 3: "Another"}
    assert (await rows(ground))[0].priority == "low"


async def test_what_does_not_hold_is_not_kept_over_what_does(ground: Ground) -> None:
    session = await lead(ground)
    bad = await propose(ground, session, **a_plan({**MEND, "acceptance_criteria": []}))
    assert not bad["valid"]
    assert (await draft(ground, session)).problems
    assert not await rows(ground)
    await propose(ground, session, **a_plan(MEND))
    await propose(ground, session, **a_plan({**MEND, "priority": "asap"}))
    assert (await draft(ground, session)).holds
    assert len(await rows(ground)) == 1


async def test_what_is_secret_is_not_kept(ground: Ground) -> None:
    session = await lead(ground)
    bad = await propose(ground, session, **a_plan({**MEND, "description": f"use {TOKEN}"}))
    assert "secret" in "".join(bad["problems"])
    assert TOKEN not in str(bad)
    assert TOKEN not in str(await draft(ground, session))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("[", "JSON"),
        ({"text": TEXT}, "tasks"),
        ({**a_plan({**MEND, "state": "done"})}, "state"),
        ({**a_plan({**MEND, "blocked_by": ["1"]})}, "blocked_by"),
        ({**a_plan(MEND), "approved": True}, "approved"),
    ],
)
async def test_what_is_no_plan_is_refused_with_the_reason(ground: Ground, body: Any, said: str) -> None:
    response = await post(ground, await lead(ground), PLAN_PATH, body)
    assert response.status_code == 400
    assert said in refusal(response)


async def test_a_plan_without_bounds_is_refused(ground: Ground) -> None:
    session = await lead(ground)
    many = await propose(ground, session, **a_plan(*({**MEND, "subject": f"T{n}"} for n in range(500))))
    assert "500 tasks" in many["problems"][0]
    response = await post(ground, session, PLAN_PATH, a_plan(MEND, text="x" * 2_100_000))
    assert response.status_code == 413


async def test_a_session_proposes_so_often_and_no_oftener(ground: Ground) -> None:
    session = await lead(ground)
    for _ in range(MOST_PROPOSALS):
        await propose(ground, session, **a_plan())
    response = await post(ground, session, PLAN_PATH, a_plan(MEND))
    assert response.status_code == 429
    assert "task_complete" in refusal(response)


async def test_only_a_lead_proposes_and_only_while_it_works(ground: Ground) -> None:
    other = await lead(ground, tool=None)
    assert (await post(ground, other, PLAN_PATH, a_plan(MEND))).status_code == 403
    session = await session_of(ground, await ground.job(8), PortfolioTool.PROPOSE_PLAN)
    assert (await post(ground, session, PLAN_PATH, a_plan(MEND))).status_code == 403


async def test_nothing_is_proposed_after_the_work_was_handed_in(ground: Ground) -> None:
    session = await lead(ground)
    report = Report(outcome=Outcome.COMPLETE, summary="done")
    await ground.database.write("by hand", lambda c: sessions.take_report(c, session.id, report))
    assert (await post(ground, session, PLAN_PATH, a_plan(MEND))).status_code == 409


async def test_work_that_a_session_came_upon_is_a_task(ground: Ground) -> None:
    session = await worker(ground)
    response = await post(ground, session, TASKS_PATH, {**MEND, "blocked_by": ["1"]})
    assert response.json() == {"ref": "i1.2", "state": "pending"}, response.text
    again = await post(ground, session, TASKS_PATH, MEND)
    assert again.json()["ref"] == "i1.2", "the answer may have been lost"
    assert not await ground.database.read(decisions.waiting)


@pytest.mark.parametrize(("autonomy", "paths"), [("cautious", ()), ("proactive", ("docs/**",))])
async def test_a_person_is_asked_where_the_space_is_cautious_or_it_goes_further(
    ground: Ground, autonomy: str, paths: tuple[str, ...]
) -> None:
    session = await worker(ground, autonomy, paths=paths)
    response = await post(ground, session, TASKS_PATH, MEND)
    assert response.json()["state"] == "proposed", response.text
    [asked] = await ground.database.read(decisions.waiting)
    assert (asked.subject, asked.about) == (Subject.DISCOVERED_TASK, "i1.2")
    assert ("outside" in asked.body) is bool(paths)


async def test_what_is_no_task_is_refused_with_all_that_is_wrong(ground: Ground) -> None:
    session = await worker(ground)
    response = await post(ground, session, TASKS_PATH, {**MEND, "acceptance_criteria": [], "priority": "x"})
    assert response.status_code == 400
    assert "criteria" in refusal(response)
    assert "'x'" in refusal(response)
    unknown = await post(ground, session, TASKS_PATH, {**MEND, "blocked_by": ["i1.9"]})
    assert "i1.9" in refusal(unknown)
    assert len(await rows(ground)) == 1, "nothing of it is left"
    known = await post(ground, session, TASKS_PATH, {**MEND, "subject": "task number 1"})
    assert known.status_code == 409


async def test_a_session_adds_so_many_tasks_and_no_more(ground: Ground) -> None:
    session = await worker(ground)
    for number in range(5):
        assert (await post(ground, session, TASKS_PATH, {**MEND, "subject": f"T{number}"})).status_code == 200
    more = await post(ground, session, TASKS_PATH, {**MEND, "subject": "One more"})
    assert more.status_code == 429
    assert "may add 5" in refusal(more)


async def test_only_a_session_of_a_task_adds_tasks(ground: Ground) -> None:
    session = await lead(ground, tool=PortfolioTool.ADD_TASK)
    assert (await post(ground, session, TASKS_PATH, MEND)).status_code == 403
