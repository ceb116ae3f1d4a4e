"""Who may do and see what over MCP: by their right, and by the repositories they are for."""

import json
from typing import Any

import pytest

from overlord.domain.access import AccessRight
from overlord.entrypoints.mcp import query_tools, resources, verb_tools
from overlord.entrypoints.mcp.listing import ToolResult
from overlord.errors import NotFound
from overlord.store import decisions, jobs
from overlord.verbs import registry as verbs
from overlord.verbs.right import OF_TOKEN
from tests.mcp_verbs.desk import HUSH, OTHER, Desk
from tests.records import REPO
from tests.stored import claim

GIVEN: dict[str, dict[str, Any]] = {
    "answer": {"decision": "2", "words": "retry"},
    "init": {"repository": OTHER},
    "initiative_add": {"repository": OTHER, "words": "Faster start"},
    "initiative_cancel": {"initiative": "i2"},
    "initiative_pause": {"initiative": "i2"},
    "initiative_plan": {"initiative": "i2"},
    "message": {"job": "2", "words": "use port 8080"},
    "pause": {"space": OTHER},
    "portfolio_run": {},
    "retry": {"job": "2"},
    "revoke_token": {"name": "old"},
    "run": {"repository": OTHER, "requirement": "add() takes several numbers"},
    "stop": {"job": "2"},
    "task_add": {"initiative": "i2", "words": "Rotate them"},
    "task_cancel": {"task": "i2.1"},
    "task_set": {"task": "i2.1", "words": "priority high"},
    "work": {"issue": f"{OTHER}#9"},
}
"""A call of each verb about the other repository."""
ASKED: dict[str, dict[str, Any]] = {
    "call": {"call": "c1"},
    "decision": {"number": "2"},
    "job": {"job": "2"},
    "why": {"job": "2"},
    "initiative": {"initiative": "i2"},
    "task": {"task": "i2.1"},
    "note": {"note": "n2"},
    "proposal": {"number": "p2"},
    "draft": {"number": "d1"},
    "skill": {"skill": "say-why"},
    "search": {"words": "launch codes"},
    "contract": {"repository": OTHER},
    "contract_explain": {"path": "src/app.py", "repository": OTHER},
    "contract_experience": {"repository": OTHER},
    "space": {"repository": OTHER},
}
"""A call of each query that needs arguments, about the other repository."""


def arguments_of(tool: str) -> dict[str, Any]:
    """With what there is for the tool, under the names its schema has."""
    return ASKED.get(tool, {})


def said(result: ToolResult) -> str:
    return f"{result.text}\n{json.dumps(result.structured)}"


def tells(text: str) -> bool:
    return OTHER in text or HUSH in text


def test_each_verb_is_called_here() -> None:
    assert set(GIVEN) == set(verb_tools.names())


@pytest.mark.parametrize("right", AccessRight)
@pytest.mark.parametrize("tool", GIVEN)
async def test_a_right_that_is_too_little_is_refused_and_written_down(
    desk: Desk, tool: str, right: AccessRight
) -> None:
    done = await verb_tools.called(desk.as_(right), tool, GIVEN[tool])
    name = verb_tools.names()[tool]
    may = OF_TOKEN[right] >= verbs.find(name).right
    assert ("that takes more" in done.text) is not may, done.text
    events = await desk.events("page_refused")
    assert [json.loads(item)["verb"] for item in events] == ([] if may else [name])


@pytest.mark.parametrize("tool", GIVEN)
async def test_what_is_in_another_repository_is_not_there(desk: Desk, tool: str) -> None:
    before = await desk.read(lambda c: (decisions.waiting(c), jobs.open_jobs(c)))
    done = await verb_tools.called(desk.as_(AccessRight.ACT, REPO), tool, GIVEN[tool])
    assert done.is_error and not tells(said(done)), said(done)
    assert await desk.read(lambda c: (decisions.waiting(c), jobs.open_jobs(c))) == before


@pytest.mark.parametrize("tool", sorted(query_tools.names()))
async def test_a_look_tells_nothing_of_another_repository(desk: Desk, tool: str) -> None:
    arguments = arguments_of(tool)
    whole = await query_tools.called(desk, tool, arguments)
    assert not whole.text.startswith(f"{tool} needs") and "no such argument" not in whole.text, whole.text
    scoped = await query_tools.called(desk.as_(AccessRight.ADMIN, REPO), tool, arguments)
    assert not tells(said(scoped)), said(scoped)


@pytest.mark.parametrize(
    "tool", ["status", "inbox", "decisions", "jobs", "proposals", "knowledge", "portfolio"]
)
async def test_a_list_has_what_is_theirs(desk: Desk, tool: str) -> None:
    whole = await query_tools.called(desk, tool, {})
    assert tells(said(whole)) and not whole.is_error
    scoped = await query_tools.called(desk.as_(AccessRight.READ, REPO), tool, {})
    assert not scoped.is_error, scoped.text
    assert "subtracts" in said(scoped) or REPO in said(scoped)
    nowhere = await query_tools.called(desk.as_(AccessRight.READ, "gone/away"), tool, {})
    assert not nowhere.is_error and REPO not in said(nowhere) and not tells(said(nowhere))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("work", {"issue": "#9"}),
        ("run", {"requirement": "something"}),
        ("stop", {"job": "#8"}),
        ("pause", {"space": "vault"}),
        ("message", {"job": f"{OTHER}#8", "words": "hello"}),
    ],
)
async def test_no_error_names_what_is_not_theirs(desk: Desk, tool: str, arguments: dict[str, Any]) -> None:
    done = await verb_tools.called(desk.as_(AccessRight.ACT, REPO), tool, arguments)
    assert not tells(said(done)), said(done)


async def test_an_issue_that_several_have_names_none_that_is_not_theirs(desk: Desk) -> None:
    await desk.write("by hand", lambda c: claim(c, 7, OTHER))
    whole = await query_tools.called(desk, "why", {"job": "#7"})
    assert whole.is_error and OTHER in whole.text
    scoped = await query_tools.called(desk.as_(AccessRight.READ, REPO), "why", {"job": "#7"})
    assert scoped.is_error and not tells(said(scoped))


@pytest.mark.parametrize(
    "uri", ["overlord://jobs/2", "overlord://jobs/2/diff", "overlord://jobs/2/ledger", "overlord://calls/c1"]
)
async def test_a_resource_of_another_repository_is_not_there(desk: Desk, uri: str) -> None:
    caller = desk.as_(AccessRight.READ, REPO)
    with pytest.raises(NotFound) as hidden:
        await resources.called(caller, uri)
    with pytest.raises(NotFound) as absent:
        await resources.called(caller, f"{uri.rpartition('s/')[0]}s/99")
    assert str(hidden.value) == str(absent.value) and not tells(str(hidden.value))
    listed = await resources.listed(caller)
    assert [item.uri for item in listed] == ["overlord://jobs/1"] and not tells(str(listed))
    assert "overlord://calls/c1" in {item.uri for item in await resources.listed(desk)}
