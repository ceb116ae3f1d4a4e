"""What is known already: the rule or the note whose question is the one that is asked."""

import sqlite3
from datetime import datetime

from overlord.domain.portfolio.escalation import Escalation
from overlord.domain.portfolio.known_answer import KnownAnswer, same_question, takes_note, takes_rules
from overlord.store.knowledge import notes, rules


def answer_of(connection: sqlite3.Connection, escalation: Escalation, *, at: datetime) -> KnownAnswer | None:
    """The answer to an escalation that a rule or a note has, without asking anybody. A rule comes first: it is a person's word."""
    if takes_rules(escalation):
        for rule in rules.counting_in(connection, escalation.space, at=at):
            if same_question(rule.question, escalation.question):
                rules.used(connection, rule.id, at=at)
                return KnownAnswer(answer=rule.answer, cites=rule.ref)
    for note in reversed(notes.counting_in(connection, escalation.space)):
        if same_question(note.question, escalation.question) and takes_note(escalation, note):
            return KnownAnswer(answer=note.text, cites=note.ref)
    return None
