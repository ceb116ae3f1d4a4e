"""What a session may ask over OpenAI's Responses API. What fetches, keeps or runs something at the provider is refused with its name.

`local_shell` is refused too: the client would run it, but no other wire can say it, and Codex has a plain function for the same.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from overlord.domain.wires.translation.event_stream import (
    check_model,
    list_of,
    object_of,
    text_of,
    write_json,
)
from overlord.domain.wires.translation.tool_names import ToolName
from overlord.domain.wires.wire import ModelRequest, Wire, WireError

PASSED_ON = frozenset(
    {
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "temperature",
        "top_p",
        "top_logprobs",
        "text",
        "reasoning",
        "include",
        "truncation",
    }
)
"""Parameters that reach the endpoint as they are."""
OURS = frozenset({"model", "stream", "max_output_tokens"})
"""Parameters the gateway reads, and writes itself."""
DROPPED = frozenset(
    {
        "user",
        "metadata",
        "client_metadata",
        "store",
        "service_tier",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "stream_options",
    }
)
"""What clients send by habit and no session may decide: left out without a word. Nothing is ever stored."""
TOOL_KEYS = {
    "function": frozenset({"type", "name", "description", "parameters", "strict", "output_schema"}),
    "custom": frozenset({"type", "name", "description", "format"}),
    "namespace": frozenset({"type", "name", "description", "tools"}),
}
"""Kinds of tools that the client runs itself, and what may be said of each."""
ITEMS = frozenset(
    {
        "message",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "reasoning",
    }
)
ROLES = frozenset({"user", "assistant", "system", "developer"})
PARTS = frozenset({"input_text", "output_text", "text", "refusal", "input_image"})
"""Kinds of content; an image only as a `data:` URL."""
CHOICES = frozenset({"auto", "none", "required"})
INCLUDED = frozenset({"reasoning.encrypted_content"})


def read_request(body: Mapping[str, Any], *, names: frozenset[str], completion: int) -> ModelRequest:
    """Check a request of a session that may use the models of these names alone. Raises WireError."""
    check_model(body.get("model", "default"), names)
    for key in body.keys() - PASSED_ON - OURS - DROPPED:
        known = ", ".join(sorted(PASSED_ON | OURS))
        raise WireError(f"parameter {key[:100]!r} is not passed on; known: {known}")
    _check_input(body.get("input"))
    _check_tools(body.get("tools"))
    _check_choice(body.get("tool_choice"))
    _check_values(body)
    limit = body.get("max_output_tokens")
    if limit is not None and not (type(limit) is int and limit > 0):
        raise WireError("max_output_tokens must be a whole number above 0")
    passed = {key: value for key, value in body.items() if key in PASSED_ON and value is not None}
    return ModelRequest(
        wire=Wire.RESPONSES,
        body=passed,
        stream=body.get("stream") is True,
        completion=min(completion, limit or completion),
        messages=_conversation(passed),
    )


def write_request(request: ModelRequest, *, model: str) -> bytes:
    """The request as an endpoint of this wire gets it: nothing is stored there.

    Thoughts that are not encrypted are left out: such an endpoint knows them by their id alone, and it never kept them.
    """
    body = {"model": model, **request.body, "max_output_tokens": request.completion, "store": False}
    if isinstance(items := body["input"], list):
        body["input"] = [item for item in items if not _is_empty_thought(item)]
    return write_json(body | ({"stream": True} if request.stream else {}))


def offered_tools(body: Mapping[str, Any]) -> Iterator[tuple[ToolName, Mapping[str, Any]]]:
    """Each tool of a checked request, those of namespaces too."""
    for tool in list_of(body.get("tools")):
        if tool["type"] == "namespace":
            for nested in list_of(tool.get("tools")):
                yield _named(nested, tool["name"]), nested
        else:
            yield _named(tool, ""), tool


def items_of(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The input as items, where it may be plain text."""
    given = body["input"]
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def kind_of(item: Mapping[str, Any]) -> str:
    """What an item of the input is; one without a word of it is a message."""
    return text_of(item.get("type")) or ("message" if "role" in item and "type" not in item else "")


def _named(tool: Mapping[str, Any], namespace: str) -> ToolName:
    return ToolName(tool["name"], namespace, tool["type"] == "custom")


def _conversation(body: Mapping[str, Any]) -> list[Any]:
    instructions = body.get("instructions")
    first = [{"role": "system", "content": instructions}] if instructions else []
    return [*first, *items_of(body)]


def _is_empty_thought(item: Mapping[str, Any]) -> bool:
    return kind_of(item) == "reasoning" and not item.get("encrypted_content")


def _check_input(given: object) -> None:
    if isinstance(given, str) and given:
        return
    if not isinstance(given, list) or not given:
        raise WireError("a response needs input: text, or a list of items")
    for item in given:
        if not isinstance(item, dict):
            raise WireError("each item of the input is an object")
        _check_item(item)


