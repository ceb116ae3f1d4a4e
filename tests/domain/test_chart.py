"""A chart as a line and as SVG: every value at its height, none made up, and nobody's words more than words."""

import re

import pytest
from inline_snapshot import snapshot

from overlord.domain.view.span import Bold
from overlord.domain.view.sparkline import ASCII, chart_spans, number_text, range_text, sparkline
from overlord.domain.view.svg import figure
from overlord.domain.view.view import Chart, ChartKind


def chart(
    *values: float | None, kind: ChartKind = ChartKind.BAR, title: str = "Jobs", unit: str = "jobs"
) -> Chart:
    return Chart(title, unit, tuple((f"d{index}", value) for index, value in enumerate(values, 1)), kind)


@pytest.mark.parametrize(
    ("values", "kind", "line"),
    [
        ((0, 4, 8), ChartKind.BAR, "▁▅█"),
        ((7, 7), ChartKind.BAR, "██"),
        ((0, 0), ChartKind.BAR, "▁▁"),
        ((100, 101, None, 102), ChartKind.LINE, "▁▅·█"),
        ((3,), ChartKind.LINE, "▁"),
        ((-1, 1), ChartKind.BAR, "▁█"),
        ((None, None), ChartKind.LINE, "··"),
        ((), ChartKind.BAR, ""),
    ],
    ids=str,
)
def test_signs_are_as_high_as_values(values: tuple[float | None, ...], kind: ChartKind, line: str) -> None:
    assert sparkline(chart(*values, kind=kind)) == line


def test_where_there_is_no_block_letters_tell_the_same() -> None:
    assert sparkline(chart(None, 0, 1, 2, 3, 4, 5, 6, 7), signs=ASCII) == " _.:-=+*#"


@pytest.mark.parametrize("points", [0, 1, 59, 60, 61, 500])
def test_a_line_is_never_longer_than_its_room(points: int) -> None:
    assert len(sparkline(chart(*range(points)))) <= 60
    assert len(sparkline(chart(*range(points)), most=7)) <= 7


def test_neighbours_without_room_are_one_sign_for_their_mean() -> None:
    assert sparkline(chart(0, 0, 7, None, None, None), most=3) == "▁█·"


def test_the_range_is_said() -> None:
    assert range_text(chart(0.0123, None, 1234.5)) == "min 0.0123, max 1,234 jobs"
    assert range_text(chart(None)) == "no values"
    assert chart_spans(chart()) == (Bold("Jobs"), " no values")
    assert [number_text(value) for value in (0, -0.0, 3.14159, 99.94, 100, 12345.6)] == [
        "0",
        "0",
        "3.14",
        "99.9",
        "100",
        "12,346",
    ]


def test_bars_in_svg() -> None:
    assert figure(chart(0, None, 4)) == snapshot(
        '<figure class="chart"><svg viewBox="0 0 640 180" role="img" aria-label="Jobs: d1: 0 jobs, d2: none, d3: 4 jobs"><line class="axis" x1="70" y1="150" x2="630" y2="150"/><text class="axis" x="64" y="16" text-anchor="end">4</text><text class="axis" x="64" y="154" text-anchor="end">0</text><text class="axis" x="70" y="170">d1</text><text class="axis" x="630" y="170" text-anchor="end">d3</text><rect class="bar" x="88.7" y="150.0" width="149.3" height="0.0"><title>d1: 0 jobs</title></rect><rect class="bar" x="462.0" y="12.0" width="149.3" height="138.0"><title>d3: 4 jobs</title></rect></svg><figcaption>Jobs: min 0, max 4 jobs</figcaption></figure>'
    )


def test_a_line_in_svg_is_broken_where_there_is_no_value() -> None:
    assert figure(chart(1, 3, None, 2, kind=ChartKind.LINE)) == snapshot(
        '<figure class="chart"><svg viewBox="0 0 640 180" role="img" aria-label="Jobs: d1: 1 jobs, d2: 3 jobs, d3: none, d4: 2 jobs"><line class="axis" x1="70" y1="150" x2="630" y2="150"/><text class="axis" x="64" y="16" text-anchor="end">3</text><text class="axis" x="64" y="154" text-anchor="end">1</text><text class="axis" x="70" y="170">d1</text><text class="axis" x="630" y="170" text-anchor="end">d4</text><polyline class="line" fill="none" points="140.0,150.0 280.0,12.0"/><circle class="line" cx="140.0" cy="150.0" r="2.5"><title>d1: 1 jobs</title></circle><circle class="line" cx="280.0" cy="12.0" r="2.5"><title>d2: 3 jobs</title></circle><circle class="line" cx="560.0" cy="81.0" r="2.5"><title>d4: 2 jobs</title></circle></svg><figcaption>Jobs: min 1, max 3 jobs</figcaption></figure>'
    )


@pytest.mark.parametrize("values", [(), (None,), (0,), (5, 5, 5), (-2, 2)], ids=str)
@pytest.mark.parametrize("kind", ChartKind)
def test_every_chart_can_be_drawn(values: tuple[float | None, ...], kind: ChartKind) -> None:
    drawn = figure(chart(*values, kind=kind))
    assert not re.search(r"nan|inf|style=|<script", drawn)
    numbers = [float(number) for number in re.findall(r' (?:c?y|height)="([-\d.]+)"', drawn)]
    assert all(0 <= number <= 180 for number in numbers)


def test_hostile_words_stay_words_in_svg() -> None:
    hostile = "\"'><script>x</script><svg onload=x> \u202e"
    drawn = figure(Chart(hostile, hostile, ((hostile, 1.0),)))
    assert not re.search(r"<script|<svg onload|\u202e|[^&;]\"'>", drawn)
    assert drawn.count("<svg ") == 1
