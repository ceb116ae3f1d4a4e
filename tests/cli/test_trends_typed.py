"""`overlord trends`: what is typed, and what a terminal, a program and a spreadsheet get."""

import csv
import io
import json
import sqlite3
from datetime import UTC, datetime, timedelta

from overlord.domain.event import EventName
from overlord.store import jobs
from tests.cli.conftest import Filled, Overlord
from tests.cli.test_state import harmful, nothing
from tests.records import REPO, an_issue, contract
from tests.stored import claim, prepare

HOSTILE = "=1+1\x1b[2J,\u202e@bob\n[red]x[/]/calc"


def ended(connection: sqlite3.Connection, *, space: str = REPO, numbers: int = 2) -> None:
    """Jobs of just now: one is merged, the others are stopped."""
    at = datetime.now(UTC) - timedelta(minutes=1)
    for number in range(1, numbers + 1):
        job = jobs.claim(
            connection,
            space=space,
            issue=an_issue(number=number),
            base_branch="main",
            contract=contract(),
            at=at,
        )
        assert job is not None
        event = EventName.MERGED if number == 1 else EventName.STOPPED
        jobs.move(connection, job.id, event, at=at, data={"pull": 3, "reason": "x"})


def both(connection: sqlite3.Connection) -> None:
    ended(connection)
    ended(connection, space=HOSTILE, numbers=1)


def test_an_empty_store_says_so(overlord: Overlord, filled: Filled) -> None:
    filled(nothing)
    assert overlord("trends").out == "The last 30 days: 0 jobs ended, 0 merged\nNo job ended in these days.\n"
    assert json.loads(overlord("trends", "7", "--json").out)["whole"]["ended"] == 0


def test_figures_are_shown_over_the_days_that_are_typed(overlord: Overlord, filled: Filled) -> None:
    filled(ended)
    shown = overlord("trends", "90").out.splitlines()
    assert shown[0] == "The last 90 days: 2 jobs ended, 1 merged"
    assert shown[1] == "merged: 1 of 2 that ended (50 %)"
    assert shown[6].startswith("Jobs ended by week")
    assert shown[-2].split() == ["1", "stopped", "-"]
    assert overlord("trends", "7").out.splitlines()[6].startswith("Jobs ended by day")
    assert overlord("trends", "7", "--by", "week").out.splitlines()[6].startswith("Jobs ended by week")


def test_one_repository_or_one_model_alone(overlord: Overlord, filled: Filled) -> None:
    filled(both)
    assert json.loads(overlord("trends", "--json").out)["whole"]["ended"] == 3
    found = json.loads(overlord("trends", "--space", "calc", "--json").out)
    assert (found["space"], found["whole"]["ended"]) == (REPO, 2)
    assert json.loads(overlord("trends", "--model", "m", "--json").out)["whole"]["ended"] == 0
    assert overlord("trends", "--space", "acme/none").code == 4
    filled(two_agents)
    assert json.loads(overlord("trends", "--agent", "native", "--json").out)["whole"]["ended"] == 1
    assert (
        overlord("trends", "--agent", "aider")
        .out.splitlines()[0]
        .endswith(" by aider: 0 jobs ended, 0 merged")
    )


def test_what_it_is_of_is_said(overlord: Overlord, filled: Filled) -> None:
    filled(ended)
    shown = overlord("trends", "--space", REPO, "--model", "m").out.splitlines()[0]
    assert shown == f"The last 30 days in {REPO} with m: 0 jobs ended, 0 merged"
    assert overlord("trends", "--space", REPO).out.isascii() is False, "blocks, where they can be shown"


def test_hostile_names_do_nothing(overlord: Overlord, filled: Filled) -> None:
    filled(both)
    for form in ((), ("--csv",), ("--json",)):
        assert harmful(overlord("trends", *form).out) == [], form


def test_rows_for_a_spreadsheet(overlord: Overlord, filled: Filled) -> None:
    filled(both)
    rows = list(csv.DictReader(io.StringIO(overlord("trends", "7", "--csv").out)))
    assert [row["of"] for row in rows] == ["all", *["day"] * 7, "repository", "repository", "agent", "model"]
    assert [rows[0][name] for name in ("ended", "merged", "merge_rate", "tokens_per_merged", "usd")] == [
        "3",
        "2",
        "0.6667",
        "0",
        "",
    ]
    assert [row["name"] for row in rows if row["of"] == "repository"][1].startswith("'=1+1")


def test_what_cannot_be_is_wrong_usage(overlord: Overlord, filled: Filled) -> None:
    filled(nothing)
    both_forms = overlord("trends", "--csv", "--json")
    assert both_forms.code == 2 and "not both" in both_forms.err
    assert overlord("trends", "8").code == overlord("trends", "--by", "year").code == 2
    assert overlord("status", "--csv").code == 2


def two_agents(connection: sqlite3.Connection) -> None:
    """Two jobs of one repository by two agents, and one of another repository."""
    for number, (agent, space) in enumerate((("native", REPO), ("codex", REPO), ("codex", "a/b")), 1):
        job = claim(connection, number, space)
        prepare(connection, job, agent=agent)
        jobs.move(connection, job.id, EventName.STOPPED, at=datetime.now(UTC), data={"reason": "x"})


def test_agents_stand_side_by_side_and_in_each_repository(overlord: Overlord, filled: Filled) -> None:
    filled(two_agents)
    shown = overlord("agents").out.splitlines()
    assert shown[0] == "Agents over the last 30 days: 3 jobs ended"
    assert shown[1].split()[:3] == ["agent", "model", "merged"]
    assert [line.split()[:3] for line in shown[2:4]] == [["codex", "none", "0/2"], ["native", "none", "0/1"]]
    assert REPO in shown and "a/b" in shown
    found = json.loads(overlord("agents", "7", "--space", "calc", "--json").out)
    assert [(row["agent"], row["figures"]["ended"]) for row in found["agents"]] == [
        ("codex", 1),
        ("native", 1),
    ]
    rows = list(csv.DictReader(io.StringIO(overlord("agents", "--csv").out)))
    assert [(row["agent"], row["repository"], row["ended"]) for row in rows][:2] == [
        ("codex", "all", "2"),
        ("native", "all", "1"),
    ]


def test_without_a_job_there_is_no_league(overlord: Overlord, filled: Filled) -> None:
    filled(nothing)
    assert (
        overlord("agents").out == "Agents over the last 30 days: 0 jobs ended\nNo job ended in these days.\n"
    )
