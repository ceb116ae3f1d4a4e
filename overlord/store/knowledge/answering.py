"""Before anything is asked: what a rule or a note answers already."""

import sqlite3
from datetime import datetime

from overlord.domain.event import OVERLORD, EventName, LedgerEvent
from overlord.domain.knowledge.known import Known, answer_of, is_own
from overlord.store import ledger
from overlord.store.knowledge import notes, rules

MOST_COMPARED = 40
"""Notes that are compared with a question word by word: the best that the index finds."""


def answer_known(
    connection: sqlite3.Connection, space: str, question: str, *, job_id: int, at: datetime
) -> Known | None:
    """The answer to a question of a job's session in a repository; None where a person has to be asked. It changes nothing."""
    counting = rules.counting_in(connection, space, at=at)
    near = notes.search(connection, question, space=space, limit=MOST_COMPARED)
    return answer_of(question, counting, [note for note in near if not is_own(note, job_id)])


def note_answered(
    connection: sqlite3.Connection,
    known: Known,
    question: str,
    *,
    space: str,
    job_id: int | None,
    at: datetime,
) -> None:
    """Write down that a question was answered from what is known, and that a rule was used."""
    if known.rule_id is not None:
        rules.used(connection, known.rule_id, at=at)
    data = {"question": question[:300], "answer": known.answer[:300], "cites": known.ref, "space": space}
    event = LedgerEvent(
        name=EventName.QUESTION_ANSWERED, at=at, actor=OVERLORD, job_id=job_id, data={**data, "by": known.by}
    )
    ledger.append(connection, event)
