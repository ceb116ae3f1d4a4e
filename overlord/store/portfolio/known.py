"""What is known already of an escalation: the answer of a rule or of a note, as far as those may decide it."""

import sqlite3
from datetime import datetime

from overlord.domain.knowledge import known
from overlord.domain.portfolio.escalation import Escalation
from overlord.domain.portfolio.known_answer import KnownAnswer, takes_note, takes_rules
from overlord.store.knowledge import notes, rules
from overlord.store.knowledge.answering import MOST_COMPARED


def answer_of(connection: sqlite3.Connection, escalation: Escalation, *, at: datetime) -> KnownAnswer | None:
    """The answer to an escalation that a rule or a note has, without asking anybody. It changes nothing."""
    counting = rules.counting_in(connection, escalation.space, at=at) if takes_rules(escalation) else []
    near = notes.search(connection, escalation.question, space=escalation.space, limit=MOST_COMPARED)
    allowed = [note for note in near if takes_note(escalation, note)]
    found = known.answer_of(escalation.question, counting, allowed)
    if found is None:
        return None
    return KnownAnswer(answer=found.answer, cites=found.ref, rule_id=found.rule_id)


def note_used(connection: sqlite3.Connection, found: KnownAnswer, *, at: datetime) -> None:
    """A rule has answered an escalation: its row counts that."""
    if found.rule_id is not None:
        rules.used(connection, found.rule_id, at=at)
