"""Calls of disciplines in a database, as the engine leaves them."""

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from overlord.domain.disciplines.call import Call, CallId, CallResult, CallStatus
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.event import Json
from overlord.domain.identifiers import Sha
from overlord.store.disciplines import calls
from tests.records import NOW, REPO, later

RED: Mapping[str, Json] = {
    "project_root": "/home/alice/calc",
    "spec": "add handles negative numbers",
    "session_id": "negatives",
}
VERIFIED = CallResult(
    status=CallStatus.PASS,
    phase="red",
    skill="tdd",
    file_path="tests/test_add.py",
    verified=True,
    model_used="small",
    message="One test, which fails.",
    why="The new test fails for an assertion.",
    code="assertion",
    changed=("tests/test_add.py",),
    base_tree="b" * 40,
    head_tree="c" * 40,
    evidence="d" * 64,
    turns=3,
    nusd=1_200_000,
)


def open_call(connection: sqlite3.Connection, **given: Any) -> Call:
    """A call that waits for its session."""
    call = Call(
        **{
            "id": CallId(0),
            "discipline": DisciplineName.TDD_RED,
            "space": REPO,
            "session_key": "negatives",
            "actor": "mcp:alice",
            "arguments": RED,
            "base_sha": Sha("a" * 40),
            "stage": "waits for a session",
            "created_at": NOW,
            **given,
        }
    )
    return calls.request(connection, call, base_branch="main", title="tdd_red: add handles negative numbers")


def ended_call(connection: sqlite3.Connection, **changes: Any) -> Call:
    """A call with a result."""
    return calls.end(connection, open_call(connection), replace(VERIFIED, **changes), patch="", at=later(120))
