"""What the reader of a session found worth learning, with a score; checked before any of it is used."""

import json
from dataclasses import dataclass

from overlord.domain.text.plain import visible
from overlord.domain.training.record import Record, RecordError, RecordKind, record_of

LEAST_SCORE, WORST, BEST = 3, 1, 5
"""A candidate of less than the first is not worth learning."""
MOST_CANDIDATES = 200
MOST_CHARS = 1_000_000
"""Of the whole answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One moment, as the reader would have it learned."""

    record: Record
    score: int

    @property
    def kind(self) -> RecordKind:
        return self.record.kind

    @property
    def is_kept(self) -> bool:
        """Whether it is good enough to be written."""
        return self.score >= LEAST_SCORE


class CandidatesError(ValueError):
    """An answer of a reader that is no list of candidates; the words say what is wrong with it."""


def read_candidates(text: str) -> tuple[Candidate, ...]:
    """All candidates of a reader's answer, those with a low score too. An empty list is one. Raises CandidatesError for what is none:
    a single candidate that is malformed makes the whole answer so."""
    if len(text) > MOST_CHARS:
        raise CandidatesError(
            f"The candidates have {len(text):,} characters; at most {MOST_CHARS:,} are read."
        )
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise CandidatesError(
            "The candidates are no JSON: the reader has to answer with a JSON array alone."
        ) from None
    if not isinstance(value, list):
        raise CandidatesError("The candidates are no JSON array.")
    if len(value) > MOST_CANDIDATES:
        raise CandidatesError(f"There are {len(value):,} candidates; at most {MOST_CANDIDATES} are read.")
    return tuple(_candidate(number, item) for number, item in enumerate(value, 1))


def _candidate(number: int, value: object) -> Candidate:
    where = f"Candidate {number}"
    if not isinstance(value, dict):
        raise CandidatesError(f"{where} is no JSON object.")
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in set(RecordKind):
        shown = visible(str(kind))[:40]
        raise CandidatesError(f"{where} has the type {shown!r}; it must be {' or '.join(RecordKind)}.")
    score = value.get("score")
    if not isinstance(score, int) or isinstance(score, bool) or not WORST <= score <= BEST:
        raise CandidatesError(f"{where} has no score from {WORST} to {BEST}.")
    try:
        record = record_of(RecordKind(kind), value)
    except RecordError as error:
        raise CandidatesError(f"{where} is no {kind} candidate: {error}.") from None
    if not record.moment.strip():
        raise CandidatesError(f"{where} does not say its moment: what happened.")
    return Candidate(record=record, score=score)
