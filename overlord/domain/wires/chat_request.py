"""What a session may ask of a model over chat completions. What could fetch, keep or buy more than tokens is refused with its name,
here and not by the provider: a session has no network, and a provider's tools would be one.
"""

import json
from collections.abc import Mapping
from typing import Any

from overlord.domain.wires.short_caches import with_short_caches
from overlord.domain.wires.wire import ModelRequest, Wire, WireError

DEFAULT_MODEL = "default"
"""What a session asks for where it names no model."""
PASSED_ON = frozenset(
    {
        "messages",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "temperature",
        "top_p",
        "stop",
        "seed",
        "presence_penalty",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "response_format",
        "reasoning_effort",
        "verbosity",
    }
)
"""Parameters that reach the endpoint as they are."""
OURS = frozenset({"model", "stream", "stream_options", "max_tokens", "max_completion_tokens", "n"})
"""Parameters the gateway reads, and writes itself."""
DROPPED = frozenset({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"})
"""What clients send by habit and no session may decide: left out without a word."""
PARTS = frozenset({"text", "refusal", "image_url", "thinking", "redacted_thinking", "reasoning"})
"""Kinds of content in a message; an image only as a `data:` URL."""


def read_request(body: Mapping[str, Any], *, names: frozenset[str], completion: int) -> ModelRequest:
    """Check a request of a session that may use the models of these names alone; raises WireError that says what is wrong with it."""
    check_model(body.get("model", DEFAULT_MODEL), names)
    for key in body.keys() - PASSED_ON - OURS - DROPPED:
        raise WireError(
            f"parameter {key[:100]!r} is not passed on; known: {', '.join(sorted(PASSED_ON | OURS))}"
        )
    if body.get("n") not in (None, 1):
        raise WireError("n must be 1: one reply a request")
    messages = _checked_messages(body.get("messages"))
    _check_tools(body.get("tools"), body.get("tool_choice"))
    options = body.get("stream_options")
    return ModelRequest(
        wire=Wire.CHAT,
        body={key: value for key, value in body.items() if key in PASSED_ON and value is not None},
        stream=_is_true(body, "stream"),
        wants_usage=isinstance(options, dict) and options.get("include_usage") is True,
        completion=min([completion, *_limits(body)]),
        messages=messages,
    )


def write_request(request: ModelRequest, *, model: str, limit_parameter: str) -> bytes:
    """The request as an endpoint gets it."""
    body = {"model": model, **request.body, limit_parameter: request.completion}
    if request.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    text = _json(body)
    short = with_short_caches(text, body)
    return (text if short is body else _json(short)).encode("utf-8", "replace")


def _json(body: Mapping[str, Any]) -> str:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        raise WireError(
            "the request has values that JSON cannot carry: nested too deeply, or a number without end"
        ) from None


def check_model(name: object, names: frozenset[str]) -> None:
    """Raises WireError for a model that the session may not use: in the same words whether another one of this name exists or not,
    for it is another repository's."""
    if not isinstance(name, str) or name not in names:
        raise WireError(
            f"model {str(name)[:100]!r} is not offered to this session; ask for {DEFAULT_MODEL!r}"
        )


def _is_true(body: Mapping[str, Any], key: str) -> bool:
    value = body.get(key)
    if value is not None and not isinstance(value, bool):
        raise WireError(f"{key} must be true or false")
    return bool(value)


def _limits(body: Mapping[str, Any]) -> list[int]:
    limits = [body[key] for key in ("max_tokens", "max_completion_tokens") if body.get(key) is not None]
    if not all(type(limit) is int and limit > 0 for limit in limits):
        raise WireError("max_tokens must be a whole number above 0")
    return limits


def _checked_messages(messages: object) -> list[Any]:
    if not isinstance(messages, list) or not messages:
        raise WireError("a chat completion needs a list of messages")
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise WireError("each message is an object with a role")
        content = message.get("content")
        if not isinstance(content, str | list | None):
            raise WireError("a message's content is text or a list of parts")
        for part in content if isinstance(content, list) else ():
            _check_part(part)
    return messages


def _check_part(part: object) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str) or kind not in PARTS:
        raise WireError(
            f"content of type {str(kind)[:100]!r} is not passed on; known: {', '.join(sorted(PARTS))}"
        )
    if kind == "image_url":
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
        if not isinstance(url, str) or not url.startswith("data:image/"):
            raise WireError(
                "an image is passed on only as a data: URL; a provider fetches nothing for a session"
            )


def _check_tools(tools: object, choice: object) -> None:
    if not isinstance(tools, list | None):
        raise WireError("tools must be a list")
    for tool in tools or ():
        if (
            not isinstance(tool, dict)
            or tool.get("type") != "function"
            or tool.keys() - {"type", "function", "cache_control"}
        ):
            kind = tool.get("type") if isinstance(tool, dict) else tool
            raise WireError(f"a tool of type {str(kind)[:100]!r} is not passed on; only plain functions are")
    if isinstance(choice, dict) and choice.get("type") != "function":
        raise WireError("tool_choice may only name a function")
