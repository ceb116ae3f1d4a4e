"""A graph as SVG, made on the server: no script, and no style on a page, whose style sheet colours its classes.

Layers go from the top to the bottom. An edge to the next layer is a curve; every other edge goes along a lane of its own, right of
all nodes, so that none crosses a box of another layer. Whoever cannot see it is read its title and its edges in words.
"""

from collections.abc import Iterator
from html import escape

from overlord.domain.text.plain import visible
from overlord.domain.view.graph import EdgeKind, Graph, GraphEdge, GraphNode, NodeKind

NODE_WIDTH, NODE_HEIGHT = 208, 48
GAP_X, GAP_Y = 32, 44
MARGIN = 12
FIRST_LANE, LANE = 84, 20
"""How far right of the nodes the first lane is, and each one from the one before."""
ASIDE = 56
ARROW = 5
MOST_CHARS = 27
"""What fits in a node's line."""
MOST_LABEL = 16
_STYLE = """
  :root { color-scheme: light dark; }
  svg { background: light-dark(#ffffff, #17191d); }
  text { font: 12px system-ui, "Liberation Sans", sans-serif; fill: light-dark(#1b1e23, #e5e7eb); }
  .name { font-weight: 600; }
  text.detail, text.label { fill: light-dark(#5a616d, #9ba2ae); }
  .phase { fill: light-dark(#f2f3f5, #1f2227); stroke: light-dark(#868d99, #6d7480); }
  .gate { fill: light-dark(#ffffff, #17191d); stroke: light-dark(#8a5300, #f0b457); stroke-width: 2; }
  .ending { fill: light-dark(#ffffff, #17191d); stroke: light-dark(#1c6e3d, #72cf97); }
  .edge { fill: none; stroke: light-dark(#5a616d, #9ba2ae); }
  .reject { stroke-dasharray: 5 4; }
  .arrow { fill: light-dark(#5a616d, #9ba2ae); }
"""

Place = tuple[float, float]


def graph_figure(graph: Graph) -> str:
    """As HTML."""
    title = _text(graph.title)
    drawing = f'<div class="scroll" tabindex="0" role="region" aria-label="{title}">{_svg(graph)}</div>'
    return f'<figure class="graph">{drawing}<figcaption>{title}</figcaption></figure>'


