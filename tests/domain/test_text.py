"""Other people's words, made safe: nothing a forge acts on, nothing a terminal obeys, nothing that breaks out."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from overlord.domain.text.plain import code_block, count, defused, plain_line, quoted, visible

# Text in which what a forge acts on is likely, whole and in pieces.
PIECES = st.sampled_from(
    ["@", "@alice", "@acme/team", "#", "#1", "Fixes ", "closes: ", "GH-1", "gh-", "GH\\-", "https://", ":", "//",
     "/", "\\", "github.com/o/r/issues/1", "o/r", "&#64;", "&commat;", "&", ";", "<", "<img src=x>", "![", "[", "](",
     "]", "(", "\u200b", "\u202e", "\x1b[31m", "\U000e0041", "\r", "\n", "\u2028", "\x85", "```", "`", " ", "a", "1"]
)  # fmt: skip
HOSTILE = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)

LIVE = (
    re.compile(r"@\w"),
    re.compile(r"(?<!&)#\w"),
    re.compile(r"gh\\?-\d", re.IGNORECASE),
    re.compile(r":\\?/\\?/"),
    re.compile(r"<"),
    re.compile(r"!\["),
    re.compile(r"\]\("),
    re.compile(r"&(?!amp;|lt;|#91;|#40;)#?\w+;"),
)
"""Mentions, references (which a closing keyword needs), addresses, HTML, images, links, entities that become any of these."""


@given(HOSTILE)
@example("Fixes #1 and closes acme/calc#2, resolves GH-3, fixes https://github.com/o/r/issues/4")
@example("@\u200bhere &#64;everyone @\u202ealice \\@bob GH\\-1")
@example("![x](https://evil.example/leak) <img src=//evil.example> [y](//evil.example)")
def test_defused_text_has_nothing_a_forge_acts_on(text: str) -> None:
    made = defused(text)
    assert [pattern.pattern for pattern in LIVE if pattern.search(made)] == []


@given(HOSTILE)
def test_a_quote_stays_a_quote(text: str) -> None:
    made = quoted(text)
    assert all(line.startswith("> ") for line in made.splitlines())
    assert [pattern.pattern for pattern in LIVE if pattern.search(made)] == []


def test_defused_words_are_still_readable() -> None:
    assert visible(defused("Fixes #1: thanks @alice, see a & b; x < y")) == (
        "Fixes #1: thanks @alice, see a & b; x &lt; y"
    )


@given(HOSTILE, st.integers(10, 200))
@example("Fixes ##1 by @@alice", 80)
@example("GH\\-#1", 80)
@example("Fixes GH-1, https://hthttps://tps://github.com/o/r/issues/1 and https:/a:///x", 80)
def test_a_plain_line_is_one_line_that_commands_nothing(text: str, limit: int) -> None:
    line = plain_line(text, limit=limit)
    assert len(line.splitlines()) <= 1
    assert len(line) <= limit
    assert line == line.strip()
    assert [pattern.pattern for pattern in LIVE[:4] if pattern.search(line)] == []
    assert visible(line) == line


@pytest.mark.parametrize(
    ("title", "plain"),
    [
        ("  add()\n subtracts  ", "add() subtracts"),
        ("Fixes #1 for @alice", "Fixes 1 for alice"),
        ("Closes ##12", "Closes 12"),
        ("ping @@everyone", "ping everyone"),
        ("resolves GH-3", "resolves GH 3"),
        ("Fixes https://github.com/o/r/issues/1", "Fixes github.com/o/r/issues/1"),
        ("C# and a @ sign", "C# and a @ sign"),
        ("\x1b[31mred\x1b[0m \u202eevil", "[31mred[0m evil"),
        ("", ""),
    ],
)
def test_a_title_made_plain(title: str, plain: str) -> None:
    assert plain_line(title, limit=80) == plain


def test_a_long_title_is_cut_with_a_sign() -> None:
    assert plain_line("word " * 40, limit=20) == "word word word word…"


@given(st.text() | HOSTILE)
def test_visible_text_has_no_invisible_characters(text: str) -> None:
    made = visible(text)
    assert (
        re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]", made) is None
    )
    assert not any("\U000e0000" <= char <= "\U000e007f" or "\ud800" <= char <= "\udfff" for char in made)
    assert visible(made) == made


def test_line_breaks_tabs_and_other_alphabets_stay() -> None:
    assert visible("Größe\t漢字 🙂\nnext") == "Größe\t漢字 🙂\nnext"


def closes(fence: str, line: str) -> bool:
    """Whether a line ends a fenced block, as CommonMark says: up to three blanks, at least as many backticks."""
    return re.fullmatch(rf" {{0,3}}{fence}`*[ \t]*", line) is not None


BACKTICKS = st.lists(st.sampled_from(["`", "``", "```", "~~~", "\n", " ", "x", "````````"]), max_size=30)


@given(BACKTICKS.map("".join), st.integers(1, 60))
def test_a_code_block_cannot_be_closed_from_inside(text: str, limit: int) -> None:
    opening, *content, closing = code_block(text, limit=limit).split("\n")
    fence = opening.removesuffix("text")
    assert set(fence) == {"`"}
    assert len(fence) >= 3
    assert closing == fence
    assert [line for line in content if closes(fence, line)] == []


def test_a_code_block_keeps_the_end() -> None:
    assert code_block("first\nlast", limit=4) == "```text\n…last\n```"


def test_a_quote_is_cut_and_never_empty() -> None:
    assert quoted("") == "> (nothing)"
    assert quoted("one\ntwo") == "> one\n> two"
    assert quoted("x" * 30, limit=10) == f"> {'x' * 10} …"


def test_counts_are_in_words() -> None:
    assert [count(number, "file") for number in (0, 1, 2, 1200)] == [
        "0 files",
        "1 file",
        "2 files",
        "1,200 files",
    ]
