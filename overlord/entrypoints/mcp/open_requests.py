"""The requests of clients that wait for a call: whoever withdraws one cancels its call.

A client's notification that it withdraws a request is seen by itself, and after the request was ended for it; so a request that was
ended is remembered for a while. Whether a client that only went away cancels too, is the transport's to say.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from overlord.domain.disciplines.call import Call
from overlord.entrypoints.mcp.backend import Backend
from overlord.entrypoints.mcp.calls import cancelled

MOST_REMEMBERED = 1_000
Key = tuple[str, str]
"""A connection, and the request's number on it."""


@dataclass(slots=True, kw_only=True)
class OpenRequest:
    """One of them."""

    backend: Backend
    ref: str = ""
    """The call that was requested for it; empty while there is none."""
    is_withdrawn: bool = False

    async def begin(self, request: Callable[[], Awaitable[Call]]) -> Call:
        """Request the call. A request that is withdrawn meanwhile is not cut in two: the row is there and known, or there is none."""
        with anyio.CancelScope(shield=True):
            call = await request()
            self.ref = call.ref
            if self.is_withdrawn:
                await cancelled(self.backend, self.ref)
        return call

    async def withdraw(self) -> None:
        """Cancel its call, now or as soon as there is one."""
        self.is_withdrawn = True
        if self.ref:
            with anyio.CancelScope(shield=True):
                await cancelled(self.backend, self.ref)


@dataclass(slots=True, kw_only=True)
class OpenRequests:
    """Those of one server."""

    _known: OrderedDict[Key, OpenRequest] = field(default_factory=OrderedDict)

    def opened(self, key: Key, backend: Backend) -> OpenRequest:
        """A new one."""
        request = self._known[key] = OpenRequest(backend=backend)
        self._known.move_to_end(key)
        while len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)
        return request

    def answered(self, key: Key, request: OpenRequest) -> None:
        """Nobody can withdraw it any more."""
        if self._known.get(key) is request:
            del self._known[key]

    async def withdraw(self, key: Key) -> None:
        """A client withdraws a request."""
        if (request := self._known.pop(key, None)) is not None:
            await request.withdraw()
