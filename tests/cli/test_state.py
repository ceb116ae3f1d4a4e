"""`status`, `job`, `decisions`, `ledger` beside a daemon: what they show, what they write, and how they end."""

import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from minion.protocol import Outcome, Report
from overlord.domain.decision import Verb
from overlord.domain.evaluation import CheckName, CheckScore
from overlord.domain.event import EventName
from overlord.home import Home
from overlord.store import decisions, evidence, jobs, ledger, sessions
from overlord.store.checks import evaluations
from overlord.store.database import open_reader
from overlord.store.evidence import EvidenceFile, EvidenceStore
from overlord.store.spaces import spaces
from tests.cli.conftest import Filled, Overlord
from tests.records import HEAD, NOW, a_check
from tests.stored import ask, claim, evaluating, prepare

HOSTILE = (
    "a\x1b[2Jb \x1b]0;owned\x07 \u202eevil\u2066 [red]x[/] [/] \x9b31m\r\U000e0041\nWAITING: all is well"
)
"""A title with terminal commands, direction marks, markup and a second line."""


def nothing(connection: sqlite3.Connection) -> None:
    """An Overlord that has never had a job."""


def story(connection: sqlite3.Connection) -> None:
    """A job with a session at work that asks something, after an evaluation."""
    job = evaluating(connection)
    row = evaluations.current(connection, job, at=NOW)
    evaluations.add_check(connection, row, a_check(CheckName.SCOPE), at=NOW)
    session = prepare(connection, job)
    sessions.mark(connection, session.id, turn=4, last_action="ran pytest")
    ask(connection, job, patterns=("docs/**",))


def hostile(connection: sqlite3.Connection) -> None:
    """Every word that comes from outside is hostile."""
    job = claim(connection, title=HOSTILE, body=HOSTILE, author=HOSTILE)
    jobs.note(connection, job.id, EventName.STEP_FAILED, at=NOW, data={"trouble": HOSTILE}, reason=HOSTILE)
    session = prepare(connection, job)
    sessions.mark(connection, session.id, turn=1, last_action=HOSTILE)
    sessions.take_report(connection, session.id, Report(outcome=Outcome.COMPLETE, summary=HOSTILE))
    row = evaluations.current(connection, replace(job, head_sha=HEAD), at=NOW)
    evaluations.add_check(connection, row, a_check(CheckName.TESTS, CheckScore.FAIL, HOSTILE), at=NOW)
    ask(
        connection,
        job,
        title=f"acme/calc#7: {HOSTILE}",
        body=HOSTILE,
        patterns=(HOSTILE,),
        options=(HOSTILE,),
    )
    spaces.note_poll(connection, "acme/calc", at=NOW, trouble=HOSTILE)


def kept(home: Home, content: bytes, kind: str = "log") -> Callable[[sqlite3.Connection], None]:
    digest = EvidenceStore(home.evidence).put(content)

    def write(connection: sqlite3.Connection) -> None:
        evidence_file = EvidenceFile(
            job_id=1, session_id="j1-work-1", kind=kind, sha256=digest, size=len(content), at=NOW
        )
        evidence.record(connection, evidence_file)

    return write


def harmful(text: str) -> list[str]:
    """Characters that do something instead of being seen."""
    return sorted(
        {repr(char) for char in text if char not in "\n\t" and unicodedata.category(char) in {"Cc", "Cf"}}
    )


# Nothing there yet.


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("job", "list"),
        ("job", "show", "1"),
        ("job", "logs", "1"),
        ("job", "stop", "1"),
        ("decisions", "list"),
        ("decisions", "show", "1"),
        ("decisions", "answer", "1", "drop"),
        ("ledger", "verify"),
        ("ledger", "export"),
    ],
)
def test_without_a_state_every_command_says_what_to_do(
    overlord: Overlord, home: Home, words: tuple[str, ...]
) -> None:
    said = overlord(*words)
    assert said.code == 6
    assert said.out == ""
    assert said.err == (
        f"overlord: there is no Overlord state at {home.root}; set OVERLORD_HOME, or start `overlord serve`\n"
    )
    assert not home.root.exists()


def test_a_damaged_database_is_a_sentence(overlord: Overlord, home: Home) -> None:
    home.root.mkdir()
    home.database.write_bytes(b"this is no database at all, just words" * 40)
    for words in (("status",), ("job", "stop", "1"), ("ledger", "verify")):
        said = overlord(*words)
        assert (said.code, said.out) == (6, "")
        assert said.err == f"overlord: {home.database} cannot be used: file is not a database\n"


