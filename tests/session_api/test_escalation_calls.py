"""What a session escalates: kept once and within limits, answered at once from what is known, and never waited for."""

from dataclasses import replace
from typing import Any

import httpx
import pytest

from minion.protocol import (
    ESCALATIONS_PATH,
    Brief,
    NewEscalation,
    Outcome,
    PortfolioBrief,
    PortfolioTool,
    Report,
    Suggestion,
    encode,
)
from overlord.domain.event import EventName
from overlord.domain.knowledge.note import NoteKind, NoteSource
from overlord.domain.knowledge.rule import Rule
from overlord.domain.portfolio.escalation import Escalation, EscalationState
from overlord.domain.portfolio.escalation_call import DECIDE_IT, MOST_OF_JOB, MOST_OF_SESSION
from overlord.domain.session import Session
from overlord.store import jobs, ledger, sessions
from overlord.store.knowledge import notes, rules
from overlord.store.portfolio import escalations, initiatives, tasks
from overlord.store.rows import adapter, update
from tests.portfolio import a_task, an_initiative
from tests.records import REPO
from tests.session_api.ground import Ground, visitor
from tests.session_api.test_knowledge_calls import known

TOKEN = "ghp_" + "a" * 36
TOOLS = (PortfolioTool.ESCALATE,)


async def at_work(ground: Ground, tools: tuple[PortfolioTool, ...] = TOOLS) -> Session:
    session = await ground.session()
    brief: Brief = adapter(Brief).validate_json(session.brief)
    told = replace(brief, portfolio=PortfolioBrief(briefing="", initiative="", tools=tools))
    text = encode(told).decode()
    await ground.database.write("by hand", lambda c: update(c, "sessions", session.id, {"brief": text}))
    return await ground.stored(session)


async def of_task(ground: Ground) -> Session:
    """A session of task i1.1; i1.2 is beside it, and i2.1 is another initiative's."""
    session = await at_work(ground)

    def make(connection: Any) -> None:
        for slug in ("first", "second"):
            made = initiatives.add(connection, an_initiative(slug=slug))
            assert made is not None
            for _ in range(2):
                tasks.add(connection, a_task(initiative_id=made.id))
        tasks.change(connection, 1, at=ground.clock.now(), issue_number=7)

    await ground.database.write("by hand", make)
    return session


async def escalated(ground: Ground, session: Session, **given: Any) -> httpx.Response:
    values = {"type": "decision", "kind": "dependency", "question": "May I add httpx?", **given}
    async with visitor(ground, session) as inside:
        return await inside.post(ESCALATIONS_PATH, encode(NewEscalation(**values)))


async def rows(ground: Ground) -> list[Escalation]:
    return await ground.database.read(escalations.every)


def refusal(response: httpx.Response) -> str:
    message: str = response.json()["error"]["message"]
    return message


async def test_it_is_kept_as_a_draft_and_the_loop_is_woken(ground: Ground) -> None:
    session = await at_work(ground)
    rung = ground.wakeup.count
    suggested = (Suggestion(label="httpx", description="known"),)
    response = await escalated(
        ground, session, context="For the client.", suggested=suggested, priority="high"
    )
    assert response.json() == {"ref": "e1", "state": "draft", "resolution": "", "cites": ""}
    assert ground.wakeup.count > rung
    [kept] = await rows(ground)
    assert (kept.space, kept.job_id, kept.session_id) == (REPO, session.job_id, session.id)
    assert (kept.path, kept.escalated_by) == ((session.id,), f"session:{session.id}")
    assert (kept.context, kept.priority, kept.suggested[0].label) == ("For the client.", "high", "httpx")
    events = await ground.database.read(lambda c: [entry.name for entry in ledger.entries(c)])
    assert events.count(EventName.ESCALATION_DRAFTED) == 1


