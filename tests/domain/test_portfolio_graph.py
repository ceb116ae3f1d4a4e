"""Tasks that wait for tasks: a circle is found exactly where there is one, and what is named is one."""

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.portfolio.graph import circle, circle_with, graph_of, unblocks

nodes = st.integers(1, 12)
pairs = st.lists(st.tuples(nodes, nodes), max_size=40)


def has_circle(graph: dict[int, set[int]]) -> bool:
    """By another way than ours."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return True
    return False


@given(pairs)
def test_a_circle_is_found_exactly_where_there_is_one(links: list[tuple[int, int]]) -> None:
    graph = graph_of(links)
    assert bool(circle(graph)) is has_circle(graph)


@given(pairs)
def test_what_is_named_is_a_circle(links: list[tuple[int, int]]) -> None:
    graph = graph_of(links)
    if found := circle(graph):
        assert found[0] == found[-1]
        assert all(following in graph[node] for node, following in pairwise(found))
        assert len(set(found)) == len(found) - 1, "no task is named twice"


@given(pairs, st.randoms())
def test_the_order_of_the_rows_changes_nothing(links: list[tuple[int, int]], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(links)
    random.shuffle(shuffled)
    assert circle(graph_of(links)) == circle(graph_of(shuffled))


@given(pairs, nodes, st.sets(nodes, max_size=4))
def test_a_new_link_is_refused_exactly_where_it_closes_a_circle(
    links: list[tuple[int, int]], blocked: int, blockers: set[int]
) -> None:
    graph = graph_of(links)
    wider = graph_of([*links, *((blocker, blocked) for blocker in blockers)])
    assert bool(circle_with(graph, blocked, blockers)) is has_circle(wider)
    assert graph == graph_of(links), "what there is stays as it is"


def test_a_task_that_waits_for_itself_is_a_circle() -> None:
    assert circle({3: {3}}) == (3, 3)


def test_ten_thousand_in_a_row_are_followed_without_recursion() -> None:
    chain = {number: {number + 1} for number in range(10_000)}
    assert circle(chain) == ()
    assert len(circle({**chain, 10_000: {0}})) == 10_002


def test_a_task_counts_those_that_wait_for_it_through_others_once() -> None:
    graph = graph_of([(1, 2), (1, 3), (2, 4), (3, 4)])
    assert unblocks(graph, [1, 2, 3, 4]) == {1: 3, 2: 1, 3: 1, 4: 0}
