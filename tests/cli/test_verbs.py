"""Every verb of the chat on the command line: what it writes, what it shows, and how it ends."""

import json
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from overlord.domain.budgets.budget import Cost, TokenUsage
from overlord.domain.decision import Verb
from overlord.domain.evaluation import CheckName, CheckScore
from overlord.domain.event import EventName, Json
from overlord.home import Home
from overlord.store import decisions, jobs, ledger
from overlord.store.budgets import exchanges, grants
from overlord.store.budgets.exchanges import BudgetBalance
from overlord.store.checks import evaluations
from overlord.store.database import open_reader, write_from_command
from overlord.store.spaces import pauses, work_requests
from overlord.store.spaces.work_requests import WorkRequest, WorkRequestState
from tests.cli.conftest import Filled, Overlord
from tests.cli.test_state import harmful, hostile, nothing, story
from tests.records import NOW, REPO, a_check, a_finding
from tests.stored import ask, claim, prepare


def read(home: Home, act: Callable[[sqlite3.Connection], Any]) -> Any:
    with closing(open_reader(home.database)) as connection:
        return act(connection)


def actors(home: Home) -> list[tuple[str, str]]:
    return [(entry.name, entry.actor) for entry in read(home, lambda c: list(ledger.entries(c)))]


@contextmanager
def daemon(home: Home, *, answers: tuple[WorkRequestState, str] | None) -> Iterator[None]:
    """Somebody who hears the wakeup, and answers each wish when it rings."""
    home.wakeup.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(home.wakeup))

        def answer() -> None:
            ear.recv(16)
            if answers is not None:
                for work_request in read(home, work_requests.waiting):
                    act = answering(work_request, *answers)
                    write_from_command(home.database, "by hand", act)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield
        finally:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as voice:
                voice.sendto(b".", str(home.wakeup))
            thread.join()


def answering(
    work_request: WorkRequest, state: WorkRequestState, said: str
) -> Callable[[sqlite3.Connection], None]:
    return lambda connection: work_requests.answer(
        connection, work_request.id, state, said, at=NOW, job_id=None
    )


# Work that nobody labelled.


