"""What a session may ask of a model over Anthropic's Messages API. What could fetch, keep or buy more than tokens is refused with its
name, here and not by the provider: a session has no network, and a provider's tools would be one.

The lists are what Claude Code 2.1 was seen to send, and what the API's description has beside it. Everything that is not on a list
is refused: the API grows, and a new parameter may well be one that reaches out.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from overlord.domain.budgets.budget import estimate_tokens
from overlord.domain.wires.short_caches import with_short_caches
from overlord.domain.wires.wire import ModelRequest, Wire, WireError

PASSED_ON = frozenset(
    {
        "messages",
        "system",
        "tools",
        "tool_choice",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "thinking",
        "context_management",
        "output_config",
        "output_format",
        "cache_control",
    }
)
"""Parameters that reach an endpoint of the same wire as they are."""
OURS = frozenset({"model", "stream", "max_tokens"})
"""Parameters the gateway reads, and writes itself."""
DROPPED = frozenset({"metadata", "service_tier", "speed", "inference_geo", "diagnostics", "user_profile_id"})
"""What clients send by habit and no session may decide: left out without a word."""
ROLES = frozenset({"user", "assistant", "system"})
"""Of a message. Claude Code tells newer models what changed in the middle of a conversation as `system`."""
CLIENT_TOOL = re.compile(r"(?:bash|text_editor|memory|computer)_\d{8}")
"""Types of tools that the model knows by heart and the client carries out."""
TOOL_KEYS = frozenset(
    {
        "type",
        "name",
        "description",
        "input_schema",
        "input_examples",
        "strict",
        "cache_control",
        "defer_loading",
        "eager_input_streaming",
        "max_characters",
        "display_width_px",
        "display_height_px",
        "display_number",
        "enable_zoom",
    }
)
CHOICES = frozenset({"auto", "any", "tool", "none"})
THINKING = frozenset({"adaptive", "enabled", "disabled"})
EDIT = re.compile(r"clear_(?:thinking|tool_uses)_\d{8}")
"""What may be done to a long conversation. A summary (`compact_…`) is a second reply, which the usage does not count."""
OUTPUT_KEYS = frozenset({"effort", "format", "task_budget"})
IMAGE_TOKENS = 1600
"""What an image costs at most, whatever its size in bytes."""
_BASE64 = re.compile(r'"data":"[A-Za-z0-9+/=]+"')
LEAST_THINKING = 1024
"""Tokens: the API takes no smaller budget for thinking."""


def read_request(body: Mapping[str, Any], *, names: frozenset[str], completion: int) -> ModelRequest:
    """Check a request of a session that may use the models of these names alone; raises WireError that says what is wrong with it."""
    name = body.get("model")
    if not isinstance(name, str) or name not in names:
        raise WireError(
            f"model {str(name)[:100]!r} is not offered to this session; ask for {' or '.join(sorted(names))}"
        )
    for key in body.keys() - PASSED_ON - OURS - DROPPED:
        raise WireError(
            f"parameter {str(key)[:100]!r} is not passed on; known: {', '.join(sorted(PASSED_ON | OURS))}"
        )
    limit = body.get("max_tokens")
    if limit is not None and (type(limit) is not int or limit < 1):
        raise WireError("max_tokens must be a whole number above 0")
    stream = body.get("stream")
    if not isinstance(stream, bool | None):
        raise WireError("stream must be true or false")
    messages = _checked_messages(body.get("messages"))
    system = body.get("system")
    _check_content(system, {"text": _check_text}, "system")
    _check_tools(body.get("tools"), body.get("tool_choice"))
    _check_options(body)
    return ModelRequest(
        wire=Wire.MESSAGES,
        body={key: value for key, value in body.items() if key in PASSED_ON and value is not None},
        stream=bool(stream),
        completion=completion if limit is None else min(completion, limit),
        messages=[*([{"role": "system", "content": system}] if system else []), *messages],
    )


def write_request(request: ModelRequest, *, model: str) -> bytes:
    """The request as an endpoint of the same wire gets it. Thinking has to leave room for a reply: where the limit was lowered its
    budget is too, and where nothing is left of it the model does not think."""
    body = {"model": model, **request.body, "max_tokens": request.completion}
    thinking = body.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if isinstance(thinking, dict) and budget is not None and budget >= request.completion:
        if request.completion > LEAST_THINKING:
            body["thinking"] = {**thinking, "budget_tokens": request.completion - 1}
        else:
            body["thinking"] = {"type": "disabled"}
            body.pop("context_management", None)  # clearing thoughts is refused where there are none
    if request.stream:
        body["stream"] = True
    return _written(body).encode("utf-8", "replace")


def _written(body: Mapping[str, Any]) -> str:
    text = write_json(body)
    short = with_short_caches(text, body)
    return text if short is body else write_json(short)


def count_tokens(body: Mapping[str, Any]) -> int:
    """An estimate of what a request would send, for `/v1/messages/count_tokens`: on the dear side, and of any body at all. An image
    counts as one, and not by its bytes."""
    counted = {key: body[key] for key in ("messages", "system", "tools") if key in body}
    plain, images = _BASE64.subn('""', write_json(counted))
    return estimate_tokens(len(plain.encode("utf-8", "replace"))) + images * IMAGE_TOKENS


def write_json(value: object) -> str:
    """Raises WireError for what was nested too deeply to be written again, and for numbers without end."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        raise WireError(
            "the request has values that JSON cannot carry: nested too deeply, or a number without end"
        ) from None


