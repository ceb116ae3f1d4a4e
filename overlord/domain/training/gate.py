"""The gate that records of a session pass, in code: what a worker says of its own records counts for nothing.

A record is kept if a candidate of the reader stands behind it, nothing in it shows the project or a secret, its texts are there and
of a size to learn from, a pair can be told apart, and it is not there already.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from overlord.domain.text.redaction import Redactor
from overlord.domain.training.candidate import Candidate
from overlord.domain.training.likeness import (
    LEAST_DIFFERENCE,
    KnownRecords,
    difference,
    share_within,
    words_of,
)
from overlord.domain.training.private_text import private_in
from overlord.domain.training.project_words import ProjectWords
from overlord.domain.training.record import FIELDS, Record, RecordKind, normalised

MOST_PROMPT_CHARS = 16_000
MOST_ANSWER_CHARS = 64_000
LEAST_SHARE = 0.4
"""Of a record's words, text by text, that are its candidate's: the writer says it more generally, and says nothing new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A record that the gate did not let through."""

    kind: RecordKind
    reason: str
    """A few words that show nothing of what is private: `its prompt has a path of the project`."""
    where: str
    """Which record it is: `record 3`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What records are held against."""

    candidates: Sequence[Candidate]
    words: ProjectWords
    redactor: Redactor
    known: KnownRecords
    """Those that are there; whatever passes is added."""

    def reason_against(self, record: Record) -> str:
        """Why a record is dropped; empty where it is kept, and then it is known."""
        reason = next(self._reasons(record), "")
        if not reason:
            self.known.add(record)
        return reason

    def _reasons(self, record: Record) -> Iterator[str]:
        yield from size_reasons(record)
        if not any(stands_behind(candidate, record) for candidate in self.candidates):
            yield "no candidate of the reader stands behind it"
        for name, text in texts_of(record):
            if found := self.words.found_in(text):
                yield f"its {name} has {_a(found.kind)} of the project"
            for private in private_in(text, self.redactor):
                yield f"its {name} has {private}"
        if self.known.has(record):
            yield "the same record is there already"
        if self.known.has_like(record):
            yield "a record that is nearly the same is there already"


def texts_of(record: Record) -> Iterator[tuple[str, str]]:
    """The texts of a record with their names."""
    return zip(FIELDS[record.kind], (record.prompt, *record.answers), strict=True)


def size_reasons(record: Record) -> Iterator[str]:
    """What is wrong with a record whatever it is about: empty, too long, a pair that cannot be told apart."""
    for name, text in texts_of(record):
        most = MOST_PROMPT_CHARS if name == "prompt" else MOST_ANSWER_CHARS
        if not text.strip():
            yield f"its {name} is empty"
        elif len(text) > most:
            yield f"its {name} has more than {most:,} characters"
    if record.kind is RecordKind.DPO:
        apart = difference(record.chosen, record.rejected)
        if not apart:
            yield "chosen and rejected are the same"
        elif apart < LEAST_DIFFERENCE:
            yield "chosen and rejected can hardly be told apart"


def stands_behind(candidate: Candidate, record: Record) -> bool:
    """Whether a record is what a candidate says, in its words or in more general ones: of the same kind (and label), of the moment that
    it names, and each of its texts mostly in the words of the text it came from."""
    told = candidate.record
    if not candidate.is_kept or (told.kind, told.label) != (record.kind, record.label):
        return False
    if record.moment and normalised(record.moment) != normalised(told.moment):
        return False
    pairs = zip((record.prompt, *record.answers), (told.prompt, *told.answers), strict=True)
    return all(_comes_from(text, f"{source}\n{told.moment}") for text, source in pairs)


def _comes_from(text: str, source: str) -> bool:
    if not words_of(text):
        return normalised(text) in normalised(source)
    return share_within(text, source) >= LEAST_SHARE


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