async def test_the_same_question_again_is_the_same_escalation(ground: Ground) -> None:
    session = await at_work(ground)
    await escalated(ground, session)
    assert (await escalated(ground, session, kind="scope")).json()["ref"] == "e1"
    assert len(await rows(ground)) == 1


async def test_the_next_session_of_a_job_that_asks_the_same_has_the_same_escalation(ground: Ground) -> None:
    session = await at_work(ground)
    await escalated(ground, session)
    earlier = {"session_id": "j1-work-0"}
    await ground.database.write("by hand", lambda c: update(c, "escalations", 1, earlier))
    assert (await escalated(ground, session)).json()["ref"] == "e1"
    assert len(await rows(ground)) == 1


async def test_what_a_session_may_decide_itself_it_is_told_so_and_nothing_is_kept(ground: Ground) -> None:
    response = await escalated(ground, await at_work(ground), kind="detail")
    assert response.json() == {"ref": "", "state": "resolved", "resolution": DECIDE_IT, "cites": ""}
    assert await rows(ground) == []


async def test_one_session_writes_ten_at_most(ground: Ground) -> None:
    session = await at_work(ground)
    for number in range(MOST_OF_SESSION):
        assert (await escalated(ground, session, question=f"Which of {number}?")).status_code == 200
    refused = await escalated(ground, session, question="One more?")
    assert (refused.status_code, "which is the most" in refusal(refused)) == (429, True)
    assert len(await rows(ground)) == MOST_OF_SESSION


@pytest.mark.parametrize("tools", [(), (PortfolioTool.ADD_TASK,)])
async def test_a_session_without_the_tool_escalates_nothing(
    ground: Ground, tools: tuple[PortfolioTool, ...]
) -> None:
    response = await escalated(ground, await at_work(ground, tools))
    assert response.status_code == 403
    assert await rows(ground) == []


async def test_a_session_that_has_reported_escalates_nothing_more(ground: Ground) -> None:
    session = await at_work(ground)
    done = Report(outcome=Outcome.BLOCKED, summary="no", turns=1)
    await ground.database.write("by hand", lambda c: sessions.take_report(c, session.id, done))
    assert (await escalated(ground, session)).status_code == 409
    assert await rows(ground) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"type": "wish"}, "`type` must be one of"),
        ({"question": ""}, "say in `question`"),
        ({"blocks": "initiative"}, "of no initiative"),
        ({"blocks": "i1.1"}, "of no initiative"),
    ],
)
async def test_what_cannot_be_kept_is_said(ground: Ground, given: dict[str, str], said: str) -> None:
    response = await escalated(ground, await at_work(ground), **given)
    assert (response.status_code, said in refusal(response)) == (400, True)
    assert await rows(ground) == []


async def test_secrets_are_taken_out_however_they_are_spelt(ground: Ground) -> None:
    session = await at_work(ground)
    spelt = "".join(f"\\u{ord(char):04x}" for char in TOKEN)
    body = f'{{"type": "blocker", "kind": "credentials", "question": "Is it {spelt}?"}}'
    async with visitor(ground, session) as inside:
        await inside.post(ESCALATIONS_PATH, body)
    [kept] = await rows(ground)
    assert TOKEN not in kept.question
    assert "redacted" in kept.question


@pytest.mark.parametrize(
    ("blocks", "task", "whole"),
    [
        ("nothing", None, False),
        ("task", 1, False),
        ("initiative", None, True),
        ("i1.2", 2, False),
        ("2", 2, False),
    ],
)
async def test_what_it_blocks_is_of_the_sessions_own_initiative(
    ground: Ground, blocks: str, task: int | None, whole: bool
) -> None:
    session = await of_task(ground)
    assert (await escalated(ground, session, blocks=blocks)).status_code == 200
    [kept] = await rows(ground)
    assert (kept.initiative_id, kept.task_id, kept.blocks_initiative) == (1, task, whole)


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        ("i2.1", "names a task of i1"),
        ("i1.9", "there is no task i1.9"),
        ("all", "must be nothing, task, initiative"),
    ],
)
async def test_what_it_cannot_block_is_refused_with_what_it_can(
    ground: Ground, blocks: str, said: str
) -> None:
    response = await escalated(ground, await of_task(ground), blocks=blocks)
    assert (response.status_code, said in refusal(response)) == (400, True)


