"""A request of Google's wire as a chat completion.

Google's calls may have no ids: then each gets a number, counted from the start of the conversation, so that the same call has the same
id in every later request. Thoughts are left out: only the endpoint that made them can read them.
"""

import json
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import Any

from overlord.domain.wires.gemini_request import declarations_of
from overlord.domain.wires.translation.chat_messages import ChatMessages, Part, image_part, text_part
from overlord.domain.wires.translation.event_stream import TOO_DEEP, object_of, text_of
from overlord.domain.wires.translation.tool_names import ToolName, ToolNames
from overlord.domain.wires.wire import ModelRequest, Wire, WireError

RAW_ARGUMENTS = "arguments"
"""Holds what a model gave in place of a call's arguments, where it is no object."""
_SAME = {
    "temperature": "temperature",
    "topP": "top_p",
    "stopSequences": "stop",
    "seed": "seed",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
}
_EFFORTS = {"MINIMAL": "minimal", "LOW": "low", "MEDIUM": "medium", "HIGH": "high"}
_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_VALUES = frozenset({"enum", "const", "default", "example", "examples", "required"})
"""Of a schema: what holds values, and no schemas."""
_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})


def names_of(request: ModelRequest) -> ToolNames:
    """The functions of a request, by the names that a chat endpoint gets."""
    return ToolNames.of(ToolName(one["name"]) for one in declarations_of(request.body))


def to_chat(request: ModelRequest) -> ModelRequest:
    """The same request as a chat completion. Raises WireError for what that cannot say."""
    names = names_of(request)
    config = object_of(request.body.get("generationConfig"))
    try:
        messages = _Conversation(names).read(request.body)
        body = {
            "messages": messages,
            **{chat: config[key] for key, chat in _SAME.items() if key in config},
            **_tools(request.body, names),
            **_wishes(config),
        }
    except (RecursionError, ValueError) as error:
        raise error if isinstance(error, WireError) else WireError(TOO_DEEP) from None
    return ModelRequest(
        wire=Wire.CHAT, body=body, stream=request.stream, completion=request.completion, messages=messages
    )


class _Conversation:
    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._told = ChatMessages()
        self._calls: list[str] = []
        """The chat's ids of all calls."""
        self._answered: set[int] = set()
        self._open: Counter[str] = Counter()
        """How many calls of a name wait for their results."""
        self._numbers: dict[tuple[str, str | None], deque[int]] = {}
        """The numbers of calls by their name and the client's id, which may be empty, and by their name alone."""

    def read(self, body: Mapping[str, Any]) -> list[Any]:
        system = object_of(body.get("systemInstruction")).get("parts", [])
        if text := "\n\n".join(part["text"] for part in system if "text" in part):
            self._told.system(text)
        for content in body["contents"]:
            if content.get("role") == "model":
                self._model(content["parts"])
            else:
                self._user(content["parts"])
        return self._told.messages()

    def _model(self, parts: list[Any]) -> None:
        for part in parts:
            if part.get("thought") is True and "functionCall" not in part:
                continue
            if part.get("text"):
                self._told.assistant(part["text"])
            elif "functionCall" in part:
                self._call(part["functionCall"])
            elif "functionResponse" in part or "inlineData" in part:
                raise WireError("a functionResponse or an image is no part of what the model said")

    def _call(self, call: Mapping[str, Any]) -> None:
        given, name = call.get("id") or "", call["name"]
        call_id = given or f"call_{len(self._calls) + 1}"
        for key in ((name, given), (name, None)):
            self._numbers.setdefault(key, deque()).append(len(self._calls))
        self._calls.append(call_id)
        self._open[name] += 1
        arguments = json.dumps(call.get("args") or {}, ensure_ascii=False, allow_nan=False)
        self._told.call(call_id, self._names.add(ToolName(name)), arguments)

    def _user(self, parts: list[Any]) -> None:
        said: list[Part] = []
        for part in self._without_repeats(parts):
            if "functionResponse" in part:
                self._result(part["functionResponse"])
            elif "functionCall" in part:
                raise WireError("a functionCall is part of what the model said, and not of the user's words")
            elif "inlineData" in part:
                said.append(_image(part["inlineData"]))
            elif "text" in part:
                said.append(text_part(part["text"]))
        self._told.user(said)

    def _without_repeats(self, parts: list[Any]) -> Iterator[Any]:
        """The parts, without results that are told again: Gemini CLI tells each twice when it resumes a conversation."""
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        surplus = Counter(result["name"] for result in results)
        surplus.subtract({name: self._open[name] for name in surplus})
        told = set[str]()
        for part in parts:
            result = part.get("functionResponse")
            if result is not None and surplus[result["name"]] > 0:
                key = json.dumps(result, sort_keys=True)
                if key in told:
                    surplus[result["name"]] -= 1
                    continue
                told.add(key)
            yield part

    def _result(self, result: Mapping[str, Any]) -> None:
        name = result["name"]
        number = self._waiting(name, result.get("id") or "")
        if number is None:
            raise WireError(f"there is a functionResponse, and no call that waits for it, of {name[:100]!r}")
        self._answered.add(number)
        self._open[name] -= 1
        images = [_image(part["inlineData"]) for part in result.get("parts") or ()]
        self._told.result(
            self._calls[number], [text_part(_result_text(result.get("response") or {})), *images]
        )

    def _waiting(self, name: str, given: str) -> int | None:
        """The call that a result belongs to: of its name and id, where either has none the first of its name."""
        for key in ((name, given), (name, "")) if given else ((name, None),):
            numbers = self._numbers.get(key, deque())
            while numbers:
                if (number := numbers.popleft()) not in self._answered:
                    return number
        return None


