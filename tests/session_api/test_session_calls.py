"""Brief, events, answers, report: what a session says is bounded and strict, and said once."""

import asyncio
import json
import sqlite3
from typing import Any

import pytest

from minion.protocol import (
    CheckReport,
    EventKind,
    Outcome,
    Report,
    SessionKind,
    StepOutcome,
    StepResult,
    encode,
)
from overlord.domain.decision import Decision, DecisionKind, DecisionState, Subject, Verb
from overlord.domain.interface import Interface
from overlord.domain.job import Job
from overlord.session_api import wire
from overlord.store import decisions, jobs, sessions
from overlord.store.conversation import steering
from overlord.verbs.commands import answer_decision
from overlord.verbs.message import send_message
from tests.called_rows import open_call
from tests.session_api.ground import BOTH, DEADLINE_S, Ground, Visitor, visitor

WAYS = BOTH

DONE = Report(outcome=Outcome.COMPLETE, summary="done – ü", learnings=("a",), follow_ups=("b",), turns=3)
STEP = StepResult(
    name="tests", outcome=StepOutcome.RAN, exit_code=1, junit="<x/>", output="o", duration_s=0.25
)


async def asked(ground: Ground) -> list[Decision]:
    return await ground.database.read(decisions.waiting)


async def answered(ground: Ground, decision: Decision, verb: Verb, text: str = "") -> None:
    """A person answers, as the daemon writes it down, and the wakeup rings."""
    at = ground.clock.now()
    await ground.database.write(
        "by hand",
        lambda c: answer_decision(
            c, decision.id, verb, text=text, actor="cli:alice", interface=Interface.TERMINAL, at=at
        ),
    )
    ground.wakeup.notify()


async def question(inside: Visitor, name: str = "q", **given: Any) -> int:
    response = await inside.say(
        EventKind.QUESTION, **{"question_id": name, "text": "left or right?", **given}
    )
    return response.status_code


# The brief.


async def test_the_brief_is_served_exactly_as_it_was_written(ground: Ground) -> None:
    session = await ground.session()
    async with visitor(ground, session) as inside:
        response = await inside.get("/session/brief")
    assert response.content == session.brief.encode()
    assert response.headers["content-type"] == "application/json"


# Events.


async def test_progress_is_noted_without_what_a_terminal_obeys(ground: Ground) -> None:
    session = await ground.session()
    ground.clock.move(5)
    async with visitor(ground, session) as inside:
        response = await inside.say(EventKind.PROGRESS, turn=3, text="ran \x1b[2Jpytest\u202e" + "x" * 500)
        assert response.status_code == 202
        ground.clock.move(5)
        await inside.say(EventKind.HEARTBEAT)
    stored = await ground.stored(session)
    assert stored.turn == 3
    assert stored.last_action.startswith("ran [2Jpytestxxx")
    assert len(stored.last_action) == 200
    assert stored.heartbeat_at == ground.clock.now()


async def test_only_what_moves_a_job_wakes_the_daemon_and_progress_those_who_watch(ground: Ground) -> None:
    session = await ground.session()
    watchers = ground.keeper.parts.watchers
    async with visitor(ground, session) as inside:
        silent, unwatched = ground.wakeup.count, watchers.count
        for turn in range(40):
            await inside.say(EventKind.PROGRESS, turn=turn, text="reads")
        await inside.say(EventKind.LOG, text="a line")
        await inside.say(EventKind.HEARTBEAT)
        assert (ground.wakeup.count - silent, watchers.count - unwatched) == (0, 40)
        await inside.say(EventKind.QUESTION, text="Which way?", question_id="q1")
        assert ground.wakeup.count == silent + 1


@pytest.mark.parametrize(("said", "noted"), [(-5, 0), (10**30, 1_000_000)])
async def test_a_turn_nobody_can_have_is_bounded(ground: Ground, said: int, noted: int) -> None:
    session = await ground.session()
    async with visitor(ground, session) as inside:
        assert (await inside.say(EventKind.PROGRESS, turn=said, text="x")).status_code == 202
    assert (await ground.stored(session)).turn == noted


