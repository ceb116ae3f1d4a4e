"""A graph of steps and decisions: nodes in layers, and edges between them. Where each node is, is said; how it looks, a renderer knows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum


class NodeKind(StrEnum):
    """What a node stands for."""

    PHASE = "phase"
    GATE = "gate"
    ENDING = "ending"


class EdgeKind(StrEnum):
    """What an edge stands for."""

    NEXT = "next"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """One node. `layer` counts from the top, `row` from the left within its layer."""

    id: str
    """What edges name it by."""
    name: str
    kind: NodeKind
    detail: str = ""
    layer: int = 0
    row: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """From one node to another."""

    source: str
    target: str
    label: str = ""
    kind: EdgeKind = EdgeKind.NEXT


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in the order they are read, and edges between them. An edge that names no node is not drawn."""

    title: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    @property
    def known(self) -> Mapping[str, GraphNode]:
        """Its nodes by their ids."""
        return {node.id: node for node in self.nodes}

    @property
    def drawn(self) -> tuple[GraphEdge, ...]:
        """The edges between nodes it has."""
        known = self.known
        return tuple(edge for edge in self.edges if {edge.source, edge.target} <= known.keys())

    def leaving(self, node: GraphNode) -> tuple[GraphEdge, ...]:
        """The edges that leave a node."""
        return tuple(edge for edge in self.drawn if edge.source == node.id)

    def sentences(self) -> Iterator[str]:
        """It in words, an edge each: for whoever cannot see it."""
        known = self.known
        for edge in self.drawn:
            source, target = known[edge.source], known[edge.target]
            said = f" on {edge.label}" if edge.label else ""
            yield f"{source.kind} {source.name} leads{said} to {target.kind} {target.name}"
