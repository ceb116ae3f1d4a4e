"""One exchange in each wire that is not chat completions: what a client asks, what its endpoint answers, and what that used."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minion.protocol import GEMINI_PATH, MESSAGES_API_PATH, RESPONSES_PATH
from overlord.domain.wires.wire import Wire
from tests.session_api.wire_endpoints import Said, events, whole

TEXT = "Hi there."
ARGUMENTS = '{"path": "calc.py"}'
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireCase:
    """`usage`: prompt, cached, cache_written, completion, as they are on record."""

    wire: Wire
    path: str
    stream_path: str
    far_path: str
    """Where an endpoint is asked, and where it is for a stream."""
    far_stream_path: str
    body: Json
    tool: Json
    server_tool: Json
    reply: Said
    stream: Said
    usage: tuple[int, int, int, int]

    def request(self, *, stream: bool, **fields: Any) -> dict[str, Any]:
        own = {"stream": True} if stream and self.wire is not Wire.GEMINI else {}
        return {**self.body, **own, **fields}

    def to(self, *, stream: bool) -> str:
        return self.stream_path if stream else self.path


def error_of(wire: Wire, body: Json) -> str:
    """The sentence of a refusal, in the shape of a wire."""
    error = body["error"]
    if wire is Wire.MESSAGES:
        assert body["type"] == "error" and error["type"]
    if wire is Wire.GEMINI:
        assert isinstance(error["code"], int) and error["status"]
    return str(error["message"])


_ANTHROPIC_USAGE = {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 50}
_ANTHROPIC_BLOCKS = (
    {"type": "text", "text": TEXT},
    {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "calc.py"}},
)
MESSAGES = WireCase(
    wire=Wire.MESSAGES,
    path=f"{MESSAGES_API_PATH}?beta=true",
    stream_path=f"{MESSAGES_API_PATH}?beta=true",
    far_path="/v1/messages",
    far_stream_path="/v1/messages",
    body={"model": "default", "max_tokens": 500, "messages": [{"role": "user", "content": "Hello"}]},
    tool={"name": "read_file", "input_schema": SCHEMA},
    server_tool={"type": "web_search_20250305", "name": "web_search"},
    reply=whole(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": list(_ANTHROPIC_BLOCKS),
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {**_ANTHROPIC_USAGE, "output_tokens": 20},
        }
    ),
    stream=events(
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "scripted",
                "content": [],
                "stop_reason": None,
                "usage": {**_ANTHROPIC_USAGE, "output_tokens": 1},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {**_ANTHROPIC_BLOCKS[1], "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": ARGUMENTS},
        },
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 20},
        },
        {"type": "message_stop"},
    ),
    usage=(160, 100, 50, 20),
)

_OUTPUT = (
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": TEXT, "annotations": []}],
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "read_file",
        "arguments": ARGUMENTS,
        "status": "completed",
    },
)
_RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1_700_000_000,
    "status": "completed",
    "model": "scripted",
    "output": list(_OUTPUT),
    "usage": {
        "input_tokens": 160,
        "input_tokens_details": {"cached_tokens": 100},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 180,
    },
}
RESPONSES = WireCase(
    wire=Wire.RESPONSES,
    path=RESPONSES_PATH,
    stream_path=RESPONSES_PATH,
    far_path="/v1/responses",
    far_stream_path="/v1/responses",
    body={
        "model": "default",
        "instructions": "You work.",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}],
    },
    tool={"type": "function", "name": "read_file", "parameters": SCHEMA},
    server_tool={"type": "code_interpreter", "container": {"type": "auto"}},
    reply=whole(_RESPONSE),
    stream=events(
        {"type": "response.created", "response": {**_RESPONSE, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**_OUTPUT[0], "content": []}},
        {
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "delta": TEXT,
        },
        {"type": "response.output_item.done", "output_index": 0, "item": _OUTPUT[0]},
        {"type": "response.output_item.done", "output_index": 1, "item": _OUTPUT[1]},
        {"type": "response.completed", "response": _RESPONSE},
    ),
    usage=(160, 100, 0, 20),
)

_CONTENT = {
    "role": "model",
    "parts": [{"text": TEXT}, {"functionCall": {"name": "read_file", "args": {"path": "calc.py"}}}],
}
_METADATA = {
    "promptTokenCount": 160,
    "cachedContentTokenCount": 100,
    "candidatesTokenCount": 20,
    "totalTokenCount": 180,
}
_CANDIDATE = {"content": _CONTENT, "finishReason": "STOP", "index": 0}
GEMINI = WireCase(
    wire=Wire.GEMINI,
    path=f"{GEMINI_PATH}/default:generateContent",
    stream_path=f"{GEMINI_PATH}/default:streamGenerateContent?alt=sse",
    far_path="/v1/models/scripted:generateContent",
    far_stream_path="/v1/models/scripted:streamGenerateContent",
    body={"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
    tool={"functionDeclarations": [{"name": "read_file", "parametersJsonSchema": SCHEMA}]},
    server_tool={"googleSearch": {}},
    reply=whole({"candidates": [_CANDIDATE], "usageMetadata": _METADATA, "modelVersion": "scripted"}),
    stream=events(
        {"candidates": [{"content": {"role": "model", "parts": [{"text": TEXT}]}, "index": 0}]},
        {
            "candidates": [{**_CANDIDATE, "content": {"role": "model", "parts": [_CONTENT["parts"][1]]}}],
            "usageMetadata": _METADATA,
        },
    ),
    usage=(160, 100, 0, 20),
)
CASES = (MESSAGES, RESPONSES, GEMINI)
