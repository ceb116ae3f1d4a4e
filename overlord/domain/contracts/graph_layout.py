"""A contract's graph: its phases, the gates on their transitions, and where a job can end; in layers, by the longest way to each.

Pure data: what draws it is in `domain/view/`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from overlord.domain.contracts.contract import Contract, Gate, Phase
from overlord.domain.view.graph import EdgeKind, Graph, GraphEdge, GraphNode, NodeKind

APPROVE, REJECT = "approve", "reject"


def graph_of(contract: Contract) -> Graph:
    """Whatever the contract says: also what leads in a circle, or nowhere, has its place."""
    edges = tuple(dict.fromkeys(_edges(contract)))
    nodes = _nodes(contract, edges)
    return Graph(f"The phases and gates of {contract.name}", _placed(nodes, edges), edges)


def _edges(contract: Contract) -> Iterator[GraphEdge]:
    passed = set[str]()
    for source, outcome, target in contract.edges():
        found = contract.gate_on(source, target)
        if found is None:
            yield GraphEdge(source=_phase(source), target=_place(contract, target), label=outcome)
        else:
            passed.add(found[0])
            yield GraphEdge(source=_phase(source), target=_gate(found[0]), label=outcome)
            yield from _answers(contract, *found)
    for name, gate in contract.gates.items():
        if name not in passed:
            yield GraphEdge(source=_phase(gate.source), target=_gate(name))
            yield from _answers(contract, name, gate)


def _answers(contract: Contract, name: str, gate: Gate) -> Iterator[GraphEdge]:
    for label, target, kind in (
        (APPROVE, gate.approve, EdgeKind.NEXT),
        (REJECT, gate.reject, EdgeKind.REJECT),
    ):
        if target is not None:
            place = _place(contract, target)
            yield GraphEdge(source=_gate(name), target=place, label=label, kind=kind)


def _nodes(contract: Contract, edges: Sequence[GraphEdge]) -> list[GraphNode]:
    """In the order they are reached from the start, then what is never reached."""
    known = {
        _phase(name): GraphNode(id=_phase(name), name=name, kind=NodeKind.PHASE, detail=_workers(phase))
        for name, phase in contract.phases.items()
    }
    known |= {
        _gate(name): GraphNode(id=_gate(name), name=name, kind=NodeKind.GATE, detail=_audience(gate))
        for name, gate in contract.gates.items()
    }
    for edge in edges:
        kind, _, name = edge.target.partition(":")
        if kind == NodeKind.ENDING:
            known.setdefault(edge.target, GraphNode(id=edge.target, name=name, kind=NodeKind.ENDING))
    ordered = dict.fromkeys((*_reached(_phase(contract.start), edges), *known))
    return [known[name] for name in ordered if name in known]


def _workers(phase: Phase) -> str:
    return ", ".join(phase.actors) if phase.actors else "nobody works"


def _audience(gate: Gate) -> str:
    if gate.is_pull:
        return "at the pull request"
    return {"person": "a person", "approver": "an approver"}.get(gate.audience, f"the role {gate.audience}")


def _placed(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]) -> tuple[GraphNode, ...]:
    layers, rows, placed = layers_of([node.id for node in nodes], edges), dict[int, int](), list[GraphNode]()
    for node in nodes:
        layer = layers[node.id]
        placed.append(replace(node, layer=layer, row=rows.setdefault(layer, 0)))
        rows[layer] += 1
    return tuple(placed)


def layers_of(names: Sequence[str], edges: Sequence[GraphEdge]) -> dict[str, int]:
    """How many steps the longest way to each node has. What leads back, and a rejection to a phase, makes no way longer."""
    ways = [edge for edge in edges if edge.kind is EdgeKind.NEXT or edge.target.startswith("ending:")]
    order = _without_circles(names, ways)
    place = {name: index for index, name in enumerate(order)}
    layers = dict.fromkeys(names, 0)
    for name in order:
        for edge in ways:
            if edge.source == name and place.get(edge.target, -1) > place[name]:
                layers[edge.target] = max(layers[edge.target], layers[name] + 1)
    return layers


def _without_circles(names: Sequence[str], ways: Sequence[GraphEdge]) -> list[str]:
    """The nodes, each before those it leads to; an edge that closes a circle does not count."""
    done, finished = set[str](), list[str]()
    following = {name: [edge.target for edge in ways if edge.source == name] for name in names}
    for first in names:
        stack = [(first, iter(following[first]))] if first not in done else []
        done.add(first)
        while stack:
            name, rest = stack[-1]
            step = next((item for item in rest if item in following and item not in done), None)
            if step is None:
                finished.append(name)
                stack.pop()
            else:
                done.add(step)
                stack.append((step, iter(following[step])))
    return finished[::-1]


def _reached(start: str, edges: Sequence[GraphEdge]) -> list[str]:
    """What can be reached from a node, what is nearer first."""
    reached = {start: None}
    for name in (queue := [start]):
        for edge in edges:
            if edge.source == name and edge.target not in reached:
                reached[edge.target] = None
                queue.append(edge.target)
    return list(reached)


def _place(contract: Contract, target: str) -> str:
    return _phase(target) if target in contract.phases else f"{NodeKind.ENDING}:{target}"


def _phase(name: str) -> str:
    return f"{NodeKind.PHASE}:{name}"


def _gate(name: str) -> str:
    return f"{NodeKind.GATE}:{name}"
