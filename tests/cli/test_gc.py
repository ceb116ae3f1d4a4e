"""`overlord gc`: what it says would go, what it removes, and what is said of it afterwards."""

import contextlib
import json
import socket
import sqlite3
from collections.abc import Iterator

import pytest

from overlord.domain.event import EventName
from overlord.home import Home
from overlord.store import evidence, jobs
from overlord.store.database import open_reader
from tests.cli.conftest import Filled, Overlord
from tests.cli.test_state import kept, story
from tests.records import NOW
from tests.stored import claim


def ended(connection: sqlite3.Connection) -> None:
    """A job that ended on the day the tests' clock stands at, and so more than a day ago."""
    jobs.move(connection, claim(connection).id, EventName.STOPPED, at=NOW, reason="not needed")


def test_what_would_go_is_told_then_removed_and_the_ledger_stays_whole(
    overlord: Overlord, filled: Filled, home: Home
) -> None:
    filled(ended)
    filled(kept(home, b"3 tests failed\n"))
    for name in ("before-2", "before-3", "before-4"):
        (home.root / f"overlord.db.{name}").write_bytes(b"x" * 5)
    (home.root / ".restoring-abc" / "evidence").mkdir(parents=True)
    home.settings.write_text("keep: {evidence_days: 1}\nrunner: process\n")
    told = json.loads(overlord("gc", "--dry-run", "--json").out)
    assert [(item["kind"], item["name"], item["size"]) for item in told["leavings"]] == [
        ("evidence", "job 1", 15),
        ("database copy", "overlord.db.before-2", 5),
        ("unfinished restore", ".restoring-abc", 0),
    ]
    assert (told["removed"], told["bytes"]) == (False, 20)
    assert overlord("ledger", "verify").out.startswith("2 events and 1 evidence files, whole. Head ")
    said = overlord("gc")
    assert (said.code, said.err) == (0, "")
    assert said.out.endswith("3 things removed, 20 bytes.\n")
    assert overlord("gc").out == "0 things removed, 0 bytes.\n"
    assert sorted(path.name for path in home.database_copies()) == [
        "overlord.db.before-3",
        "overlord.db.before-4",
    ]
    shown = overlord("ledger", "verify")
    assert shown.code == 0
    assert "3 events and 0 evidence files, whole; 1 more were removed as `keep` says." in shown.out
    assert "1 evidence file (0 MB) kept long enough: removed" in overlord("job", "show", "1").out
    logs = overlord("job", "logs", "1")
    assert (logs.code, "`keep` in the settings says how long they stay" in logs.err) == (4, True)


def test_an_open_job_keeps_everything(overlord: Overlord, filled: Filled, home: Home) -> None:
    filled(story)
    filled(kept(home, b"3 tests failed\n"))
    home.settings.write_text("keep: {evidence_days: 1, evidence_gb: 0.000000001}\nrunner: process\n")
    assert overlord("gc").out == "0 things removed, 0 bytes.\n"
    connection = open_reader(home.database)
    assert [item.removed_at for item in evidence.exhibits(connection)] == [None]
    connection.close()


def test_without_a_state_it_says_what_to_do(overlord: Overlord, home: Home) -> None:
    said = overlord("gc")
    assert (said.code, said.out) == (6, "")
    assert "there is no Overlord state" in said.err
    assert not home.root.exists()


@pytest.fixture
def ear(home: Home) -> Iterator[socket.socket]:
    """A daemon's end of the wakeup."""
    home.wakeup.parent.mkdir(parents=True)
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as ear:
        ear.bind(str(home.wakeup))
        ear.setblocking(False)
        yield ear


def test_a_daemon_that_runs_is_asked_to_tidy_its_mirrors(
    overlord: Overlord, filled: Filled, home: Home, ear: socket.socket
) -> None:
    filled(story)
    home.settings.write_text("runner: process\n")
    assert overlord("gc").out == "0 things removed, 0 bytes.\n"  # there are none
    home.mirror("acme/calc").mkdir(parents=True)
    assert json.loads(overlord("gc", "--dry-run", "--json").out)["mirrors_asked"] is False
    assert not home.keep_asked.exists()
    said = overlord("gc")
    assert said.out == "0 things removed, 0 bytes.\nThe daemon was asked to tidy the mirrors.\n"
    assert ear.recv(16) == b"."
    assert (home.take_keep_asked(), home.take_keep_asked()) == (True, False)


def test_without_a_daemon_nobody_is_asked_since_its_start_does_it(
    overlord: Overlord, filled: Filled, home: Home
) -> None:
    filled(story)
    home.settings.write_text("runner: process\n")
    home.mirror("acme/calc").mkdir(parents=True)
    assert overlord("gc").out == "0 things removed, 0 bytes.\n"
    assert not home.keep_asked.exists()
