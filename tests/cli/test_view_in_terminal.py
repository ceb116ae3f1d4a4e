"""A view in a terminal of 80 columns, without colours: each part and span, and nobody's words more than words."""

import pytest
from inline_snapshot import snapshot

from overlord.entrypoints.terminal.view_text import show_view
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

words: words
words  two                                                                      \n\
words  words words words words (https://example.org/a) @U12345 2 Mar 09:00 UTC  \n\
       acme/calc#7 #9 overlord why 7                                            \n\
  overlord answer 5 words                       # words: words
""")


def test_hostile_words_do_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    show_view(a_view(HOSTILE))
    assert harmful(capsys.readouterr().out) == []
