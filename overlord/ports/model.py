"""Where completions come from."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from typing import Protocol

from overlord.domain.session import Account
from overlord.domain.wires.wire import Wire

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class ModelResponse(Protocol):
    """A reply as it arrives."""

    status: int
    headers: Mapping[str, str]

    def chunks(self) -> AsyncIterator[bytes]:
        """The body; raises ModelUnavailable when the stream is cut."""


class Model(Protocol):
    """An endpoint. Raises ModelUnavailable when there was no reply at all."""

    def complete(
        self,
        body: bytes,
        wire: Wire = Wire.CHAT,
        *,
        model: str = "",
        stream: bool = False,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> AbstractAsyncContextManager[ModelResponse]:
        """Send one request in a wire that the endpoint speaks, JSON as given; path and key are the adapter's to add.

        `model` and `stream` are for a wire that has them in its address. `headers` are a client's own that the wire passes on.
        """

    def models(
        self, wire: Wire = Wire.CHAT, *, signed: bool = True
    ) -> AbstractAsyncContextManager[ModelResponse]:
        """Ask which models there are, which costs nothing; without the key where not `signed`."""


class Assistant(Protocol):
    """A metered call without tools, for code that needs a model's opinion: the gateway's own way in for the engine."""

    async def answer(self, account: Account, messages: Sequence[Mapping[str, str]]) -> str:
        """The text of one reply, on an account, by the model that is named for its kind. Raises
        ModelUnavailable when there was none, ModelRefused when the endpoint or a budget said no."""
        ...
