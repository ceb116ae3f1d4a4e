"""Messages of a chat completion, put together from wires that have calls, results and words as items of their own.

Chat endpoints want an assistant's words and all its calls in one message, and the results right after it, each as text. An image in a
result follows as a message of the user's, since many endpoints take images from nobody else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from overlord.domain.wires.wire import WireError

Part = Mapping[str, Any]


def text_part(text: str) -> Part:
    """Text among other content."""
    return {"type": "text", "text": text}


def image_part(url: str, detail: str = "") -> Part:
    """An image; `detail` is how closely a model looks at it."""
    image = {"url": url} | ({"detail": detail} if detail in {"auto", "low", "high"} else {})
    return {"type": "image_url", "image_url": image}


def content_of_parts(parts: Sequence[Part]) -> str | list[Part]:
    """Content of a message of the user's: one text is plain."""
    if len(parts) == 1 and parts[0]["type"] == "text":
        text: str = parts[0]["text"]
        return text
    return list(parts)


@dataclass(slots=True)
class _Turn:
    """An assistant's message, and the results of its calls."""

    message: dict[str, Any]
    waiting: dict[str, None] = field(default_factory=dict)
    results: dict[str, Sequence[Part]] = field(default_factory=dict)


@dataclass(slots=True)
class ChatMessages:
    """The conversation as far as it was read."""

    _turns: list[_Turn] = field(default_factory=list)

    def system(self, text: str) -> None:
        """The role's words. `developer` is the newer name; fewer endpoints know it."""
        self._turns.append(_Turn({"role": "system", "content": text}))

    def user(self, parts: Sequence[Part]) -> None:
        """A person's words and images."""
        if parts:
            self._turns.append(_Turn({"role": "user", "content": content_of_parts(parts)}))

    def assistant(self, text: str) -> None:
        """The model's words; calls that follow belong to the same message."""
        if not text:
            return
        last = self._turns[-1] if self._turns else None
        if last is not None and _is_open(last):
            last.message["content"] = (last.message["content"] or "") + text
        else:
            self._turns.append(_Turn({"role": "assistant", "content": text}))

    def call(self, call_id: str, name: str, arguments: str) -> None:
        """The model calls a tool."""
        if not self._turns or not _is_open(self._turns[-1]):
            self._turns.append(_Turn({"role": "assistant", "content": None}))
        turn = self._turns[-1]
        called = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        turn.message.setdefault("tool_calls", []).append(called)
        turn.waiting[call_id] = None

    def result(self, call_id: str, parts: Sequence[Part]) -> None:
        """What a call gave: it goes to the last call of this id, wherever it stands. Raises WireError where none waits for it."""
        for turn in reversed(self._turns):
            if call_id in turn.waiting:
                del turn.waiting[call_id]
                turn.results[call_id] = parts
                return
        raise WireError(f"there is a result, and no call that waits for it, with the id {call_id[:100]!r}")

    def messages(self) -> list[Any]:
        """All of it, as a chat endpoint gets it. Raises WireError where nothing is left of it."""
        found: list[Any] = []
        for turn in self._turns:
            found.append(turn.message)
            images: list[Part] = []
            for call in turn.message.get("tool_calls", ()):
                if (parts := turn.results.get(call["id"])) is not None:
                    texts = [part["text"] for part in parts if part["type"] == "text"]
                    pictures = [part for part in parts if part["type"] != "text"]
                    text = "\n".join(texts) if texts or not pictures else "It gave an image, which follows."
                    found.append({"role": "tool", "tool_call_id": call["id"], "content": text})
                    images += [text_part(f"What the call {call['id']} gave:"), *pictures] if pictures else []
            if images:
                found.append({"role": "user", "content": images})
        if not found:
            raise WireError("there is nothing in the conversation that this endpoint can be sent")
        return found


def _is_open(turn: _Turn) -> bool:
    """Whether what the assistant says next belongs to this message."""
    return turn.message["role"] == "assistant" and not turn.results
