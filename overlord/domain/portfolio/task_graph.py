"""Where each task stands in a drawing of what waits for what: in columns by the longest way to it, with few crossings. Pure.

A link that another way says already is not drawn. A link over several columns has a place in each of them, so that it runs between
tasks and not through them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

SWEEPS = 6
"""How often the order in the columns is made better, there and back."""

Link = tuple[str, str]
"""One that is to be done first, and one that waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Of the drawing, in its own units."""

    width: float
    height: float
    gap_x: float
    gap_y: float
    lane: float
    """The height of a place where a link runs between tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """The drawing: of each task its left upper corner, of each link the points it runs through."""

    nodes: Mapping[str, tuple[float, float]]
    links: tuple[tuple[tuple[float, float], ...], ...]
    width: float
    height: float


def placed(names: Sequence[str], links: Iterable[Link], sizes: Sizes, *, most_columns: int = 4) -> Placed:
    """Those that no link names stand below the others, side by side."""
    known = set(names)
    kept = reduced(names, [pair for pair in links if known >= set(pair) and pair[0] != pair[1]])
    linked = {name for pair in kept for name in pair}
    drawing = _linked([name for name in names if name in linked], kept, sizes)
    return _with_others(drawing, [name for name in names if name not in linked], sizes, most_columns)


def reduced(names: Sequence[str], links: Sequence[Link]) -> tuple[Link, ...]:
    """The links that no way over others says already; of a circle, those that do not close it."""
    after, before = dict[str, list[str]](), dict[str, set[str]]()
    for first, second in dict.fromkeys(links):
        after.setdefault(first, []).append(second)
    order = _order(names, after)
    place = {name: index for index, name in enumerate(order)}
    found = list[Link]()
    for name in order:
        blockers = sorted(
            (a for a, b in set(links) if b == name and place[a] < place[name]), key=place.__getitem__
        )
        known = set[str]()
        for blocker in reversed(blockers):  # the last one first: what comes before it is said by it
            if blocker not in known:
                found.append((blocker, name))
                known |= {blocker, *before.get(blocker, ())}
        before[name] = known
    return tuple(found)


def _order(names: Sequence[str], after: Mapping[str, Sequence[str]]) -> list[str]:
    """Each before those that wait for it."""
    seen, finished = set[str](), list[str]()
    for first in reversed(names):
        stack = [(first, iter(after.get(first, ())))] if first not in seen else []
        seen.add(first)
        while stack:
            rest = stack[-1][1]
            step = next((item for item in rest if item not in seen), None)
            if step is None:
                finished.append(stack.pop()[0])
            else:
                seen.add(step)
                stack.append((step, iter(after.get(step, ()))))
    return finished[::-1]


@dataclass(slots=True, kw_only=True)
class _Columns:
    """Tasks and the places of links, by their columns."""

    columns: list[list[str]]
    neighbours: dict[str, tuple[list[str], list[str]]]
    """Of each those in the column before, and in the one after."""
    heights: dict[str, float]
    ways: list[list[str]]


def _linked(names: Sequence[str], links: Sequence[Link], sizes: Sizes) -> Placed:
    made = _columns(names, links, sizes)
    for sweep in range(SWEEPS):
        _sort(made, backwards=bool(sweep % 2))
    middles = _middles(made, sizes)
    step = sizes.width + sizes.gap_x
    column = {name: index for index, found in enumerate(made.columns) for name in found}
    nodes = {name: (column[name] * step, middles[name] - sizes.height / 2) for name in names}
    ways = []
    for way in made.ways:
        points = [(column[way[0]] * step + sizes.width, middles[way[0]])]
        for name in way[1:-1]:
            points += [
                (column[name] * step, middles[name]),
                (column[name] * step + sizes.width, middles[name]),
            ]
        ways.append((*points, (column[way[-1]] * step, middles[way[-1]])))
    height = max((y + sizes.height for _, y in nodes.values()), default=0.0)
    lowest = max((y for way in ways for _, y in way), default=0.0)
    width = max(0.0, len(made.columns) * step - sizes.gap_x)
    return Placed(nodes=nodes, links=tuple(ways), width=width, height=max(height, lowest))


