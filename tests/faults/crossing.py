"""Faults of the embedded forge for one repository at a time, so that many stories can fail differently in one world."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from json import loads
from typing import Any

from starlette.types import Message, Receive, Scope, Send
from typing_extensions import override

from overlord.embedded.fault import Fault, Faults
from overlord.embedded.forge.api.shape import node_id
from overlord.embedded.forge.api.wire import Wire
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.forge.record import CheckRun, Repository

_SPACE: ContextVar[str] = ContextVar("_SPACE", default="")


@dataclass(slots=True, kw_only=True)
class Crossing:
    """What one repository's requests meet: a kind of fault at these operations, once each or until they are lifted."""

    kind: str
    operations: set[str]
    for_good: bool = False
    met: Counter[str] = field(default_factory=Counter)

    def take(self, operation: str) -> Fault | None:
        if operation not in self.operations or (self.met[operation] and not self.for_good):
            return None
        self.met[operation] += 1
        return Fault(operation=operation, kind=self.kind, times=1)

    def lift(self, operations: Collection[str]) -> None:
        self.operations.difference_update(operations)
        for operation in operations:
            del self.met[operation]

    def __str__(self) -> str:
        met = " and ".join(f"{operation} (met {count}x)" for operation, count in self.met.items() if count)
        return f"{self.kind} {'for good' if self.for_good else 'once'} at {met or 'nothing'}"


class _Crossings(Faults):
    def __init__(self, crossings: Mapping[str, Crossing]) -> None:
        super().__init__(kinds=())
        self._crossings = crossings

    @override
    def take(self, operation: str) -> Fault | None:
        crossing = self._crossings.get(_SPACE.get())
        return crossing.take(operation) if crossing else None


def arrange(forge: EmbeddedForge, crossings: Mapping[str, Crossing]) -> None:
    """Let requests about these repositories meet these faults from now on."""
    forge.wire = _Front(forge, crossings)


class _Front(Wire):
    """The wire, which also knows which repository a request is about."""

    def __init__(self, forge: EmbeddedForge, crossings: Mapping[str, Crossing]) -> None:
        super().__init__(forge)
        self.faults = _Crossings(crossings)

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts = scope["path"].split("/")
        if parts[1] == "repos":
            _SPACE.set("/".join(parts[2:4]))
        elif parts[1] in {"graphql", "app"}:
            message = await receive()  # small enough to come in one piece
            _SPACE.set(self._space_asked(loads(message["body"])))
            receive = _again(message, receive)
        elif parts[1] == "logs":
            _SPACE.set(self._space_of_log(parts[2]))
        elif len(parts) > 2:
            _SPACE.set(f"{parts[1]}/{parts[2].removesuffix('.git')}")
        await super().__call__(scope, receive, send)

    def _space_asked(self, body: Mapping[str, Any]) -> str:
        """Of a query or mutation, or of a token for an App."""
        if "repositories" in body:
            return next(
                item.name
                for item in self._repositories()
                if item.name.endswith(f"/{body['repositories'][0]}")
            )
        asked = body["variables"]
        return self._space_of(asked["id"]) if "id" in asked else f"{asked['owner']}/{asked['name']}"

    def _space_of(self, node: str) -> str:
        for repository in self._repositories():
            if any(node_id("PR", pull.id) == node for pull in self.state.pulls(repository.name)):
                return repository.name
        return ""

    def _space_of_log(self, key: str) -> str:
        return next((run.repository for run in self.state.records.all(CheckRun) if run.log_key == key), "")

    def _repositories(self) -> Sequence[Repository]:
        return self.state.repositories()


def _again(first: Message, receive: Receive) -> Receive:
    """`receive` with this message before everything else."""
    waiting = [first]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received
