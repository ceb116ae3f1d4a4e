"""Escalations and briefings at the terminal: what waits, how it is answered there, and what an earlier day's briefing said."""

import json
import sqlite3

import pytest

from overlord.domain.decision import Audience
from overlord.domain.portfolio.escalated import as_decision
from overlord.queries.portfolio_brief import affected_by
from overlord.store import decisions
from overlord.store.portfolio import daily_notes, escalations, initiatives, tasks
from tests.cli.conftest import Filled, Overlord
from tests.portfolio import a_task, an_initiative
from tests.records import NOW, an_escalation

KEPT = """### Briefing: 1 waiting for you

### DECISIONS (1)

- **1:** [acme/calc] Which @cache?
  - Suggested: **Redis**
"""


def asks(connection: sqlite3.Connection) -> None:
    """Escalation e1 blocks task i1.1 and waits for a person; e2 was answered from a note."""
    made = initiatives.add(connection, an_initiative())
    assert made is not None
    task = tasks.add(connection, a_task(initiative_id=made.id))
    draft = escalations.draft(
        connection,
        an_escalation(id=0, initiative_id=made.id, task_id=task.id, question="Redis or \x1b[31mno?"),
    )
    affected = affected_by(connection, draft)
    decision = as_decision(draft, affected, path=("j1", "overlord"), audience=Audience.WRITER, at=NOW)
    raised = decisions.raise_decision(connection, decision)
    escalations.raise_to_person(connection, draft.id, decision_id=raised.id, path=("j1", "overlord"), at=NOW)
    other = escalations.draft(connection, an_escalation(id=0, question="Which port?"))
    escalations.resolve(connection, other.id, "8080", by="overlord", cites="n3", at=NOW)


def test_what_waits_is_listed_and_briefed_with_what_it_blocks(filled: Filled, overlord: Overlord) -> None:
    filled(asks)
    listed = overlord("escalations").out
    assert "pending, decision 1" in listed and "8080 (overlord, from n3)" in listed
    [first, second] = json.loads(overlord("escalations", "--json").out)
    assert (first["ref"], first["decision_id"], first["place"]) == ("e1", 1, "acme/calc / refresh-tokens")
    assert (second["state"], second["cites"]) == ("resolved", "n3")
    told = overlord("briefing").out
    assert "DECISIONS (1)\n  1: [acme/calc / refresh-tokens] Redis or [31mno?\n" in told
    assert "    Suggested: Redis (persistent, shared across instances)\n" in told
    assert '    Blocks: task #1 "Implement token blacklist"\n' in told
    assert "\x1b" not in told + listed


def test_it_is_answered_with_a_suggested_word_or_any_other(filled: Filled, overlord: Overlord) -> None:
    filled(asks)
    assert "Decision 1: Memcached. The session that asked is told" in overlord("answer", "1", "Memcached").out
    assert "answered before" in overlord("answer", "1", "Redis").err


def test_a_repository_that_is_asked_about_is_not_paused_for_that(filled: Filled, overlord: Overlord) -> None:
    filled(asks)
    assert "decision 1 waits" not in overlord("space", "list").out


def test_an_earlier_briefing_is_shown_as_it_was_written(filled: Filled, overlord: Overlord) -> None:
    filled(lambda connection: daily_notes.add(connection, "2026-03-01", KEPT, at=NOW))
    told = overlord("briefing", "--day", "2026-03-01").out
    assert "Which @cache?" in told and "Suggested: Redis" in told


@pytest.mark.parametrize(
    ("day", "known"), [("2026-03-02", "the newest is of 2026-03-01"), ("yesterday", "the newest")]
)
def test_a_day_without_one_is_told_with_the_newest(
    filled: Filled, overlord: Overlord, day: str, known: str
) -> None:
    filled(lambda connection: daily_notes.add(connection, "2026-03-01", KEPT, at=NOW))
    said = overlord("briefing", "--day", day)
    assert said.code != 0
    assert "days are written as 2026-11-26" in said.err and known in said.err
