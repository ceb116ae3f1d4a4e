"""What is listed over MCP: every verb and query is a tool or says why it is none, and each tool is whole."""

import re

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from overlord.domain.access import AccessRight
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.interface import Interface
from overlord.entrypoints.mcp import query_tools, verb_tools
from overlord.entrypoints.mcp.listing import ToolListing
from overlord.queries import registry as queries
from overlord.verbs import registry as verbs
from overlord.verbs.right import OF_TOKEN
from tests.mcp_verbs.desk import Desk

OTHERS = {*DisciplineName, "session_log", "brain_write", "brain_query", "wait", "cancel"}
"""What the disciplines' side calls its tools."""
NAMED = {"status", "inbox", "answer", "work", "run", "proposals", "knowledge"}


def listed(desk: Desk) -> list[ToolListing]:
    return [*query_tools.listed(desk), *verb_tools.listed(desk)]


def test_every_verb_and_query_is_a_tool_or_says_why_not(desk: Desk) -> None:
    names = {tool.name for tool in listed(desk)}
    assert names >= NAMED
    for name, verb in verbs.verbs().items():
        assert bool(verb.gap(Interface.MCP)) != ((verb.mcp or name).replace("-", "_") in names), name
    for name, query in queries.queries().items():
        assert bool(query.gap(Interface.MCP)) != (name.replace("-", "_") in names), name


def test_each_tool_is_whole_and_told_apart(desk: Desk) -> None:
    tools = listed(desk)
    names = [tool.name for tool in tools]
    assert len(set(names)) == len(names) and not OTHERS & set(names)
    for tool in tools:
        assert re.fullmatch(r"[a-z][a-z_]{1,40}", tool.name)
        assert tool.title and tool.description and not (tool.is_read_only and tool.is_destructive)
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema or {})
        assert tool.input_schema["type"] == "object"
        assert all(
            part.get("description") or part.get("enum") for part in tool.input_schema["properties"].values()
        )
    destructive = {tool.name for tool in tools if tool.is_destructive}
    assert destructive == {"stop", "initiative_cancel", "task_cancel", "revoke_token"}
    assert {tool.name for tool in tools if not tool.is_idempotent} == {
        "run", "init", "initiative_add", "task_add", "message",
    }  # fmt: skip


@pytest.mark.parametrize("right", AccessRight)
def test_a_caller_is_shown_what_they_may(desk: Desk, right: AccessRight) -> None:
    caller = desk.as_(right)
    shown = {tool.name for tool in verb_tools.listed(caller)}
    assert shown == {
        tool for tool, name in verb_tools.names().items() if OF_TOKEN[right] >= verbs.find(name).right
    }
    assert bool(shown) is (right is not AccessRight.READ)
    assert {tool.name for tool in query_tools.listed(caller)} == set(query_tools.names())
