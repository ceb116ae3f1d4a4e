"""What has been said so far, each message serialised once.

A request is the old bytes and a little more: the cost of a turn does not grow with the run, and the prefix stays
byte-identical, which prompt caches live on. When the model's window fills up, old tool output is shortened in
one large step; between two such steps nothing that was said changes.
"""

import json
from collections.abc import Mapping
from typing import Any

FILLED = 0.8
"""The share of the window at which old output is shortened,"""
RELIEVED = 0.5
"""and the share it is brought down to."""
KEPT_RECENT = 6
"""The last messages, which are shortened only when nothing else is left."""
SHORT_CHARS = (400, 60)
"""What is left of an old output: enough to know it by; and, when there are very many, less."""
USUAL_BYTES_PER_TOKEN = 3.5

_SHORTENED = "\n[… the rest was left out, to keep the conversation inside the model's window]"


class Conversation:
    """Messages in the form they are sent. The first two, instructions and mission, are never touched."""

    def __init__(self, window_tokens: int) -> None:
        self._window_tokens = window_tokens
        self._messages: list[bytes] = []
        self._bytes = 0
        self._bytes_per_token = USUAL_BYTES_PER_TOKEN

    def add(self, role: str, content: str, **more: Any) -> None:
        self.add_message({"role": role, "content": content, **more})

    def add_message(self, message: Mapping[str, Any]) -> None:
        self._put(_dump(message))
        if self.tokens > FILLED * self._window_tokens:
            self.shorten(RELIEVED)

    @property
    def tokens(self) -> int:
        """About how many tokens a request with all of it holds."""
        return int(self._bytes / self._bytes_per_token)

    def joined(self) -> bytes:
        return b",".join(self._messages)

    def measure(self, request_bytes: int, prompt_tokens: int) -> None:
        """Learn from a reply how many tokens its request really held."""
        if prompt_tokens > 0:
            self._bytes_per_token = min(max(request_bytes / prompt_tokens, 1.0), 6.0)

    def shorten(self, share: float) -> bool:
        """Bring the conversation down to a share of the window (of itself, if it is smaller), oldest output first.

        False when nothing gave way.
        """
        before = self._bytes
        target = share * min(self._window_tokens * self._bytes_per_token, self._bytes)
        for chars in SHORT_CHARS:
            self._shorten_to(target, chars)
        return self._bytes < before

    def _shorten_to(self, target: float, chars: int) -> None:
        for index in range(2, len(self._messages)):
            recent = index >= len(self._messages) - KEPT_RECENT
            if self._bytes <= target or (recent and self._bytes <= FILLED / RELIEVED * target):
                return
            self._replace(index, _shortened(self._messages[index], chars))

    def _put(self, message: bytes) -> None:
        self._messages.append(message)
        self._bytes += len(message) + 1

    def _replace(self, index: int, message: bytes) -> None:
        self._bytes += len(message) - len(self._messages[index])
        self._messages[index] = message


def _dump(message: Mapping[str, Any]) -> bytes:
    """JSON in UTF-8; a lone surrogate, which UTF-8 cannot hold, becomes a question mark."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _shortened(data: bytes, chars: int) -> bytes:
    if len(data) <= chars:
        return data
    message = json.loads(data)
    if isinstance(message.get("content"), str):
        message["content"] = _shortened_text(message["content"], chars)
    for call in message.get("tool_calls") or ():
        call["function"]["arguments"] = _cut_arguments(call["function"]["arguments"], chars)
    return _dump(message)


def _shortened_text(text: str, chars: int) -> str:
    return text if len(text) <= chars + 2 * len(_SHORTENED) else text[:chars] + _SHORTENED


def _cut_arguments(arguments: str, chars: int) -> str:
    values = json.loads(arguments)
    cut = {
        key: _shortened_text(value, chars) if isinstance(value, str) else value
        for key, value in values.items()
    }
    return json.dumps(cut)


def bounded(text: str, limit_chars: int) -> str:
    """A tool's output as the model is shown it: of a long one, its head and its end."""
    room = limit_chars + 1_000
    if len(text) <= room:
        return text
    half = limit_chars // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out here …]\n{text[-half:]}"
