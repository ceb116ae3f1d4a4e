"""A session stops, and its task counts as done, once code and then the operator's programs let it."""

from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest

from minion.protocol import (
    COMPLETION_PATH,
    IDLE_PATH,
    Addressed,
    Brief,
    Completion,
    PortfolioBrief,
    PortfolioTool,
    StopRequest,
    encode,
)
from overlord.domain.hooks import Hook, HookAnswer, HookCall
from overlord.domain.portfolio.initiative import Initiative, InitiativeSource, InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import Task, TaskState
from overlord.domain.session import Session
from overlord.session_api.portfolio.operator import MOST_ASKED
from overlord.store.knowledge import learning
from overlord.store.portfolio import initiatives, tasks
from overlord.store.rows import adapter, update
from tests.records import REPO
from tests.session_api.ground import Ground, Visitor, visitor

TOOLS = (PortfolioTool.RECORD_COMPLETION, PortfolioTool.ADD_TASK, PortfolioTool.NOTE_KNOWLEDGE)


@dataclass
class Operator:
    """`ports.Hooks`: says what a test has it say."""

    refusals: tuple[str, ...] = ()
    calls: list[HookCall] = field(default_factory=list)

    async def ask(self, call: HookCall) -> HookAnswer:
        self.calls.append(call)
        return HookAnswer(refusals=self.refusals)


async def worker(ground: Ground, operator: Operator, *, is_of_task: bool = True) -> Session:
    """A session of the portfolio, at work on task i1.1."""
    ground.hooks = operator
    await ground.restart()
    session, at = await ground.session(), ground.clock.now()
    brief: Brief = adapter(Brief).validate_json(session.brief)
    told = replace(brief, portfolio=PortfolioBrief(briefing="", initiative="i1", tools=TOOLS))
    made: dict[str, Any] = {
        "id": 0,
        "space": REPO,
        "priority": Priority.NORMAL,
        "created_at": at,
        "updated_at": at,
    }
    whole = Initiative(
        **made, slug="refresh", title="Refresh", goal="", source=InitiativeSource.PERSON, key="k",
        state=InitiativeState.QUEUED, actor="cli:alice",
    )  # fmt: skip
    one = Task(
        **made, initiative_id=1, number=0, subject="Endpoint", description="", created_by="cli:alice",
        acceptance_criteria=("Invalid tokens return 401",), state=TaskState.IN_PROGRESS, job_id=session.job_id, issue_number=7,
    )  # fmt: skip

    def put(connection: Any) -> None:
        update(connection, "sessions", session.id, {"brief": encode(told).decode()})
        if is_of_task:
            initiatives.add(connection, whole)
            tasks.add(connection, one)

    await ground.database.write("by hand", put)
    return await ground.stored(session)


async def completed(
    inside: Visitor, evidence: str = "tests/test_api.py", notes: str = "Written."
) -> httpx.Response:
    said = Completion(notes=notes, addressed=(Addressed(number=1, evidence=evidence),))
    return await inside.http.post(COMPLETION_PATH, content=encode(said))


async def stops(inside: Visitor, **given: Any) -> dict[str, Any]:
    said = StopRequest(**{"outcome": "complete", "summary": "Done.", **given})
    response = await inside.http.post(IDLE_PATH, content=encode(said))
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def kept(ground: Ground) -> Task:
    return await ground.database.read(lambda c: tasks.get(c, 1))


