"""The Responses API: what of it is passed on, and that nothing is lost between it and chat completions."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.budgets.budget import TokenUsage
from overlord.domain.wires.responses import ResponsesDialect
from overlord.domain.wires.wire import ModelRequest, WireError
from tests.domain.wire_values import (
    NAMES,
    PIXEL,
    any_json,
    call,
    changed,
    chunk,
    chunks_of,
    completion,
    deep_json,
    events_of,
    paths,
    recorded,
    words,
)

DIALECT = ResponsesDialect()
CODEX = "responses_codex.json"
CODEX_FILES = [CODEX, "responses_codex_image.json", "responses_codex_custom.json"]
IMAGE = f"data:image/png;base64,{PIXEL}"
TOOLS = [
    {
        "type": "function",
        "name": "shell",
        "description": "Runs it.",
        "strict": False,
        "parameters": {"type": "object"},
    },
    {
        "type": "custom",
        "name": "apply_patch",
        "format": {"type": "grammar", "syntax": "lark", "definition": "start: X"},
    },
    {
        "type": "namespace",
        "name": "mcp__overlord",
        "tools": [
            {"type": "function", "name": "task_complete", "parameters": {"type": "object"}},
            {"type": "function", "name": "a.very.long.name" * 5},
        ],
    },
]


def _read(**body: Any) -> ModelRequest:
    return DIALECT.read({"model": "default", "input": "hello", **body}, names=NAMES, completion=1000)


def _chat(**body: Any) -> Any:
    return DIALECT.to_chat(_read(**body)).body


def _translated(request: ModelRequest, chunks: list[bytes]) -> bytes:
    translator = DIALECT.translator(request, model="default")
    return b"".join([*map(translator.feed, chunks), translator.end()])


@pytest.mark.parametrize("file", CODEX_FILES)
def test_what_codex_sends_is_passed_on_whole(file: str) -> None:
    for body in recorded(file):
        request = DIALECT.read(body, names=NAMES, completion=1000)
        written = json.loads(DIALECT.written(request, model="gpt", limit_parameter="max_tokens"))
        thoughts = [item for item in body["input"] if item["type"] == "reasoning"]
        assert written["input"] == [item for item in body["input"] if item not in thoughts]
        assert written["tools"] == body["tools"]
        assert written["model"] == "gpt"
        assert written["store"] is False
        assert written["stream"] is True
        assert written["max_output_tokens"] == 1000
        assert not written.keys() & {"client_metadata", "prompt_cache_key"}


def test_thoughts_go_to_an_endpoint_only_where_it_can_read_them() -> None:
    kept = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    request = _read(
        input=[{"role": "user", "content": "hi"}, kept, {"type": "reasoning", "id": "rs_2", "summary": []}]
    )
    assert json.loads(DIALECT.written(request, model="m", limit_parameter=""))["input"][1:] == [kept]
    assert len(DIALECT.to_chat(request).messages) == 1


@pytest.mark.parametrize("file", CODEX_FILES)
def test_nothing_that_codex_says_is_lost_in_a_chat_completion(file: str) -> None:
    for body in recorded(file):
        chat = DIALECT.to_chat(DIALECT.read(body, names=NAMES, completion=1000))
        told = json.dumps(chat.body, ensure_ascii=False)
        for item in body["input"]:
            for part in item.get("content") or ():
                assert json.dumps(part.get("text") or part["image_url"], ensure_ascii=False)[1:-1] in told
        calls = [c for message in chat.messages for c in message.get("tool_calls", ())]
        results = [message for message in chat.messages if message["role"] == "tool"]
        assert [c["id"] for c in calls] == [result["tool_call_id"] for result in results]
        for item in body["input"]:
            if item["type"].endswith("_output"):
                [result] = [one for one in results if one["tool_call_id"] == item["call_id"]]
                texts = (
                    item["output"]
                    if isinstance(item["output"], str)
                    else "\n".join(p["text"] for p in item["output"])
                )
                assert result["content"] == texts
        names = {tool["function"]["name"] for tool in chat.body["tools"]}
        assert len(names) == sum(len(tool.get("tools", [tool])) for tool in body["tools"])
        assert {c["function"]["name"] for c in calls} <= names


def test_codex_calls_a_tool_of_a_namespace_and_gets_it_back() -> None:
    body = recorded(CODEX)[-1]
    chat = DIALECT.to_chat(DIALECT.read(body, names=NAMES, completion=10))
    assistant = [message for message in chat.messages if message["role"] == "assistant"][-1]
    [called] = assistant["tool_calls"]
    assert called["function"]["name"] == "mcp__overlord__task_complete"
    assert json.loads(called["function"]["arguments"]) == {"summary": "ok"}


def test_the_form_of_the_answer_and_the_effort_are_wishes_in_both() -> None:
    [body] = recorded("responses_codex_image.json")
    chat = DIALECT.to_chat(DIALECT.read(body, names=NAMES, completion=10)).body
    form = chat["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"] == body["text"]["format"]["schema"]
    assert form["json_schema"]["strict"] is True
    assert chat["reasoning_effort"] == "high"
    assert _chat(text={"format": {"type": "json_object"}, "verbosity": "low"})["response_format"] == {
        "type": "json_object"
    }
    assert _chat(temperature=0.5, top_p=1)["temperature"] == 0.5


def test_a_request_becomes_a_chat_completion() -> None:
    items: list[Any] = [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": IMAGE}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I see."}]},
        {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "patched"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [{"type": "input_image", "image_url": IMAGE}],
        },
    ]
    image = {"type": "image_url", "image_url": {"url": IMAGE}}
    assert _chat(instructions="Be brief.", input=items, tools=TOOLS)["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
        {
            "role": "assistant",
            "content": "I see.",
            "tool_calls": [call("c1", "shell", "{}"), call("c2", "apply_patch", '{"input": "*** Begin"}')],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "It gave an image, which follows."},
        {"role": "tool", "tool_call_id": "c2", "content": "patched"},
        {"role": "user", "content": [{"type": "text", "text": "What the call c1 gave:"}, image]},
    ]


@pytest.mark.parametrize(
    ("choice", "chat"),
    [
        ("required", "required"),
        ({"type": "function", "name": "shell"}, {"type": "function", "function": {"name": "shell"}}),
        (
            {"type": "custom", "name": "apply_patch"},
            {"type": "function", "function": {"name": "apply_patch"}},
        ),
    ],
)
def test_the_choice_of_a_tool_is_the_same(choice: Any, chat: Any) -> None:
    assert _chat(tools=TOOLS, tool_choice=choice, parallel_tool_calls=False)["tool_choice"] == chat


def test_a_strict_tool_stays_strict() -> None:
    strict = {"type": "function", "name": "f", "strict": True, "parameters": {"type": "object"}}
    function = {"name": "f", "strict": True, "parameters": {"type": "object"}}
    assert _chat(tools=[strict])["tools"] == [{"type": "function", "function": function}]


def test_nothing_follows_an_error() -> None:
    error = b'data: {"error": "overloaded"}\n\n'
    translator = DIALECT.translator(_read(), model="default")
    assert (
        events_of(translator.feed(error + chunk({"content": "x"}, "stop")))[-1]["type"] == "response.failed"
    )
    assert translator.feed(chunk({"content": "x"}, "stop")) == translator.end() == b""


def test_allowed_tools_are_the_only_ones_that_are_offered() -> None:
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "shell"}]}
    chat = _chat(tools=TOOLS, tool_choice=allowed)
    assert [tool["function"]["name"] for tool in chat["tools"]] == ["shell"]
    assert chat["tool_choice"] == "required"


def test_names_of_tools_fit_and_none_is_there_twice() -> None:
    tools = [
        *TOOLS,
        {"type": "function", "name": "mcp__overlord__task_complete"},
        {"type": "function", "name": "schön"},
        {"type": "function", "name": "sch_n"},
    ]
    request = _read(tools=tools)
    names = [tool["function"]["name"] for tool in DIALECT.to_chat(request).body["tools"]]
    assert len(set(names)) == len(names) == 7
    assert all(0 < len(name) <= 64 and name.isascii() for name in names)
    assert "mcp__overlord__task_complete" in names
    reply = completion(
        {"content": None, "tool_calls": [call(f"c{i}", name, "{}") for i, name in enumerate(names)]}
    )
    output = json.loads(DIALECT.reply_of_chat(request, reply, model="m"))["output"]
    offered = [(tool["name"], tool.get("namespace")) for tool in output]
    assert offered == [
        ("shell", None),
        ("apply_patch", None),
        ("task_complete", "mcp__overlord"),
        ("a.very.long.name" * 5, "mcp__overlord"),
        ("mcp__overlord__task_complete", None),
        ("schön", None),
        ("sch_n", None),
    ]


REFUSED: list[tuple[dict[str, Any], str]] = [
    *[
        ({key: "x"}, f"parameter '{key}' is not passed on")
        for key in (
            "previous_response_id",
            "conversation",
            "background",
            "prompt",
            "max_tool_calls",
            "context_management",
        )
    ],
    ({"model": "gpt-5"}, "model 'gpt-5' is not offered to this session; ask for 'default'"),
    ({"model": ["x"]}, "is not offered"),
    *[
        ({"tools": [{"type": kind}]}, f"a tool of type '{kind}' is not passed on")
        for kind in (
            "web_search",
            "file_search",
            "code_interpreter",
            "mcp",
            "image_generation",
            "local_shell",
            "tool_search",
        )
    ],
    ({"tools": [{"type": []}]}, "a tool of type"),
    ({"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "mcp"}]}]}, "a tool of type 'mcp'"),
    ({"tools": [{"type": "function", "name": "f"}] * 2}, "offered twice"),
    ({"tools": [{"type": "function", "name": "f", "server_url": "x"}]}, "'server_url'"),
    ({"tools": {}}, "tools must be a list"),
    ({"tool_choice": {"type": "web_search_preview"}}, "tool_choice"),
    ({"tool_choice": {"type": "function", "name": "x", "namespace": []}}, "namespace"),
    ({"input": []}, "input"),
    ({"input": 3}, "input"),
    ({"input": [3]}, "object"),
    ({"input": [{"type": "item_reference", "id": "x"}]}, "'item_reference'"),
    ({"input": [{"type": "web_search_call"}]}, "'web_search_call'"),
    ({"input": [{"role": "tool", "content": "x"}]}, "role"),
    (
        {"input": [{"type": "function_call", "name": "x", "call_id": "c", "arguments": "", "namespace": 3}]},
        "namespace",
    ),
    ({"tools": [{"type": "namespace", "name": "n"}]}, "the tools of a namespace"),
    ({"tools": [{"type": "function", "name": "f", "parameters": "x"}]}, "parameters"),
    ({"tools": [{"type": "function", "name": "f", "description": 3}]}, "description"),
    ({"tool_choice": {"type": "allowed_tools", "mode": "none", "tools": []}}, "mode"),
    ({"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": ["x"]}}, "allowed_tools"),
    ({"reasoning": "high"}, "reasoning"),
    ({"include": "x"}, "include"),
    ({"input": [{"role": "user", "content": None}]}, "content"),
    ({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]}, "'input_file'"),
    (
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "https://x/a.png"}]}]},
        "data: URL",
    ),
    ({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]}, "data: URL"),
    ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "holds text"),
    ({"input": [{"type": "function_call", "name": "x", "call_id": "c"}]}, "arguments"),
    ({"input": [{"type": "function_call_output", "output": "x"}]}, "call_id"),
    ({"include": ["web_search_call.action.sources"]}, "include"),
    ({"stream": "yes"}, "stream must be true or false"),
    ({"max_output_tokens": 0}, "max_output_tokens"),
    ({"temperature": "hot"}, "temperature"),
    ({"text": {"format": {"type": "xml"}}}, "format"),
    ({"instructions": ["x"]}, "instructions"),
]


@pytest.mark.parametrize(("body", "words_of_it"), REFUSED)
def test_what_fetches_keeps_or_makes_no_sense_is_refused_by_name(
    body: dict[str, Any], words_of_it: str
) -> None:
    with pytest.raises(WireError) as refused:
        _read(**body)
    assert words_of_it in str(refused.value)


def test_a_search_by_the_provider_is_refused_as_codex_offers_it() -> None:
    [body] = recorded("responses_codex_search.json")
    with pytest.raises(WireError, match="a tool of type 'web_search' is not passed on"):
        DIALECT.read(body, names=NAMES, completion=10)


def test_what_a_chat_completion_cannot_say_is_refused() -> None:
    with pytest.raises(WireError, match="top_logprobs"):
        _chat(top_logprobs=3)
    picture = [{"type": "input_image", "image_url": IMAGE}]
    with pytest.raises(WireError, match="'developer'"):
        _chat(input=[{"role": "developer", "content": picture}])
    with pytest.raises(WireError, match="nothing in the conversation"):
        _chat(input=[{"type": "reasoning"}])
    empty: list[Any] = [{"role": role, "content": []} for role in ("user", "assistant")]
    with pytest.raises(WireError, match="nothing in the conversation"):
        _chat(input=empty)


def test_plain_text_is_input_and_a_custom_tool_needs_no_grammar() -> None:
    request = _read(tools=[{"type": "custom", "name": "note"}])
    assert json.loads(DIALECT.written(request, model="m", limit_parameter=""))["input"] == "hello"
    chat = DIALECT.to_chat(request).body
    assert chat["messages"] == [{"role": "user", "content": "hello"}]
    assert chat["tools"][0]["function"]["parameters"]["required"] == ["input"]


def test_a_result_without_its_call_is_refused() -> None:
    request = _read(input=[{"type": "function_call_output", "call_id": "c9", "output": "x"}])
    with pytest.raises(WireError, match="c9"):
        DIALECT.to_chat(request)


def test_a_request_may_ask_for_less_and_never_for_more() -> None:
    assert _read(max_output_tokens=10).completion == 10
    assert _read(max_output_tokens=10**9).completion == 1000


def test_a_stream_has_the_events_that_clients_wait_for() -> None:
    request = _read(tools=TOOLS, stream=True)
    message = {
        "reasoning_content": "Hm.",
        "content": "Well",
        "tool_calls": [
            call("c1", "mcp__overlord__task_complete", '{"a": 1}'),
            call("c2", "apply_patch", '{"input": "*** X"}'),
        ],
    }
    events = events_of(_translated(request, chunks_of(message, "tool_calls", size=50)))
    assert [event["type"].removeprefix("response.") for event in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "output_item.added",
        "function_call_arguments.done",
        "output_item.done",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
        "completed",
    ]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert (done[2]["namespace"], done[2]["name"]) == ("mcp__overlord", "task_complete")
    assert (done[3]["type"], done[3]["input"]) == ("custom_tool_call", "*** X")
    assert events[-1]["response"]["output"] == done
    assert events[-1]["response"]["usage"] == {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 120,
    }


@pytest.mark.parametrize(
    ("finish", "status", "reason"),
    [
        ("stop", "completed", None),
        ("length", "incomplete", {"reason": "max_output_tokens"}),
        ("content_filter", "incomplete", {"reason": "content_filter"}),
    ],
)
def test_why_it_ended_is_told(finish: str, status: str, reason: Any) -> None:
    request = _read()
    stream = _translated(request, chunks_of({"content": "x"}, finish))
    last = events_of(stream)[-1]
    assert last["type"] == f"response.{status}"
    assert last["response"]["incomplete_details"] == reason
    reader = DIALECT.reader(request)
    reader.feed(stream)
    said = reader.content().message
    assert said is not None
    assert said["finish_reason"] == finish
    whole = DIALECT.reply_of_chat(request, completion({"content": "x"}, finish), model="m")
    assert json.loads(whole)["status"] == status
    assert DIALECT.read_whole(whole).message == said


@pytest.mark.parametrize(
    "chunks",
    [
        [
            chunk({"content": "I be"}),
            b'data: {"error": {"message": "overloaded"}}\n\n',
            chunk({"content": "x"}, "stop"),
        ],
        [chunk({"content": "I be"}), chunk({}, "error", error={"message": "overloaded"})],
        [chunk({"content": "I be"})],
        [],
    ],
)
def test_a_stream_that_is_not_whole_fails(chunks: list[bytes]) -> None:
    events = events_of(_translated(_read(), chunks))
    assert [event["type"] for event in events].count("response.failed") == 1
    assert events[-1]["response"]["error"]["code"] == "model_unavailable"
    assert not any(event["type"] == "response.completed" for event in events)


def test_a_whole_reply_that_is_none_is_refused() -> None:
    for reply in (b"", b"[]", b'{"choices": []}', b'{"choices": [{"message": 1}]}', b"[" * 100_000):
        with pytest.raises(WireError):
            DIALECT.reply_of_chat(_read(), reply, model="m")


@pytest.mark.parametrize("arguments", ["", "{", "[1]", '{"a": NaN}', "nul"])
def test_arguments_that_are_no_json_break_nothing(arguments: str) -> None:
    request = _read(tools=TOOLS)
    calls = [
        call("c1", "shell", arguments),
        call("c2", "apply_patch", arguments),
        call("c3", "nobody", arguments),
    ]
    output = events_of(_translated(request, chunks_of({"tool_calls": calls})))[-1]["response"]["output"]
    assert [item.get("arguments", item.get("input")) for item in output] == [
        arguments or "{}",
        arguments,
        arguments or "{}",
    ]


def test_calls_without_numbers_or_ids_stay_apart() -> None:
    bare = {"function": {"name": "shell", "arguments": {"a": 1}}}
    chunks = [chunk({"tool_calls": [bare | {"id": "x"}, bare | {"id": "y"}]}), chunk({}, "tool_calls")]
    output = events_of(_translated(_read(tools=TOOLS), chunks))[-1]["response"]["output"]
    assert [(item["call_id"], item["arguments"]) for item in output] == [("x", '{"a": 1}'), ("y", '{"a": 1}')]
    rest: list[Any] = [None, {"function": {"arguments": "x"}}, {"function": {"arguments": {"deep": 1}}}]
    more = [chunk({"tool_calls": [bare | {"id": "x"}]}), chunk({"tool_calls": rest}), chunk({}, "stop")]
    [one] = events_of(_translated(_read(tools=TOOLS), more))[-1]["response"]["output"]
    assert one["arguments"] == '{"a": 1}x{"deep": 1}'
    nameless = [
        chunk({"tool_calls": [{"index": 0, "id": "z", "function": {"arguments": "{}"}}]}),
        chunk({}, "stop"),
    ]
    [one] = events_of(_translated(_read(), nameless))[-1]["response"]["output"]
    assert (one["call_id"], one["name"], one["arguments"]) == ("z", "", "{}")
    first, again = (
        events_of(_translated(_read(tools=TOOLS), [chunk({"tool_calls": [bare]}), chunk({}, "stop")]))[-1]
        for _ in range(2)
    )
    assert first["response"]["output"][0]["call_id"].startswith("call_")
    assert first == again


def test_a_stream_of_an_endpoint_is_read_and_never_changed() -> None:
    stream = b"".join(
        f"event: {event['type']}\r\ndata: {json.dumps(event)}\r\n\r\n".encode()
        for event in (
            {"type": "response.created", "response": {"id": "r", "status": "in_progress", "usage": None}},
            {
                "type": "response.output_item.done",
                "output_index": 2,
                "item": {
                    "type": "custom_tool_call",
                    "name": "p",
                    "namespace": "n",
                    "call_id": "d",
                    "input": "X",
                },
            },
            {"type": "response.reasoning_summary_text.delta", "output_index": 3, "delta": "Hm"},
            {
                "type": "response.output_item.done",
                "output_index": 4,
                "item": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "m."}]},
            },
            {"type": "response.output_text.delta", "output_index": 0, "delta": "cut o"},
            {
                "type": "response.output_item.done",
                "output_index": 1,
                "item": {"type": "function_call", "name": "f", "call_id": "c", "arguments": "{}"},
            },
            {
                "type": "response.completed",
                "response": {
                    "status": "completed",
                    "usage": {
                        "input_tokens": 9,
                        "input_tokens_details": {"cached_tokens": 4},
                        "output_tokens": 2,
                    },
                },
            },
        )
    )
    reader = DIALECT.reader(_read())
    passed = b"".join(reader.feed(stream[i : i + 7]) for i in range(0, len(stream), 7))
    assert passed + reader.rest == stream
    assert reader.usage == TokenUsage(prompt=9, cached=4, completion=2)
    assert reader.content().message == {
        "role": "assistant",
        "content": "cut o",
        "reasoning_content": "Hmm.",
        "tool_calls": [call("c", "f", "{}"), call("d", "n__p", '{"input": "X"}')],
        "finish_reason": "tool_calls",
    }


@pytest.mark.parametrize(
    "usage",
    [None, 1, {}, {"input_tokens": -1, "output_tokens": 1}, {"input_tokens": 1, "output_tokens": True}, {"input_tokens": 1.5, "output_tokens": 1},
     {"input_tokens": 10**12, "output_tokens": 1}, {"input_tokens": 1, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 2}}],
)  # fmt: skip
def test_a_usage_that_cannot_be_is_none(usage: Any) -> None:
    data = json.dumps({"output": [], "status": "completed", "usage": usage}).encode()
    assert DIALECT.read_whole(data).usage is None


def test_a_reply_that_is_none_is_kept_as_it_is() -> None:
    read = DIALECT.read_whole(b"<html>\xff" * 10)
    assert read.message == {"unreadable": "<html>\ufffd" * 10}
    assert read.least_tokens > 0


def test_errors_have_the_shape_of_the_wire() -> None:
    assert DIALECT.error(402, "budget_exceeded", "It is spent.") == {
        "error": {"message": "It is spent.", "type": "overlord", "param": None, "code": "budget_exceeded"}
    }
    [failed] = events_of(DIALECT.stream_error("model_unavailable", "gone"))
    assert failed["type"] == "response.failed"
    assert failed["response"]["error"] == {"code": "model_unavailable", "message": "gone"}


def test_no_depth_breaks_anything() -> None:
    request = _read(tools=TOOLS)
    for deep in deep_json():
        delta = f'{{"tool_calls": [{{"id": "c", "function": {{"name": "shell", "arguments": {deep}}}}}]}}'
        events = [f'data: {{"choices": [{{"delta": {delta}, "finish_reason": "stop"}}]}}\n\n'.encode()]
        stream = _translated(request, events)
        assert events_of(stream)[-1]["type"] in {"response.completed", "response.failed"}
        DIALECT.read_whole(f'{{"output": [{deep}]}}'.encode())
        with contextlib.suppress(WireError, RecursionError):
            # Whoever reads the body refuses what is too deep to be read.
            body = json.loads(f'[{{"type": "function", "name": "f", "parameters": {deep}}}]')
            DIALECT.written(
                DIALECT.to_chat(_read(tools=body)) and _read(tools=body), model="m", limit_parameter=""
            )


TOOL_NAMES = ["shell", "apply_patch", "mcp__overlord__task_complete"]
calls_of_a_reply = st.lists(
    st.tuples(st.sampled_from(TOOL_NAMES), st.dictionaries(words, words, max_size=2), words), max_size=3
)


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    calls=calls_of_a_reply,
    finish=st.sampled_from(["stop", "length"]),
    size=st.integers(1, 9),
    cached=st.integers(0, 50),
)
def test_a_reply_comes_back_as_it_was(text: str, calls: Any, finish: str, size: int, cached: int) -> None:
    """Chat, wire, and chat again: a client sends the items of a reply back, and the endpoint gets its own message."""
    made = [
        call(
            f"c{i}",
            name,
            json.dumps({"input": patch} if name == "apply_patch" else arguments, ensure_ascii=False),
        )
        for i, (name, arguments, patch) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": made} if made else {})}
    finish = finish if finish == "length" or not made else "tool_calls"
    usage = {"prompt_tokens": 50, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": cached}}
    request = _read(tools=TOOLS, stream=True)
    stream = _translated(request, chunks_of(message, finish, usage, size))
    whole = DIALECT.reply_of_chat(request, completion(message, finish, usage), model="default")
    reader = DIALECT.reader(request)
    assert reader.feed(stream) == stream
    read = reader.content()
    assert read.usage == DIALECT.read_whole(whole).usage == TokenUsage(prompt=50, completion=7, cached=cached)
    assert read.message == DIALECT.read_whole(whole).message
    assert read.message == {**message, "content": text, "finish_reason": finish}
    output = json.loads(whole)["output"]
    assert output == events_of(stream)[-1]["response"]["output"]
    results = [{"type": "function_call_output", "call_id": one["id"], "output": "ok"} for one in made]
    sent = [{"role": "user", "content": "hello"}, *output, *results]
    again = [m for m in _chat(input=sent, tools=TOOLS)["messages"] if m["role"] == "assistant"]
    assert again == ([message] if text or made else [])


BODIES = [body for file in CODEX_FILES for body in recorded(file)[-1:]]


@given(st.data())
def test_whatever_a_session_sends_is_read_or_refused(data: st.DataObject) -> None:
    body = data.draw(st.sampled_from(BODIES))
    path = data.draw(st.sampled_from(list(paths(body))))
    body = changed(body, path, data.draw(any_json))
    try:
        request = DIALECT.read(body, names=NAMES, completion=10)
        json.loads(DIALECT.written(request, model="m", limit_parameter=""))
        DIALECT.translator(DIALECT.to_chat(request) and request, model="m")
    except WireError as refused:
        assert str(refused)


@given(st.lists(st.fixed_dictionaries({}, optional={"choices": any_json | st.lists(st.fixed_dictionaries({}, optional={"delta": any_json, "finish_reason": any_json}), max_size=2), "usage": any_json, "error": any_json, "id": any_json, "created": any_json}), max_size=3), st.binary(max_size=20))  # fmt: skip
def test_whatever_an_endpoint_sends_is_translated_and_read(chunks: list[Any], rubbish: bytes) -> None:
    request = _read(tools=TOOLS)
    events = [b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks] + [rubbish]
    stream = _translated(request, events)
    assert events_of(stream)[-1]["type"] in {"response.completed", "response.incomplete", "response.failed"}
    reader = DIALECT.reader(request)
    assert reader.feed(stream + rubbish) + reader.rest == stream + rubbish
    reader.content()


@given(st.lists(st.fixed_dictionaries({"type": st.sampled_from(["response.output_item.done", "response.output_text.delta", "response.completed"])}, optional={"item": any_json, "delta": any_json, "output_index": any_json, "response": any_json}), max_size=4))  # fmt: skip
def test_whatever_an_endpoint_of_the_wire_sends_is_read(events: list[Any]) -> None:
    reader = DIALECT.reader(_read())
    reader.feed(b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events))
    assert reader.content().message is not None
    DIALECT.read_whole(json.dumps({"output": events, "usage": events}).encode())
