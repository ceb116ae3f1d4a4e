"""Tasks in a drawing: no box over another, blockers to the left, no link drawn that others say, and a place for those without one."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.portfolio.task_graph import Sizes, placed, reduced

SIZES = Sizes(width=200, height=60, gap_x=40, gap_y=12, lane=10)


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=90))
def test_no_box_lies_over_another_and_blockers_stand_left(pairs: list[tuple[int, int]]) -> None:
    names = [f"i1.{number}" for number in range(1, 41)]
    links = [(f"i1.{min(pair)}", f"i1.{max(pair)}") for pair in pairs]
    drawing = placed(names, links, SIZES)
    assert set(drawing.nodes) == set(names)
    for (x, y), (other_x, other_y) in combinations(drawing.nodes.values(), 2):
        assert abs(x - other_x) >= SIZES.width or abs(y - other_y) >= SIZES.height
    for first, second in links:
        assert first == second or drawing.nodes[first][0] < drawing.nodes[second][0]
    for x, y in drawing.nodes.values():
        assert 0 <= x <= drawing.width - SIZES.width and -0.01 <= y <= drawing.height - SIZES.height + 0.01


def test_a_link_that_others_say_is_not_drawn() -> None:
    assert set(reduced("abcd", [("a", "b"), ("b", "c"), ("a", "c"), ("a", "d"), ("c", "d")])) == {
        ("a", "b"),
        ("b", "c"),
        ("c", "d"),
    }


def test_a_circle_and_a_task_that_is_not_there_are_drawn_all_the_same() -> None:
    drawing = placed(["a", "b"], [("a", "b"), ("b", "a"), ("a", "gone"), ("a", "a")], SIZES)
    assert len(drawing.links) == 1 and set(drawing.nodes) == {"a", "b"}


def test_tasks_without_a_link_stand_below_side_by_side() -> None:
    drawing = placed(["a", "b", "c", "d"], [("a", "b")], SIZES)
    assert drawing.nodes["c"][1] == drawing.nodes["d"][1] > drawing.nodes["a"][1]
    alone = placed(list("abcdefgh"), [], SIZES)
    assert len({x for x, _ in alone.nodes.values()}) == 4 and alone.links == ()