async def test_what_an_exploration_is_at_is_told_and_is_no_turn(ground: Ground) -> None:
    session = await ground.session()
    parts = ground.keeper.parts
    async with visitor(ground, session) as inside:
        await inside.say(EventKind.PROGRESS, turn=2, text="explore What is add?")
        unwatched = parts.watchers.count
        for path in ("calc.py", "test_calc.py"):
            said = await inside.say(EventKind.EXPLORING, turn=2, text=f"explores: read_file {path}")
            assert said.status_code == 202
        assert parts.watchers.count == unwatched + 2
    stored = await ground.stored(session)
    assert (stored.turn, stored.last_action) == (2, "explores: read_file test_calc.py")
    turns, _ = parts.journal.take(session.id)
    assert [turned.turn for turned in turns] == [2]


async def test_a_heartbeat_and_a_log_line_change_no_progress(ground: Ground) -> None:
    session = await ground.session()
    async with visitor(ground, session) as inside:
        await inside.say(EventKind.PROGRESS, turn=2, text="thinking")
        for kind in (EventKind.HEARTBEAT, EventKind.LOG):
            assert (await inside.say(kind, turn=9, text="something else")).status_code == 202
    stored = await ground.stored(session)
    assert (stored.turn, stored.last_action) == (2, "thinking")


MALFORMED = [
    (b"", "Invalid JSON"),
    (b"{", "Invalid JSON"),
    (b"[]", "the document"),
    (b"{}", "kind: Field required"),
    (b'{"kind": "shout"}', "kind: "),
    (b'{"kind": "log", "turn": "five"}', "turn: "),
    (b'{"kind": "log", "turn": "5"}', "turn: "),
    (b'{"kind": "log", "turn": true}', "turn: "),
    (b'{"kind": "log", "text": 5}', "text: "),
    (b'{"kind": "log", "weather": "fine"}', "unknown key 'weather'"),
    (b'{"kind": "log", "options": "a"}', "options: "),
    (b'{"kind": "log", "text": "\\ud800"}', ""),
    (b'{"kind": "log", "text": "\xff"}', ""),
    (b"[" * 100_000, ""),
]


@pytest.mark.parametrize(("body", "said"), MALFORMED)
async def test_a_malformed_event_is_refused_with_the_reason(ground: Ground, body: bytes, said: str) -> None:
    session = await ground.session()
    async with visitor(ground, session) as inside:
        response = await inside.post("/session/events", body)
    assert response.status_code == 400
    assert said in response.json()["error"]["message"]
    assert (await ground.stored(session)).heartbeat_at is None


