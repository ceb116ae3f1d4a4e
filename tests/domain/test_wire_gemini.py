"""Google's wire: what of it is passed on, and that nothing is lost between it and chat completions."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.budgets.budget import TokenUsage
from overlord.domain.wires.gemini import IMAGE_TOKENS, GeminiDialect, count_tokens
from overlord.domain.wires.gemini_chat import json_schema
from overlord.domain.wires.translation.completion import Completion
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

DIALECT = GeminiDialect()
FILES = ["gemini_cli.json", "gemini_cli_without_ids.json"]
HELLO = {"role": "user", "parts": [{"text": "hello"}]}
DATA = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
NAMED = ["run_shell_command", "read.file", "mcp_overlord_task_complete"]
TOOLS = [{"functionDeclarations": [{"name": name, "parameters": {"type": "OBJECT"}} for name in NAMED]}]


def _read(**body: Any) -> ModelRequest:
    return DIALECT.read(
        {"contents": [HELLO], **body}, names=NAMES, completion=1000, model="default", stream=True
    )


def _chat(**body: Any) -> Any:
    return DIALECT.to_chat(_read(**body)).body


def _sent(file: str) -> list[ModelRequest]:
    requests = []
    for exchange in recorded(file):
        model, _, verb = exchange["path"].removeprefix("/v1beta/models/").partition(":")
        requests.append(
            DIALECT.read(
                exchange["body"], names=NAMES, completion=1000, model=model, stream=verb.startswith("stream")
            )
        )
    return requests


def _translated(request: ModelRequest, chunks: list[bytes]) -> bytes:
    translator = DIALECT.translator(request, model="default")
    return b"".join([*map(translator.feed, chunks), translator.end()])


@pytest.mark.parametrize("file", FILES)
def test_what_gemini_cli_sends_is_passed_on_whole(file: str) -> None:
    for exchange, request in zip(recorded(file), _sent(file), strict=True):
        written = json.loads(DIALECT.written(request, model="m", limit_parameter=""))
        body = exchange["body"]
        assert written == {**body, "generationConfig": {**body["generationConfig"], "maxOutputTokens": 1000}}
        assert request.stream


@pytest.mark.parametrize("file", FILES)
def test_nothing_that_gemini_cli_says_is_lost_in_a_chat_completion(file: str) -> None:
    for exchange, request in zip(recorded(file), _sent(file), strict=True):
        chat = DIALECT.to_chat(request)
        told = json.dumps(chat.body, ensure_ascii=False)
        calls = [one for message in chat.messages for one in message.get("tool_calls", ())]
        results = [message for message in chat.messages if message["role"] == "tool"]
        assert [one["id"] for one in calls] == [result["tool_call_id"] for result in results]
        said = [part for content in exchange["body"]["contents"] for part in content["parts"]]
        for part in said:
            if "text" in part and not part.get("thought"):
                assert json.dumps(part["text"], ensure_ascii=False)[1:-1] in told
        called = [part["functionCall"] for part in said if "functionCall" in part]
        assert [json.loads(one["function"]["arguments"]) for one in calls] == [one["args"] for one in called]
        outputs = [
            part["functionResponse"]["response"]["output"] for part in said if "functionResponse" in part
        ]
        assert [result["content"] for result in results] == outputs
        declared = exchange["body"]["tools"][0]["functionDeclarations"]
        functions = [tool["function"] for tool in chat.body["tools"]]
        assert [(one["name"], one["parameters"]) for one in functions] == [
            (one["name"], one["parametersJsonSchema"]) for one in declared
        ]
        assert chat.body["temperature"] == 1
        assert chat.body["top_p"] == 0.95


def test_gemini_clis_question_how_hard_a_task_is_asks_for_json() -> None:
    [request] = _sent("gemini_cli_classifier.json")
    assert not request.stream
    chat = DIALECT.to_chat(request).body
    schema = chat["response_format"]["json_schema"]["schema"]
    assert schema["type"] == "object"
    assert schema["properties"]["complexity_score"]["type"] == "integer"
    assert chat["reasoning_effort"] == "high"


def test_a_request_becomes_a_chat_completion() -> None:
    shell = {"name": "run_shell_command", "args": {"command": "ls"}}
    contents = [
        {"role": "user", "parts": [{"text": "look"}, DATA]},
        {
            "role": "model",
            "parts": [
                {"text": "Hm", "thought": True},
                {"text": "I see."},
                {"functionCall": shell},
                {"functionCall": shell},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "run_shell_command",
                        "response": {"output": "a"},
                        "parts": [DATA],
                    }
                },
                {"functionResponse": {"name": "run_shell_command", "response": {"error": "b"}}},
                {"text": "go on"},
            ],
        },
        {"role": "model", "parts": [{"functionCall": {"name": "read.file", "args": {}}}]},
    ]
    messages = _chat(contents=contents, tools=TOOLS, systemInstruction={"parts": [{"text": "Be brief."}]})[
        "messages"
    ]
    assert messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "look"}, IMAGE]},
        {
            "role": "assistant",
            "content": "I see.",
            "tool_calls": [
                call("call_1", "run_shell_command", '{"command": "ls"}'),
                call("call_2", "run_shell_command", '{"command": "ls"}'),
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "a"},
        {"role": "tool", "tool_call_id": "call_2", "content": '{"error": "b"}'},
        {"role": "user", "content": [{"type": "text", "text": "What the call call_1 gave:"}, IMAGE]},
        {"role": "user", "content": "go on"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call("call_3", messages[-1]["tool_calls"][0]["function"]["name"], "{}")],
        },
    ]


def test_the_same_call_has_the_same_id_in_every_later_request() -> None:
    turn = [
        {"role": "model", "parts": [{"functionCall": {"name": "f"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
    ]
    short, long = (_chat(contents=[HELLO, *turn * count])["messages"] for count in (2, 3))
    assert long[: len(short)] == short
    ids = [message["tool_call_id"] for message in long if message["role"] == "tool"]
    assert len(set(ids)) == 3


@pytest.mark.parametrize(("called", "answered"), [("x", ""), ("", "x"), ("x", "x"), ("", "")])
def test_a_result_finds_its_call_where_either_has_no_id(called: str, answered: str) -> None:
    parts = [{"functionCall": {"name": "f"} | ({"id": called} if called else {})}]
    response = {"name": "f", "response": {}} | ({"id": answered} if answered else {})
    contents = [HELLO, {"role": "model", "parts": parts}, *_parts({"functionResponse": response})["contents"]]
    *_, call_message, result = _chat(contents=contents)["messages"]
    assert call_message["tool_calls"][0]["id"] == result["tool_call_id"] == (called or "call_1")


def test_settings_of_the_reply_are_the_same() -> None:
    config = {
        "temperature": 0.3,
        "topP": 0.9,
        "topK": 3,
        "stopSequences": ["END"],
        "seed": 7,
        "presencePenalty": 1,
        "frequencyPenalty": 2,
    }
    chat = _chat(generationConfig={**config, "maxOutputTokens": 10, "candidateCount": 1})
    del chat["messages"]
    assert chat == {
        "temperature": 0.3,
        "top_p": 0.9,
        "stop": ["END"],
        "seed": 7,
        "presence_penalty": 1,
        "frequency_penalty": 2,
    }
    assert _read(generationConfig={"maxOutputTokens": 10}).completion == 10
    assert _chat(generationConfig={"responseMimeType": "application/json"})["response_format"] == {
        "type": "json_object"
    }
    with pytest.raises(WireError, match="responseMimeType"):
        _chat(generationConfig={"responseMimeType": "text/x.enum"})


@pytest.mark.parametrize(
    ("calling", "choice", "count"),
    [
        ({"mode": "AUTO"}, "auto", 3),
        ({"mode": "NONE"}, "none", 3),
        ({"mode": "ANY"}, "required", 3),
        ({"mode": "ANY", "allowedFunctionNames": NAMED[:2]}, "required", 2),
        (
            {"mode": "ANY", "allowedFunctionNames": NAMED[:1]},
            {"type": "function", "function": {"name": NAMED[0]}},
            1,
        ),
        ({}, None, 3),
    ],
)
def test_the_choice_of_a_function_is_the_same(calling: Any, choice: Any, count: int) -> None:
    chat = _chat(tools=TOOLS, toolConfig={"functionCallingConfig": calling})
    assert chat.get("tool_choice") == choice
    assert len(chat["tools"]) == count


def test_googles_schemas_become_json_schemas() -> None:
    google = {
        "type": "OBJECT",
        "propertyOrdering": ["type"],
        "properties": {
            "type": {"type": "STRING", "enum": ["STRING"], "nullable": True},
            "minItems": {"type": "ARRAY", "minItems": "1", "items": {"anyOf": [{"type": "NUMBER"}]}},
        },
        "required": ["type"],
    }
    assert json_schema(google) == {
        "type": "object",
        "properties": {
            "type": {"type": ["string", "null"], "enum": ["STRING"]},
            "minItems": {"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "number"}]}},
        },
        "required": ["type"],
    }


def _parts(*parts: Any, role: str = "user") -> dict[str, Any]:
    return {"contents": [{"role": role, "parts": list(parts)}]}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"cachedContent": "cachedContents/x"}, "'cachedContent' is not passed on"),
    *[
        ({"tools": [{kind: {}}]}, f"tool '{kind}' is not passed on")
        for kind in (
            "googleSearch",
            "googleSearchRetrieval",
            "codeExecution",
            "urlContext",
            "googleMaps",
            "fileSearch",
            "computerUse",
        )
    ],
    ({"tools": {}}, "tools must be a list"),
    ({"tools": [3]}, "object"),
    ({"tools": [{"functionDeclarations": 3}]}, "functionDeclarations"),
    ({"tools": [{"functionDeclarations": [{"name": "f"}] * 2}]}, "declared twice"),
    ({"tools": [{"functionDeclarations": [{"name": []}]}]}, "name"),
    ({"tools": [{"functionDeclarations": [{"name": "f", "description": 3}]}]}, "description"),
    ({"tools": [{"functionDeclarations": [{"name": "f", "parameters": []}]}]}, "parameters"),
    ({"toolConfig": {"functionCallingConfig": 3}}, "toolConfig"),
    ({"generationConfig": {"thinkingConfig": 3}}, "thinkingConfig"),
    ({"generationConfig": {"responseMimeType": 3}}, "responseMimeType"),
    (_parts({"functionResponse": {"name": "f", "parts": 3}}), "parts"),
    (_parts({"functionCall": 3}), "name"),
    ({"toolConfig": {"retrievalConfig": {}}}, "'retrievalConfig'"),
    ({"toolConfig": {"functionCallingConfig": {"mode": "SOME"}}}, "mode"),
    ({"toolConfig": {"functionCallingConfig": {"allowedFunctionNames": [[]]}}}, "allowedFunctionNames"),
    ({"contents": []}, "contents"),
    ({"contents": "hello"}, "contents"),
    ({"contents": [3]}, "contents"),
    ({"contents": [{"role": "robot", "parts": []}]}, "role"),
    (_parts(3), "part"),
    (_parts({}), "part"),
    (_parts({"fileData": {"fileUri": "https://x"}}), "'fileData' of a part"),
    (_parts({"executableCode": {}}), "'executableCode'"),
    (_parts({"text": 3}), "text"),
    (_parts({"inlineData": {"mimeType": "application/pdf", "data": "x"}}), "'application/pdf'"),
    (_parts({"inlineData": 3}), "inlineData"),
    (_parts({"functionCall": {"name": "f", "args": []}}), "args"),
    (_parts({"functionResponse": {"name": "f", "id": 3}}), "id"),
    (_parts({"functionResponse": {"name": "f", "parts": [{"fileData": {}}]}}), "inlineData"),
    ({"systemInstruction": {"parts": [DATA]}}, "text alone"),
    ({"generationConfig": {"responseModalities": ["IMAGE"]}}, "TEXT"),
    ({"generationConfig": {"candidateCount": 2}}, "candidateCount"),
    ({"generationConfig": {"speechConfig": {}}}, "'speechConfig'"),
    ({"generationConfig": {"maxOutputTokens": "1"}}, "maxOutputTokens"),
    ({"generationConfig": {"temperature": True}}, "temperature"),
    ({"generationConfig": {"stopSequences": [1]}}, "stopSequences"),
    ({"generationConfig": []}, "generationConfig"),
    ({"safetySettings": 3}, "safetySettings"),
]


@pytest.mark.parametrize(("body", "words_of_it"), REFUSED)
def test_what_fetches_keeps_or_makes_no_sense_is_refused_by_name(
    body: dict[str, Any], words_of_it: str
) -> None:
    with pytest.raises(WireError) as refused:
        _read(**body)
    assert words_of_it in str(refused.value)


def test_another_model_is_refused_in_the_same_words_whether_it_exists_or_not() -> None:
    with pytest.raises(WireError, match="'gemini-9' is not offered to this session; ask for 'default'"):
        DIALECT.read({"contents": [HELLO]}, names=NAMES, completion=1, model="gemini-9")


def test_words_in_the_wrong_mouth_and_results_without_a_call_are_refused() -> None:
    for contents in (
        _parts({"functionResponse": {"name": "f", "response": {}}}),
        _parts({"functionCall": {"name": "f"}}),
        _parts(DATA, role="model"),
        _parts({"text": "Hm", "thought": True}, role="model"),
    ):
        with pytest.raises(WireError):
            _chat(**contents)


def test_a_stream_has_words_as_they_come_and_calls_when_they_are_whole() -> None:
    message = {
        "reasoning_content": "Hm.",
        "content": "Hello",
        "tool_calls": [call("c1", "run_shell_command", '{"command": "ls"}')],
    }
    chunks = events_of(_translated(_read(tools=TOOLS), chunks_of(message, "tool_calls", size=3)))
    parts = [part for one in chunks for part in one["candidates"][0]["content"]["parts"]]
    assert parts == [
        {"text": "Hm.", "thought": True},
        {"text": "Hel"},
        {"text": "lo"},
        {"functionCall": {"name": "run_shell_command", "args": {"command": "ls"}, "id": "c1"}},
    ]
    assert [one["candidates"][0].get("finishReason") for one in chunks] == [None, None, None, "STOP"]
    assert chunks[-1]["usageMetadata"] == {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 40,
        "candidatesTokenCount": 15,
        "thoughtsTokenCount": 5,
        "totalTokenCount": 120,
    }


@pytest.mark.parametrize(
    ("finish", "reason"), [("stop", "STOP"), ("length", "MAX_TOKENS"), ("content_filter", "SAFETY")]
)
def test_why_it_ended_is_told(finish: str, reason: str) -> None:
    request = _read()
    whole = DIALECT.reply_of_chat(request, completion({"content": "x"}, finish), model="m")
    assert json.loads(whole)["candidates"][0]["finishReason"] == reason
    said = DIALECT.read_whole(whole).message
    assert said is not None
    assert said["finish_reason"] == finish


@pytest.mark.parametrize(
    "chunks",
    [
        [
            chunk({"content": "I be"}),
            b'data: {"error": {"message": "overloaded"}}\n\n',
            chunk({"content": "x"}, "stop"),
        ],
        [chunk({"content": "I be"})],
        [],
    ],
)
def test_a_stream_that_is_not_whole_ends_with_an_error_that_googles_client_finds(chunks: list[bytes]) -> None:
    """It is a piece of JSON by itself, and no event: see `error_chunk`."""
    *before, error = _translated(_read(), chunks).rstrip().split(b"\r\n\r\n")
    assert json.loads(error)["error"]["code"] == 502
    assert all(one.startswith(b"data: ") and b"finishReason" not in one for one in before)


def test_a_reply_without_a_usage_says_none() -> None:
    stream = _translated(_read(toolConfig={}), chunks_of({"content": "x"}, "stop", None))
    assert "usageMetadata" not in events_of(stream)[-1]


def test_an_answered_call_is_passed_over_and_a_thought_is_no_text() -> None:
    turn = {
        "role": "model",
        "parts": [
            {"thoughtSignature": "x"},
            {"functionCall": {"name": "f", "id": "x"}, "thought": True},
            {"functionCall": {"name": "f"}},
        ],
    }
    results = [
        {"functionResponse": {"name": "f", "id": "x"}},
        {"functionResponse": {"name": "f"}},
        {"thoughtSignature": "y"},
    ]
    messages = _chat(
        contents=[HELLO, turn, *_parts(*results)["contents"]],
        tools=[{"functionDeclarations": [{"name": "f"}]}],
    )["messages"]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ["x", "call_2"]
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(WireError, match="nested too deeply"):
        _chat(tools=[{"functionDeclarations": [{"name": "f", "parameters": {"x": deep}}]}])


def test_a_whole_reply_that_is_none_is_refused() -> None:
    for reply in (b"", b"[]", b'{"choices": []}', b'{"choices": [{"message": 1}]}', b"[" * 100_000):
        with pytest.raises(WireError):
            DIALECT.reply_of_chat(_read(), reply, model="m")


@pytest.mark.parametrize(
    ("arguments", "args"),
    [
        ("", {}),
        (" ", {}),
        ("{", {"arguments": "{"}),
        ("[1]", {"arguments": "[1]"}),
        ('{"a": NaN}', {"arguments": '{"a": NaN}'}),
    ],
)
def test_arguments_that_are_no_object_break_nothing(arguments: str, args: Any) -> None:
    stream = _translated(_read(tools=TOOLS), chunks_of({"tool_calls": [call("c1", "f", arguments)]}))
    [part] = events_of(stream)[-1]["candidates"][0]["content"]["parts"]
    assert part["functionCall"] == {"name": "f", "args": args, "id": "c1"}


def test_a_stream_of_an_endpoint_is_read_and_never_changed() -> None:
    chunks: list[Any] = [
        {"candidates": [{"content": {"parts": [{"text": "Hm", "thought": True}]}}], "usageMetadata": {"promptTokenCount": 9}},
        {"candidates": [{"content": {"parts": [{"text": "Yes"}, {"functionCall": {"name": "f", "args": {"a": 1}}}]}, "finishReason": "STOP"}],
         "usageMetadata": {"promptTokenCount": 9, "cachedContentTokenCount": 4, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}},
    ]  # fmt: skip
    stream = b"".join(b"data: " + json.dumps(one).encode() + b"\r\n\r\n" for one in chunks)
    reader = DIALECT.reader(_read())
    passed = b"".join(reader.feed(stream[i : i + 7]) for i in range(0, len(stream), 7))
    assert passed + reader.rest == stream
    assert reader.size == len(stream)
    read = reader.content()
    assert read.usage == TokenUsage(prompt=9, cached=4, completion=5)
    assert read.message == {
        "role": "assistant",
        "content": "Yes",
        "reasoning_content": "Hm",
        "tool_calls": [call("call_0", "f", '{"a": 1}')],
        "finish_reason": "tool_calls",
    }


@pytest.mark.parametrize(
    "usage",
    [None, 1, {}, {"promptTokenCount": -1}, {"promptTokenCount": 1, "candidatesTokenCount": "2"}, {"promptTokenCount": True},
     {"promptTokenCount": 10**12}, {"promptTokenCount": 1, "cachedContentTokenCount": 2}, {"promptTokenCount": 1, "thoughtsTokenCount": -5, "candidatesTokenCount": 9}],
)  # fmt: skip
def test_a_usage_that_cannot_be_is_none(usage: Any) -> None:
    assert DIALECT.read_whole(json.dumps({"candidates": [], "usageMetadata": usage}).encode()).usage is None


def test_tokens_are_estimated_on_the_dear_side_and_images_not_by_their_bytes() -> None:
    assert count_tokens({"contents": [HELLO]}) == {"totalTokens": 20}
    big = {"inlineData": {"mimeType": "image/png", "data": "A" * 10**6}}
    with_image = count_tokens({"generateContentRequest": {"contents": [{"parts": [big]}]}})["totalTokens"]
    assert IMAGE_TOKENS < with_image < IMAGE_TOKENS + 100
    wrong: list[dict[str, Any]] = [{}, {"contents": 1}, {"generateContentRequest": []}]
    for body in wrong:
        with pytest.raises(WireError, match="contents"):
            count_tokens(body)


def test_errors_have_the_shape_of_the_wire() -> None:
    error = DIALECT.error(402, "budget_exceeded", "It is spent.")["error"]
    assert (error["code"], error["message"], error["status"]) == (402, "It is spent.", "RESOURCE_EXHAUSTED")
    assert error["details"][0]["reason"] == "budget_exceeded"
    assert DIALECT.error(418, "x", "y")["error"]["status"] == "FAILED_PRECONDITION"
    assert json.loads(DIALECT.stream_error("model_unavailable", "gone"))["error"]["status"] == "UNAVAILABLE"


def test_no_depth_breaks_anything() -> None:
    request = _read(tools=TOOLS)
    read = Completion()
    deep_arguments: dict[str, Any] = {}
    for _ in range(100_000):
        deep_arguments = {"a": deep_arguments}
    list(read.read_message({"tool_calls": [{"function": {"name": "f", "arguments": deep_arguments}}]}))
    assert [one.arguments for one in read.calls] == [""]
    for deep in deep_json():
        reply = f'{{"candidates": [{{"content": {{"parts": [{{"functionCall": {{"name": "f", "args": {deep}}}}}]}}}}]}}'
        DIALECT.read_whole(reply.encode())
        reader = DIALECT.reader(request)
        reader.feed(f"data: {reply}\n\n".encode())
        assert reader.content().message is not None
        called = completion({"tool_calls": [call("c", "f", deep)]})
        assert b'"functionCall"' in DIALECT.reply_of_chat(request, called, model="m")
        with contextlib.suppress(WireError, RecursionError):
            # Whoever reads the body refuses what is too deep to be read.
            body = json.loads(f'[{{"functionDeclarations": [{{"name": "f", "parameters": {deep}}}]}}]')
            DIALECT.written(
                DIALECT.to_chat(_read(tools=body)) and _read(tools=body), model="m", limit_parameter=""
            )


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    calls=st.lists(st.tuples(st.sampled_from(NAMED), st.dictionaries(words, words, max_size=2)), max_size=3),
    finish=st.sampled_from(["stop", "length"]),
    size=st.integers(1, 9),
    reasoning=st.integers(0, 7),
)
def test_a_reply_comes_back_as_it_was(text: str, calls: Any, finish: str, size: int, reasoning: int) -> None:
    """Chat, wire, and chat again: a client sends the content of a reply back, and the endpoint gets its own message."""
    request = _read(tools=TOOLS)
    flat = {one["name"]: tool["function"]["name"] for one, tool in zip(TOOLS[0]["functionDeclarations"], DIALECT.to_chat(request).body["tools"], strict=True)}  # fmt: skip
    made = [
        call(f"c{i}", flat[name], json.dumps(args, ensure_ascii=False))
        for i, (name, args) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": made} if made else {})}
    finish = finish if finish == "length" or not made else "tool_calls"
    usage = {
        "prompt_tokens": 50,
        "completion_tokens": 7,
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
    stream = _translated(request, chunks_of(message, finish, usage, size))
    whole = DIALECT.reply_of_chat(request, completion(message, finish, usage), model="default")
    reader = DIALECT.reader(request)
    assert reader.feed(stream) == stream
    read = reader.content()
    assert read.usage == DIALECT.read_whole(whole).usage == TokenUsage(prompt=50, completion=7)
    assert read.message == DIALECT.read_whole(whole).message
    assert read.message is not None
    assert read.message["content"] == text
    assert read.message["finish_reason"] == ("tool_calls" if made and finish == "tool_calls" else finish)
    assert [one["function"]["name"] for one in read.message.get("tool_calls", ())] == [
        name for name, _ in calls
    ]
    content = json.loads(whole)["candidates"][0]["content"]
    results = [
        {"functionResponse": {"id": f"c{i}", "name": name, "response": {"output": f"{i}"}}}
        for i, (name, _) in reversed(list(enumerate(calls)))
    ]
    sent = [HELLO, content, *([{"role": "user", "parts": results}] if results else [])]
    _, *again = _chat(contents=sent, tools=TOOLS)["messages"]
    expected = [{"role": "tool", "tool_call_id": f"c{i}", "content": f"{i}"} for i in range(len(calls))]
    assert again == ([message] if text or made else []) + expected


BODIES = [recorded(file)[-1]["body"] for file in [*FILES, "gemini_cli_classifier.json"]]


@given(st.data())
def test_whatever_a_session_sends_is_read_or_refused(data: st.DataObject) -> None:
    body = data.draw(st.sampled_from(BODIES))
    body = changed(body, data.draw(st.sampled_from(list(paths(body)))), data.draw(any_json))
    try:
        count_tokens(body)
        request = DIALECT.read(body, names=NAMES, completion=10, model="default")
        json.loads(DIALECT.written(request, model="m", limit_parameter=""))
        DIALECT.translator(DIALECT.to_chat(request) and request, model="m")
    except WireError as refused:
        assert str(refused)


@given(st.lists(st.fixed_dictionaries({}, optional={"choices": any_json | st.lists(st.fixed_dictionaries({}, optional={"delta": any_json, "finish_reason": any_json}), max_size=2), "usage": any_json, "error": any_json, "id": any_json}), max_size=3), st.binary(max_size=20))  # fmt: skip
def test_whatever_an_endpoint_sends_is_translated_and_read(chunks: list[Any], rubbish: bytes) -> None:
    request = _read(tools=TOOLS)
    stream = _translated(
        request, [b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks] + [rubbish]
    )
    assert b"finishReason" in stream or b'"error"' in stream
    reader = DIALECT.reader(request)
    assert reader.feed(stream + rubbish) + reader.rest == stream + rubbish
    reader.content()


@given(st.lists(st.fixed_dictionaries({}, optional={"candidates": any_json | st.lists(st.fixed_dictionaries({"content": any_json | st.fixed_dictionaries({"parts": any_json | st.lists(any_json, max_size=2)}), "finishReason": any_json}), max_size=2), "usageMetadata": any_json}), max_size=3))  # fmt: skip
def test_whatever_an_endpoint_of_the_wire_sends_is_read(chunks: list[Any]) -> None:
    reader = DIALECT.reader(_read())
    reader.feed(b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks))
    assert reader.content().message is not None
    for one in chunks:
        DIALECT.read_whole(json.dumps(one).encode())


@pytest.mark.parametrize("ids", [("c1", "c2"), ("", "")], ids=["with ids", "without"])
@pytest.mark.parametrize("order", [(0, 0, 1, 1), (0, 1, 0, 1), (0, 1)], ids=["each", "all", "once"])
def test_results_that_are_told_again_are_told_once(ids: tuple[str, str], order: tuple[int, ...]) -> None:
    calls = [{"name": "read.file", "args": {"n": number}} | ({"id": ids[number]} if ids[number] else {}) for number in (0, 1)]  # fmt: skip
    results = [
        {"name": "read.file", "response": {"output": f"text {number}"}}
        | ({"id": ids[number]} if ids[number] else {})
        for number in (0, 1)
    ]
    contents = [
        HELLO,
        {"role": "model", "parts": [{"functionCall": one} for one in calls]},
        {"role": "user", "parts": [{"functionResponse": results[number]} for number in order]},
    ]
    told = [message for message in _chat(contents=contents, tools=TOOLS)["messages"] if message["role"] == "tool"]  # fmt: skip
    assert [message["content"] for message in told] == ["text 0", "text 1"]
    assert len({message["tool_call_id"] for message in told}) == 2


def test_another_result_of_a_call_that_is_answered_is_refused() -> None:
    parts = [{"functionResponse": {"name": "read.file", "response": {"output": text}}} for text in "ab"]
    called = {"role": "model", "parts": [{"functionCall": {"name": "read.file", "args": {}}}]}
    with pytest.raises(WireError, match="no call that waits for it"):
        _chat(contents=[HELLO, called, {"role": "user", "parts": parts}], tools=TOOLS)