async def test_a_rule_answers_at_once_and_is_cited(ground: Ground) -> None:
    session, at = await at_work(ground), ground.clock.now()
    rule = Rule(
        id=0,
        space="",
        question="May I add httpx?",
        words=("add", "httpx"),
        answer="Yes, httpx.",
        actor="cli:alice",
        created_at=at,
    )
    await ground.database.write("by hand", lambda c: rules.add(c, rule))
    response = await escalated(ground, session, kind="trade_off")
    assert response.json() == {"ref": "e1", "state": "resolved", "resolution": "Yes, httpx.", "cites": "r1"}
    [kept] = await rows(ground)
    assert (kept.state, kept.resolved_by, kept.is_delivered) == (EscalationState.RESOLVED, "overlord", True)
    assert (await ground.database.read(lambda c: rules.get(c, 1))).used == 1
    names = await ground.database.read(lambda c: [entry.name for entry in ledger.entries(c)])
    assert EventName.ESCALATION_CLEARED in names


async def test_a_note_answers_what_a_note_may(ground: Ground) -> None:
    session = await at_work(ground)
    await known(ground, "httpx may be used.", question="May I add httpx?", kind=NoteKind.CONVENTION)
    assert (await escalated(ground, session)).json()["cites"] == "n1"
    again = await escalated(ground, session, question="may I add httpx", kind="trade_off")
    assert again.json()["state"] == "draft", "only a decision of a person answers what is a person's"
    credentials = await escalated(ground, session, question="May I add HTTPX?", kind="credentials")
    assert credentials.json()["state"] == "draft"
    assert len(await ground.database.read(lambda c: notes.counting_in(c, REPO))) == 1


async def test_another_session_of_the_job_asks_nothing_twice(ground: Ground) -> None:
    first = await at_work(ground)
    await escalated(ground, first)
    await ground.end(first)
    second = await next_session(ground, first)
    assert (await escalated(ground, second)).json()["ref"] == "e1"
    assert len(await rows(ground)) == 1


async def test_all_sessions_of_a_job_together_write_so_many(ground: Ground) -> None:
    session = await at_work(ground)
    for ordinal in range(MOST_OF_JOB // MOST_OF_SESSION):
        for number in range(MOST_OF_SESSION):
            question = f"May I add package {ordinal} {number}?"
            assert (await escalated(ground, session, question=question)).status_code == 200
        await ground.end(session)
        session = await next_session(ground, session)
    refused = await escalated(ground, session, question="May I add one more?")
    assert (refused.status_code, len(await rows(ground))) == (429, MOST_OF_JOB)
    assert "the sessions of this job" in refusal(refused)


async def next_session(ground: Ground, before: Session) -> Session:
    job = await ground.database.read(lambda c: jobs.get(c, before.job_id))
    ordinal = int(before.id.rpartition("-")[2]) + 1
    return await ground.session(job, ordinal=ordinal, brief=before.brief)


async def test_a_note_of_the_jobs_own_session_answers_it_nothing(ground: Ground) -> None:
    session = await at_work(ground)
    own = NoteSource(job_id=session.job_id, session_id=session.id)
    asked, by = "May I add httpx?", f"session:{session.id}"
    await known(ground, "httpx may be used.", question=asked, source=own, actor=by)
    assert (await escalated(ground, session)).json()["state"] == "draft"
    other = replace(own, job_id=session.job_id + 1)
    await known(ground, "httpx may be used.", question=asked, source=other, actor=by)
    assert (await escalated(ground, session, question="may I add httpx")).json()["cites"] == "n2"