def test_without_a_daemon_a_wish_is_written_down(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(nothing)
    for issue in ("#42", "acme/calc#42", "calc#42", "https://github.com/acme/calc/issues/42"):
        said = overlord("work", issue)
        if issue == "calc#42":
            assert said.code == 2, "a repository has an owner there"
            continue
        assert (said.code, "taken up when the daemon runs" in said.out) == (0, True)
    found = read(home, work_requests.waiting)
    assert [(work_request.space, work_request.number, work_request.actor) for work_request in found] == [
        (REPO, 42, "cli:alice")
    ]
    assert actors(home) == [("work_requested", "cli:alice")]


def test_a_daemons_answer_is_waited_for(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(nothing)
    with daemon(home, answers=(WorkRequestState.GRANTED, "Job 1 takes up \x1b[2Jacme/calc#42.")):
        said = overlord("work", "#42")
    assert (said.code, said.out) == (0, "Job 1 takes up [2Jacme/calc#42.\n")


def test_a_daemons_refusal_ends_with_five(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(nothing)
    with daemon(home, answers=(WorkRequestState.REFUSED, "#42 is closed; reopen it first.")):
        said = overlord("work", "#42")
    assert (said.code, said.err) == (5, "overlord: #42 is closed; reopen it first.\n")


def test_a_daemon_that_takes_its_time_is_not_waited_for_long(
    overlord: Overlord, filled: Filled, home: Home
) -> None:
    filled(nothing)
    with daemon(home, answers=None):
        said = overlord("work", "#42", "--wait", "0")
    assert (said.code, "has not answered yet" in said.out) == (0, True)


def test_what_is_worked_on_is_refused(overlord: Overlord, filled: Filled) -> None:
    filled(lambda c: claim(c, 42))
    said = overlord("work", "#42")
    assert (said.code, said.err) == (5, "overlord: job 1 works on acme/calc#42 already: it is queued\n")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("work", "42"), 2, ""),
        (
            ("work", "acme/sold#42"),
            4,
            "overlord: no repository of that name is managed by Overlord; there is acme/calc\n",
        ),
        (
            ("pause", "sold"),
            4,
            "overlord: no repository of that name is managed by Overlord; there is acme/calc\n",
        ),
        (("pause", "--reason"), 2, ""),
        (("resume", "calc", "--all"), 2, ""),
        (("resume", "--all"), 5, "overlord: everything is not paused\n"),
        (("stop", "it"), 2, ""),
        (("stop", "9"), 4, "overlord: there is no job 9; `overlord job history` shows those that ended\n"),
        (("why", "#9"), 4, "overlord: no job has ever worked on #9\n"),
        (
            ("scope", "9", "+src/**"),
            4,
            "overlord: there is no job 9; `overlord job history` shows those that ended\n",
        ),
        (("scope", "9", "+../x"), 2, ""),
        (("scope", "9"), 2, ""),
        (("cost", "yesterday"), 2, ""),
        (("cost", "job"), 2, ""),
        (("cost", "week", "7"), 2, ""),
        (
            ("cost", "job", "9"),
            4,
            "overlord: there is no job 9; `overlord job history` shows those that ended\n",
        ),
        (
            ("job", "retry", "9"),
            4,
            "overlord: there is no job 9; `overlord job history` shows those that ended\n",
        ),
        (
            ("decisions", "approve", "9"),
            4,
            "overlord: there is no decision 9; `overlord decisions list` shows those that wait\n",
        ),
        (("briefing", "--hours", "-1"), 2, ""),
    ],
)
def test_what_cannot_be_is_said_with_what_can(
    overlord: Overlord, filled: Filled, words: tuple[str, ...], code: int, told: str
) -> None:
    filled(nothing)
    said = overlord(*words)
    assert (said.code, said.out) == (code, "")
    assert said.err == told if told else said.err


# Pauses.


def test_a_pause_is_written_and_ended(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(nothing)
    said = overlord("pause", "calc", "--reason", "a [red]release[/]")
    assert (said.code, said.out) == (
        0,
        "Paused: acme/calc. What runs goes on, new work queues; `overlord resume acme/calc` ends that.\n",
    )
    assert (
        overlord("pause").out
        == "Paused: everything. What runs goes on, new work queues; `overlord resume everything` ends that.\n"
    )
    shown = overlord("status").out
    assert "Everything is paused by alice\nacme/calc: Paused by alice: a [red]release[/]\n" in shown
    assert "acme/calc: Paused by alice: a [red]release[/]\n" in overlord("queue").out
    assert [pause["space"] for pause in json.loads(overlord("status", "--json").out)["pauses"]] == ["", REPO]
    ended = overlord("resume", "--all").out
    assert ended == "Going on: everything. Still paused: acme/calc.\n"
    assert overlord("resume", "acme/calc").out == "Going on: acme/calc.\n"
    assert read(home, pauses.every) == {}
    assert actors(home) == [(name, "cli:alice") for name in ("paused", "paused", "resumed", "resumed")]


def test_resume_without_a_repository_is_about_local_runs(home: Home, tmp_path: Path) -> None:
    words = (sys.executable, "-m", "overlord", "resume")
    said = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False)
    assert (said.returncode, "is in no git repository" in said.stderr) == (4, True)


# Jobs.


