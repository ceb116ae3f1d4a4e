"""Whether two texts say the same, and whether a question is one that was answered before: by words alone, so that the same texts
always give the same answer and nobody has to be asked.

Why words: a model would find more, and would find it differently each time. What answers in a person's name has to be foretold by them.
What says the opposite has nearly the same words: `not` in one of two texts and not in the other makes them different.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from overlord.domain.knowledge.note import Note

MOST_WORDS = 60
"""Of one text; what follows is not compared."""
SAME = 0.6
"""Two texts with so large a part of all their words in common say the same."""
CONTAINED = 0.85
"""So large a part of the shorter text's words in the longer one: it says the same at more length."""
LEAST_CONTAINED = 4
"""With fewer words, a text is contained in too many."""
SAME_QUESTION = 0.7
"""Stricter than for texts: what is taken for the same question is answered."""

_WORD = re.compile(r"\w+")
_NOT = re.compile(r"n['’]t\b")
STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "this",
        "that",
        "these",
        "those",
        "it",
        "its",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "am",
        "do",
        "does",
        "did",
        "done",
        "doing",
        "have",
        "has",
        "had",
        "having",
        "i",
        "me",
        "my",
        "we",
        "our",
        "us",
        "you",
        "your",
        "he",
        "she",
        "they",
        "them",
        "their",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "from",
        "by",
        "with",
        "as",
        "into",
        "onto",
        "over",
        "under",
        "and",
        "or",
        "if",
        "then",
        "than",
        "so",
        "but",
        "about",
        "any",
        "some",
        "there",
        "here",
        "what",
        "which",
        "who",
        "whom",
        "whose",
        "when",
        "where",
        "how",
        "why",
        "should",
        "shall",
        "would",
        "could",
        "can",
        "may",
        "might",
        "must",
        "will",
        "use",
        "used",
        "using",
        "please",
        "want",
        "need",
        "let",
        "lets",
        "like",
        "also",
        "just",
    ]
)
"""They are in every question. `use` is one of them: what is used is what counts."""
NEGATIONS = frozenset(
    [
        "not",
        "no",
        "never",
        "without",
        "neither",
        "nor",
        "cannot",
        "except",
        "instead",
        "nothing",
        "none",
        "avoid",
        "stop",
        "dont",
    ]
)


def words_of(text: str) -> tuple[str, ...]:
    """The words that count, each once, in their order: in one spelling, without plural and without words that are everywhere."""
    plain = _NOT.sub(" not", unicodedata.normalize("NFKC", text).casefold())
    found = (_singular(word) for word in _WORD.findall(plain))
    kept = dict.fromkeys(word for word in found if word not in STOP_WORDS and word not in NEGATIONS)
    return tuple(word for word in kept if len(word) > 1 or word.isdigit())[:MOST_WORDS]


def _singular(word: str) -> str:
    return (
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
    )


def is_negative(text: str) -> bool:
    """Whether it says that something is not so, or not to be done. Said twice it is not."""
    plain = _NOT.sub(" not", unicodedata.normalize("NFKC", text).casefold())
    return sum(word in NEGATIONS for word in _WORD.findall(plain)) % 2 == 1


def likeness(one: str, other: str) -> float:
    """From 0 for nothing in common to 1 for the same words; 0 for what says the opposite."""
    mine, others = set(words_of(one)), set(words_of(other))
    if not mine or not others or is_negative(one) != is_negative(other):
        return 0.0
    return len(mine & others) / len(mine | others)


def says_same(one: str, other: str) -> bool:
    """Whether two texts say the same, perhaps one of them at more length."""
    if likeness(one, other) >= SAME:
        return True
    mine, others = set(words_of(one)), set(words_of(other))
    least = min(len(mine), len(others))
    if least < LEAST_CONTAINED or is_negative(one) != is_negative(other):
        return False
    return len(mine & others) / least >= CONTAINED


def asks_same(one: str, other: str) -> bool:
    """Whether two questions are the same one."""
    return likeness(one, other) >= SAME_QUESTION


def has_all(question: str, words: Sequence[str]) -> bool:
    """Whether a question has all words of a rule."""
    return bool(words) and set(words) <= set(words_of(question))


def question_in(text: str) -> str:
    """The question that a note begins with, where it goes on with an answer: `Which cache? Redis.`; empty where it does not."""
    first = text.strip().split("\n", 1)[0]
    asked, mark, rest = first.partition("?")
    return f"{asked.strip()}?" if mark and rest.strip() and words_of(asked) else ""


def conflicts(notes: Sequence[Note]) -> tuple[tuple[Note, Note], ...]:
    """Pairs of notes that answer the same question differently: of two repositories, or of one and of all; by their numbers."""
    asked = sorted((note for note in notes if note.question), key=lambda note: note.id)
    return tuple(
        (one, other)
        for one, other in _pairs(asked, lambda note: note.question)
        if one.space != other.space
        and asks_same(one.question, other.question)
        and not says_same(one.text, other.text)
    )


def alike(notes: Sequence[Note]) -> tuple[tuple[Note, Note], ...]:
    """Pairs of notes of two repositories that say the same; by their numbers."""
    own = sorted((note for note in notes if note.space), key=lambda note: note.id)
    return tuple(
        (one, other)
        for one, other in _pairs(own, lambda note: note.text)
        if one.space != other.space and one.kind is other.kind and says_same(one.text, other.text)
    )


def _pairs(notes: Sequence[Note], text: Callable[[Note], str]) -> Iterator[tuple[Note, Note]]:
    """Pairs that can be alike at all: they share one of the rarest words of one of them. Comparing all with all of 10,000
    notes takes minutes."""
    holders: dict[str, list[int]] = defaultdict(list)
    read = [words_of(text(note)) for note in notes]
    for index, words in enumerate(read):
        for word in words:
            holders[word].append(index)
    found = set[tuple[int, int]]()
    for index, words in enumerate(read):
        for word in sorted(words, key=lambda item: (len(holders[item]), item))[:_RAREST]:
            found.update(
                (min(index, other), max(index, other))
                for other in holders[word][:_MOST_HOLDERS]
                if other != index
            )
    yield from ((notes[one], notes[other]) for one, other in sorted(found))


_RAREST = 6
_MOST_HOLDERS = 200
