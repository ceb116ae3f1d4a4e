"""A chart as SVG within a figure, made on the server: no style, no script. A page's style sheet colours `axis`, `bar` and `line`.

Whoever cannot see it is read its title, range and values; they stand in the drawing too, as the title of each bar and dot.
"""

from collections.abc import Iterator
from html import escape

from overlord.domain.text.plain import visible
from overlord.domain.view.sparkline import bounds, number_text, range_text
from overlord.domain.view.view import Chart, ChartKind

WIDTH, HEIGHT = 640, 180
LEFT, RIGHT, TOP, BOTTOM = 70, 630, 12, 150
"""Where the drawing stands: numbers are left of it, labels below."""
DOT = 2.5
"""The radius of a point of a line."""

Place = tuple[float, float, str]
"""Where a point is, and what is said of it."""


def figure(chart: Chart) -> str:
    """As HTML."""
    caption = f"<figcaption>{_text(chart.title)}: {_text(range_text(chart))}</figcaption>"
    return f'<figure class="chart">{_svg(chart)}{caption}</figure>'


def _svg(chart: Chart) -> str:
    told = ", ".join(_said(chart, label, value) for label, value in chart.points)
    alternative = _text(f"{chart.title}: {told or range_text(chart)}")
    drawn = "".join((*_axes(chart), *(_bars(chart) if chart.kind is ChartKind.BAR else _line(chart))))
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{alternative}">{drawn}</svg>'


def _said(chart: Chart, label: str, value: float | None) -> str:
    return f"{label}: {'none' if value is None else f'{number_text(value)} {chart.unit}'.rstrip()}"


def _axes(chart: Chart) -> Iterator[str]:
    """The base line, the numbers of its top and bottom, the first and the last label."""
    low, high = bounds([value for _, value in chart.points], chart.kind)
    yield f'<line class="axis" x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{BOTTOM}"/>'
    for y, value in ((TOP, high), (BOTTOM, low)) if high > low else ((BOTTOM, low),):
        yield f'<text class="axis" x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{number_text(value)}</text>'
    if chart.points:
        first, last = chart.points[0][0], chart.points[-1][0]
        yield f'<text class="axis" x="{LEFT}" y="{HEIGHT - 10}">{_text(first)}</text>'
        yield f'<text class="axis" x="{RIGHT}" y="{HEIGHT - 10}" text-anchor="end">{_text(last)}</text>'


def _bars(chart: Chart) -> Iterator[str]:
    low, high = bounds([value for _, value in chart.points], chart.kind)
    width = (RIGHT - LEFT) / max(len(chart.points), 1)
    ground = _height(0.0, low, high)
    for index, (label, value) in enumerate(chart.points):
        if value is None:
            continue
        top = _height(value, low, high)
        place = f'x="{LEFT + width * index + width * 0.1:.1f}" y="{min(top, ground):.1f}"'
        size = f'width="{width * 0.8:.1f}" height="{abs(ground - top):.1f}"'
        yield f'<rect class="bar" {place} {size}><title>{_text(_said(chart, label, value))}</title></rect>'


def _line(chart: Chart) -> Iterator[str]:
    """Broken where there is no value, with a dot for each that there is."""
    for run in _runs(chart):
        if len(run) > 1:
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in run)
            yield f'<polyline class="line" fill="none" points="{points}"/>'
        for x, y, said in run:
            yield f'<circle class="line" cx="{x:.1f}" cy="{y:.1f}" r="{DOT}"><title>{_text(said)}</title></circle>'


def _runs(chart: Chart) -> Iterator[list[Place]]:
    low, high = bounds([value for _, value in chart.points], chart.kind)
    step = (RIGHT - LEFT) / max(len(chart.points), 1)
    run: list[Place] = []
    for index, (label, value) in enumerate(chart.points):
        if value is None:
            yield run
            run = []
        else:
            run.append((LEFT + step * (index + 0.5), _height(value, low, high), _said(chart, label, value)))
    yield run


def _height(value: float, low: float, high: float) -> float:
    """Where a value stands, from the top."""
    return BOTTOM - (BOTTOM - TOP) * ((value - low) / (high - low) if high > low else 0.0)


def _text(text: str) -> str:
    return escape(" ".join(visible(text).split()))
