"""A graph as lines of text: a box for each step, a diamond for each decision, one below the other, with arrows between them."""

from collections.abc import Iterator

from overlord.domain.text.plain import visible
from overlord.domain.view.graph import EdgeKind, Graph, GraphEdge, GraphNode, NodeKind

WIDTH = 80
INDENT = "  "
_LEAST = 24
"""Columns of the smallest box."""
_SIGNS = "┌┐└┘─│├▼▶╌▷◇●"
_PLAIN = "++++-|+v>.>^*"
_ASCII = str.maketrans(_SIGNS, _PLAIN)


def graph_lines(graph: Graph, *, width: int = WIDTH, is_ascii: bool = False) -> list[str]:
    """At most so wide, whatever its names are. `is_ascii` where boxes cannot be shown."""
    lines = [line[:width].rstrip() for line in _lines(graph, width)]
    return [line.translate(_ASCII) for line in lines] if is_ascii else lines


def _lines(graph: Graph, width: int) -> Iterator[str]:
    nodes = sorted(graph.nodes, key=lambda node: (node.layer, node.row))
    texts = [text for node in nodes for text in (node.name, node.detail) if node.kind is NodeKind.PHASE]
    inside = min(max([_LEAST, *(len(_line(text)) + 2 for text in texts)]), width - 2)
    for index, node in enumerate(nodes):
        yield from _node(node, inside)
        following = nodes[index + 1] if index + 1 < len(nodes) else None
        yield from _arrows(graph, node, following)


def _node(node: GraphNode, inside: int) -> Iterator[str]:
    match node.kind:
        case NodeKind.PHASE:
            yield f"┌{'─' * inside}┐"
            for text in filter(None, (node.name, node.detail)):
                yield f"│ {_cut(text, inside - 2).ljust(inside - 1)}│"
            yield f"└{'─' * inside}┘"
        case NodeKind.GATE:
            yield f"{INDENT}◇ {_line(node.name)}{_after(node.detail)}"
        case NodeKind.ENDING:
            yield f"{INDENT}● {_line(node.name)}{_after(node.detail)}"


def _arrows(graph: Graph, node: GraphNode, following: GraphNode | None) -> Iterator[str]:
    """What leads elsewhere is named; what leads to the node below is the last arrow."""
    known, down = graph.known, list[GraphEdge]()
    for edge in graph.leaving(node):
        if following is not None and edge.target == following.id and edge.kind is EdgeKind.NEXT:
            down.append(edge)
        elif edge.kind is EdgeKind.REJECT:
            yield f"{INDENT}├╌ {_line(edge.label)} ╌▷ {_line(known[edge.target].name)}"
        else:
            yield f"{INDENT}├─ {_line(edge.label)} ─▶ {_line(known[edge.target].name)}"
    if down:
        yield f"{INDENT}│ {', '.join(_line(edge.label) for edge in down)}"
        yield f"{INDENT}▼"
    elif following is not None:
        yield ""


def _after(detail: str) -> str:
    return f": {_line(detail)}" if detail else ""


def _line(text: str) -> str:
    return " ".join(visible(text).split())


def _cut(text: str, columns: int) -> str:
    line = _line(text)
    return line if len(line) <= columns else f"{line[: columns - 2].rstrip()}.."
