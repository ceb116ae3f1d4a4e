"""What is typed to search becomes an expression in which nothing of it commands."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from overlord.domain.text.search_words import MOST_CHARS, MOST_TERMS, match_expression


@pytest.fixture
def index() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2')"
        )
        connection.execute("INSERT INTO texts VALUES ('the lint check failed: OR NEAR foo_bar')")
        yield connection


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("lint", '"lint" *'),
        ("lint ", '"lint" *'),
        ("lint failed", '"lint" AND "failed" *'),
        ("lint lint lint", '"lint" AND "lint" *'),
        ('"lint check"', '"lint check"'),
        ('"lint check', '"lint check" *'),
        ("“lint check” „a b“", '"lint check" AND "a b"'),
        ("foo_bar.py", '"foo bar py"'),
        ("lint -failed", '("lint") NOT ("failed")'),
        ('-"a b" lint -c', '("lint") NOT ("a b" OR "c")'),
        ("ab", '"ab"'),
        ("日本", '"日本" *'),
        ("a OR b", '"a" AND "OR" AND "b"'),
        ("NEAR(lint check)", '"NEAR lint" AND "check" *'),
        ("text:lint", '"text lint" *'),
        ("^lint*", '"lint" *'),
        ("caf\u0065\u0301", '"caf\u0065\u0301" *'),
        ("x\0y", '"x y"'),
        ("x\ud800y", '"x y"'),
        ("-lint", ""),
        ('"', ""),
        ('""', ""),
        ("*", ""),
        ("\0", ""),
        ("\u0301", ""),
        ("💥", ""),
        ("", ""),
    ],
)
def test_each_word_is_quoted(typed: str, wanted: str) -> None:
    assert match_expression(typed) == wanted


def test_no_more_is_read_than_a_search_may_cost() -> None:
    words = " ".join(f"w{number}" for number in range(3000))
    assert match_expression(words).count(" AND ") == MOST_TERMS - 1
    assert len(match_expression("x" * 10_000)) < MOST_CHARS + 10


HOSTILE = (
    *(
        '"',
        "'",
        "NEAR(",
        "NEAR/3",
        "*",
        "a OR b",
        "\0",
        "lint\0",
        "(",
        ")",
        "-",
        "--",
        "- -",
        ":",
        "text : x",
    ),
    *(
        "^",
        "{text}",
        "+lint",
        "a + b",
        "lint NOT",
        "NOT lint",
        "AND",
        "💥",
        "\ud800",
        "\u202elint",
        "%",
        "\\",
    ),
    *('a"b"c', '"*', "lint*", '-"', ";DROP TABLE jobs", "?1", "\u0301a", "𝔘𝔫𝔦", "x" * 10_000, '"' * 10_000),
)


@pytest.mark.parametrize("typed", HOSTILE)
def test_the_index_takes_whatever_was_typed(index: sqlite3.Connection, typed: str) -> None:
    if match := match_expression(typed):
        index.execute("SELECT * FROM texts WHERE texts MATCH ?", (match,)).fetchall()


@pytest.mark.parametrize(
    ("typed", "is_found"),
    [
        ("LINT", True),
        ("lïnt", True),
        ("lint fai", True),
        ("fai lint", False),
        ('"lint check"', True),
        ('"check lint"', False),
        ("lint -failed", False),
        ("lint -passed", True),
        ("or near", True),
        ("foo_bar", True),
        ("lint passed", False),
    ],
)
def test_all_words_have_to_be_there(index: sqlite3.Connection, typed: str, is_found: bool) -> None:
    found = index.execute("SELECT * FROM texts WHERE texts MATCH ?", (match_expression(typed),)).fetchall()
    assert bool(found) is is_found