def _checked_messages(messages: object) -> list[Any]:
    if not isinstance(messages, list) or not messages:
        raise WireError("a request needs a list of messages")
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(role, str) or role not in ROLES:
            raise WireError("each message is an object whose role is user, assistant or system")
        if message.get("content") is None:
            raise WireError("each message has content: text, or a list of blocks")
        for key in message.keys() - {"role", "content", "output_config", "cache_control"}:
            raise WireError(f"{str(key)[:100]!r} of a message is not passed on")
        _check_output(message.get("output_config"))
        _check_content(message["content"], _SYSTEM_BLOCKS if role == "system" else _BLOCKS, "content")
    return messages


def _check_content(
    content: object, known: Mapping[str, Callable[[Mapping[str, Any]], None]], what: str
) -> None:
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        raise WireError(f"{what} is text or a list of blocks")
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        check = known.get(kind) if isinstance(kind, str) else None
        if check is None:
            raise WireError(
                f"{what} of type {str(kind)[:100]!r} is not passed on; known here: {', '.join(sorted(known))}"
            )
        check(block)


def _check_text(block: Mapping[str, Any]) -> None:
    if not isinstance(block.get("text"), str):
        raise WireError("a text block has its text as a string")


def _check_image(block: Mapping[str, Any]) -> None:
    source = block.get("source")
    kind = source.get("type") if isinstance(source, dict) else None
    if not isinstance(source, dict) or kind != "base64":
        raise WireError(
            f"an image with source {str(kind)[:100]!r} is not passed on, only base64; a provider fetches nothing for a session"
        )
    media = source.get("media_type")
    if (
        not isinstance(media, str)
        or not media.startswith("image/")
        or not isinstance(source.get("data"), str)
    ):
        raise WireError("an image has a media_type that begins with image/, and its data as a string")


def _check_document(block: Mapping[str, Any]) -> None:
    source = block.get("source")
    kind = source.get("type") if isinstance(source, dict) else None
    if isinstance(source, dict) and kind == "content":
        _check_content(
            source.get("content"), {"text": _check_text, "image": _check_image}, "a document's content"
        )
    elif not isinstance(source, dict) or kind not in ("base64", "text"):
        raise WireError(
            f"a document with source {str(kind)[:100]!r} is not passed on, only base64, text and content; "
            "a provider fetches nothing for a session"
        )
    elif not isinstance(source.get("data"), str):
        raise WireError("a document has its data as a string")


def _check_tool_use(block: Mapping[str, Any]) -> None:
    if not _are_texts(block, "id", "name") or not isinstance(block.get("input"), dict):
        raise WireError("a tool_use block has an id, a name, and an object as its input")


def _check_tool_result(block: Mapping[str, Any]) -> None:
    if not _are_texts(block, "tool_use_id"):
        raise WireError("a tool_result block has the tool_use_id of its call")
    _check_content(block.get("content"), _RESULT_BLOCKS, "a tool_result's content")


def _check_reference(block: Mapping[str, Any]) -> None:
    if not _are_texts(block, "tool_name"):
        raise WireError("a tool_reference block has a tool_name")


def _check_change(block: Mapping[str, Any]) -> None:
    tool = block.get("tool")
    if isinstance(tool, dict) and tool.get("type") == "tool_definition":
        _check_tool(tool.get("definition"))
    elif not isinstance(tool, dict) or tool.get("type") != "tool_reference" or not _are_texts(tool, "name"):
        raise WireError("a change of tools has a tool: a tool_reference with a name, or a tool_definition")


