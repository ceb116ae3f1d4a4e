"""A chart as one line of text: a sign for each point, as high as its value, and what the lowest and the highest are."""

from collections.abc import Sequence

from overlord.domain.view.span import Bold, Span
from overlord.domain.view.view import Chart, ChartKind

BLOCKS = "·▁▂▃▄▅▆▇█"
"""The sign of a point without a value, then those of values, the lowest first."""
ASCII = " _.:-=+*#"
MOST_POINTS = 60
"""In one line; of more, neighbours are one sign, for their mean."""
MOST_TITLE = 100
"""Characters of a title in one line, so that its values are seen."""
NOTHING = "no values"


def chart_spans(chart: Chart) -> tuple[Span, ...]:
    """It in a line, for a renderer that draws nothing."""
    told = range_text(chart)
    title = chart.title if len(chart.title) <= MOST_TITLE else f"{chart.title[: MOST_TITLE - 1]}…"
    return (Bold(title), f" {sparkline(chart)} {told}" if told != NOTHING else f" {NOTHING}")


def sparkline(chart: Chart, *, most: int = MOST_POINTS, signs: str = BLOCKS) -> str:
    """At most so many signs."""
    values = _folded([value for _, value in chart.points], max(most, 1))
    low, high = bounds(values, chart.kind)
    steps = len(signs) - 2
    span = high - low
    return "".join(
        signs[0] if value is None else signs[1 + round((value - low) / span * steps) if span else 1]
        for value in values
    )


def bounds(values: Sequence[float | None], kind: ChartKind) -> tuple[float, float]:
    """Between what a chart is drawn: bars stand on nought."""
    known = [value for value in values if value is not None]
    if kind is ChartKind.BAR:
        known.append(0.0)
    return (min(known), max(known)) if known else (0.0, 0.0)


def range_text(chart: Chart) -> str:
    """The lowest and the highest value, in words."""
    known = [value for _, value in chart.points if value is not None]
    if not known:
        return NOTHING
    return f"min {number_text(min(known))}, max {number_text(max(known))} {chart.unit}".rstrip()


def number_text(value: float) -> str:
    """A number as people read it: whole from a hundred up, three digits that count below."""
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return "0" if text == "-0" else text


def _folded(values: Sequence[float | None], most: int) -> list[float | None]:
    size = -(-len(values) // most) or 1
    return [_mean(values[start : start + size]) for start in range(0, len(values), size)]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
