"""The kinds of arguments that are about what was learned: notes, rules, and where they count."""

import re
from dataclasses import dataclass

from overlord.domain.conversation.argument import Typed, after, bare, word
from overlord.domain.knowledge.note import NoteKind
from overlord.errors import Refused

_REF = re.compile(r"([nr])?([1-9][0-9]{0,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteArgument:
    """A note, by its number."""

    noun: str = "the note"
    help: str = "A note's number: n12."

    def read(self, words: str, typed: Typed) -> tuple[str, str]:
        return _ref(words, typed, "n", "Say which note, by its number.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleArgument:
    """A rule, by its number."""

    noun: str = "the rule"
    help: str = "A rule's number: r2."

    def read(self, words: str, typed: Typed) -> tuple[str, str]:
        return _ref(words, typed, "r", "Say which rule, by its number.")


def _ref(words: str, typed: Typed, letter: str, missing: str) -> tuple[str, str]:
    found = _REF.fullmatch(bare(word(words, 0)).casefold())
    if found is None or found[1] not in (None, letter):
        raise typed.misread(missing)
    return f"{letter}{found[2]}", after(words, 1)


def number_of(ref: str, letter: str) -> int:
    """The number that `n12` or `r2` stands for, as a command line hands it over. Raises Refused."""
    found = _REF.fullmatch(ref.strip().casefold())
    if found is None or found[1] not in (None, letter):
        what = (
            "a note is named by its number, as n12"
            if letter == "n"
            else "a rule is named by its number, as r2"
        )
        raise Refused(what)
    return int(found[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteKindArgument:
    """What a note says: a convention, a preference, a decision, a pattern."""

    noun: str = "the kind"
    help: str = "What it is: convention, preference, decision or pattern."

    def read(self, words: str, typed: Typed) -> tuple[str, str]:
        first = bare(word(words, 0)).casefold()
        if first.removesuffix("s") not in set(NoteKind):
            raise typed.misread("Say what it is: a convention, a preference, a decision or a pattern.")
        return first.removesuffix("s"), after(words, 1)


def kind_of(text: str) -> NoteKind:
    """The kind that a command line hands over. Raises Refused."""
    named = text.strip().casefold().removesuffix("s")
    if named not in set(NoteKind):
        raise Refused(f"a note is one of {', '.join(NoteKind)}")
    return NoteKind(named)
