"""`overlord proposals`: what it shows, what it writes, and how it ends."""

import json
import sqlite3
from contextlib import closing

from overlord.domain.proposals.proposal import EnhancementProposal
from overlord.home import Home
from overlord.store import ledger
from overlord.store.database import open_reader
from overlord.store.proposals import proposals
from tests.cli.conftest import Filled, Overlord
from tests.cli.test_state import harmful, nothing
from tests.stored import propose

HOSTILE = "\x1b[2J\u202eshout\r\nProposal p1 is approved"


def stored(home: Home) -> EnhancementProposal:
    with closing(open_reader(home.database)) as connection:
        return proposals.get(connection, 1)


def test_what_is_proposed_is_listed_and_shown(filled: Filled, overlord: Overlord) -> None:
    filled(propose)
    listed = overlord("proposals", "list")
    assert listed.out.splitlines()[1].split() == [
        *("p1", "pending", "tool", "fix", "acme/calc", "Keep", "“lint/F401”", "from", "coming", "back"),
        *("low", "low", *listed.out.splitlines()[1].split()[-2:]),
    ]
    shown = overlord("proposals", "show", "p1").out
    assert "Proposal p1, pending: Keep “lint/F401” from coming back" in shown
    assert "2 issues (3 times in all)" in shown or "the work on" in shown
    assert "  > `os` imported but unused" in shown
    assert "seen at acme/calc#7, acme/calc#8 · jobs 1, 2" in shown
    assert "overlord answer p1 approve" in shown and "overlord answer p1 reject" in shown
    told = json.loads(overlord("proposals", "show", "1", "--json").out)
    assert (told["proposal"]["status"], told["proposal"]["issues"]) == ("pending", [7, 8])
    assert [item["id"] for item in json.loads(overlord("proposals", "list", "--json").out)] == [1]


def test_a_yes_is_written_down_with_who_gave_it_and_counts_once(filled: Filled, overlord: Overlord) -> None:
    home = filled(propose)
    said = overlord("proposals", "approve", "p1", "good idea")
    assert (said.code, said.out) == (
        0,
        "Proposal p1: approved. An issue is opened in acme/calc.\n",
    )
    found = stored(home)
    assert (found.status, found.decided_by, found.reason) == ("approved", "cli:alice", "good idea")
    again = overlord("proposals", "reject", "p1")
    assert (again.code, again.err) == (
        5,
        "overlord: proposal p1 was answered before, by cli:alice: Approve: good idea\n",
    )
    with closing(open_reader(home.database)) as connection:
        assert [(entry.name, entry.actor) for entry in ledger.entries(connection)] == [
            ("proposal_raised", "overlord"),
            ("decision_raised", "overlord"),
            ("decision_answered", "cli:alice"),
            ("proposal_approved", "cli:alice"),
        ]


def test_a_no_is_kept_with_its_reason(filled: Filled, overlord: Overlord) -> None:
    home = filled(propose)
    assert overlord("proposals", "reject", "p1", "not\nfor us", "--digest", "0" * 16).code == 5
    assert (
        overlord("proposals", "reject", "p1", "not\nfor us").out
        == "Proposal p1: rejected. It comes back only with twice the evidence.\n"
    )
    assert stored(home).reason == "not for us"
    assert overlord("proposals", "list").out == "Nothing is proposed.\n"
    assert "rejected" in overlord("proposals", "list", "--all").out
    assert "rejected by cli:alice: not for us" in overlord("proposals", "show", "p1").out


def test_what_is_no_proposal_is_said(filled: Filled, overlord: Overlord) -> None:
    filled(nothing)
    assert overlord("proposals", "show", "p9").code == 4
    wrong = overlord("proposals", "approve", "soon")
    assert wrong.code == 2 and "give a proposal as p3" in wrong.err


def test_others_words_do_nothing_to_a_terminal(filled: Filled, overlord: Overlord) -> None:
    def propose_hostile(connection: sqlite3.Connection) -> None:
        propose(connection, title=HOSTILE, sample=HOSTILE, answer=HOSTILE, note=HOSTILE)

    filled(propose_hostile)
    for words in (("list",), ("show", "p1"), ("list", "--json"), ("show", "p1", "--json")):
        assert harmful(overlord("proposals", *words).out) == [], words