async def test_a_completion_is_recorded_once_code_and_the_operator_let_it(ground: Ground) -> None:
    operator = Operator()
    session = await worker(ground, operator)
    async with visitor(ground, session) as inside:
        refused = (await completed(inside, evidence="done")).json()
        assert not refused["accepted"]
        assert refused["reasons"][0].startswith("Say for acceptance criterion 1")
        assert operator.calls == [], "what code holds against it is not put to a program"
        operator.refusals = ("notes.sh: say how you tried it",)
        assert (await completed(inside)).json()["reasons"] == ["notes.sh: say how you tried it"]
        assert (await kept(ground)).completion_notes == ""
        operator.refusals = ()
        assert (await completed(inside)).json() == {"accepted": True, "reasons": []}
    task = await kept(ground)
    assert (task.state, task.completion_notes, task.is_addressed) == (TaskState.IN_PROGRESS, "Written.", True)
    call = operator.calls[-1]
    assert (call.hook, call.space, call.job, call.session) == (
        Hook.TASK_COMPLETED,
        REPO,
        session.job_id,
        session.id,
    )
    assert (call.initiative, call.task) == ("i1", "i1.1")
    assert call.data["addressed"] == [{"number": 1, "evidence": "tests/test_api.py"}]


async def test_a_session_stops_once_nothing_is_left_to_do(ground: Ground) -> None:
    operator = Operator()
    session = await worker(ground, operator)
    async with visitor(ground, session) as inside:
        first = await stops(inside, follow_ups=("Docs",), summary="")
        assert not first["allowed"]
        assert [" ".join(reason.split()[:3]) for reason in first["reasons"]] == [
            "The completion of",
            "You name 1",
            "Nothing is noted",
            "Say in `summary`",
        ]
        await completed(inside)
        await ground.database.write("by hand", lambda c: learning.nothing_learned(c, session.job_id, "No."))
        operator.calls, operator.refusals = [], ("check.py: the changelog has no line",)
        assert (await stops(inside))["reasons"] == ["check.py: the changelog has no line"]
        operator.refusals = ()
        assert await stops(inside) == {"allowed": True, "reasons": []}
    assert [(call.hook, call.task) for call in operator.calls] == [(Hook.IDLE, "i1.1")] * 2


async def test_a_follow_up_that_became_a_task_is_none_that_is_missing(ground: Ground) -> None:
    session = await worker(ground, Operator())
    at = ground.clock.now()
    task = await kept(ground)
    found = replace(
        task,
        id=0,
        number=0,
        subject="Docs",
        created_by=f"session:{session.id}",
        job_id=None,
        issue_number=None,
    )
    await ground.database.write("by hand", lambda c: tasks.add(c, replace(found, created_at=at)))
    async with visitor(ground, session) as inside:
        reasons = (await stops(inside, follow_ups=("Docs",)))["reasons"]
    assert not [reason for reason in reasons if "follow-up" in reason]


async def test_who_is_not_of_the_portfolio_or_has_no_task_is_refused(ground: Ground) -> None:
    stranger = await ground.session()
    async with visitor(ground, stranger) as inside:
        response = await inside.http.post(
            IDLE_PATH, content=encode(StopRequest(outcome="complete", summary="x"))
        )
        assert response.status_code == 403
        assert (await completed(inside)).status_code == 403


@pytest.mark.parametrize("state", [TaskState.DONE, TaskState.CANCELLED])
async def test_a_task_that_has_ended_is_completed_by_nobody(ground: Ground, state: TaskState) -> None:
    session = await worker(ground, Operator())
    at = ground.clock.now()
    await ground.database.write("by hand", lambda c: tasks.change(c, 1, at=at, state=state))
    async with visitor(ground, session) as inside:
        response = await completed(inside)
    assert response.status_code == 409
    assert "already" in response.text


async def test_a_session_without_a_task_completes_none(ground: Ground) -> None:
    session = await worker(ground, Operator(), is_of_task=False)
    async with visitor(ground, session) as inside:
        assert (await completed(inside)).status_code == 409


async def test_the_operators_programs_are_asked_so_often_for_a_session(ground: Ground) -> None:
    operator = Operator(refusals=("notes.sh: say how you tried it",))
    session = await worker(ground, operator)
    async with visitor(ground, session) as inside:
        for _ in range(MOST_ASKED):
            assert (await completed(inside)).status_code == 200
        refused = await completed(inside)
    assert (refused.status_code, len(operator.calls)) == (429, MOST_ASKED)
