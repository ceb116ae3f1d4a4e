"""The phases of a contract as a graph: what follows what, and the shortest ways that show what is wrong with it.

An edge is a transition that approval takes. The ways back from rejected gates are no part of it: a job's lifetime bounds them.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from overlord.domain.contracts.contract import END, ENDINGS, Contract, Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One transition, with the gate on it."""

    source: str
    target: str
    gate: Gate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseGraph:
    """Phases that are there, and the edges between them and to the end."""

    start: str
    edges: Mapping[str, tuple[Edge, ...]]

    @classmethod
    def of(cls, contract: Contract) -> Self:
        edges: dict[str, list[Edge]] = {name: [] for name in contract.phases}
        gates = {gate.on: gate for gate in contract.gates.values()}
        for source, _, declared in contract.edges():
            gate = gates.get(f"{source}->{declared}")
            target = declared if gate is None or gate.approve is None else gate.approve
            target = END if target in ENDINGS else target
            if target == END or target in contract.phases:
                edges[source].append(Edge(source=source, target=target, gate=gate))
        return cls(start=contract.start, edges={name: tuple(found) for name, found in edges.items()})

    def way(
        self,
        target: str,
        *,
        avoiding: Collection[str] = (),
        through: Callable[[Edge], bool] = lambda _: True,
        begin: str | None = None,
    ) -> tuple[str, ...]:
        """The shortest way from the start to a phase or the end, over edges that `through` lets pass and never beyond the phases
        to avoid; empty where there is none."""
        begin = self.start if begin is None else begin
        if begin not in self.edges:
            return ()
        came: dict[str, str | None] = {begin: None}
        waiting = deque([begin])
        while waiting:
            phase = waiting.popleft()
            if phase == target:
                return _way(came, phase)
            if phase in avoiding or phase not in self.edges:
                continue
            for edge in self.edges[phase]:
                if edge.target not in came and through(edge):
                    came[edge.target] = phase
                    waiting.append(edge.target)
        return ()

    def reached(self) -> frozenset[str]:
        """The phases that a job can come to."""
        found, waiting = {self.start} & self.edges.keys(), [self.start]
        while waiting:
            new = {edge.target for edge in self.edges.get(waiting.pop(), ())} - found
            found |= new
            waiting += new
        return frozenset(found - {END})

    def before(self, phase: str) -> frozenset[str]:
        """The phases from which a way leads to this one, itself only where it is on a circle."""
        into: dict[str, set[str]] = {}
        for edge in self.every():
            into.setdefault(edge.target, set()).add(edge.source)
        found, waiting = set(into.get(phase, ())), list(into.get(phase, ()))
        while waiting:
            new = into.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return frozenset(found)

    def every(self) -> Iterator[Edge]:
        for edges in self.edges.values():
            yield from edges

    def circles(self) -> Iterator[tuple[str, ...]]:
        """A way back to itself for each circle of phases, each phase in one at most."""
        named: set[str] = set()
        for phase in self.edges:
            if phase in named:
                continue
            ways = (self.way(phase, begin=edge.target) for edge in self.edges[phase])
            if circle := min((way for way in ways if way), key=len, default=()):
                named |= set(circle)
                yield (phase, *circle)


def _way(came: Mapping[str, str | None], phase: str) -> tuple[str, ...]:
    found = [phase]
    while (before := came[found[-1]]) is not None:
        found.append(before)
    return tuple(reversed(found))


def drawn(way: Collection[str]) -> str:
    """Phases one after the other, as people read them."""
    return " -> ".join(way)