def _image(data: Mapping[str, Any]) -> Part:
    return image_part(f"data:{data['mimeType']};base64,{data['data']}")


def _result_text(response: Mapping[str, Any]) -> str:
    """A result's own words where it has nothing else."""
    if response.keys() == {"output"} and isinstance(response["output"], str):
        return response["output"]
    return json.dumps(response, ensure_ascii=False, allow_nan=False)


def _tools(body: Mapping[str, Any], names: ToolNames) -> dict[str, Any]:
    calling = object_of(object_of(body.get("toolConfig")).get("functionCallingConfig"))
    allowed = calling.get("allowedFunctionNames") or ()
    offered = [one for one in declarations_of(body) if not allowed or one["name"] in allowed]
    if not offered:
        return {}
    written: dict[str, Any] = {"tools": [_tool(one, names) for one in offered]}
    mode = text_of(calling.get("mode"))
    if mode == "ANY" and len(offered) == 1:
        only = names.add(ToolName(offered[0]["name"]))
        written["tool_choice"] = {"type": "function", "function": {"name": only}}
    elif mode in {"ANY", "NONE", "AUTO", "VALIDATED"}:
        written["tool_choice"] = {"ANY": "required", "NONE": "none"}.get(mode, "auto")
    return written


def _tool(one: Mapping[str, Any], names: ToolNames) -> Mapping[str, Any]:
    function: dict[str, Any] = {"name": names.add(ToolName(one["name"]))}
    if one.get("description"):
        function["description"] = one["description"]
    schema = one.get("parametersJsonSchema") or one.get("parameters")
    if schema:
        function["parameters"] = json_schema(schema)
    return {"type": "function", "function": function}


def _wishes(config: Mapping[str, Any]) -> dict[str, Any]:
    """The form of the answer, and how much to think about it."""
    wishes: dict[str, Any] = {}
    kind = config.get("responseMimeType") or "text/plain"
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    if kind == "application/json" and schema:
        named = {"name": "reply", "schema": json_schema(schema)}
        wishes["response_format"] = {"type": "json_schema", "json_schema": named}
    elif kind == "application/json":
        wishes["response_format"] = {"type": "json_object"}
    elif kind != "text/plain":
        raise WireError(
            f"responseMimeType {kind[:100]!r} is not passed on to this endpoint; use application/json"
        )
    if effort := _EFFORTS.get(text_of(object_of(config.get("thinkingConfig")).get("thinkingLevel")).upper()):
        wishes["reasoning_effort"] = effort
    return wishes


def json_schema(schema: Any) -> Any:
    """Google's own kind of schema as JSON Schema: types in small letters, `nullable` as a type, counts as numbers."""
    if isinstance(schema, list):
        return [json_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _schema_value(key, value) for key, value in schema.items() if key != "propertyOrdering"}
    if schema.get("nullable") is True and isinstance(found.get("type"), str):
        del found["nullable"]
        found["type"] = [found["type"], "null"]
    return found


def _schema_value(key: str, value: Any) -> Any:
    if key == "type" and isinstance(value, str) and value in _TYPES:
        return value.lower()
    if key in _COUNTS and isinstance(value, str) and value.isdecimal():
        return int(value)
    if key in _VALUES:
        return value
    if key == "properties" and isinstance(value, dict):
        return {name: json_schema(one) for name, one in value.items()}
    return json_schema(value)
