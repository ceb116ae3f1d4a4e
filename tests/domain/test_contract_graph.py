"""A contract's graph as data, and drawn: every phase and gate has its place, whatever the contract says."""

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.graph_layout import graph_of, layers_of
from overlord.domain.view.graph import EdgeKind, Graph, GraphEdge, GraphNode, NodeKind
from overlord.domain.view.graph_svg import graph_document, graph_figure
from overlord.domain.view.graph_text import graph_lines
from tests.contracts import crew
from tests.records import contract

NAMES = ("a", "b", "c", "d", "e")
EDGES = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=12)


def places(graph: Graph) -> dict[str, tuple[int, int]]:
    return {node.id: (node.layer, node.row) for node in graph.nodes}


def test_phases_and_gates_are_in_layers_by_the_longest_way_to_them() -> None:
    assert places(graph_of(crew())) == {
        "phase:plan": (0, 0),
        "gate:plan_approval": (1, 0),
        "phase:red": (2, 0),
        "phase:build": (3, 0),
        "phase:ship": (4, 0),
        "gate:merge": (5, 0),
        "ending:merged": (6, 0),
        "ending:pr_closed": (6, 1),
    }


def test_each_outcome_and_answer_is_an_edge() -> None:
    found = {(edge.source, edge.label, edge.target, edge.kind) for edge in graph_of(crew()).edges}
    assert ("phase:plan", "done", "gate:plan_approval", EdgeKind.NEXT) in found
    assert ("phase:plan", "blocked", "phase:ship", EdgeKind.NEXT) in found
    assert ("gate:plan_approval", "approve", "phase:red", EdgeKind.NEXT) in found
    assert ("gate:plan_approval", "reject", "phase:plan", EdgeKind.REJECT) in found
    assert ("gate:merge", "reject", "ending:pr_closed", EdgeKind.REJECT) in found
    assert len(found) == 9


def test_the_built_in_contract_has_one_phase_and_the_pull_request() -> None:
    assert [node.name for node in graph_of(contract()).nodes] == ["implement", "merge", "merged", "pr_closed"]


def circle() -> Contract:
    """What no loaded contract is: phases in a circle, one that is never reached, a gate on no transition."""
    phases = {"a": {"next": {"done": "b"}}, "b": {"next": {"done": "a"}}, "c": {}}
    gates = {"odd": {"on": "a->c", "approve": "c", "reject": "stopped"}, "lost": {"on": "x->a"}}
    return Contract.model_validate(
        {"name": "odd", "version": 2, "roles": {}, "phases": phases, "gates": gates}
    )


def test_what_leads_in_a_circle_or_nowhere_has_its_place_too() -> None:
    graph = graph_of(circle())
    assert {node.name for node in graph.nodes} == {"a", "b", "c", "odd", "lost", "stopped"}
    assert len(set(places(graph).values())) == len(graph.nodes)
    assert "lost" in "\n".join(graph_lines(graph)) and "lost" in graph_document(graph)


@given(EDGES)
def test_layers_are_longest_ways_wherever_nothing_leads_back(pairs: list[tuple[str, str]]) -> None:
    forward = [(one, other) for one, other in pairs if one < other]
    edges = [GraphEdge(source=one, target=other) for one, other in forward]
    found = layers_of(NAMES, edges)

    def longest(name: str) -> int:
        return max((longest(one) + 1 for one, other in forward if other == name), default=0)

    assert found == {name: longest(name) for name in NAMES}


@given(EDGES)
def test_layers_end_whatever_leads_back(pairs: list[tuple[str, str]]) -> None:
    edges = [GraphEdge(source=one, target=other) for one, other in pairs]
    found = layers_of(NAMES, edges)
    assert found.keys() == set(NAMES) and max(found.values()) < len(NAMES)


def test_a_graph_as_text() -> None:
    assert "\n".join(graph_lines(graph_of(crew()))) == snapshot("""\
┌────────────────────────┐
│ plan                   │
│ architect              │
└────────────────────────┘
  ├─ blocked ─▶ ship
  │ done
  ▼
  ◇ plan_approval: a person
  ├╌ reject ╌▷ plan
  │ approve
  ▼
┌────────────────────────┐
│ red                    │
│ tester                 │
└────────────────────────┘
  │ done
  ▼
┌────────────────────────┐
│ build                  │
│ backend, frontend      │
└────────────────────────┘
  │ done
  ▼
┌────────────────────────┐
│ ship                   │
│ nobody works           │
└────────────────────────┘
  │ done
  ▼
  ◇ merge: at the pull request
  ├╌ reject ╌▷ pr_closed
  │ approve
  ▼
  ● merged

  ● pr_closed\
""")


def test_a_graph_where_there_are_no_boxes() -> None:
    lines = graph_lines(graph_of(crew()), is_ascii=True)
    assert "\n".join(lines).isascii() and "  ^ plan_approval: a person" in lines


@given(st.text(max_size=120), st.integers(30, 100))
def test_no_name_makes_a_graph_wider(name: str, width: int) -> None:
    nodes = tuple(
        GraphNode(id=kind, name=name, kind=kind, detail=name, layer=index)
        for index, kind in enumerate(NodeKind)
    )
    edges = (GraphEdge(source="phase", target="gate", label=name), GraphEdge(source="gate", target="phase"))
    graph = Graph(name, nodes, edges)
    assert all(len(line) <= width for line in graph_lines(graph, width=width))
    assert "<script" not in graph_figure(graph)


def test_a_drawing_says_in_words_what_it_shows() -> None:
    drawn = graph_document(graph_of(crew()))
    assert "<title>The phases and gates of crew</title>" in drawn
    assert "gate plan_approval leads on reject to phase plan" in drawn
    assert drawn.count('class="edge reject"') == 2 and drawn.count('class="gate"') == 2
    assert "style=" not in graph_figure(graph_of(crew())) and "<style" not in graph_figure(graph_of(crew()))