def _nothing(block: Mapping[str, Any]) -> None:
    """What a model thought comes back as it was given: only its provider can read it."""


_RESULT_BLOCKS: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "text": _check_text,
    "image": _check_image,
    "document": _check_document,
    "tool_reference": _check_reference,
}
_BLOCKS: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "text": _check_text,
    "image": _check_image,
    "document": _check_document,
    "tool_use": _check_tool_use,
    "tool_result": _check_tool_result,
    "thinking": _nothing,
    "redacted_thinking": _nothing,
}
_SYSTEM_BLOCKS: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "text": _check_text,
    "tool_addition": _check_change,
    "tool_removal": _check_change,
}


def _are_texts(block: Mapping[str, Any], *keys: str) -> bool:
    return all(isinstance(block.get(key), str) and block[key] for key in keys)


def _check_tools(tools: object, choice: object) -> None:
    if not isinstance(tools, list | None):
        raise WireError("tools must be a list")
    for tool in tools or ():
        _check_tool(tool)
    if choice is None:
        return
    kind = choice.get("type") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(kind, str) or kind not in CHOICES:
        raise WireError(f"tool_choice is an object whose type is one of: {', '.join(sorted(CHOICES))}")
    if kind == "tool" and not _are_texts(choice, "name"):
        raise WireError("tool_choice of type tool has the name of a tool")
    if not isinstance(choice.get("disable_parallel_tool_use"), bool | None):
        raise WireError("disable_parallel_tool_use must be true or false")


def _check_tool(tool: object) -> None:
    kind = tool.get("type") if isinstance(tool, dict) else tool
    is_custom = kind is None or kind == "custom"
    if not isinstance(tool, dict) or not (
        is_custom or (isinstance(kind, str) and CLIENT_TOOL.fullmatch(kind) is not None)
    ):
        raise WireError(
            f"a tool of type {str(kind)[:100]!r} is not passed on; only tools that the agent carries out itself are"
        )
    if not _are_texts(tool, "name"):
        raise WireError("each tool has a name")
    name = str(tool["name"])[:100]
    for key in tool.keys() - TOOL_KEYS:
        raise WireError(f"{str(key)[:100]!r} of the tool {name!r} is not passed on")
    if is_custom and not isinstance(tool.get("input_schema"), dict):
        raise WireError(f"the tool {name!r} has no input_schema that is an object")
    if not isinstance(tool.get("description"), str | None):
        raise WireError(f"the description of the tool {name!r} must be a string")


def _check_options(body: Mapping[str, Any]) -> None:
    thinking = body.get("thinking")
    if thinking is not None:
        kind = thinking.get("type") if isinstance(thinking, dict) else None
        if not isinstance(thinking, dict) or not isinstance(kind, str) or kind not in THINKING:
            raise WireError(f"thinking is an object whose type is one of: {', '.join(sorted(THINKING))}")
        budget = thinking.get("budget_tokens")
        if budget is not None and (type(budget) is not int or budget < 1):
            raise WireError("thinking's budget_tokens must be a whole number above 0")
    stops = body.get("stop_sequences")
    if stops is not None and not (isinstance(stops, list) and all(isinstance(stop, str) for stop in stops)):
        raise WireError("stop_sequences must be a list of strings")
    management = body.get("context_management")
    if management is not None:
        _check_management(management)
    _check_output(body.get("output_config"))
    if not isinstance(body.get("output_format"), dict | None):
        raise WireError("output_format must be an object")


def _check_management(management: object) -> None:
    edits = management.get("edits") if isinstance(management, dict) else None
    if (
        not isinstance(management, dict)
        or management.keys() - {"edits"}
        or not isinstance(edits, list | None)
    ):
        raise WireError("context_management is an object with a list of edits, and nothing else")
    for edit in edits or ():
        kind = edit.get("type") if isinstance(edit, dict) else None
        if not isinstance(kind, str) or EDIT.fullmatch(kind) is None:
            raise WireError(
                f"a context edit of type {str(kind)[:100]!r} is not passed on; known: clear_thinking_…, clear_tool_uses_…"
            )


def _check_output(config: object) -> None:
    if config is None:
        return
    if not isinstance(config, dict) or config.keys() - OUTPUT_KEYS:
        raise WireError(f"output_config is an object; known: {', '.join(sorted(OUTPUT_KEYS))}")
    if not isinstance(config.get("format"), dict | None):
        raise WireError("the format of output_config must be an object")
