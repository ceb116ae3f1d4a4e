"""The kinds of arguments that looks take beside those of verbs: what a cost is asked of, and which repository is shown."""

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
        if not words or words.casefold() in (Span.TODAY, Span.WEEK):
            return CostOf(span=Span(words.casefold() or Span.TODAY)), ""
        named = after(words, 1) if word(words, 0).casefold() == Span.JOB else words
        found = target_in(bare(named))
        if found is None:
            raise typed.misread("Say of what.", "cost today", "cost week", "cost job 7", "cost #42")
        return CostOf(span=Span.JOB, job=found), ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSpaceArgument:
    """`list`, or `show` and a repository."""

    noun: str = "it"
    help: str = "The repository to show."

    def read(self, words: str, typed: Typed) -> tuple[str | None, str]:
        """None for all of them."""
        first, rest = word(words, 0).casefold(), after(words, 1)
        name = repository_in(bare(rest)) if first == "show" else None
        if ((first or "list") != "list" and name is None) or (first in {"", "list"} and rest):
            raise typed.misread("Say what is to be seen.", "space list", "space show owner/repo")
        return name, ""
