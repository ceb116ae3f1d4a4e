"""Whether a rule is wide enough to answer what no rule may: a gate, an approval, a budget, a scope, an access."""

from collections.abc import Sequence

from overlord.domain.decision import Subject
from overlord.domain.knowledge.matching import words_of

ANSWERED_BY_RULE = frozenset({Subject.QUESTION, Subject.ESCALATED})
"""What a rule may answer: what a session asks while it works, and what it escalates. Nothing else, and why:

a gate, an approval, a scope and a budget are what people keep for themselves, whatever was said before; a discovery's answers become a
contract, where each has its own id and is shown as a whole; proposals, drafts and initiatives are about something that was not there when
the rule was made.
"""
LEAST_WORDS = 2
"""A rule of one word answers whatever has it."""
_GATES = frozenset(
    word
    for text in (
        "approve approved approval plan ready task go on proceed continue start begin gate phase next work accept confirm yes no ok okay",
        "merge merged deliver push publish release deploy pull request pr draft issue job session",
        "budget spend spent token dollar usd cost money more add limit raise",
        "scope write path file pattern grant permission allow allowed allowance widen outside unrestricted protected",
        "credential secret password key access account login environment dependency install contract",
        "decision question answer escalation blocker way option choice first second",
    )
    for word in words_of(text)
)
"""What gates, approvals, budgets and scopes are asked with. A rule of these words alone would be about them."""


def why_too_wide(words: Sequence[str]) -> str:
    """Why no rule is made of these words, in a sentence; empty where one can be."""
    if len(words) < LEAST_WORDS:
        return "it would answer too much: a rule needs at least two words that say what it is about"
    if set(words) <= _GATES:
        return "its words are those of gates, approvals, budgets and scopes, which no rule answers; add what the question is about"
    return ""


def why_not_of(subject: Subject) -> str:
    """Why no rule is made of an answer to this; empty where one can be."""
    if subject in ANSWERED_BY_RULE:
        return ""
    name = subject.replace("_", " ")
    return f"a rule answers questions of sessions alone, and this decision is about something else ({name})"
