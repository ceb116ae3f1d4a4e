"""Overlord's own Markdown as parts of a chat message."""

from overlord.domain.chat.markdown import parts_of
from overlord.domain.view.span import Bold
from overlord.domain.view.view import Bullets, Output, Paragraph, Quote


def test_a_heading_is_bold_and_an_issues_number_is_not() -> None:
    assert parts_of("# Results\n") == (Paragraph((Bold("Results"),)),)
    assert parts_of("#12 waits for it.") == (Paragraph(("#12 waits for it.",)),)


def test_lists_quotes_tables_and_output_are_told_apart() -> None:
    text = "- one\n- **two**\n> said\n\n| a | b |\n|---|---|\n| c | d |\n\n```\nran\n```\n"
    assert parts_of(text) == (
        Bullets((("one",), (Bold("two"),))),
        Quote("said"),
        Bullets(((Bold("c"), " d"),)),
        Output("ran"),
    )
