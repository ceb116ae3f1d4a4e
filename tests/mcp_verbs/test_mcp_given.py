"""Verbs given over MCP: done once, waited for, bound to what was shown; what is given wrongly is told by its name."""

import json
import sqlite3
from typing import Any

import pytest

from overlord.domain.access import AccessRight
from overlord.domain.decision import DecisionKind, DecisionState, Subject, Verb
from overlord.entrypoints.mcp import query_tools, verb_tools
from overlord.store import decisions
from overlord.store.bootstrap import issue_requests
from overlord.store.spaces import work_requests
from overlord.store.spaces.work_requests import WorkRequestState
from tests.mcp_verbs.desk import Desk
from tests.records import NOW, REPO
from tests.stored import ask, claim

RUN = {"repository": REPO, "requirement": "add() takes several numbers"}


async def opened(desk: Desk) -> int:
    return len(await desk.read(issue_requests.unopened))


async def test_a_request_with_a_word_of_its_own_is_carried_out_once(desk: Desk) -> None:
    desk.engine = lambda: refused_issues(desk)
    first = await verb_tools.called(desk, "run", {**RUN, "request_id": "r1"})
    again = await verb_tools.called(desk, "run", {**RUN, "request_id": "r1"})
    assert first.is_error and "closed" in first.text
    assert (again.structured or {})["is_replayed"] is True and not again.is_error
    other = await verb_tools.called(desk, "run", {**RUN, "requirement": "else", "request_id": "r1"})
    assert other.is_error and "another request" in other.text
    elsewhere = await verb_tools.called(
        desk.as_(AccessRight.ACT), "pause", {"space": REPO, "request_id": "r2"}
    )
    assert (elsewhere.structured or {})["is_replayed"] is False
    assert len(await desk.events("issue_requested")) == 1


async def refused_issues(desk: Desk) -> None:
    """The forge takes no issue."""

    def refuse(connection: sqlite3.Connection) -> None:
        for asked in issue_requests.unopened(connection):
            issue_requests.refused(connection, asked.id, "it is closed")

    await desk.write("by hand", refuse)


async def test_what_becomes_of_work_is_waited_for_and_told(desk: Desk) -> None:
    def grant(connection: sqlite3.Connection) -> None:
        for wish in work_requests.waiting(connection):
            said = f"Job 9 works on #{wish.number}."
            work_requests.answer(connection, wish.id, WorkRequestState.GRANTED, said, at=NOW)

    async def grants() -> None:
        await desk.write("by hand", grant)

    desk.engine = grants
    done = await verb_tools.called(desk, "work", {"issue": f"{REPO}#9"})
    assert done.text.endswith("Job 9 works on #9.") and (done.structured or {})["is_under_way"] is False


async def test_an_answer_is_bound_to_what_was_shown(desk: Desk) -> None:
    asked = await desk.write(
        "by hand",
        lambda c: ask(
            c, claim(c, 30), subject=Subject.QUESTION, kind=DecisionKind.QUESTION, verbs=(Verb.REPLY,)
        ),
    )
    given = {"decision": str(asked.id), "words": "left"}
    stale = await verb_tools.called(desk, "answer", {**given, "digest": "0" * 16})
    assert stale.is_error and "changed since it was shown" in stale.text
    done = await verb_tools.called(
        desk.as_(AccessRight.ACT, REPO), "answer", {**given, "digest": asked.digest}
    )
    assert not done.is_error, done.text
    after = await desk.read(lambda c: decisions.get(c, asked.id))
    assert (after.state, after.answer) == (DecisionState.ANSWERED, "left")
    late = await verb_tools.called(desk, "answer", given)
    assert late.is_error


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("answer", {}, "answer needs decision and words."),
        ("work", {"issue": ""}, "work needs issue."),
        ("work", {"issue": 7, "now": True}, "now: There is no such argument"),
        ("work", {"issue": ["#7"]}, "issue: It is a text"),
        ("stop", {"job": {"number": 1}}, "job: It is a text"),
        ("stop", {"job": "nobody"}, "job: "),
        ("message", {"job": "1", "words": "x" * 10_000_000}, "words: That is too long"),
        ("answer", {"decision": "1", "words": "x", "named": "always"}, "named: It is one of"),
        ("answer", {"decision": "1", "words": "x", "digest": 5}, "digest: It is a text"),
        ("work", {"issue": "#7", "request_id": "two words"}, "request_id: It is 1 to 100"),
        ("work", {"issue": "#7", "request_id": 5}, "request_id: It is 1 to 100"),
        ("job", {}, "job needs job."),
        ("jobs", {"all": "perhaps"}, "all: It is true or false"),
        ("status", {"job": 999}, "There is no job 999"),
    ],
)
async def test_what_is_given_wrongly_is_told_by_its_name(
    desk: Desk, tool: str, arguments: dict[str, Any], told: str
) -> None:
    module = query_tools if tool in query_tools.names() else verb_tools
    done = await module.called(desk, tool, arguments)
    assert done.is_error and told in done.text, done.text
    assert (done.structured or {})["error"]["message"] == done.text
    assert await desk.read(work_requests.waiting) == [] and await opened(desk) == 0


async def test_who_tries_without_end_is_not_written_down_without_end(desk: Desk) -> None:
    for _ in range(15):
        await verb_tools.called(desk.as_(AccessRight.READ), "stop", {"job": "1"})
    events = await desk.events("page_refused")
    assert len(events) == 10 and json.loads(events[0])["interface"] == "mcp"


async def test_a_hint_names_tools_and_what_only_people_type(desk: Desk) -> None:
    shown = await query_tools.called(desk, "inbox", {})
    assert "`decision " in shown.text and "/overlord" not in shown.text
    assert isinstance((shown.structured or {})["items"], list)