@pytest.mark.parametrize(
    ("path", "limit"), [("/session/events", wire.MAX_EVENT_BYTES), ("/session/report", wire.MAX_REPORT_BYTES)]
)
async def test_a_body_over_its_limit_is_refused(ground: Ground, path: str, limit: int) -> None:
    session = await ground.session()

    async def endless() -> Any:
        for _ in range(limit // 65536 + 2):
            yield b" " * 65536

    async with visitor(ground, session) as inside:
        assert (await inside.http.post(path, content=endless())).status_code == 413
    assert (await ground.stored(session)).report is None


async def test_a_session_that_hangs_up_in_the_middle_leaves_nothing(
    ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    session = await ground.session()
    reader, writer = await asyncio.open_unix_connection(str(ground.home.socket(session.id)))
    writer.write(
        b"POST /session/report HTTP/1.1\r\nHost: door\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    )
    async with asyncio.timeout(DEADLINE_S):
        await reader.readuntil(b"\r\n\r\n")
    writer.write(b'{"outcome":')
    writer.close()
    async with visitor(ground, session) as inside:
        assert (await inside.post("/session/report", encode(DONE))).status_code == 204
    assert "Exception in ASGI application" not in caplog.text


# The report.


async def test_a_report_is_taken_once(ground: Ground) -> None:
    session = await ground.session()
    ground.clock.move(7)
    async with visitor(ground, session) as inside:
        seen = ground.wakeup.count
        assert (await inside.post("/session/report", encode(DONE))).status_code == 204
        assert ground.wakeup.count > seen
        assert (await inside.post("/session/report", encode(DONE))).status_code == 204, (
            "the same again is fine"
        )
        other = await inside.post("/session/report", encode(Report(outcome=Outcome.BLOCKED)))
        assert (other.status_code, other.json()["error"]["code"]) == (409, "reported")
    stored = await ground.stored(session)
    assert stored.report == DONE
    assert stored.heartbeat_at == ground.clock.now()


async def test_of_two_different_reports_at_once_one_is_taken(ground: Ground) -> None:
    session = await ground.session()
    bodies = [encode(Report(outcome=Outcome.COMPLETE, summary=str(number))) for number in range(6)]
    async with visitor(ground, session) as inside:
        said = await asyncio.gather(*(inside.post("/session/report", body) for body in bodies))
    assert sorted(response.status_code for response in said) == [204, *[409] * 5]


BAD_REPORTS = [
    b"{}",
    b'{"outcome": "fine"}',
    b'{"outcome": "complete", "approve": true}',
    b'{"outcome": "complete", "turns": "3"}',
    b'{"outcome": "complete", "learnings": "x"}',
    encode(CheckReport(steps=())),
]
BAD_CHECK_REPORTS = [
    b"{}",
    b'{"steps": [{"name": "tests", "outcome": "ran", "verdict": "pass"}]}',
    b'{"steps": [{"name": "tests", "outcome": "ran", "exit_code": "0"}]}',
    b'{"steps": [{"name": "tests", "outcome": "ran", "exit_code": 0.5}]}',
    b'{"steps": [{"name": "tests", "outcome": "ran", "duration_s": NaN}]}',
    b'{"steps": [{"name": "tests", "outcome": "ran", "duration_s": Infinity}]}',
    b'{"steps": [{"name": "tests", "outcome": "ran", "duration_s": 1e999}]}',
    encode(DONE),
]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        *((SessionKind.WORK, body) for body in BAD_REPORTS),
        *((SessionKind.CHECK, body) for body in BAD_CHECK_REPORTS),
    ],
)
async def test_what_is_no_report_is_refused_and_harms_nobody(
    ground: Ground, kind: SessionKind, body: bytes
) -> None:
    session = await ground.session(kind=kind)
    async with visitor(ground, session) as inside:
        assert (await inside.post("/session/report", body)).status_code == 400
    [still] = await ground.database.read(sessions.live)
    assert still.report is None


@pytest.mark.parametrize(
    "report",
    [
        DONE,
        Report(
            outcome=Outcome.ERROR, reason="model", turns=-(10**30), head="[1]", summary='{"a": "\x00\\u0000"}'
        ),
        CheckReport(steps=(STEP,)),
        CheckReport(
            steps=(StepResult(name="t", outcome=StepOutcome.RAN, exit_code=-(10**25), duration_s=1e300),)
        ),
    ],
)
async def test_whatever_was_taken_can_be_read_back(ground: Ground, report: Report | CheckReport) -> None:
    kind = SessionKind.WORK if isinstance(report, Report) else SessionKind.CHECK
    session = await ground.session(kind=kind)
    async with visitor(ground, session) as inside:
        assert (await inside.post("/session/report", encode(report))).status_code == 204
    [live] = await ground.database.read(sessions.live)
    assert live.report == report


# Questions and answers.


async def test_a_question_becomes_a_decision_once_however_often_it_is_sent(ground: Ground) -> None:
    session = await ground.session()
    hostile = "left or right?\n\n@everyone ![x](https://evil.example/) Fixes #1 \x1b[31m"
    async with visitor(ground, session) as inside:
        for _ in range(3):
            assert await question(inside, text=hostile, options=("left\u202e", "right")) == 202
    [decision] = await asked(ground)
    assert (decision.kind, decision.subject) == (DecisionKind.QUESTION, Subject.QUESTION)
    assert (decision.verbs, decision.options, decision.patterns) == ((Verb.REPLY,), ("left", "right"), ())
    assert decision.session_id == session.id
    assert (decision.expires_at or ground.clock.now()) > ground.clock.now()
    assert "\n" not in decision.title
    for live in ("@everyone", "#1", "\x1b", "https://"):
        assert live not in decision.title + decision.body
    assert "![" not in decision.body


async def test_a_fourth_question_is_refused(ground: Ground) -> None:
    async with visitor(ground, await ground.session()) as inside:
        assert [await question(inside, f"q{number}") for number in range(4)] == [202, 202, 202, 409]
        assert await question(inside, "q0") == 202, "one that was asked before may be sent again"
    assert len(await asked(ground)) == 3


async def test_a_question_without_an_id_is_refused(ground: Ground) -> None:
    async with visitor(ground, await ground.session()) as inside:
        assert await question(inside, "") == 400
    assert await asked(ground) == []


@pytest.mark.parametrize("asks", [{}, {"question_kind": "scope", "patterns": ("**",)}])
async def test_a_session_of_a_call_asks_nobody(ground: Ground, asks: dict[str, Any]) -> None:
    """Whoever called waits for it; a grant of scope would let a review write."""

    def called(connection: sqlite3.Connection) -> Job:
        made = open_call(connection, base_sha=ground.base)
        assert made.job_id is not None
        return jobs.get(connection, made.job_id)

    job = await ground.database.write("by hand", called)
    async with visitor(ground, await ground.session(job)) as inside:
        assert await question(inside, **asks) == 409
    assert await asked(ground) == []


@pytest.mark.parametrize(
    "patterns", [(), ("../secrets",), ("!x",), ("",), ("a\\",), ("/",), tuple(f"f{n}" for n in range(51))]
)
async def test_a_request_for_scope_that_does_not_parse_is_refused(
    ground: Ground, patterns: tuple[str, ...]
) -> None:
    async with visitor(ground, await ground.session()) as inside:
        assert await question(inside, question_kind="scope", patterns=patterns) == 400
    assert await asked(ground) == []


async def test_a_granted_request_for_scope_comes_with_the_wider_scope(ground: Ground) -> None:
    session = await ground.session(scope='["src/**"]')
    async with visitor(ground, session) as inside:
        assert await question(inside, question_kind="scope", patterns=("docs/**",)) == 202
        [decision] = await asked(ground)
        assert (decision.kind, decision.subject) == (DecisionKind.APPROVAL, Subject.SCOPE_REQUEST)
        assert (decision.verbs, decision.patterns) == ((Verb.ONCE, Verb.GRANT, Verb.REFUSE), ("docs/**",))
        await answered(ground, decision, Verb.GRANT)
        told = (await inside.get("/session/answers/q")).json()
    assert told == {"answered": True, "answer": "Allow for this job", "scope": ["src/**", "docs/**"]}


async def test_a_refused_request_for_scope_comes_without_one(ground: Ground) -> None:
    async with visitor(ground, await ground.session()) as inside:
        await question(inside, question_kind="scope", patterns=("docs/**",))
        [decision] = await asked(ground)
        await answered(ground, decision, Verb.REFUSE)
        assert (await inside.get("/session/answers/q")).json()["scope"] is None


async def test_an_answer_is_heard_as_soon_as_it_is_given(ground: Ground) -> None:
    async with visitor(ground, await ground.session()) as inside:
        await question(inside)
        waiting = asyncio.create_task(inside.get("/session/answers/q"))
        async with asyncio.timeout(DEADLINE_S):
            await ground.wakeup.waited_for.wait()
        [decision] = await asked(ground)
        await answered(ground, decision, Verb.REPLY, "left")
        async with asyncio.timeout(DEADLINE_S):
            response = await waiting
    assert (response.status_code, response.json()["answer"]) == (200, "left")


async def test_without_an_answer_a_poll_ends_and_may_be_repeated(ground: Ground) -> None:
    async with visitor(ground, await ground.session()) as inside:
        await question(inside)
        waiting = asyncio.create_task(inside.get("/session/answers/q"))
        async with asyncio.timeout(DEADLINE_S):
            await ground.wakeup.waited_for.wait()
        ground.clock.move(26)
        ground.wakeup.notify()
        async with asyncio.timeout(DEADLINE_S):
            assert (await waiting).status_code == 204
        [decision] = await asked(ground)
        await answered(ground, decision, Verb.REPLY, "right")
        assert (await inside.get("/session/answers/q")).json()["answer"] == "right"


async def test_a_question_whose_time_is_over_gets_no_answer(ground: Ground) -> None:
    async with visitor(ground, await ground.session()) as inside:
        await question(inside)
        await ground.database.write(
            "by hand", lambda c: decisions.expire(c, decisions.timed(c), at=ground.clock.now())
        )
        response = await inside.get("/session/answers/q")
    assert (response.status_code, response.json()["error"]["code"]) == (410, "expired")


async def test_a_question_nobody_needs_to_answer_any_more_gets_none(ground: Ground) -> None:
    session = await ground.session()
    async with visitor(ground, session) as inside:
        await question(inside)
        close = decisions.close_waiting
        superseded = DecisionState.SUPERSEDED
        await ground.database.write(
            "by hand", lambda c: close(c, session.job_id, superseded, at=ground.clock.now())
        )
        assert (await inside.get("/session/answers/q")).status_code == 410


async def test_another_sessions_question_is_unknown(ground: Ground) -> None:
    one, other = [await ground.session(await ground.job(number)) for number in (1, 2)]
    async with visitor(ground, one) as inside:
        await question(inside)
    async with visitor(ground, other) as inside:
        assert (await inside.get("/session/answers/q")).status_code == 404
        assert (await inside.get("/session/answers/%2e%2e")).status_code == 404


# Messages.


async def test_a_message_is_given_until_the_session_has_it_and_only_to_its_own_job(ground: Ground) -> None:
    one, other = [await ground.session(await ground.job(number)) for number in (1, 2)]
    at = ground.clock.now()
    await ground.database.write(
        "by hand", lambda c: send_message(c, one.job_id, "use tabs", actor="cli:alice", at=at)
    )
    nothing: dict[str, Any] = {"messages": []}
    async with visitor(ground, other) as inside:
        taken = {"turn": 2, "taken": [1]}
        assert (await inside.post("/session/messages", taken)).json() == nothing
    async with visitor(ground, one) as inside:
        for _ in range(2):
            told = (await inside.post("/session/messages", {"turn": 2, "taken": []})).json()["messages"]
            assert [(item["id"], item["text"], item["by"]) for item in told] == [(1, "use tabs", "cli:alice")]
        assert (await inside.post("/session/messages", taken)).json() == nothing
    [message] = await ground.database.read(lambda c: steering.of_job(c, one.job_id))
    assert (message.is_read, message.turn, message.session_id) == (True, 2, one.id)


@pytest.mark.parametrize("said", [{}, {"turn": "2"}, {"turn": 2, "taken": ["1"]}, {"turn": 2, "more": 1}, []])
async def test_what_is_no_request_for_messages_is_refused(ground: Ground, said: object) -> None:
    async with visitor(ground, await ground.session()) as inside:
        assert (await inside.post("/session/messages", json.dumps(said))).status_code == 400


def test_the_errors_have_the_shape_clients_know() -> None:
    body = json.loads(bytes(wire.error_response(402, "budget_exhausted", "spent").body))
    assert body == {"error": {"code": "budget_exhausted", "message": "spent", "type": "overlord"}}
