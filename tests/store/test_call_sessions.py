"""Callers' sessions in the store: found without a scan, bounded, and never in another repository's training data."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.identifiers import RepositoryName
from overlord.domain.training.record import RecordKind
from overlord.domain.training.session import path_of
from overlord.errors import Refused
from overlord.store.disciplines import calls, history
from overlord.store.schema.migrations import migrate
from overlord.verbs.calls import append_history
from tests.called_rows import VERIFIED, open_call
from tests.records import NOW, REPO, later

OTHER = RepositoryName("zeta/vault")
KEY = "sess-1"
ENTRY = {"phase": "red", "skill": "tdd", "final_status": "pass", "file_path": "", "message": "one test"}


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.row_factory = sqlite3.Row
    migrate(made)
    yield made
    made.close()


def trainer(connection: sqlite3.Connection, space: RepositoryName, key: str = KEY) -> str:
    """The file of a new call of the trainer."""
    made = open_call(connection, discipline=DisciplineName.TRAINER, space=space, session_key=key)
    return path_of(RecordKind.SFT, calls.training_key(connection, made))


def append(connection: sqlite3.Connection, key: str = KEY, **changes: Any) -> None:
    append_history(connection, REPO, key, **{**ENTRY, **changes}, actor="web:ci", at=NOW)


def test_sessions_of_two_repositories_never_share_a_file(connection: sqlite3.Connection) -> None:
    open_call(connection, space=OTHER, session_key=KEY)  # which is of no trainer
    own = trainer(connection, REPO)
    assert own == f"training-data/sft/{KEY}.jsonl"
    other = trainer(connection, OTHER)
    assert other not in {own, trainer(connection, RepositoryName("zeta/other"))}
    assert (trainer(connection, REPO), trainer(connection, OTHER)) == (own, other)
    assert trainer(connection, OTHER, "sess-2") == "training-data/sft/sess-2.jsonl"


@pytest.mark.parametrize("space", ["", REPO])
def test_the_calls_of_a_session_are_found_by_an_index(connection: sqlite3.Connection, space: str) -> None:
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    calls.of_session(connection, space, KEY)
    connection.set_trace_callback(None)
    plan = connection.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall()
    assert "SEARCH calls USING INDEX calls_by_session" in " ".join(row["detail"] for row in plan)


def test_a_session_takes_so_many_bytes_and_another_one_is_begun(connection: sqlite3.Connection) -> None:
    words = "ü" * 20_000
    for _ in range(history.MOST_BYTES // len(words.encode()) - 1):
        append(connection, message=words)
    append(connection)
    with pytest.raises(Refused, match="the history of this session is full"):
        append(connection, message=words)
    append(connection, "sess-2", message=words)


def test_a_session_takes_so_many_entries_and_what_calls_come_to(connection: sqlite3.Connection) -> None:
    for _ in range(history.MOST_ENTRIES):
        append(connection)
    with pytest.raises(Refused, match="begin another session_id"):
        append(connection)
    call = open_call(connection, session_key=KEY)
    calls.end(connection, call, VERIFIED, patch="", at=later(1))
    assert history.read(connection, REPO, KEY)[-1].call_id == call.id
