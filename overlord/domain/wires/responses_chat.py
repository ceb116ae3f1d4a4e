"""A request of the Responses API as a chat completion.

Tools of a namespace get names without one, and a custom tool, which takes any text, becomes a function with that text as its one
argument. Thoughts are left out: only the endpoint that made them can read them.
"""

import json
from collections.abc import Mapping
from typing import Any

from overlord.domain.wires.responses_request import items_of, kind_of, offered_tools
from overlord.domain.wires.translation.chat_messages import ChatMessages, Part, image_part, text_part
from overlord.domain.wires.translation.event_stream import object_of, text_of
from overlord.domain.wires.translation.tool_names import ToolName, ToolNames
from overlord.domain.wires.wire import ModelRequest, Wire, WireError

CUSTOM_ARGUMENT = "input"
_SAME = ("temperature", "top_p")


def names_of(request: ModelRequest) -> ToolNames:
    """The tools of a request, by the names that a chat endpoint gets."""
    return ToolNames.of(name for name, _ in offered_tools(request.body))


def to_chat(request: ModelRequest) -> ModelRequest:
    """The same request as a chat completion. Raises WireError for what that cannot say."""
    if request.body.get("top_logprobs"):
        raise WireError("top_logprobs is not passed on to this endpoint: it speaks chat completions")
    names = names_of(request)
    messages = _messages(request, names)
    body = {
        "messages": messages,
        **{key: request.body[key] for key in _SAME if key in request.body},
        **_tools(request.body, names),
        **_wishes(request.body),
    }
    return ModelRequest(
        wire=Wire.CHAT, body=body, stream=request.stream, completion=request.completion, messages=messages
    )


def _messages(request: ModelRequest, names: ToolNames) -> list[Any]:
    told = ChatMessages()
    if instructions := request.body.get("instructions"):
        told.system(instructions)
    for item in items_of(request.body):
        kind = kind_of(item)
        if kind == "message":
            _add_message(told, item)
        elif kind.endswith("_output"):
            told.result(item["call_id"], _parts(item["output"]))
        elif kind != "reasoning":
            is_custom = kind == "custom_tool_call"
            name = names.add(ToolName(item["name"], item.get("namespace") or "", is_custom))
            arguments = _wrapped(item["input"]) if is_custom else item["arguments"]
            told.call(item["call_id"], name, arguments)
    return told.messages()


def _add_message(told: ChatMessages, item: Mapping[str, Any]) -> None:
    parts = _parts(item["content"])
    role = item["role"]
    if role == "user":
        told.user(parts)
    elif any(part["type"] != "text" for part in parts):
        raise WireError(
            f"an image in a message of the role {role!r} is not passed on; put it into the user's"
        )
    elif role == "assistant":
        told.assistant("".join(part["text"] for part in parts))
    else:
        told.system("\n\n".join(part["text"] for part in parts))


def _parts(content: str | list[Any]) -> list[Part]:
    if isinstance(content, str):
        return [text_part(content)]
    return [
        image_part(part["image_url"], text_of(part.get("detail")))
        if part["type"] == "input_image"
        else text_part(part["refusal" if part["type"] == "refusal" else "text"])
        for part in content
    ]


def _wrapped(text: str) -> str:
    return json.dumps({CUSTOM_ARGUMENT: text}, ensure_ascii=False)


def _tools(body: Mapping[str, Any], names: ToolNames) -> dict[str, Any]:
    choice = body.get("tool_choice")
    offered = list(offered_tools(body))
    if text_of(object_of(choice).get("type")) == "allowed_tools":
        allowed = {(tool.get("namespace") or "", tool["name"]) for tool in object_of(choice)["tools"]}
        offered = [(name, tool) for name, tool in offered if (name.namespace, name.name) in allowed]
        choice = object_of(choice)["mode"]
    if not offered:
        return {}
    written: dict[str, Any] = {"tools": [_tool(tool, names.add(name)) for name, tool in offered]}
    if isinstance(choice, dict):
        name = names.add(ToolName(choice["name"], choice.get("namespace") or ""))
        choice = {"type": "function", "function": {"name": name}}
    if choice is not None:
        written["tool_choice"] = choice
    if (parallel := body.get("parallel_tool_calls")) is not None:
        written["parallel_tool_calls"] = parallel
    return written


def _tool(tool: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    description = text_of(tool.get("description"))
    function: dict[str, Any] = {"name": name}
    if tool["type"] == "custom":
        form = object_of(tool.get("format"))
        if form.get("type") == "grammar":
            syntax, definition = text_of(form.get("syntax")), text_of(form.get("definition"))
            description += f"\n\nThe input follows this {syntax} grammar:\n{definition}"
        function["parameters"] = {
            "type": "object",
            "properties": {
                CUSTOM_ARGUMENT: {"type": "string", "description": "The whole input, as plain text."}
            },
            "required": [CUSTOM_ARGUMENT],
            "additionalProperties": False,
        }
    elif isinstance(tool.get("parameters"), dict):
        function["parameters"] = tool["parameters"]
    if description:
        function["description"] = description
    if tool.get("strict"):
        function["strict"] = True
    return {"type": "function", "function": function}


def _wishes(body: Mapping[str, Any]) -> dict[str, Any]:
    """The form of the answer, and how much to think about it."""
    wishes: dict[str, Any] = {}
    text, form = object_of(body.get("text")), object_of(object_of(body.get("text")).get("format"))
    if form.get("type") == "json_schema":
        keys = ("name", "description", "schema", "strict")
        schema = {key: form[key] for key in keys if form.get(key) is not None}
        wishes["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", **schema}}
    elif form.get("type") == "json_object":
        wishes["response_format"] = {"type": "json_object"}
    if verbosity := text_of(text.get("verbosity")):
        wishes["verbosity"] = verbosity
    if effort := text_of(object_of(body.get("reasoning")).get("effort")):
        wishes["reasoning_effort"] = effort
    return wishes


def unwrapped(arguments: str) -> str:
    """The text that a custom tool gets: the one argument, or all that was said where it is none."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    given = value.get(CUSTOM_ARGUMENT) if isinstance(value, dict) else value
    return given if isinstance(given, str) else arguments