def test_a_database_damaged_further_in_is_a_sentence(overlord: Overlord, filled: Filled) -> None:
    place = filled(lambda c: [claim(c, number, body="x" * 4000) for number in range(1, 20)])
    data = bytearray(place.database.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    place.database.write_bytes(bytes(data))
    said = overlord("job", "list", "--json")
    assert (said.code, said.out) == (6, "")
    assert said.err.startswith(f"overlord: {place.database} cannot be used: ")


def test_an_overlord_without_jobs_says_so(overlord: Overlord, filled: Filled) -> None:
    filled(nothing)
    assert overlord("status").out.startswith("No open jobs. Label an issue to start one.\n")
    assert overlord("job", "list").out == "No jobs; overlord job list --all shows closed ones.\n"
    assert overlord("decisions", "list").out == "Nothing waits for a person.\n"
    assert overlord("ledger", "verify").out.startswith("0 events and 0 evidence files, whole.")
    assert overlord("ledger", "export").out == ""


# What is going on.


def test_status_shows_jobs_decisions_and_troubled_repositories(overlord: Overlord, filled: Filled) -> None:
    filled(story)
    filled(lambda c: spaces.note_poll(c, "acme/calc", at=NOW, trouble="the forge is away"))
    out = overlord("status").out
    assert "acme/calc#7 add() subtracts" in out
    assert "turn 4: ran pytest" in out
    assert re.search(r"\n1 +blocker +acme/calc#7: the Minion says it cannot go on +retry \| ", out)
    assert "\n  overlord decisions show 1 " in out
    assert "acme/calc gives trouble: the forge is away" in out


def test_status_as_json(overlord: Overlord, filled: Filled) -> None:
    filled(story)
    said = overlord("status", "--json")
    told = json.loads(said.out)
    assert [job["issue"]["title"] for job in told["jobs"]] == ["add() subtracts"]
    assert [item["subject"] for item in told["decisions"]] == ["blocked"]
    assert told["spaces"] == []


def test_jobs_are_listed_open_or_all(overlord: Overlord, filled: Filled) -> None:
    def two(connection: sqlite3.Connection) -> None:
        claim(connection, 1, title="first")
        second = claim(connection, 2, title="second")
        jobs.move(connection, second.id, EventName.STOPPED, at=NOW, data={"reason": "x"})

    filled(two)
    assert "first" in overlord("job", "list").out
    assert "second" not in overlord("job", "list").out
    assert "second" in overlord("job", "list", "--all").out
    assert [job["id"] for job in json.loads(overlord("job", "list", "--all", "--json").out)] == [2, 1]


def test_a_jobs_story_is_told(overlord: Overlord, filled: Filled) -> None:
    filled(story)
    out = overlord("job", "show", "1").out
    assert out.startswith("Job 1: acme/calc#7, add() subtracts\nBeing evaluated\n")
    assert "claimed acme/calc#7: add() subtracts" in out
    assert "the Minion is at work" in out
    assert re.search(r"\nscope +pass +2 passed *\n", out)
    assert "0 evidence files, in `evidence` of OVERLORD_HOME" in out
    told = json.loads(overlord("job", "show", "1", "--json").out)
    assert told["story"]["job"]["head_sha"] == HEAD
    assert [entry["seq"] for entry in told["ledger"]] == list(range(1, len(told["ledger"]) + 1))


def test_a_log_is_shown_from_its_evidence(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(lambda c: prepare(c, claim(c)))
    nothing_yet = overlord("job", "logs", "1")
    assert (nothing_yet.code, nothing_yet.err) == (
        4,
        "overlord: job 1 has no log yet; it is kept when a session ends, and --follow shows it before that\n",
    )
    filled(kept(home, b"first \x1b[31mline\xff\n"))
    filled(kept(home, b"{}", kind="brief"))
    assert overlord("job", "logs", "1").out == "first [31mline\ufffd\n"
    assert overlord("job", "logs", "1", "--session", "j1-work-1").code == 0
    unknown = overlord("job", "logs", "1", "--session", "j9-work-1")
    assert (unknown.code, unknown.err) == (
        4,
        "overlord: job 1 has no session j9-work-1; it has j1-work-1\n",
    )


def test_a_log_that_was_changed_is_not_shown(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(lambda c: prepare(c, claim(c)))
    filled(kept(home, b"3 failed"))
    [file] = [path for path in home.evidence.rglob("*") if path.is_file()]
    file.write_bytes(b"3 passed")
    said = overlord("job", "logs", "1")
    assert (said.code, said.out) == (6, "")
    assert "was changed after it was written" in said.err


# Hostile words.


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("job", "list"),
        ("job", "show", "1"),
        ("decisions", "list"),
        ("decisions", "show", "1"),
        ("ledger", "export"),
        ("status", "--json"),
        ("job", "list", "--json"),
        ("job", "show", "1", "--json"),
        ("decisions", "list", "--json"),
        ("decisions", "show", "1", "--json"),
    ],
)
def test_hostile_words_come_out_harmless(overlord: Overlord, filled: Filled, words: tuple[str, ...]) -> None:
    filled(hostile)
    said = overlord(*words)
    assert said.code == 0
    assert "evil" in said.out, "it is shown"
    assert harmful(said.out) == []
    if "--json" not in words and words[0] != "ledger":
        assert "[red]x[/]" in said.out, "text is no markup"


@pytest.mark.parametrize("words", [("status",), ("job", "list"), ("job", "show", "1"), ("decisions", "list")])
def test_a_title_forges_no_line(overlord: Overlord, filled: Filled, words: tuple[str, ...]) -> None:
    filled(hostile)
    lines = overlord(*words).out.splitlines()
    assert [line for line in lines if line.startswith("WAITING")] == []


# Verbs.


def heard(home: Home) -> socket.socket:
    """A daemon's ear."""
    home.wakeup.parent.mkdir(parents=True)
    ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ear.bind(str(home.wakeup))
    ear.setblocking(False)
    return ear


def test_stopping_a_job_writes_the_fact_and_rings_the_bell(
    overlord: Overlord, filled: Filled, home: Home
) -> None:
    filled(story)
    with heard(home) as ear:
        said = overlord("job", "stop", "1", "--reason", "not [needed] any more")
        assert (said.code, said.out) == (0, "Stopped job 1, acme/calc#7. What it made stays.\n")
        assert ear.recv(16)
    reader = open_reader(home.database)
    [entry] = [entry for entry in ledger.entries(reader) if entry.name == "stopped"]
    assert (entry.actor, json.loads(entry.data)) == (
        "cli:alice",
        {"reason": "not [needed] any more"},
    )
    assert decisions.waiting(reader) == []
    reader.close()
    again = overlord("job", "stop", "1")
    assert (again.code, again.err) == (5, "overlord: job 1 has ended already: cancelled\n")


def test_a_decision_is_shown_and_answered_once(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(story)
    shown = overlord("decisions", "show", "1").out
    assert "> Which of the two?" in shown
    assert "Paths: docs/**" in shown
    assert "overlord answer 1 retry" in shown
    digest = json.loads(overlord("decisions", "show", "1", "--json").out)["digest"]
    assert f"shown as: {digest}" in shown
    stale = overlord("decisions", "answer", "1", "drop", "--digest", "0" * 16)
    assert (stale.code, stale.err) == (
        5,
        "overlord: decision 1 has changed since it was shown; look at it again\n",
    )
    with heard(home) as ear:
        said = overlord("decisions", "answer", "1", "take_over", "--digest", digest)
        assert (said.code, said.out) == (0, "Decision 1: Take over.\n")
        assert ear.recv(16)
    again = overlord("decisions", "answer", "1", "drop")
    assert (again.code, again.err) == (
        5,
        "overlord: decision 1 was answered before, by cli:alice: Take over\n",
    )
    assert "cli:alice answered: Take over" in overlord("decisions", "show", "1").out
    assert overlord("decisions", "list").out == "Nothing waits for a person.\n"


def test_without_a_daemon_an_answer_is_kept_all_the_same(overlord: Overlord, filled: Filled) -> None:
    filled(story)
    assert overlord("decisions", "answer", "1", "drop").code == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("use", "port", "8080"), 0, "Decision 1: use port 8080. The next session reads it."),
        (("use port 8080",), 0, "Decision 1: use port 8080. The next session reads it."),
        (("retry", "on port 8080"), 0, "Decision 1: on port 8080. The next session reads it."),
        (("try-again",), 0, "Decision 1: Try again."),
        (("drop", "too risky for now"), 0, "Decision 1: too risky for now."),
        (("drop", "it"), 0, "Decision 1: Drop it."),
        (("drop", "the", "second", "test"), 5, "say `overlord answer 1 drop` alone"),
    ],
)
def test_a_decision_is_answered_in_words(
    overlord: Overlord, filled: Filled, words: tuple[str, ...], code: int, said: str
) -> None:
    filled(lambda c: ask(c, verbs=(Verb.RETRY, Verb.REPLY, Verb.DROP)))
    told = overlord("answer", "1", *words)
    assert (told.code, said in told.out + told.err) == (code, True)