def graph_document(graph: Graph) -> str:
    """As a file of its own, light or dark as its reader has it."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{_svg(graph, head=f"<style>{_STYLE}</style>", xml=True)}\n'
    )


def _svg(graph: Graph, *, head: str = "", xml: bool = False) -> str:
    lanes = {
        edge: index for index, edge in enumerate(edge for edge in _merged(graph) if _in_lane(graph, edge))
    }
    width = _right(graph) + MARGIN + (FIRST_LANE + LANE * (len(lanes) - 1) if lanes else 0)
    height = (
        2 * MARGIN + max((node.layer + 1 for node in graph.nodes), default=0) * (NODE_HEIGHT + GAP_Y) - GAP_Y
    )
    drawn = "".join((*_edges(graph, lanes), *(_node(node) for node in graph.nodes)))
    told = _text("; ".join(graph.sentences()) or "nothing leads anywhere")
    namespace = ' xmlns="http://www.w3.org/2000/svg"' if xml else ""
    size = f'viewBox="0 0 {width} {max(height, 1)}" width="{width}" height="{max(height, 1)}"'
    titled = f"<title>{_text(graph.title)}</title><desc>{told}</desc>"
    label = f'role="img" aria-label="{_text(graph.title)}: {told}"'
    return f"<svg{namespace} {size} {label}>{titled}{head}{drawn}</svg>"


def _merged(graph: Graph) -> list[GraphEdge]:
    """Edges of one kind between the same nodes as one, with all their labels."""
    labels: dict[tuple[str, str, EdgeKind], list[str]] = {}
    for edge in graph.drawn:
        labels.setdefault((edge.source, edge.target, edge.kind), []).append(edge.label)
    return [
        GraphEdge(source=source, target=target, kind=kind, label=", ".join(filter(None, found)))
        for (source, target, kind), found in labels.items()
    ]


def _in_lane(graph: Graph, edge: GraphEdge) -> bool:
    known = graph.known
    return known[edge.target].layer != known[edge.source].layer + 1


def _right(graph: Graph) -> int:
    """Where the nodes end."""
    rows = max((node.row + 1 for node in graph.nodes), default=1)
    return MARGIN + rows * (NODE_WIDTH + GAP_X) - GAP_X


def _corner(node: GraphNode) -> Place:
    return MARGIN + node.row * (NODE_WIDTH + GAP_X), MARGIN + node.layer * (NODE_HEIGHT + GAP_Y)


def _edges(graph: Graph, lanes: dict[GraphEdge, int]) -> Iterator[str]:
    known, left = graph.known, dict[str, int]()
    for edge in _merged(graph):
        source, target = known[edge.source], known[edge.target]
        if edge in lanes:
            beside = left.setdefault(edge.source, 0)
            left[edge.source] += 1
            yield from _by_lane(edge, source, target, _right(graph) + FIRST_LANE + LANE * lanes[edge], beside)
        else:
            yield from _down(edge, source, target)


def _down(edge: GraphEdge, source: GraphNode, target: GraphNode) -> Iterator[str]:
    (x, y), (to_x, to_y) = _corner(source), _corner(target)
    aside = ASIDE * (
        (to_x > x) - (to_x < x)
    )  # what goes to another column begins beside what goes straight down
    x, to_x, y = x + NODE_WIDTH / 2 + aside, to_x + NODE_WIDTH / 2, y + NODE_HEIGHT
    bend = GAP_Y / 2
    yield _path(edge, f"M{x:g} {y:g}C{x:g} {y + bend:g} {to_x:g} {to_y - bend:g} {to_x:g} {to_y - ARROW:g}")
    yield _arrow((to_x, to_y), (to_x - ARROW, to_y - 2 * ARROW), (to_x + ARROW, to_y - 2 * ARROW))
    yield _label(edge, (to_x + 6, to_y - (GAP_Y / 2 - 3 if not aside else ARROW * 2)))


def _by_lane(
    edge: GraphEdge, source: GraphNode, target: GraphNode, lane: float, beside: int
) -> Iterator[str]:
    """`beside` is how many edges leave the same node by its side before this one."""
    (x, y), (to_x, to_y) = _corner(source), _corner(target)
    x, to_x = x + NODE_WIDTH, to_x + NODE_WIDTH
    y, to_y = y + NODE_HEIGHT / 2 + 14 * beside, to_y + NODE_HEIGHT / 2 - 10
    yield _path(edge, f"M{x:g} {y:g}H{lane:g}V{to_y:g}H{to_x + ARROW:g}")
    yield _arrow((to_x, to_y), (to_x + 2 * ARROW, to_y - ARROW), (to_x + 2 * ARROW, to_y + ARROW))
    yield _label(edge, (x + 6, y + 12))


def _path(edge: GraphEdge, drawn: str) -> str:
    dashed = " reject" if edge.kind is EdgeKind.REJECT else ""
    return f'<path class="edge{dashed}" d="{drawn}"/>'


def _arrow(*points: Place) -> str:
    return f'<polygon class="arrow" points="{" ".join(f"{x:g},{y:g}" for x, y in points)}"/>'


def _label(edge: GraphEdge, place: Place) -> str:
    if not edge.label:
        return ""
    return (
        f'<text class="label" x="{place[0]:g}" y="{place[1]:g}">{_text(_cut(edge.label, MOST_LABEL))}</text>'
    )


def _node(node: GraphNode) -> str:
    x, y = _corner(node)
    told = f"<title>{_text(f'{node.name}: {node.detail}' if node.detail else node.name)}</title>"
    return f"<g>{told}{_shape(node, x, y)}{_words(node, x, y)}</g>"


def _shape(node: GraphNode, x: float, y: float) -> str:
    width, height, middle = NODE_WIDTH, NODE_HEIGHT, y + NODE_HEIGHT / 2
    match node.kind:
        case NodeKind.PHASE:
            return f'<rect class="phase" x="{x:g}" y="{y:g}" width="{width}" height="{height}" rx="6"/>'
        case NodeKind.GATE:
            corners = ((x, middle), (x + 16, y), (x + width - 16, y))
            points = (*corners, (x + width, middle), (x + width - 16, y + height), (x + 16, y + height))
            return f'<polygon class="gate" points="{" ".join(f"{a:g},{b:g}" for a, b in points)}"/>'
        case NodeKind.ENDING:
            radius = NODE_HEIGHT / 2
            return f'<rect class="ending" x="{x:g}" y="{y:g}" width="{width}" height="{height}" rx="{radius:g}"/>'


def _words(node: GraphNode, x: float, y: float) -> str:
    sign = "◇ " if node.kind is NodeKind.GATE else ""
    middle, first = x + NODE_WIDTH / 2, y + (20 if node.detail else 28)
    name = _text(_cut(f"{sign}{node.name}", MOST_CHARS))
    said = f'<text class="name" x="{middle:g}" y="{first:g}" text-anchor="middle">{name}</text>'
    if node.detail:
        detail = _text(_cut(node.detail, MOST_CHARS))
        said += f'<text class="detail" x="{middle:g}" y="{y + 37:g}" text-anchor="middle">{detail}</text>'
    return said


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _text(text: str) -> str:
    return escape(" ".join(visible(text).split()))
