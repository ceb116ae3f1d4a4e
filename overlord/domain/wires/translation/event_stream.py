"""What the wires' modules share: JSON written and read, server-sent events cut and parsed, counts of tokens checked.

A stream is cut where an event ends and nowhere else, so that what is passed on is whole events, and their bytes are never changed.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from overlord.domain.budgets.budget import TokenUsage, estimate_tokens
from overlord.domain.wires.wire import KEPT_CHARS, ReplyContent, WireError

MOST_TOKENS = 10**9
"""More than this is no count of tokens."""
TOO_DEEP = "the request is nested too deeply, or holds a number that JSON does not have"
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


def write_json(value: object) -> bytes:
    """A value as an endpoint or a client gets it; raises WireError for what has no JSON."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError):
        raise WireError(TOO_DEEP) from None
    return text.encode("utf-8", "replace")


def read_object(data: bytes | str) -> dict[str, Any] | None:
    """The JSON object that this is; None for anything else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_objects(events: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of whole server-sent events. What is none is left out."""
    for line in events.splitlines():
        if line.startswith(b"data:") and (value := read_object(line[5:])) is not None:
            yield value


def check_model(name: object, names: frozenset[str]) -> None:
    """Raises WireError for a model that the session may not use, in the same words whether it exists or not."""
    if not isinstance(name, str) or name not in names:
        known = "default" if "default" in names else min(names, default="default")
        raise WireError(f"model {str(name)[:100]!r} is not offered to this session; ask for {known!r}")


def is_count(value: object) -> TypeGuard[int]:
    """Whether this can be a number of tokens."""
    return type(value) is int and 0 <= value <= MOST_TOKENS


def usage_of(prompt: object, cached: object, completion: object) -> TokenUsage | None:
    """The usage that an endpoint counted; None for counts that cannot be. Nothing cached may be left out."""
    cached = 0 if cached is None else cached
    if not is_count(prompt) or not is_count(completion) or not is_count(cached) or cached > prompt:
        return None
    return TokenUsage(prompt=prompt, completion=completion, cached=cached)


def content_of(message: Mapping[str, Any], usage: TokenUsage | None, events: int) -> ReplyContent:
    """A reply that was read, with the least it can have cost: by its size, and one token an event."""
    size = len(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
    least = max(estimate_tokens(size), events) if events else 0
    return ReplyContent(message=message, least_tokens=least, usage=usage)


def unreadable(data: bytes) -> ReplyContent:
    """A reply that is none of its wire."""
    text = data[:KEPT_CHARS].decode("utf-8", "replace")
    return ReplyContent(message={"unreadable": text}, least_tokens=estimate_tokens(len(data)))


@dataclass(slots=True)
class EventCutter:
    """Cuts a stream into whole events as it passes, and keeps them to be read in the end."""

    size: int = 0
    rest: bytes = b""
    _passed: list[bytes] = field(default_factory=list)

    def feed(self, data: bytes) -> bytes:
        """Take what came; give the events that are whole now."""
        self.size += len(data)
        new = max(len(self.rest) - 3, 0)  # what is kept was searched
        data = self.rest + data
        end = max(found + len(mark) if (found := data.rfind(mark, new)) >= 0 else 0 for mark in _ENDS)
        whole, self.rest = data[:end], data[end:]
        if whole:
            self._passed.append(whole)
        return whole

    def passed(self) -> Iterator[dict[str, Any]]:
        """The objects of all events so far."""
        return read_objects(b"".join(self._passed))


def text_of(value: object) -> str:
    """A string as it is; of anything else nothing."""
    return value if isinstance(value, str) else ""


def object_of(value: object) -> Mapping[str, Any]:
    """An object as it is; of anything else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """A list as it is; of anything else an empty one."""
    return value if isinstance(value, list) else []
