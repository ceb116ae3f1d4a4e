"""What somebody was shown of what waits: a look lasts for a while, and nothing is kept of what waits no longer."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta

import pytest

from overlord.domain.decision import Decision, DecisionState, Verb
from overlord.store import decisions, seen_decisions
from overlord.store.schema.migrations import migrate
from overlord.store.seen_decisions import A_LOOK, NOTED_EVERY
from tests.records import NOW
from tests.stored import ask, claim

ALICE = "web:alice"


@pytest.fixture
def store() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys=ON")
        migrate(connection)
        yield connection


@pytest.fixture
def asked(store: sqlite3.Connection) -> Decision:
    return ask(store, claim(store))


def show(store: sqlite3.Connection, asked: Decision, at: datetime, digest: str = "") -> None:
    seen_decisions.note(store, ALICE, {asked.id: digest or asked.digest}, at=at)


def before(store: sqlite3.Connection, asked: Decision, at: datetime) -> tuple[str, datetime | None]:
    return seen_decisions.by(store, ALICE)[asked.id].look_before(at)


def test_a_look_lasts_while_somebody_comes_back(store: sqlite3.Connection, asked: Decision) -> None:
    for minutes in (0, 8, 16):
        show(store, asked, NOW + timedelta(minutes=minutes), digest=f"at {minutes}")
        assert before(store, asked, NOW + timedelta(minutes=minutes)) == ("", None)
    last = NOW + timedelta(minutes=16)
    assert before(store, asked, last + A_LOOK) == ("at 16", last)
    show(store, asked, last + A_LOOK, digest="later")
    assert before(store, asked, last + A_LOOK) == ("at 16", last)


def test_each_person_has_their_own(store: sqlite3.Connection, asked: Decision) -> None:
    show(store, asked, NOW)
    assert seen_decisions.by(store, "web:bob") == {}
    assert set(seen_decisions.by(store, ALICE)) == {asked.id}


def test_it_is_written_down_when_it_is_news_and_once_a_minute(
    store: sqlite3.Connection, asked: Decision
) -> None:
    def is_due(at: datetime) -> bool:
        return seen_decisions.is_due(seen_decisions.by(store, ALICE), [asked], at=at)

    assert is_due(NOW)
    show(store, asked, NOW)
    assert not is_due(NOW + NOTED_EVERY - timedelta(seconds=1))
    assert is_due(NOW + NOTED_EVERY)
    show(store, asked, NOW, digest="another")
    assert is_due(NOW)


@pytest.mark.parametrize("ends", ["answered", "superseded"])
def test_it_goes_with_what_waits_no_longer_and_does_not_come_back(
    store: sqlite3.Connection, asked: Decision, ends: str
) -> None:
    show(store, asked, NOW)
    if ends == "answered":
        decisions.answer(
            store, asked.id, digest=asked.digest, verb=asked.verbs[0], text="", actor=ALICE, at=NOW
        )
    else:
        decisions.supersede(store, asked, at=NOW)
    assert seen_decisions.by(store, ALICE) == {}
    show(store, asked, NOW)
    assert seen_decisions.by(store, ALICE) == {}, "it was answered while it was shown"


def test_what_is_made_anew_is_not_forgotten(store: sqlite3.Connection, asked: Decision) -> None:
    show(store, asked, NOW)
    decisions.redraft(store, asked, bound_to="x")
    assert decisions.get(store, asked.id).state is DecisionState.DRAFT
    assert set(seen_decisions.by(store, ALICE)) == {asked.id}
    decisions.open_again(store, asked, title="again", verbs=(Verb.APPROVE,), bound_to="y", at=NOW)
    assert seen_decisions.by(store, ALICE)[asked.id].digest == asked.digest
