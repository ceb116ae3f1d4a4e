"""What a rule would have answered: questions that people answered before, and whether they said the same."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from overlord.domain.knowledge.matching import has_all, is_negative, says_same, words_of
from overlord.domain.knowledge.rule import Rule

MOST_SHOWN = 20
_SENTENCE = re.compile(r"[^.!?\n]+\?")


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftedRule:
    """A rule before it is made."""

    space: str
    """Empty: in all repositories."""
    question: str
    words: tuple[str, ...]
    answer: str
    decision_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastQuestion:
    """A session's question that a person answered."""

    decision_id: int
    space: str
    question: str
    answer: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A past question that the rule would have answered."""

    past: PastQuestion
    is_same: bool
    """Whether the person said the same; if not, the rule contradicts what they said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePreview:
    """What a rule would do."""

    drafted: DraftedRule
    answered: tuple[Answered, ...]
    """Newest first."""
    rules: tuple[Rule, ...]
    """Rules that count and answer the same otherwise."""
    problem: str = ""
    """Why it is not made; empty where it can be."""

    @property
    def contradictions(self) -> int:
        return sum(not item.is_same for item in self.answered) + len(self.rules)


def preview(
    drafted: DraftedRule, past: Iterable[PastQuestion], rules: Iterable[Rule], *, problem: str = ""
) -> RulePreview:
    """The answer's own decision is not among what it would have answered."""
    answered = tuple(
        Answered(past=item, is_same=says_same(item.answer, drafted.answer))
        for item in past
        if item.decision_id != drafted.decision_id
        and drafted.space in ("", item.space)
        and has_all(item.question, drafted.words)
        and is_negative(item.question) == is_negative(drafted.question)
    )
    others = tuple(
        rule
        for rule in rules
        if ("" in (rule.space, drafted.space) or rule.space == drafted.space)
        and (set(rule.words) <= set(drafted.words) or set(drafted.words) <= set(rule.words))
        and is_negative(rule.question) == is_negative(drafted.question)
        and not says_same(rule.answer, drafted.answer)
    )
    return RulePreview(drafted=drafted, answered=answered[:MOST_SHOWN], rules=others, problem=problem)


def asked_in(text: str) -> str:
    """What a question asks, without the words around it: its last sentence with a question mark; all of it where there is none."""
    found = _SENTENCE.findall(text)
    asked = found[-1].strip() if found else " ".join(text.split())
    return asked if len(words_of(asked)) > 1 else " ".join(text.split())