def _columns(names: Sequence[str], links: Sequence[Link], sizes: Sizes) -> _Columns:
    after = dict[str, list[str]]()
    for first, second in links:
        after.setdefault(first, []).append(second)
    layer = dict.fromkeys(names, 0)
    for name in _order(names, after):
        for second in after.get(name, ()):
            layer[second] = max(layer[second], layer[name] + 1)
    columns: list[list[str]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for name in names:
        columns[layer[name]].append(name)
    made = _Columns(
        columns=columns,
        neighbours={name: ([], []) for name in names},
        heights=dict.fromkeys(names, sizes.height),
        ways=[],
    )
    for first, second in links:
        between = [f"{first}>{second}:{index}" for index in range(layer[first] + 1, layer[second])]
        for index, name in enumerate(between, layer[first] + 1):
            columns[index].append(name)
            made.neighbours[name], made.heights[name] = ([], []), sizes.lane
        way = [first, *between, second]
        for one, other in pairwise(way):
            made.neighbours[one][1].append(other)
            made.neighbours[other][0].append(one)
        made.ways.append(way)
    return made


def _sort(made: _Columns, *, backwards: bool) -> None:
    """Each column by the middle of those it is linked with."""
    order = range(len(made.columns) - 2, -1, -1) if backwards else range(1, len(made.columns))
    for index in order:
        other = made.columns[index + 1 if backwards else index - 1]
        place = {name: number for number, name in enumerate(other)}
        known = {name: number for number, name in enumerate(made.columns[index])}
        weight = {
            name: _mean([place[item] for item in made.neighbours[name][int(backwards)]], known[name])
            for name in known
        }
        made.columns[index].sort(key=lambda name: (weight[name], known[name]))


def _middles(made: _Columns, sizes: Sizes) -> dict[str, float]:
    """The middle of each, near those it is linked with, and none over another."""
    found = dict[str, float]()
    for column in made.columns:
        y = 0.0
        for name in column:
            found[name] = y + made.heights[name] / 2
            y += made.heights[name] + sizes.gap_y
    for sweep in range(SWEEPS):
        order = made.columns[::-1] if sweep % 2 else made.columns
        for column in order:
            wanted = [
                _mean([found[item] for side in made.neighbours[name] for item in side], found[name])
                for name in column
            ]
            _settle(column, wanted, made, sizes, found)
    top = min(
        (found[name] - made.heights[name] / 2 for column in made.columns for name in column), default=0.0
    )
    return {name: middle - top for name, middle in found.items()}


def _settle(
    column: Sequence[str], wanted: Sequence[float], made: _Columns, sizes: Sizes, found: dict[str, float]
) -> None:
    """Each as near to where it is wanted as the one above lets it; then all of them back by what that came to."""
    lowest, moved = float("-inf"), 0.0
    for name, middle in zip(column, wanted, strict=True):
        half = made.heights[name] / 2
        found[name] = max(middle, lowest + half)
        moved += found[name] - middle
        lowest = found[name] + half + sizes.gap_y
    for name in column:
        found[name] -= moved / len(column)


def _with_others(drawing: Placed, others: Collection[str], sizes: Sizes, most_columns: int) -> Placed:
    step_x, step_y = sizes.width + sizes.gap_x, sizes.height + sizes.gap_y
    columns = max(1, min(most_columns, len(others)), round((drawing.width + sizes.gap_x) / step_x))
    top = drawing.height + 2 * sizes.gap_y if drawing.nodes else 0.0
    below = {
        name: (index % columns * step_x, top + index // columns * step_y) for index, name in enumerate(others)
    }
    if not below:
        return drawing
    width = max(drawing.width, min(columns, len(below)) * step_x - sizes.gap_x)
    height = max(y for _, y in below.values()) + sizes.height
    return Placed(nodes={**drawing.nodes, **below}, links=drawing.links, width=width, height=height)


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