def test_an_answers_text_is_no_markup(overlord: Overlord, filled: Filled) -> None:
    filled(lambda c: ask(c, verbs=(Verb.REPLY,)))
    said = overlord("decisions", "answer", "1", "reply", "use [/] the \x1b[31m[red]second[/red]")
    assert (said.code, said.out) == (
        0,
        "Decision 1: use [/] the [31m[red]second[/red]. The next session reads it.\n",
    )


@pytest.mark.parametrize(
    ("verbs", "words", "said"),
    [
        ((Verb.REPLY,), ("reply",), "say what to reply"),
        ((Verb.REPLY,), ("reply", "  "), "say what to reply"),
        ((Verb.ADD_BUDGET,), ("add_budget",), "say how much to add"),
        ((Verb.ADD_BUDGET,), ("add_budget", "lots"), "say how much to add"),
        ((Verb.ADD_BUDGET,), ("add_budget", "0"), "say how much to add"),
        ((Verb.ADD_BUDGET,), ("add_budget", "9" * 5000), "say how much to add"),
        ((Verb.DROP,), ("grant",), "takes one of drop; not grant"),
        ((Verb.REPLY, Verb.DROP), ("keep", "not needed any more"), "not keep"),
        ((Verb.REPLY,), ("drop",), "not drop"),
    ],
)
def test_an_answer_that_says_too_little_is_refused(
    overlord: Overlord, filled: Filled, verbs: tuple[Verb, ...], words: tuple[str, ...], said: str
) -> None:
    filled(lambda c: ask(c, verbs=verbs))
    refused = overlord("decisions", "answer", "1", *words)
    assert refused.code == 5
    assert said in refused.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("job", "show", "9"), "there is no job 9; `overlord job history` shows those that ended"),
        (("job", "logs", "9"), "there is no job 9"),
        (("job", "stop", "9"), "there is no job 9"),
        (
            ("decisions", "show", "9"),
            "there is no decision 9; `overlord decisions list` shows those that wait",
        ),
        (("decisions", "answer", "9", "drop"), "there is no decision 9"),
    ],
)
def test_what_does_not_exist_is_named(
    overlord: Overlord, filled: Filled, words: tuple[str, ...], said: str
) -> None:
    filled(nothing)
    ended = overlord(*words)
    assert (ended.code, ended.out) == (4, "")
    assert ended.err.startswith(f"overlord: {said}")


