"""What a session may ask over the Messages API, and what a chat completion cannot say of it."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.wires.messages import MessagesDialect, count_tokens
from overlord.domain.wires.wire import ModelRequest, WireError
from tests.domain.test_wire_messages import DIALECT, EXCHANGES, JSON, NAMES, PNG, read

TOOL = {"name": "Bash", "input_schema": {"type": "object"}}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def said(*blocks: Any) -> list[Any]:
    return [{"role": "user", "content": list(blocks)}]


def of_system(*blocks: Any) -> list[Any]:
    return [{"role": "user", "content": "hi"}, {"role": "system", "content": list(blocks)}]


def result(*blocks: Any) -> list[Any]:
    return said({"type": "tool_result", "tool_use_id": "a", "content": list(blocks)})


def source(**said_of_it: Any) -> dict[str, Any]:
    return {"type": "document", "source": said_of_it}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"model": "claude-x"}, "model 'claude-x' is not offered to this session; ask for overlord"),
        ({"model": None}, "model 'None' is not offered"),
        ({"mcp_servers": []}, "parameter 'mcp_servers' is not passed on; known: cache_control"),
        ({"container": "c"}, "parameter 'container' is not passed on"),
        ({"max_tokens": 0}, "max_tokens must be a whole number"),
        ({"max_tokens": True}, "max_tokens must be a whole number"),
        ({"stream": 1}, "stream must be true or false"),
        ({"messages": []}, "needs a list of messages"),
        ({"messages": {"role": "user"}}, "needs a list of messages"),
        ({"messages": ["hi"]}, "whose role is user, assistant or system"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, "whose role is user"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "whose role is user"),
        ({"messages": [{"role": "user"}]}, "each message has content"),
        ({"messages": [{"role": "user", "content": 7}]}, "content is text or a list of blocks"),
        ({"messages": [{"role": "user", "content": "x", "id": 1}]}, "'id' of a message is not passed on"),
        ({"messages": [{"role": "user", "content": "x", "output_config": 1}]}, "output_config is an object"),
        ({"messages": said("hi")}, "content of type 'None' is not passed on"),
        ({"messages": said({"type": ["text"]})}, "is not passed on; known here: document"),
        ({"messages": said({"type": "server_tool_use", "id": "a"})}, "'server_tool_use' is not passed on"),
        ({"messages": said({"type": "container_upload"})}, "'container_upload' is not passed on"),
        ({"messages": said({"type": "text", "text": None})}, "a text block has its text"),
        ({"messages": said({"type": "image"})}, "an image with source 'None'"),
        (
            {"messages": said({"type": "image", "source": {"type": "url", "url": "https://x"}})},
            "source 'url'",
        ),
        ({"messages": said({"type": "image", "source": {"type": "file", "file_id": "f"}})}, "source 'file'"),
        ({"messages": said({"type": "image", "source": {"type": "base64", "data": PNG}})}, "media_type"),
        ({"messages": said(source(type="url", url="https://x"))}, "a document with source 'url'"),
        ({"messages": said(source(type=["text"]))}, "a document with source"),
        ({"messages": said({"type": "document", "source": 1})}, "a document with source 'None'"),
        ({"messages": said(source(type="base64"))}, "a document has its data"),
        (
            {"messages": said(source(type="content", content=[{"type": "document"}]))},
            "a document's content of type",
        ),
        (
            {"messages": said({"type": "tool_use", "id": "a", "name": "b", "input": "x"})},
            "an object as its input",
        ),
        (
            {"messages": said({"type": "tool_use", "id": "", "name": "b", "input": {}})},
            "a tool_use block has",
        ),
        ({"messages": said({"type": "tool_result"})}, "the tool_use_id of its call"),
        ({"messages": result({"type": "tool_use"})}, "a tool_result's content of type 'tool_use'"),
        ({"messages": result({"type": "tool_reference"})}, "a tool_reference block has a tool_name"),
        ({"messages": of_system({"type": "image"})}, "content of type 'image' is not passed on"),
        ({"messages": of_system({"type": "tool_addition", "tool": 1})}, "a change of tools has a tool"),
        (
            {"messages": of_system({"type": "tool_removal", "tool": {"type": "tool_reference"}})},
            "a change of tools has a tool",
        ),
        (
            {
                "messages": of_system(
                    {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": None}}
                )
            },
            "a tool of type 'None' is not passed on",
        ),
        ({"system": 1}, "system is text or a list of blocks"),
        ({"system": [IMAGE]}, "system of type 'image' is not passed on"),
        ({"tools": {}}, "tools must be a list"),
        ({"tools": ["Bash"]}, "a tool of type 'Bash' is not passed on"),
        (
            {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]},
            "'web_fetch_20250910' is not passed on",
        ),
        ({"tools": [{"type": "code_execution_20250825", "name": "c"}]}, "'code_execution_20250825'"),
        (
            {"tools": [{"type": "tool_search_tool_regex_20251119", "name": "t"}]},
            "'tool_search_tool_regex_20251119'",
        ),
        ({"tools": [{"type": "mcp_toolset", "mcp_server_name": "x"}]}, "'mcp_toolset' is not passed on"),
        ({"tools": [{"type": "bash_20250124_x", "name": "bash"}]}, "'bash_20250124_x' is not passed on"),
        ({"tools": [{"type": 7, "name": "bash"}]}, "a tool of type '7' is not passed on"),
        ({"tools": [{"input_schema": {}}]}, "each tool has a name"),
        (
            {"tools": [TOOL | {"allowed_callers": []}]},
            "'allowed_callers' of the tool 'Bash' is not passed on",
        ),
        ({"tools": [{"name": "Bash"}]}, "the tool 'Bash' has no input_schema"),
        ({"tools": [TOOL | {"description": 1}]}, "the description of the tool 'Bash' must be a string"),
        ({"tool_choice": "auto"}, "tool_choice is an object whose type is one of: any, auto, none, tool"),
        ({"tool_choice": {"type": ["any"]}}, "tool_choice is an object"),
        ({"tool_choice": {"type": "tool"}}, "has the name of a tool"),
        ({"tool_choice": {"type": "any", "disable_parallel_tool_use": 1}}, "must be true or false"),
        ({"thinking": "much"}, "thinking is an object whose type is one of: adaptive, disabled, enabled"),
        ({"thinking": {"type": "enabled", "budget_tokens": "9"}}, "thinking's budget_tokens"),
        ({"stop_sequences": "x"}, "stop_sequences must be a list of strings"),
        ({"stop_sequences": [1]}, "stop_sequences must be a list of strings"),
        ({"context_management": []}, "context_management is an object with a list of edits"),
        ({"context_management": {"edits": [], "x": 1}}, "context_management is an object"),
        ({"context_management": {"edits": ["x"]}}, "a context edit of type 'None' is not passed on"),
        (
            {"context_management": {"edits": [{"type": "compact_20260112"}]}},
            "'compact_20260112' is not passed on",
        ),
        ({"output_config": {"x": 1}}, "output_config is an object; known: effort, format, task_budget"),
        ({"output_config": {"format": "json"}}, "the format of output_config must be an object"),
        ({"output_format": "json"}, "output_format must be an object"),
    ],
)
def test_what_is_refused_is_named(body: dict[str, Any], words: str) -> None:
    with pytest.raises(WireError) as refused:
        read(**body)
    assert words in str(refused.value)


def test_a_request_that_fits_is_taken() -> None:
    request = read(
        max_tokens=None,
        system="s",
        metadata={"user_id": "x"},
        service_tier="auto",
        temperature=None,
        tools=[
            TOOL,
            {"type": "custom", **TOOL},
            {"type": "text_editor_20250728", "name": "edit", "max_characters": 9},
        ],
        tool_choice={"type": "auto"},
        context_management={},
    )
    assert request.completion == 9000
    assert not request.stream
    assert request.body.keys() == {"messages", "system", "tools", "tool_choice", "context_management"}
    assert read(max_tokens=10_000).completion == 9000


def test_a_tool_without_a_schema_cannot_be_said_in_a_chat() -> None:
    request = read(tools=[{"type": "bash_20250124", "name": "bash"}])
    with pytest.raises(WireError, match="the tool 'bash_20250124' has no schema"):
        DIALECT.to_chat(request)


def test_what_a_chat_has_no_place_for_is_left_out_or_told() -> None:
    messages = [
        *said(
            {"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}},
            source(type="base64", media_type="application/pdf", data="JVBERi0="),
            source(type="text", media_type="text/plain", data="a text"),
            source(type="content", content="words"),
            source(type="content", content=[{"type": "text", "text": "more"}]),
        ),
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}]},
        {
            "role": "assistant",
            "content": [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "ok"}],
        },
        *said({"type": "tool_result", "tool_use_id": "a"}),
        *said({"type": "tool_result", "tool_use_id": "b", "is_error": True, "content": "no such file"}),
        {"role": "system", "content": []},
    ]
    request = read(messages=messages, thinking={"type": "adaptive"}, top_k=3, top_p=0.5, temperature=1)
    assert DIALECT.to_chat(request).body == {
        "messages": [
            {
                "role": "user",
                "content": "look\n\n(A document is left out here: this model can be given text and images, and no PDF.)"
                "\n\na text\n\nwords\n\nmore",
            },
            {"role": "assistant", "content": "ok"},
            {"role": "tool", "tool_call_id": "a", "content": "(no text)"},
            {"role": "tool", "tool_call_id": "b", "content": "Error:\nno such file"},
        ],
        "temperature": 1,
        "top_p": 0.5,
    }


def test_tools_that_come_and_go_in_the_middle() -> None:
    new = {"type": "tool_definition", "definition": {"name": "New", "input_schema": {}}}

    def named(name: str) -> dict[str, Any]:
        return {"type": "tool_reference", "name": name}

    messages = of_system(
        {"type": "text", "text": "a server connected"},
        {"type": "tool_addition", "tool": new},
        {"type": "tool_addition", "tool": named("Later")},
        {"type": "tool_removal", "tool": named("Bash")},
        {"type": "tool_removal", "tool": named("Back")},
        {"type": "tool_addition", "tool": named("Back")},
    )
    later: list[Any] = [
        {"name": name, "input_schema": {}, "defer_loading": True} for name in ("Later", "Never")
    ]
    tools = [TOOL, {"name": "Back", "input_schema": {}}, *later]
    chat = DIALECT.to_chat(read(messages=messages, tools=tools)).body
    assert [tool["function"]["name"] for tool in chat["tools"]] == ["Back", "Later", "New"]
    assert chat["messages"] == [
        {"role": "user", "content": "hi\n\n<system-reminder>\na server connected\n</system-reminder>"}
    ]
    assert "tool_choice" not in chat


@pytest.mark.parametrize("key", ["output_config", "output_format"])
def test_a_reply_that_has_to_fit_a_schema(key: str) -> None:
    wanted = {"type": "json_schema", "schema": {"type": "object"}}
    body = {key: wanted if key == "output_format" else {"format": wanted}}
    assert DIALECT.to_chat(read(**body)).body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": {"type": "object"}, "strict": True},
    }


def deep() -> Any:
    value: Any = {}
    for _ in range(5000):
        value = {"x": value}
    return value


@pytest.mark.parametrize("value", [deep(), {"x": float("inf")}], ids=["deep", "endless"])
def test_what_json_cannot_carry_is_a_refusal_and_no_fault(value: Any) -> None:
    messages = said({"type": "tool_use", "id": "a", "name": "b", "input": value})
    messages[0]["role"] = "assistant"
    request = read(messages=messages)
    for act in (
        lambda: DIALECT.to_chat(request),
        lambda: DIALECT.written(request, model="m", limit_parameter="x"),
        lambda: count_tokens({"messages": messages}),
    ):
        with pytest.raises(WireError, match="nested too deeply"):
            act()


def test_a_very_long_conversation_is_still_translated() -> None:
    chat = DIALECT.to_chat(read(messages=[{"role": "user", "content": "x"}] * 100_000))
    assert len(chat.body["messages"][0]["content"]) == 300_000 - 2


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, item in inner for path in paths(item, (*at, key)))]


REQUESTS = [exchange["request"] for name in EXCHANGES for exchange in EXCHANGES[name]]


@given(st.sampled_from(REQUESTS), st.data(), JSON)
def test_a_request_that_was_tampered_with_is_refused_in_words_or_taken(
    asked: dict[str, Any], data: st.DataObject, value: Any
) -> None:
    body = copy.deepcopy(asked)
    path = data.draw(st.sampled_from(paths(body)[1:]))
    place: Any = body
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    try:
        request: ModelRequest = MessagesDialect().read(body, names=NAMES, completion=100)
        DIALECT.written(request, model="m", limit_parameter="x")
        json.dumps(DIALECT.to_chat(request).body)
    except WireError as refused:
        assert str(refused)
    assert count_tokens(body) > 0
