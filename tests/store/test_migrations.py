"""Migrations on filled databases: every version of the past reaches the latest with all it holds."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from minion.protocol import Outcome, Report, SessionKind
from overlord.domain.access import AccessRight
from overlord.domain.budgets.budget import Cost, TokenUsage
from overlord.domain.checks.untested import UntestedPolicy
from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.job import JobState
from overlord.domain.session import Account, Session
from overlord.errors import StoreError
from overlord.store import access, decisions, environments, evidence, jobs, ledger, sessions
from overlord.store.budgets import exchanges, grants
from overlord.store.budgets.grants import GrantKind
from overlord.store.chat import buttons
from overlord.store.checks import evaluations
from overlord.store.conversation import comment_requests, processed_comments
from overlord.store.conversation.processed_comments import ProcessedComment
from overlord.store.environments import Environment, EnvironmentState
from overlord.store.proposals import proposals
from overlord.store.rows import select
from overlord.store.schema.migrations import LATEST, MIGRATIONS, migrate, schema_version
from overlord.store.skills import drafts
from overlord.store.spaces import refused_labels, spaces, untested_policies
from overlord.store.spaces.refused_labels import Refusal
from tests.records import HEAD, NOW, REPO, a_check
from tests.store.filled import FILLED
from tests.stored import ask, evaluating, prepare

ASKED = comment_requests.CommentRequest(space=REPO, comment_id=7, number=3, author="alice", body="Do.")
POLICY = UntestedPolicy(space=REPO, choice=Verb.WRITE_TESTS, decided_by="cli:alice", decided_at=NOW)


def fill(connection: sqlite3.Connection, version: int) -> None:
    """Put something into every table, as a program of that version would have."""
    if version < LATEST:
        for statement in FILLED[version]:
            connection.execute(statement)
        return
    job = evaluating(connection)
    session = prepare(connection, job)
    report = Report(outcome=Outcome.COMPLETE, summary="done")
    assert sessions.take_report(connection, session.id, report)
    row = evaluations.current(connection, job, at=NOW)
    evaluations.add_check(connection, row, a_check(), at=NOW)
    ask(connection, job, title="what now?")
    evidence_file = evidence.EvidenceFile(
        job_id=job.id, session_id=session.id, kind="log", sha256="e" * 64, size=3, at=NOW
    )
    evidence.record(connection, evidence_file)
    grants.add(connection, job.id, GrantKind.SCOPE, ["docs/**"], by="cli:alice", at=NOW)
    spaces.note_poll(connection, REPO, at=NOW)
    spaces.note_heard(connection, REPO, at=NOW)
    spaces.note_seen(connection, REPO, at=NOW)
    processed_comments.add(
        connection, ProcessedComment(space=REPO, comment_id=1, number=1, author="alice", at=NOW)
    )
    refusal = Refusal(space=REPO, issue_number=2, labelled_at=NOW, seen_at=NOW, reason="a stranger's")
    refused_labels.put(connection, refusal)
    environments.put(connection, made_by(session))
    untested_policies.put(connection, POLICY)
    comment_requests.add(connection, ASKED)
    token, _ = access.create(connection, "ci", AccessRight.ACT, spaces=(REPO,), actor="cli:alice", at=NOW)
    access.begin_session(connection, token, at=NOW)


def made_by(session: Session) -> Environment:
    return Environment(
        id="0123456789abcdef0123",
        space=REPO,
        state=EnvironmentState.READY,
        image="python:3.12",
        packages=("gcc",),
        session_id=session.id,
        at=NOW,
        used_at=NOW,
        size=5,
    )


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "overlord.db", isolation_level=None)) as opened:
        opened.row_factory = sqlite3.Row
        opened.execute("PRAGMA foreign_keys=ON")
        yield opened


def schema(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    query = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    return [(row["name"], row["sql"]) for row in connection.execute(query)]


def test_every_version_of_the_past_has_a_filled_database_here() -> None:
    assert set(FILLED) == set(range(LATEST))
    assert len(MIGRATIONS) == LATEST


@pytest.mark.parametrize("version", range(LATEST + 1))
def test_a_filled_database_reaches_the_latest_schema_whole(
    connection: sqlite3.Connection, tmp_path: Path, version: int
) -> None:
    migrate(connection, target=version)
    fill(connection, version)
    migrate(connection)
    assert schema_version(connection) == LATEST
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as new:
        new.row_factory = sqlite3.Row
        migrate(new)
        assert schema(connection) == schema(new)


@pytest.mark.parametrize("version", range(1, LATEST + 1))
def test_what_a_version_wrote_is_read_by_this_one(connection: sqlite3.Connection, version: int) -> None:
    migrate(connection, target=version)
    fill(connection, version)
    migrate(connection)
    job = jobs.get(connection, 1)
    assert (job.state, job.issue.title, job.head_sha) == (JobState.EVALUATING, "add() subtracts", HEAD)
    assert sessions.get(connection, "j1-work-1").report is not None
    assert [item.head_sha for item in evaluations.history(connection, job)] == [HEAD]
    assert [item.title for item in decisions.waiting(connection)] == ["what now?"]
    assert [item.kind for item in evidence.exhibits(connection)] == ["log"]
    assert next(ledger.entries(connection)).name == "claimed"
    assert list(ledger.problems(connection)) == []
    space = spaces.get(connection, REPO)
    assert (space.polled_at, space.heard_at, space.seen_at) == (NOW, NOW, NOW)
    assert processed_comments.is_known(connection, REPO, 1)
    assert refused_labels.of(connection, REPO, 2) is not None
    assert [item.patterns for item in grants.scope_granted(connection, 1, at=NOW)] == [("docs/**",)]
    assert untested_policies.of(connection, REPO) == POLICY
    assert comment_requests.at_pull(connection, REPO, 3) == [ASKED]
    assert environments.everything(connection) == [made_by(sessions.get(connection, "j1-work-1"))]


@pytest.mark.parametrize("version", [2, 3])
def test_what_was_proposed_and_drafted_is_decided_as_decisions_are(
    connection: sqlite3.Connection, version: int
) -> None:
    migrate(connection, target=version)
    fill(connection, version)
    migrate(connection)
    rows = {item.ref.label: item for item in select(connection, Decision, "SELECT * FROM decisions")}
    states = {label: (item.state, item.verb, item.verbs) for label, item in rows.items() if label != "1"}
    both, none = (Verb.APPROVE, Verb.REJECT), (Verb.REJECT,)
    assert states == {
        "p1": (DecisionState.OPEN, None, both),
        "p2": (DecisionState.OPEN, None, (Verb.APPROVE,)),
        "p3": (DecisionState.ANSWERED, Verb.REJECT, both),
        "d1": (DecisionState.OPEN, None, both),
        "d2": (DecisionState.OPEN, None, none),
        "d3": (DecisionState.DRAFT, None, none),
        "d4": (DecisionState.ANSWERED, Verb.REJECT, both),
        "d5": (DecisionState.ANSWERED, Verb.APPROVE, both),
    }
    for number in range(1, 4):
        assert rows[f"p{number}"].digest == proposals.get(connection, number).digest
    for number in range(1, 6):
        assert rows[f"d{number}"].digest == drafts.get(connection, number).digest
    assert (rows["p3"].answer, rows["p3"].answered_by, rows["d4"].answer) == ("Reject", "slack:U1", "no")
    assert rows["p2"].subject is Subject.RESTING_PROPOSAL
    assert rows["d1"].title == drafts.get(connection, 1).title
    pressed = {nonce: buttons.find(connection, nonce) for nonce in ("n1", "n2", "n3")}
    meant = {nonce: button.decision_id for nonce, button in pressed.items() if button is not None}
    assert meant == {"n1": rows["p1"].id, "n2": rows["d1"].id, "n3": None}


def test_migrating_again_changes_nothing(connection: sqlite3.Connection) -> None:
    migrate(connection)
    before = schema(connection)
    migrate(connection)
    assert schema(connection) == before


def test_a_step_that_fails_leaves_the_version_before_it(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE spaces (somebody_elses TEXT)")
    with pytest.raises(sqlite3.OperationalError, match="spaces already exists"):
        migrate(connection)
    assert schema_version(connection) == 0
    assert [name for name, _ in schema(connection)] == ["spaces"]
    assert not connection.in_transaction


def test_a_newer_schema_is_refused_and_left_alone(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA user_version={LATEST + 3}")
    with pytest.raises(StoreError, match=rf"schema {LATEST + 3}, newer than this Overlord's {LATEST}"):
        migrate(connection)
    assert schema_version(connection) == LATEST + 3
    assert schema(connection) == []


def test_requests_to_models_are_kept_and_may_be_about_no_job(connection: sqlite3.Connection) -> None:
    migrate(connection, target=1)
    fill(connection, 1)
    migrate(connection)
    assert exchanges.day_cost(connection, NOW) == Cost(tokens=60, nusd=None)
    account = Account(id="vet-1", space=REPO, kind=SessionKind.REVIEW)
    kept = exchanges.balance(connection, account, (), at=NOW)
    number = exchanges.reserve(connection, kept, cost=Cost(tokens=9), model="m", at=NOW)
    assert number == 2
    usage = TokenUsage(prompt=7, completion=2)
    exchanges.settle(connection, kept, number, usage=usage, nusd=None, status=200, at=NOW)
    assert exchanges.day_cost(connection, NOW) == Cost(tokens=69, nusd=None)
    counted = connection.execute("SELECT value FROM totals WHERE name = 'calls' AND second = 'ok'").fetchone()
    assert counted["value"] == 1, "those of before were counted before"


def test_browsers_of_the_owner_are_bound_to_no_token_of_before(connection: sqlite3.Connection) -> None:
    migrate(connection, target=4)
    fill(connection, 4)
    migrate(connection)
    left = connection.execute("SELECT actor, account, spaces, begun_with FROM browser_sessions").fetchall()
    assert [tuple(row) for row in left] == [
        ("web:ci", None, "[]", ""),
        ("web:alice@local", None, "[]", ""),
    ]
