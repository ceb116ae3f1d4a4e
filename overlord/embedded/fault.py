"""Faults of a stand-in, on request: which request meets one, and on which side of its effect. What each is, the stand-in says."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from overlord.embedded.server import cut_connection, until_disconnected

EVERY_OPERATION = "*"
LIMIT_WAIT_S = 30
NO_ANSWER = 0
"""What stands for the status of a request that was left without one."""
AFTER_THE_EFFECT = frozenset({"timeout-after", "reset-after", "bad-json"})


class Silence(Response):
    """Never answers: the client gives up."""

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await until_disconnected(receive)


class Cut(Response):
    """Aborts the connection without a byte."""

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await cut_connection(scope, receive)


BROKEN: dict[str, Callable[[], Response]] = {
    "timeout-before": lambda: Silence(status_code=NO_ANSWER),
    "timeout-after": lambda: Silence(status_code=NO_ANSWER),
    "reset": lambda: Cut(status_code=NO_ANSWER),
    "reset-after": lambda: Cut(status_code=NO_ANSWER),
}
"""What goes wrong between any two programs."""


@dataclass(slots=True, kw_only=True)
class Fault:
    """A fault that is still to happen."""

    operation: str
    kind: str
    times: int
    after: int = 0
    """How many requests pass first."""

    @property
    def is_after(self) -> bool:
        return self.kind in AFTER_THE_EFFECT


@dataclass(slots=True)
class Faults:
    """The faults that were asked for, oldest first. `kinds` are those there are, `prefix` what others may begin with."""

    kinds: Collection[str]
    prefix: str = ""
    pending: list[Fault] = field(default_factory=list)

    def add(self, operation: str, *, times: int, kind: str, after: int = 0) -> None:
        """Let a kind of fault happen to so many requests. Raises ValueError for a kind there is not."""
        is_worded = bool(self.prefix) and kind.startswith(self.prefix) and kind != self.prefix
        if kind not in self.kinds and not is_worded:
            known = [*self.kinds, *([f"{self.prefix}<word>"] if self.prefix else [])]
            raise ValueError(f"unknown kind of fault {kind!r}; known: {', '.join(known)}")
        self.pending.append(Fault(operation=operation, kind=kind, times=times, after=after))

    def take(self, operation: str) -> Fault | None:
        """The fault this request meets, if any; it is used up."""
        for fault in self.pending:
            if fault.operation not in (operation, EVERY_OPERATION):
                continue
            if fault.after == 0:
                fault.times -= 1
                self.pending = [other for other in self.pending if other.times > 0]
                return fault
            fault.after -= 1
        return None
