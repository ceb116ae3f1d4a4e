"""The tasks of an initiative as a drawing: what waits for what, from left to right. Each task is a link; its words are in the table, too.

Made on the server: no script, and no style on the page, whose style sheet colours the classes.
"""

import textwrap
from collections.abc import Iterator, Sequence
from html import escape

from markupsafe import Markup

from overlord.domain.portfolio.task_graph import Sizes, placed
from overlord.domain.text.plain import visible
from overlord.queries.portfolio_initiative import TaskLine
from overlord.queries.portfolio_view import state_of

SIZES = Sizes(width=196, height=62, gap_x=44, gap_y=12, lane=10)
MARGIN, ARROW = 8, 5
MOST_CHARS, MOST_LINES = 27, 2
MOST_TASKS = 200
Point = tuple[float, float]


def task_graph(lines: Sequence[TaskLine]) -> Markup:
    """As SVG; empty where there is nothing to see."""
    shown = lines[:MOST_TASKS]
    if len(shown) < 2:
        return Markup()
    names = list(dict.fromkeys((*(line.ref for line in shown), *_elsewhere(shown))))
    links = [(blocker, line.ref) for line in shown for blocker in line.waits_for]
    drawing = placed(names, links, SIZES)
    known = {line.ref: line for line in shown}
    width, height = drawing.width + 2 * MARGIN, drawing.height + 2 * MARGIN
    ways = "".join(_way(points) for points in drawing.links)
    boxes = "".join(_box(ref, known.get(ref), drawing.nodes[ref]) for ref in names)
    size = f'viewBox="{-MARGIN} {-MARGIN} {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    label = "What waits for what, from left to right"
    return Markup(f'<svg {size} role="group" aria-label="{label}">{ways}{boxes}</svg>')  # noqa: S704 - every text is escaped


def sentences(lines: Sequence[TaskLine]) -> list[str]:
    """The same in words."""
    waiting = [f"{line.ref} waits for {' and '.join(line.waits_for)}" for line in lines if line.waits_for]
    return waiting or ["no task waits for another"]


def _elsewhere(lines: Sequence[TaskLine]) -> Iterator[str]:
    """Tasks of other initiatives, for which one of these waits."""
    return (ref for line in lines for ref in line.waits_for)


def _way(points: Sequence[Point]) -> str:
    (x, y), *rest = points
    drawn = f"M{x:g} {y:g}"
    for index, (to_x, to_y) in enumerate(rest):
        end = to_x - ARROW if index == len(rest) - 1 else to_x
        if index % 2:  # along its place in a column
            drawn += f"H{to_x:g}"
        else:
            bend = (end - x) / 2
            drawn += f"C{x + bend:g} {y:g} {end - bend:g} {to_y:g} {end:g} {to_y:g}"
        x, y = to_x, to_y
    tip = f"{x:g},{y:g} {x - 2 * ARROW:g},{y - ARROW:g} {x - 2 * ARROW:g},{y + ARROW:g}"
    return f'<path class="edge" d="{drawn}"/><polygon class="arrow" points="{tip}"/>'


def _box(ref: str, line: TaskLine | None, place: Point) -> str:
    x, y = place
    state = "elsewhere" if line is None or line.is_hidden else "ready" if line.is_ready else str(line.state)
    rect = f'<rect class="task" x="{x:g}" y="{y:g}" width="{SIZES.width}" height="{SIZES.height}" rx="6"/>'
    said = state_of(line) if line is not None else "of another initiative"
    subject = line.subject if line is not None else ""
    words = textwrap.wrap(
        " ".join(visible(subject).split()), MOST_CHARS, max_lines=MOST_LINES, placeholder="…"
    )
    texts = "".join(
        f'<text x="{x + 10:g}" y="{y + 36 + 16 * index:g}">{escape(word)}</text>'
        for index, word in enumerate(words)
    )
    head = f'<text class="name" x="{x + 10:g}" y="{y + 19:g}">{ref} <tspan class="detail">{escape(said)}</tspan></text>'
    whole = escape(f"{ref}: {' '.join(visible(subject).split()) or said}")
    group = f'<g data-state="{state}"><title>{whole}</title>{rect}{head}{texts}</g>'
    return group if line is not None and line.is_hidden else f'<a href="/tasks/{ref}">{group}</a>'
