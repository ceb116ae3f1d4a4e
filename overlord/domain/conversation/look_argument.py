"""The kinds of arguments that queries take beside those of verbs."""

from dataclasses import dataclass
from enum import StrEnum

from overlord.domain.conversation.argument import Typed, after, bare, word
from overlord.domain.text.reference import Target, repository_in, target_in


class Span(StrEnum):
    """What a cost is asked of."""

    TODAY = "today"
    WEEK = "week"
    JOB = "job"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostOf:
    """A span of days, or a job."""

    span: Span = Span.TODAY
    job: Target | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostArgument:
    """`today`, `week`, or a job."""

    noun: str = "it"
    help: str = "What it is asked of."

    def read(self, words: str, typed: Typed) -> tuple[CostOf, str]:
        """In a comment, of the job of its issue."""
        if typed.is_comment:
            return CostOf(span=Span.JOB), words
        if not words or words.casefold() in (Span.TODAY, Span.WEEK):
            return CostOf(span=Span(words.casefold() or Span.TODAY)), ""
        named = after(words, 1) if word(words, 0).casefold() == Span.JOB else words
        found = target_in(bare(named))
        if found is None:
            raise typed.misread("Say of what.", "cost today", "cost week", "cost job 7", "cost #42")
        return CostOf(span=Span.JOB, job=found), ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryArgument:
    """A repository, which has to be named."""

    noun: str = "the repository"
    help: str = "A repository managed by Overlord: owner/repo, or its name alone."

    def read(self, words: str, typed: Typed) -> tuple[str, str]:
        """`show` before it may be left out."""
        skipped = int(word(words, 0).casefold() == "show")
        name = repository_in(bare(word(words, skipped)))
        if name is None:
            raise typed.misread("Say which repository.", typed.usage, "space list")
        return name, after(words, skipped + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceOptionArgument:
    """A repository, where only one is meant."""

    noun: str = "the repository"
    help: str = "Only this repository, as owner/name."

    def read(self, words: str, typed: Typed) -> tuple[str, str]:
        """Empty for all of them."""
        first = word(words, 0)
        name = repository_in(bare(first)) if first else ""
        if name is None:
            raise typed.misread("Say which repository, or none for all.", typed.usage)
        return name, after(words, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagArgument:
    """Whether its name is said; in the chat as well as a terminal types it, with dashes."""

    noun: str = "it"
    help: str
    name: str = "all"

    def read(self, words: str, _typed: Typed) -> tuple[bool, str]:
        is_said = word(words, 0).casefold().removeprefix("--") == self.name
        return is_said, after(words, int(is_said))


@dataclass(frozen=True, slots=True, kw_only=True)
class HoursArgument:
    """A number of hours; a day where none is said."""

    noun: str = "the hours"
    help: str
    most: float = 24 * 366
    default: float = 24.0

    def read(self, words: str, typed: Typed) -> tuple[float, str]:
        first = word(words, 0)
        if not first:
            return self.default, ""
        try:
            hours = float(first)
        except ValueError:
            hours = -1.0
        if not 0 <= hours <= self.most:
            raise typed.misread("Say how many hours.", typed.usage, f"{typed.usage} 48")
        return hours, after(words, 1)


class DaySpan(StrEnum):
    """How many days are looked back on, today with them."""

    WEEK = "7"
    MONTH = "30"
    QUARTER = "90"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysArgument:
    """A number of days: 7, 30 or 90."""

    noun: str = "the days"
    help: str = "How many days, today with them."
    default: DaySpan = DaySpan.MONTH

    def read(self, words: str, typed: Typed) -> tuple[DaySpan, str]:
        """What is no number is left to the arguments that follow."""
        first = bare(word(words, 0))
        if not first[:1].isdecimal():
            return self.default, words
        if first not in set(DaySpan):
            raise typed.misread("Say over how many days: 7, 30 or 90.", typed.usage)
        return DaySpan(first), after(words, 2 if word(words, 1).casefold() == "days" else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedArgument:
    """A word after its own name: `by week`. On the command line it is an option."""

    name: str
    help: str
    choices: tuple[str, ...] = ()
    """What it may be; anything where there are none."""
    noun: str = "it"

    def read(self, words: str, typed: Typed) -> tuple[str, str]:
        """Empty where its name is not said."""
        if word(words, 0).casefold() != self.name:
            return "", words
        value = bare(word(words, 1))
        if not value or (self.choices and value not in self.choices):
            raise typed.misread("One word is missing, or is none that can stand there.", typed.usage)
        return value, after(words, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterArgument(NamedArgument):
    """A word with its name before it, anywhere among words of one's own: `state:failed`. On the command line it is an option."""

    def read(self, words: str, typed: Typed) -> tuple[str, str]:
        """Empty where its name is not said; the other words are left."""
        kept = words.split()
        for index, item in enumerate(kept):
            name, colon, value = item.partition(":")
            if colon and value and name.casefold() == self.name:
                if self.choices and value not in self.choices:
                    raise typed.misread(f"That {self.name} is none there is.", typed.usage)
                return value, " ".join(kept[:index] + kept[index + 1 :])
        return "", words


@dataclass(frozen=True, slots=True, kw_only=True)
class FindArgument:
    """Words to find, where all are shown without any."""

    noun: str = "the words"
    help: str = "Words to find; all, if absent."

    def read(self, words: str, _typed: Typed) -> tuple[str, str]:
        return words, ""
