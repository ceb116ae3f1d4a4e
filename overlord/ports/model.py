"""Where completions come from."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from overlord.domain.session import Account


class ModelResponse(Protocol):
    """A reply as it arrives."""

    status: int
    headers: Mapping[str, str]

    def chunks(self) -> AsyncIterator[bytes]:
        """The body; raises ModelUnavailable when the stream is cut."""


class Model(Protocol):
    """An OpenAI-compatible endpoint. Raises ModelUnavailable when there was no reply at all."""

    def complete(self, body: bytes) -> AbstractAsyncContextManager[ModelResponse]:
        """Send one chat completion request, JSON as given; the key is the adapter's to add."""

    def models(self, *, signed: bool = True) -> AbstractAsyncContextManager[ModelResponse]:
        """Ask which models there are, which costs nothing; without the key where not `signed`."""


class Assistant(Protocol):
    """A metered call without tools, for code that needs a model's opinion: the gateway's own way in for the engine."""

    async def answer(self, account: Account, messages: Sequence[Mapping[str, str]]) -> str:
        """The text of one reply, on an account, by the model that is named for its kind. Raises
        ModelUnavailable when there was none, ModelRefused when the endpoint or a budget said no."""
        ...
