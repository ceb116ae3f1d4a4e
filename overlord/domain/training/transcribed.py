"""Transcripts of sessions as conversations with tools, in the form that TRL reads: `{messages, tools}`.

A line of a transcript has what is new in a request, and the reply. A conversation that was shortened on its way is several ones: what
stood before the cut, and what stood after it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

ROLES = ("system", "user", "assistant", "tool")
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}

Message = dict[str, Any]


def conversations(transcript: bytes) -> Iterator[list[Message]]:
    """The conversations of a session, without explorations inside it. A line that is none is left out; one that ends without a word of
    the model's is none to learn from."""
    said, reply = list[Any](), None
    for line in transcript.split(b"\n"):
        found = _line(line)
        if found is None:
            continue
        same = found.get("same")
        same = same if isinstance(same, int) and 0 <= same <= len(said) else 0
        if same < len(said):
            yield from _whole(said, reply)
        said = [*said[:same], *found["messages"]]
        reply = found.get("reply")
    yield from _whole(said, reply)


def _line(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_one = isinstance(value, dict) and isinstance(value.get("messages"), list) and not value.get("explores")
    return value if is_one else None


def _whole(said: list[Any], reply: object) -> Iterator[list[Message]]:
    """A conversation up to the model's last word; none where it said nothing."""
    names = dict[str, str]()
    messages = [found for item in [*said, _reply(reply)] if (found := _message(item, names)) is not None]
    while messages and messages[-1]["role"] != "assistant":
        messages.pop()
    if messages:
        yield messages


def _reply(reply: object) -> object:
    return {**reply, "role": "assistant"} if isinstance(reply, dict) else None


def _message(item: object, names: dict[str, str]) -> Message | None:
    """One message with the keys that TRL has, and no other; `names` are the tools that were called so far."""
    if not isinstance(item, dict):
        return None
    role = str(item.get("role"))
    role = "system" if role == "developer" else role
    if role not in ROLES:
        return None
    made: Message = {"role": role, "content": _text(item.get("content"))}
    if role == "tool":
        made = {
            "role": role,
            "name": names.get(str(item.get("tool_call_id")), ""),
            "content": made["content"],
        }
    calls = item.get("tool_calls")
    if role == "assistant" and isinstance(calls, list):
        made_calls = [found for call in calls if (found := _call(call, names)) is not None]
        if made_calls:
            made["tool_calls"] = made_calls
    return made if made["content"] or "tool_calls" in made or role == "tool" else None


def _call(call: object, names: dict[str, str]) -> dict[str, Any] | None:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict) or not function.get("name"):
        return None
    name = str(function["name"])
    names[str(call.get("id"))] = name
    try:
        arguments = json.loads(str(function.get("arguments") or "{}"))
    except (ValueError, RecursionError):
        arguments = {}
    return {
        "type": "function",
        "function": {"name": name, "arguments": arguments if isinstance(arguments, dict) else {}},
    }


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def tools_of(messages: list[Message], known: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tools that a conversation calls, by name: as they are `known`, else by the arguments that they were called with."""
    seen = dict[str, dict[str, Any]]()
    for message in messages:
        for call in message.get("tool_calls", ()):
            arguments = seen.setdefault(call["function"]["name"], {})
            arguments |= {name: _type(value) for name, value in call["function"]["arguments"].items()}
    return [dict(known[name]) if name in known else _guessed(name, seen[name]) for name in sorted(seen)]


def _type(value: object) -> dict[str, str]:
    return {"type": _TYPES[type(value)]} if type(value) in _TYPES else {}


def _guessed(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": dict(sorted(properties.items()))}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}