def _check_item(item: Mapping[str, Any]) -> None:
    kind = kind_of(item)
    if kind not in ITEMS:
        named = str(item.get("type"))[:100]
        raise WireError(f"an item of type {named!r} is not passed on; known: {', '.join(sorted(ITEMS))}")
    if kind == "message":
        if text_of(item.get("role")) not in ROLES:
            raise WireError(f"a message's role is one of {', '.join(sorted(ROLES))}")
        _check_content(item.get("content"), "a message's content")
    elif kind.endswith("_output"):
        _check_texts(item, "call_id")
        _check_content(item.get("output"), f"the output of a {kind}")
    elif kind != "reasoning":
        _check_texts(item, "call_id", "name", "arguments" if kind == "function_call" else "input")
        if not isinstance(item.get("namespace"), str | None):
            raise WireError(f"the namespace of a {kind} is text")


def _check_texts(item: Mapping[str, Any], *keys: str) -> None:
    for key in keys:
        if not isinstance(item.get(key), str):
            raise WireError(f"an item of type {kind_of(item)!r} needs {key} as text")


def _check_content(content: object, what: str) -> None:
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise WireError(f"{what} is text or a list of parts")
    for part in content:
        _check_part(part)


def _check_part(part: object) -> None:
    kind = text_of(part.get("type")) if isinstance(part, dict) else ""
    if not isinstance(part, dict) or kind not in PARTS:
        named = str(part.get("type") if isinstance(part, dict) else part)[:100]
        raise WireError(f"content of type {named!r} is not passed on; known: {', '.join(sorted(PARTS))}")
    if kind == "input_image":
        if part.get("file_id") is not None or not text_of(part.get("image_url")).startswith("data:image/"):
            raise WireError(
                "an image is passed on only as a data: URL; a provider fetches nothing for a session"
            )
    elif not isinstance(part.get("refusal" if kind == "refusal" else "text"), str):
        raise WireError(f"content of type {kind!r} holds text")


def _check_tools(tools: object) -> None:
    if not isinstance(tools, list | None):
        raise WireError("tools must be a list")
    named: set[tuple[str, str]] = set()
    for tool in tools or ():
        _check_tool(tool)
        nested = tool.get("tools") if tool["type"] == "namespace" else [tool]
        if not isinstance(nested, list):
            raise WireError("the tools of a namespace must be a list")
        namespace = tool["name"] if tool["type"] == "namespace" else ""
        for one in nested:
            _check_tool(one, is_nested=one is not tool)
            if (namespace, one["name"]) in named:
                raise WireError(f"tool {one['name'][:100]!r} is offered twice")
            named.add((namespace, one["name"]))


def _check_tool(tool: object, *, is_nested: bool = False) -> None:
    kind = text_of(tool.get("type")) if isinstance(tool, dict) else ""
    if not isinstance(tool, dict) or kind not in TOOL_KEYS or (is_nested and kind == "namespace"):
        named = str(tool.get("type") if isinstance(tool, dict) else tool)[:100]
        known = ", ".join(sorted(TOOL_KEYS))
        raise WireError(f"a tool of type {named!r} is not passed on; only what the client runs is: {known}")
    for key in tool.keys() - TOOL_KEYS[kind]:
        raise WireError(f"{key[:100]!r} of a tool of type {kind!r} is not passed on")
    if not text_of(tool.get("name")):
        raise WireError(f"a tool of type {kind!r} needs a name")
    if not isinstance(tool.get("description"), str | None):
        raise WireError("a tool's description is text")
    for key in ("parameters", "format"):
        if not isinstance(tool.get(key), dict | None):
            raise WireError(f"a tool's {key} is an object")


def _check_choice(choice: object) -> None:
    if choice is None or (isinstance(choice, str) and choice in CHOICES):
        return
    kind = text_of(object_of(choice).get("type"))
    if not isinstance(object_of(choice).get("namespace"), str | None):
        raise WireError("the namespace of tool_choice is text")
    if kind in {"function", "custom"} and text_of(object_of(choice).get("name")):
        return
    allowed = object_of(choice).get("tools")
    if kind == "allowed_tools" and isinstance(allowed, list):
        if text_of(object_of(choice).get("mode")) not in CHOICES - {"none"}:
            raise WireError("the mode of allowed_tools is auto or required")
        for tool in allowed:
            if not isinstance(tool, dict) or tool.get("type") == "allowed_tools":
                raise WireError("each of the allowed_tools names a function or a custom tool")
            _check_choice(tool)
        return
    raise WireError("tool_choice is auto, none, required, or names a function or a custom tool")


def _check_values(body: Mapping[str, Any]) -> None:
    for key in ("stream", "parallel_tool_calls"):
        if not isinstance(body.get(key), bool | None):
            raise WireError(f"{key} must be true or false")
    for key in ("temperature", "top_p"):
        if isinstance(body.get(key), bool) or not isinstance(body.get(key), int | float | None):
            raise WireError(f"{key} must be a number")
    for key in ("text", "reasoning"):
        if not isinstance(body.get(key), dict | None):
            raise WireError(f"{key} must be an object")
    if not isinstance(body.get("instructions"), str | None):
        raise WireError("instructions must be text")
    if not isinstance(body.get("include"), list | None):
        raise WireError("include must be a list")
    for included in body.get("include") or ():
        if not isinstance(included, str) or included not in INCLUDED:
            raise WireError(f"include {str(included)[:100]!r} is not passed on; known: {', '.join(INCLUDED)}")
    answer = object_of(body.get("text")).get("format")
    if answer is not None and text_of(object_of(answer).get("type")) not in {
        "text",
        "json_object",
        "json_schema",
    }:
        raise WireError("the format of text is of type text, json_object or json_schema")
