"""`overlord search`: what is typed, and what a terminal and a program get."""

import json
import sqlite3

import pytest
from inline_snapshot import snapshot

from overlord.domain.search import SpokenText
from overlord.store import search
from overlord.store.rows import update
from tests.cli.conftest import Filled, Overlord
from tests.cli.test_state import harmful, nothing
from tests.stored import claim

HOSTILE = "\x1b[2J\u202e[red]same[/] <script>"


def some(connection: sqlite3.Connection) -> None:
    """Two jobs, of which one was worked on."""
    one = claim(connection, 7)
    claim(connection, 8, space="acme/other", title="Say why the lint failed")
    update(connection, "jobs", one.id, {"state": "failed", "is_open": False})
    search.add_spoken(
        connection, one.id, "j1-work-1", [SpokenText(turn=12, text="I ran the tests.\nThe lint failed.")]
    )


def hostile(connection: sqlite3.Connection) -> None:
    job = claim(connection, title=HOSTILE, body="")
    search.add_spoken(connection, job.id, "j1-work-1", [SpokenText(turn=1, text=HOSTILE)])


def test_jobs_are_found_with_the_place_and_the_words_around(overlord: Overlord, filled: Filled) -> None:
    filled(some)
    assert overlord("search", "lint", "fail").out == snapshot("""\
2 jobs with “lint fail”
job  issue                                 state   where               what                                     \n\
2    acme/other#8 Say why the lint failed  queued  issue               Say why the lint failed `add(2, 2)` is 0.
1    acme/calc#7 add() subtracts           failed  j1-work-1, turn 12  I ran the tests. The lint failed.        \n\
""")
    assert overlord("search", '"lint passed"').out == snapshot("""\
0 jobs with “"lint passed"”
All words have to be in one place: an issue, a check, a turn of a session.
""")


def test_a_program_gets_every_place(overlord: Overlord, filled: Filled) -> None:
    filled(some)
    found = json.loads(overlord("search", "lint", "--space", "acme/calc", "--json").out)
    assert found == snapshot(
        {
            "words": "lint",
            "jobs": [
                {
                    "id": 1,
                    "space": "acme/calc",
                    "issue_number": 7,
                    "call": "",
                    "title": "add() subtracts",
                    "state": "failed",
                    "hits": [
                        {
                            "kind": "transcript",
                            "source": "j1-work-1",
                            "turn": 12,
                            "pieces": [
                                {"text": "I ran the tests. The ", "is_match": False},
                                {"text": "lint", "is_match": True},
                                {"text": " failed.", "is_match": False},
                            ],
                        }
                    ],
                }
            ],
            "older": 0,
        }
    )
    found = json.loads(overlord("search", "lint", "--state", "queued", "--json").out)
    assert [job["id"] for job in found["jobs"]] == [2]
    found = json.loads(overlord("search", "lint", "--before", "2", "--json").out)
    assert [job["id"] for job in found["jobs"]] == [1]
    found = json.loads(overlord("search", "--json", "--", "lint", "-why").out)
    assert [job["id"] for job in found["jobs"]] == [1]


def test_older_ones_are_named(overlord: Overlord, filled: Filled) -> None:
    def many(connection: sqlite3.Connection) -> None:
        for number in range(1, 23):
            claim(connection, number, title="same")

    filled(many)
    shown = overlord("search", "same").out
    assert "The newest 20 jobs with “same”" in shown and "--before 3" in shown
    assert "2 jobs with “same”" in overlord("search", "same", "--before", "3").out


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        (("search", "💥"), "there is no word to find in that"),
        (("search", "--", "-lint"), "there is no word to find in that"),
        (("search", "lint", "--before", "x"), "`before` takes a job's number"),
        (("search", "lint", "--space", "acme/nobody"), "no repository of that name"),
        (("search", "lint", "--state", "odd"), "--state takes one of"),
        (("search",), "Missing argument"),
    ],
)
def test_what_cannot_be_searched_is_said(
    overlord: Overlord, filled: Filled, typed: tuple[str, ...], why: str
) -> None:
    filled(nothing)
    found = overlord(*typed)
    assert found.code != 0 and why in found.err


def test_others_words_do_nothing_to_a_terminal(overlord: Overlord, filled: Filled) -> None:
    filled(hostile)
    shown = overlord("search", "same").out
    assert "[red]same[/] <script>" in shown
    assert not harmful(shown)