def test_a_job_is_stopped_by_its_issue(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(story)
    assert overlord("stop", "#7", "--reason", "no").out == "Stopped job 1, acme/calc#7. What it made stays.\n"
    assert ("stopped", "cli:alice") in actors(home)


def test_a_scope_is_widened(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(story)
    assert (
        overlord("scope", "acme/calc#7", "+src/**", "docs/a.md").out
        == "Job 1 may write src/**, docs/a.md too, for 14 days.\n"
    )
    [granted] = read(home, lambda c: grants.scope_granted(c, 1, at=NOW))
    assert granted.patterns == ("src/**", "docs/a.md")


def test_a_scope_is_widened_while_the_settings_do_not_load(
    overlord: Overlord, filled: Filled, home: Home
) -> None:
    filled(story)
    (home.root / "overlord.yaml").write_text("polls: 3\n")
    assert overlord("scope", "acme/calc#7", "+src/**").code == 0


def test_a_job_is_tried_again(overlord: Overlord, filled: Filled) -> None:
    filled(ask)
    assert overlord("job", "retry", "1").out == "Job 1, acme/calc#7, has another try.\n"


def test_why_tells_where_a_job_stands(overlord: Overlord, filled: Filled) -> None:
    filled(story)
    out = overlord("why", "1").out
    assert out.startswith(
        "Job 1: acme/calc#7\nacme/calc#7 add() subtracts\nBeing evaluated: turn 4: ran pytest\n"
    )
    assert re.search(r"\n1 +blocker +acme/calc#7: the Minion says it cannot go on +retry \| ", out)
    assert "What happened\n- 2 Mar 09:00 UTC claimed acme/calc#7: add() subtracts\n" in out
    assert out.endswith("\n0 tokens\n")
    failed = a_check(CheckName.TESTS, CheckScore.FAIL, findings=(a_finding(),))
    filled(lambda c: evaluations.add_check(c, evaluations.current(c, jobs.get(c, 1), at=NOW), failed, at=NOW))
    assert "What was held against it\n- [tests/test-failed] It fails.\n" in overlord("why", "1").out
    told = json.loads(overlord("why", "#7", "--json").out)
    assert told["view"]["job"]["id"] == 1


def test_the_queue_and_the_history_are_tables(overlord: Overlord, filled: Filled) -> None:
    def two(connection: sqlite3.Connection) -> None:
        claim(connection, 1, title="first")
        second = claim(connection, 2, title="second")
        jobs.move(connection, second.id, EventName.STOPPED, at=NOW, data={"reason": "x"}, reason="not needed")

    filled(nothing)
    assert overlord("queue").out == "Nothing is queued.\n0 of 3 sessions at once are taken.\n"
    assert overlord("job", "history").out == "No job has ended yet.\n"
    filled(two)
    queue, history = overlord("queue").out, overlord("job", "history").out
    assert "first" in queue and "it is next" in queue and "second" not in queue
    assert "second" in history and "ended: not needed" in history and "first" not in history
    assert json.loads(overlord("queue", "--json").out)["jobs"][0]["why"] == "it is next"
    assert json.loads(overlord("job", "history", "--json").out)["jobs"][0]["job"]["id"] == 2


def now() -> datetime:
    """The command line has no other clock."""
    return datetime.now(UTC)


def spent(connection: sqlite3.Connection) -> None:
    job, at = claim(connection), now()
    session = prepare(connection, job)
    balance = BudgetBalance(session=session.id, job=job.id, space=REPO, day=at.date().isoformat(), budgets=())
    number = exchanges.reserve(connection, balance, cost=Cost(tokens=9), model="m", at=at)
    assert isinstance(number, int)
    exchanges.settle(
        connection, balance, number, usage=TokenUsage(prompt=8, completion=1), nusd=None, status=200, at=at
    )


def test_costs_are_told_with_what_is_left(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(spent)
    (home.root / "overlord.yaml").write_text("budget: {day_tokens: 10, job_tokens: 20}\n")
    today, week, job = overlord("cost").out, overlord("cost", "week").out, overlord("cost", "job", "#7").out
    assert today.startswith("Today: 9 tokens\n")
    assert "- 1 tokens left of today's budget (10 tokens)\nDays are those of UTC.\n" in today
    assert "acme/calc" in week and "The last 7 days: 9 tokens\n" in week
    assert job.startswith("Job 1, acme/calc#7: 9 tokens\n")
    assert "- 11 tokens left of this job's budget (20 tokens)\n" in job
    for words in (("cost",), ("cost", "week"), ("cost", "job", "1")):
        assert json.loads(overlord(*words, "--json").out)["total"]["tokens"] == 9


def test_nothing_was_spent(overlord: Overlord, filled: Filled) -> None:
    filled(claim)
    assert overlord("cost").out == "Today: 0 tokens\nDays are those of UTC.\n"
    assert overlord("cost", "job", "1").out == "Job 1, acme/calc#7: 0 tokens\n"


# Decisions.


@pytest.mark.parametrize(
    ("words", "verb", "out"),
    [
        (("approve", "1"), Verb.RETRY, "Decision 1: Try again.\n"),
        (
            ("approve", "1", "the index is up"),
            Verb.RETRY,
            "Decision 1: the index is up. The next session reads it.\n",
        ),
        (("reject", "1"), Verb.DROP, "Decision 1: Drop it.\n"),
    ],
)
def test_yes_and_no(
    overlord: Overlord, filled: Filled, home: Home, words: tuple[str, ...], verb: Verb, out: str
) -> None:
    filled(ask)
    assert overlord("decisions", *words).out == out
    answered = read(home, lambda c: decisions.get(c, 1))
    assert (answered.verb, answered.answered_by) == (verb, "cli:alice")


def test_what_is_no_yes_is_refused(overlord: Overlord, filled: Filled) -> None:
    filled(lambda c: ask(c, verbs=(Verb.REPLY,)))
    said = overlord("decisions", "approve", "1")
    assert said.code == 5
    assert said.err == ("overlord: decision 1 has no plain yes; say `overlord answer 1 reply 'your words'`\n")


# The briefing.


def test_the_briefing_is_told(overlord: Overlord, filled: Filled) -> None:
    filled(nothing)
    quiet = overlord("briefing").out
    assert re.fullmatch(r"Nothing waits for you, and nothing ended.\nSpent since .* UTC: 0 tokens.\n", quiet)

    def day(connection: sqlite3.Connection) -> None:
        ask(connection, claim(connection, 1))
        ended = claim(connection, 2, title="second")
        jobs.repair(connection, ended.id, pull_number=9)
        data: dict[str, Json] = {"reason": "x"}
        jobs.move(connection, ended.id, EventName.STOPPED, at=now(), data=data, reason="not needed")

    filled(day)
    out = overlord("briefing").out
    assert (
        "BLOCKERS (1)\n  1: [acme/calc#1] acme/calc#7: the Minion says it cannot go on\n    Suggested: Try again\n    Blocks: this job\n"
        in out
    )
    assert re.search(r"\n  overlord answer 1 retry +# Try again: ", out)
    assert "Failed or ended (1)\n- acme/calc#2 second #9 (not needed)\n" in out
    assert "Failed" not in overlord("briefing", "--hours", "0").out
    assert json.loads(overlord("briefing", "--json").out)["waiting"][0]["space"] == REPO


# Hostile words.


@pytest.mark.parametrize(
    "words",
    [("queue",), ("why", "1"), ("briefing",), ("job", "history"), ("cost", "job", "1")],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_hostile_words_come_out_harmless(
    overlord: Overlord, filled: Filled, words: tuple[str, ...], as_json: bool
) -> None:
    def two(connection: sqlite3.Connection) -> None:
        hostile(connection)
        title = connection.execute("SELECT issue FROM jobs").fetchone()["issue"]
        other = claim(connection, 2)
        connection.execute("UPDATE jobs SET issue = ? WHERE id = ?", (title, other.id))
        jobs.move(connection, other.id, EventName.STOPPED, at=NOW, data={"reason": "x"}, reason="evil\x1b[2J")

    filled(two)
    said = overlord(*words, *(["--json"] if as_json else []))
    assert said.code == 0
    assert "evil" in said.out or words[0] == "cost"
    assert harmful(said.out) == []
    assert not any(line.startswith("WAITING") for line in said.out.splitlines())
    assert all(unicodedata.category(char) != "Cs" for char in said.out)
