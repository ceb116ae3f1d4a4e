"""A view in a terminal of 80 columns, without colours: each part and span, and nobody's words more than words."""

import pytest
from inline_snapshot import snapshot
from rich.cells import cell_len

from overlord.domain.view.sparkline import ASCII, BLOCKS
from overlord.domain.view.view import Chart, ChartKind, View
from overlord.entrypoints.terminal.view_text import show_view, signs_of
from tests.cli.test_state import harmful
from tests.domain.test_view_rendered import HOSTILE, a_view


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("TTY_COMPATIBLE", "1"),
        ("COLUMNS", "80"),
        ("NO_COLOR", "1"),
        ("OVERLORD_COMMAND", "overlord"),
    ):
        monkeypatch.setenv(name, value)


def test_each_part_and_span(capsys: pytest.CaptureFixture[str]) -> None:
    show_view(a_view("words"))
    assert capsys.readouterr().out == snapshot("""\
words
words words words words (https://example.org/a) @U12345 2 Mar 09:00 UTC acme/calc#7 #9 overlord why 7
- words words words words (https://example.org/a) @U12345 2 Mar 09:00 UTC acme/calc#7 #9 overlord why 7
- words
  > words
  | words
  words
    words words words words (https://example.org/a) @U12345 2 Mar 09:00 UTC acme/calc#7 #9 overlord why 7
    words

  words words words words (https://example.org/a) @U12345 2 Mar 09:00 UTC acme/calc#7 #9 overlord why 7
words

words: words
words  two                                                                      \n\
words  words words words words (https://example.org/a) @U12345 2 Mar 09:00 UTC  \n\
       acme/calc#7 #9 overlord why 7                                            \n\
words                 ▃·█  min 1, max 3 words
words                 ▁█  min 1, max 3 words
┌────────────────────────┐
│ words                  │
│ words                  │
└────────────────────────┘
  │ words
  ▼
  ◇ words: words
  ├╌ words ╌▷ words
  │ words
  ▼
  ● words
  overlord answer 5 words                       # words: words
""")


def test_hostile_words_do_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    show_view(a_view(HOSTILE))
    assert harmful(capsys.readouterr().out) == []


@pytest.mark.parametrize("points", [0, 1, 30, 90])
@pytest.mark.parametrize(
    "title", ["To PR by week", "A title that is much longer than its column", "日本語" * 20, HOSTILE]
)
def test_a_chart_is_one_line_of_80_columns(
    title: str, points: int, capsys: pytest.CaptureFixture[str]
) -> None:
    values = tuple((str(index), float(index)) for index in range(points))
    show_view(View(summary="", parts=(Chart(title, title, values, ChartKind.LINE),)))
    shown = capsys.readouterr().out
    assert shown.count("\n") == 1 and cell_len(shown.rstrip("\n")) <= 80


def test_a_chart_is_drawn_with_letters_where_there_are_no_blocks() -> None:
    assert signs_of("utf-8") == BLOCKS
    assert {signs_of("ascii"), signs_of("latin-1"), signs_of("none-such")} == {ASCII}
