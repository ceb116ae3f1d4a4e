"""What is common to the wires: their names, a request that was found good, a reply that was read, and the interface of each.

A wire's module has one `Dialect`. It refuses what could fetch, keep or buy more than tokens, with its name. Nothing here talks to
anybody: bytes and values come in, bytes and values go out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from overlord.domain.budgets.budget import TokenUsage

KEPT_CHARS = 200_000
"""Of a reply that is none, in the transcript."""


class Wire(StrEnum):
    """How a client or an endpoint speaks."""

    CHAT = "chat"
    """OpenAI's `/v1/chat/completions`."""
    MESSAGES = "messages"
    """Anthropic's `/v1/messages`."""
    RESPONSES = "responses"
    """OpenAI's `/v1/responses`."""
    GEMINI = "gemini"
    """Google's `/v1beta/models/NAME:streamGenerateContent`."""


class WireError(ValueError):
    """A request that is not passed on. The message is a sentence that says what is wrong with it, and what there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request that was found good, in the shape of its wire."""

    wire: Wire
    body: Mapping[str, Any]
    """What is passed on, without the model's name and the limit on the reply."""
    stream: bool
    completion: int
    """The most tokens of the reply."""
    messages: Sequence[Any]
    """The conversation as the transcript has it: what the wire calls messages, input or contents, with the system's words first."""
    wants_usage: bool = True
    """Whether the client asked a stream for its usage itself; of chat completions alone it may not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyContent:
    """What a reply says: the message as far as it came, its size, and the usage its endpoint counted."""

    message: Mapping[str, Any] | None
    """In the shape of a chat completion's message, whatever its wire: `content`, `tool_calls`, `finish_reason`."""
    least_tokens: int
    """An estimate that errs on the dear side."""
    usage: TokenUsage | None = None


class StreamReader(Protocol):
    """Reads a stream beside passing it on. Bytes are never changed, but for an event that the client did not ask for."""

    usage: TokenUsage | None
    size: int
    """Bytes that came."""
    rest: bytes
    """What never became an event."""

    def feed(self, data: bytes) -> bytes:
        """Take what came; give what may be sent on, which is whole events."""

    def content(self) -> ReplyContent:
        """Everything that was said so far, put together."""


class StreamTranslator(Protocol):
    """Makes events of a wire out of the events of a chat completion's stream."""

    def feed(self, events: bytes) -> bytes:
        """Take whole events; give what they are in the wire."""

    def end(self) -> bytes:
        """The stream has ended: what is missing of the reply. Where it ended without a word of why, an error."""


class Dialect(Protocol):
    """One wire."""

    wire: Wire

    def read(
        self,
        body: Mapping[str, Any],
        *,
        names: frozenset[str],
        completion: int,
        model: str = "",
        stream: bool = False,
    ) -> ModelRequest:
        """Check the request of a session that may use the models of these names alone.

        `completion` is the most a reply may have; a request may ask for less. `model` and `stream` are what the address says, where
        the wire has them there and not in the body. Raises WireError.
        """

    def written(self, request: ModelRequest, *, model: str, limit_parameter: str) -> bytes:
        """The request as an endpoint of the same wire gets it. `limit_parameter` is what a chat endpoint calls the limit."""

    def to_chat(self, request: ModelRequest) -> ModelRequest:
        """The same request as a chat completion. Raises WireError for what that cannot say."""

    def reply_of_chat(self, request: ModelRequest, reply: bytes, *, model: str) -> bytes:
        """A whole chat completion as a reply of this wire. Raises WireError when it is no completion."""

    def translator(self, request: ModelRequest, *, model: str) -> StreamTranslator:
        """For the stream of a chat completion that answers this request."""

    def reader(self, request: ModelRequest) -> StreamReader:
        """For a stream of an endpoint of this wire."""

    def read_whole(self, data: bytes) -> ReplyContent:
        """A reply of this wire that came in one piece; anything at all."""

    def error(self, status: int, code: str, message: str) -> Mapping[str, Any]:
        """A refusal in the shape that clients of this wire know."""

    def stream_error(self, code: str, message: str) -> bytes:
        """A stream's last event, which says that its end is missing."""
