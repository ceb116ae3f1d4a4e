"""What is known already of a question that is about to be asked: a person's rule first, then a note that answers it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from overlord.domain.knowledge.matching import SAME_QUESTION, has_all, is_negative, likeness, says_same
from overlord.domain.knowledge.note import Note
from overlord.domain.knowledge.rule import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An answer, and where it is from."""

    ref: str
    """`r2` or `n12`."""
    answer: str
    by: str
    """As the session is told who answered: `rule r2 of slack:U1`, `note n12`."""
    rule_id: int | None = None
    note_id: int | None = None


def is_own(note: Note, job_id: int | None) -> bool:
    """Whether a session of this job wrote a note: nobody answers their own question in Overlord's name."""
    return job_id is not None and bool(note.source.session_id) and note.source.job_id == job_id


def is_known(answered_by: str) -> bool:
    """Whether who answered was a rule or a note, and no person."""
    return answered_by.startswith(("rule r", "note n"))


def answer_of(question: str, rules: Iterable[Rule], notes: Sequence[Note]) -> Known | None:
    """The answer; None where nothing answers it, or two notes answer it differently: then a person is asked.

    Of several rules one of the repository itself goes before one of all, then the one with more words, then the newest.
    """
    is_not = is_negative(question)
    matching = [
        rule
        for rule in rules
        if has_all(question, rule.words) and (not rule.question or is_negative(rule.question) == is_not)
    ]
    if matching:
        rule = min(matching, key=lambda item: (not item.space, -len(item.words), -item.id))
        by = f"rule {rule.ref} of {rule.actor}"
        return Known(ref=rule.ref, answer=rule.answer, by=by, rule_id=rule.id)
    return _of_notes(question, notes)


def _of_notes(question: str, notes: Sequence[Note]) -> Known | None:
    """One that a session contradicted answers nobody any more until a person has looked at it."""
    near = [
        (note, likeness(note.question, question))
        for note in notes
        if note.question and not note.contradicted_by
    ]
    near = [(note, degree) for note, degree in near if degree >= SAME_QUESTION]
    if not near:
        return None
    own = [item for item in near if item[0].space] or near
    note, _ = max(own, key=lambda item: (item[1], -item[0].id))
    if any(not says_same(note.text, other.text) for other, _ in own if other is not note):
        return None
    return Known(ref=note.ref, answer=note.text, by=f"note {note.ref}", note_id=note.id)
