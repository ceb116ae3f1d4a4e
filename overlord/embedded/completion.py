"""A turn as an OpenAI-shaped chat completion, whole or as a stream of chunks.

The same conversation and turn always give the same bytes, so a request that is repeated gets the answer it missed.
"""

import json
from collections.abc import Iterator
from typing import Any

from overlord.embedded.play import Misbehaviour, Turn

Json = dict[str, Any]
CREATED = 1_700_000_000
"""One moment for all completions: a repeated request gets the same answer."""
PIECE_CHARS = 24
CHARS_PER_TOKEN = 4


class Completion:
    """The reply of one turn of one conversation."""

    def __init__(self, turn: Turn, *, conversation: str, index: int, model: str, prompt_chars: int) -> None:
        self.turn = turn
        self.model = model
        self.id = f"chatcmpl-{conversation[:16]}{index}"
        self._prompt_tokens = prompt_chars // CHARS_PER_TOKEN + 1

    def message(self) -> Json:
        message: Json = {"role": "assistant", "content": self.turn.text, "refusal": None}
        if self.turn.misbehaviour is Misbehaviour.REFUSAL:
            message |= {"content": None, "refusal": self.turn.text}
        if self.turn.calls:
            message["tool_calls"] = self._tool_calls()
        return message

    def finish_reason(self) -> str:
        if self.turn.misbehaviour is Misbehaviour.CUT_OFF:
            return "length"
        return "tool_calls" if self.turn.calls else "stop"

    def usage(self) -> Json:
        """About as many tokens as there would be."""
        chars = len(self.turn.text or "") + len(json.dumps(self._tool_calls()) if self.turn.calls else "")
        completion_tokens = chars // CHARS_PER_TOKEN + 1
        return {
            "prompt_tokens": self._prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": self._prompt_tokens + completion_tokens,
        }

    def whole(self) -> Json:
        choice = {
            "index": 0,
            "message": self.message(),
            "logprobs": None,
            "finish_reason": self.finish_reason(),
        }
        return self._envelope("chat.completion", [choice]) | {"usage": self.usage()}

    def chunks(self, *, with_usage: bool) -> Iterator[Json]:
        """The reply piece by piece, as `stream: true` has it."""
        message = self.message()
        yield self._chunk({"role": "assistant", "content": "" if message["content"] else None})
        for name in ("content", "refusal"):
            for piece in _pieces(message[name] or ""):
                yield self._chunk({name: piece})
        for index, call in enumerate(message.get("tool_calls", [])):
            function = call["function"]
            opening = call | {"index": index, "function": {"name": function["name"], "arguments": ""}}
            yield self._chunk({"tool_calls": [opening]})
            for piece in _pieces(function["arguments"]):
                yield self._chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield self._chunk({}, self.finish_reason())
        if with_usage:
            yield self._envelope("chat.completion.chunk", []) | {"usage": self.usage()}

    def _tool_calls(self) -> list[Json]:
        broken = self.turn.misbehaviour is Misbehaviour.MALFORMED_ARGUMENTS
        return [
            {
                "id": f"call_{self.id.removeprefix('chatcmpl-')}_{number}",
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": '{"path": "calc'
                    if broken
                    else json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for number, call in enumerate(self.turn.calls)
        ]

    def _chunk(self, delta: Json, finish_reason: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return self._envelope("chat.completion.chunk", [choice])

    def _envelope(self, kind: str, choices: list[Json]) -> Json:
        return {"id": self.id, "object": kind, "created": CREATED, "model": self.model, "choices": choices}


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + PIECE_CHARS] for start in range(0, len(text), PIECE_CHARS))
