"""Calls of disciplines as people see them: listed and shown, named `c1` wherever their jobs are, and no work on issues."""

import json
import re
import sqlite3
from datetime import timedelta

import pytest

from overlord.domain.chat.card import Place
from overlord.domain.view.html import Links, html
from overlord.domain.view.markdown import markdown
from overlord.domain.view.span import Issue
from overlord.domain.view.view import Paragraph, View
from overlord.entrypoints.web.render import PageLinks
from overlord.queries import overview
from overlord.store import job_history
from overlord.store.chat import messages
from tests.called_rows import ended_call, open_call
from tests.cli.conftest import Filled, Overlord
from tests.records import NOW, REPO


def both(connection: sqlite3.Connection) -> None:
    ended_call(connection)
    open_call(connection)


def test_calls_are_listed_newest_first(overlord: Overlord, filled: Filled) -> None:
    filled(both)
    said = overlord("call", "list").out
    rows = [line.split()[:2] for line in said.splitlines()[1:3]]
    assert rows == [["c2", "tdd_red"], ["c1", "tdd_red"]]
    assert (
        "waits for a session" in said and "pass, verified" in said and "add handles negative numbers" in said
    )
    lines = json.loads(overlord("call", "list", "--state", "open", "--json").out)
    assert [line["call"] for line in lines] == ["c2"]
    assert overlord("call", "list", "--csv").out.startswith("call,discipline,space,")
    assert overlord("call", "list", "--state", "lost").code == 2


def test_no_calls_are_said(overlord: Overlord, filled: Filled) -> None:
    filled(lambda connection: None)
    assert "No agent has called a discipline yet" in overlord("call", "list").out


def test_one_call_is_shown_with_why_it_counts(overlord: Overlord, filled: Filled) -> None:
    filled(both)
    said = overlord("call", "show", "c1").out
    for words in (
        "Call c1, tdd_red in acme/calc: pass, verified",
        "asked for by mcp:alice",
        "in session negatives",
        "Verified: The new test fails for an assertion.",
        "sha256:" + "d" * 64,
        "tests/test_add.py",
        "overlord call verify c1",
    ):
        assert words in said, words
    assert overlord("call", "show", "c9").code == 4
    assert overlord("call", "show", "seven").code == 4


@pytest.mark.parametrize(
    "words", [("list",), ("status",), ("status", "1"), ("job", "list"), ("job", "show", "2")]
)
def test_a_calls_job_is_named_by_the_call(overlord: Overlord, filled: Filled, words: tuple[str, ...]) -> None:
    filled(lambda connection: [open_call(connection), open_call(connection)])
    said = overlord(*words).out
    assert "acme/calc c" in said and re.search(r"(?<![a-z])-[0-9]", said) is None


def test_programs_are_told_the_call_in_place_of_an_issue(overlord: Overlord, filled: Filled) -> None:
    filled(both)
    [listed] = json.loads(overlord("list", "--json").out)["jobs"]
    assert (listed["issue"], listed["call"]) == (None, "c2")
    status = json.loads(overlord("status", "1", "--json").out)
    assert (status["issue"], status["call"]) == (None, "c1")


def test_calls_are_no_work_on_issues(filled: Filled) -> None:
    def read(connection: sqlite3.Connection) -> None:
        both(connection)
        assert job_history.newest(connection, limit=9) == []
        assert job_history.last_ended(connection, space=REPO, limit=9) == []
        brief = overview.brief(connection, since=NOW - timedelta(days=1), at=NOW)
        assert (brief.finished, brief.failed) == ((), ())
        assert all(not numbers for _, numbers in messages.unwanted_yet(connection))

    filled(read)


def test_a_call_is_linked_where_it_is_shown_and_never_at_the_forge() -> None:
    view = View(summary="", parts=(Paragraph((Issue(REPO, -7),)),))
    shown = html(view, links=PageLinks("https://github.com"), word=str)
    assert 'href="/look/call?words=c7"' in shown and "acme/calc c7" in shown and "github.com" not in shown
    assert "acme/calc c7" in html(view, links=Links(), word=str)
    assert "`acme/calc c7`" in markdown(view, str)
    assert Place(web="https://github.com").issue_at(REPO, -7) == Place().issue_at(REPO, -7)
    assert PageLinks("https://github.com").issue(REPO, 7) == "https://github.com/acme/calc/issues/7"
