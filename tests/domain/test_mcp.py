"""What passes between a session and an MCP server, as plain values."""

from typing import Any

import pytest

from overlord.domain.mcp import (
    INVALID_PARAMS,
    UNAVAILABLE,
    McpError,
    McpRequest,
    error_of,
    forwarded_params,
    introduction,
    read_request,
    returned_result,
)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        ({"code": -32602, "message": "no"}, INVALID_PARAMS, "the MCP server docs refused: no"),
        ({"code": True, "message": 7}, UNAVAILABLE, "the MCP server docs refused: it does not say why"),
        ({"code": 10**9, "message": "x" * 9_000}, UNAVAILABLE, "the MCP server docs refused: " + "x" * 2_000),
        ({}, UNAVAILABLE, "the MCP server docs refused: it does not say why"),
    ],
)
def test_a_server_s_error_is_told_within_bounds(error: dict[str, Any], code: int, words: str) -> None:
    found = error_of({"error": error}, server="docs")
    assert found is not None
    assert (found.code, str(found)) == (code, words)


def test_a_result_is_no_error() -> None:
    assert error_of({"result": {}, "error": None}, server="docs") is None


def test_of_a_call_its_name_and_arguments_are_sent_and_nothing_else() -> None:
    params = {"name": "a", "arguments": {"b": 1}, "_meta": {"progressToken": 1}}
    assert forwarded_params(McpRequest(method="tools/call", params=params), ["a"], server="docs") == {
        "name": "a",
        "arguments": {"b": 1},
    }
    assert forwarded_params(McpRequest(method="ping", params=params), (), server="docs") == {}
    assert forwarded_params(McpRequest(method="tools/list", params={"cursor": 7}), (), server="docs") == {}


def test_without_a_tool_nothing_can_be_called() -> None:
    with pytest.raises(McpError, match="offered: none"):
        forwarded_params(McpRequest(method="tools/call", params={"name": "a"}), (), server="docs")


@pytest.mark.parametrize("number", [b"1e999", b"NaN", b"-Infinity"])
def test_a_number_that_cannot_be_written_again_is_none(number: bytes) -> None:
    with pytest.raises(McpError, match="the body is not JSON"):
        read_request(b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": %b}}' % number)
    assert read_request(b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": 1.5}}').params == {
        "a": 1.5
    }


def test_what_a_server_says_of_itself_is_told_within_bounds() -> None:
    told = introduction({"protocolVersion": "2030-01-01"}, "docs", {"instructions": "x" * 9_000})
    assert (told["protocolVersion"], len(told["instructions"])) == ("2025-11-25", 4_000)
    assert "instructions" not in introduction({}, "docs", {"instructions": 7})


def test_a_result_keeps_what_the_protocol_has() -> None:
    result = {"content": [], "isError": True, "_meta": {}, "structuredContent": {"a": 1}}
    kept = returned_result("tools/call", result, (), server="docs")
    assert kept == {"content": [], "isError": True, "structuredContent": {"a": 1}}
    assert returned_result("ping", {"a": 1}, (), server="docs") == {}