def test_where_json_is_asked_for_an_error_is_data(filled: Filled) -> None:
    home = filled(nothing)
    environment = {**os.environ, "OVERLORD_HOME": str(home.root), "OVERLORD_REPOS": "acme/calc"}
    typed = [sys.executable, "-m", "overlord", "decisions", "show", "9", "--json"]
    ended = subprocess.run(typed, env=environment, capture_output=True, check=False)
    told = json.loads(ended.stderr)
    assert (ended.returncode, ended.stdout, told["error"]) == (4, b"", "NotFound")
    assert (told["message"], told["hint"]) == (
        "there is no decision 9",
        [{"name": "decisions", "arguments": []}],
    )
    assert "decisions list` shows those that wait" in told["text"]


# The ledger.


def test_a_whole_ledger_is_verified(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(story)
    filled(kept(home, b"a log"))
    said = overlord("ledger", "verify")
    assert said.code == 0
    told = json.loads(overlord("ledger", "verify", "--json").out)
    assert said.out == f"{told['events']} events and 1 evidence files, whole. Head {told['head']}.\n"
    assert (told["evidence"], told["problems"]) == (1, [])


def test_a_broken_ledger_is_said_and_ends_with_one(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(story)
    filled(kept(home, b"a log"))
    [file] = [path for path in home.evidence.rglob("*") if path.is_file()]
    file.unlink()
    connection = sqlite3.connect(home.database)
    connection.execute("DROP TRIGGER ledger_is_never_changed")
    connection.execute("UPDATE ledger SET actor = 'nobody' WHERE seq = 2")
    connection.commit()
    connection.close()
    said = overlord("ledger", "verify")
    assert said.code == 1
    assert said.out.splitlines()[0] == "event 2 was changed after it was written"
    assert said.out.splitlines()[1].startswith("log of job 1: evidence ")
    told = overlord("ledger", "verify", "--json")
    assert told.code == 1
    assert len(json.loads(told.out)["problems"]) == 2


def test_every_event_is_exported_as_a_line(overlord: Overlord, filled: Filled) -> None:
    filled(lambda c: (claim(c, 1), claim(c, 2, title="größer")))
    lines = [json.loads(line) for line in overlord("ledger", "export").out.splitlines()]
    assert [(line["seq"], line["name"]) for line in lines] == [(1, "claimed"), (2, "claimed")]
    assert lines[1]["data"]["title"] == "größer"
    [only] = overlord("ledger", "export", "--job", "2").out.splitlines()
    assert json.loads(only) == lines[1]


def test_somebody_without_a_name_has_a_number(
    overlord: Overlord, filled: Filled, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    filled(story)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    assert overlord("job", "stop", "1").code == 0
