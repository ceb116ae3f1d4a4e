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
    texts: list[str] = field(default_factory=list)
    results: dict[str, Sequence[Part]] = field(default_factory=dict)


@dataclass(slots=True)
class ChatMessages:
    """The conversation as far as it was read."""

    _turns: list[_Turn] = field(default_factory=list)
    _waiting: dict[str, list[_Turn]] = field(default_factory=dict)
    """By the id of a call: the messages that have one without a result."""

    def system(self, text: str) -> None:
        """The role's words. `developer` is the newer name; fewer endpoints know it."""
        self._turns.append(_Turn({"role": "system", "content": text}))

    def user(self, parts: Sequence[Part]) -> None:
        """A person's words and images."""
        if parts:
            self._turns.append(_Turn({"role": "user", "content": content_of_parts(parts)}))

    def assistant(self, text: str) -> None:
        """The model's words; calls that follow belong to the same message."""
        if text:
            self._open_turn().texts.append(text)

    def call(self, call_id: str, name: str, arguments: str) -> None:
        """The model calls a tool."""
        turn = self._open_turn()
        called = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        turn.message.setdefault("tool_calls", []).append(called)
        waiting = self._waiting.setdefault(call_id, [])
        if not waiting or waiting[-1] is not turn:
            waiting.append(turn)

    def result(self, call_id: str, parts: Sequence[Part]) -> None:
        """What a call gave: it goes to the last call of this id, wherever it stands. Raises WireError where none waits for it."""
        waiting = self._waiting.get(call_id)
        if not waiting:
            raise WireError(
                f"there is a result, and no call that waits for it, with the id {call_id[:100]!r}"
            )
        waiting.pop().results[call_id] = parts

    def _open_turn(self) -> _Turn:
        """The assistant's message that what comes next belongs to."""
        last = self._turns[-1] if self._turns else None
        if last is None or last.message["role"] != "assistant" or last.results:
            last = _Turn({"role": "assistant", "content": None})
            self._turns.append(last)
        return last

    def messages(self) -> list[Any]:
        """All of it, as a chat endpoint gets it. Raises WireError where nothing is left of it."""
        found: list[Any] = []
        for turn in self._turns:
            if turn.texts:
                turn.message["content"] = "".join(turn.texts)
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
