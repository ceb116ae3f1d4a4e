"""What a session or a person wants to note, made fit to be kept: bounded, nothing hidden in it, vetted as skills are.

A note is read by every later session, so it is what an attacker would write: an issue's text becomes a session's note, and that becomes
the next session's instructions. Notes are data where they are shown, fenced; what could harm whoever follows it is not kept at all.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from overlord.domain.knowledge.note import MOST_NOTE_CHARS
from overlord.domain.skills.scan.rule import Level
from overlord.domain.skills.scan.scan import scan
from overlord.domain.text.hidden_text import without_hidden, without_hidden_characters
from overlord.domain.text.redaction import MARK
from overlord.domain.text.secret_detection import redacted

MOST_QUESTION_CHARS = 500
LEAST_CHARS = 3
COUNTS_AT_ONCE = frozenset({"proactive", "scheduled"})
"""The autonomy of a repository under which what a machine notes counts without a person."""
_BLANKS = re.compile(r"(?<![ \t])[ \t]+$", re.MULTILINE)
"""From the first of them on alone: begun at each, a line of blanks would take time in proportion to the square of its length."""
_LOWERS = re.compile(
    r"\b(?:skip|disable|delete|remove|ignore|bypass|loosen|weaken|silence|suppress|grant|widen|approve|turn off|leave out)"
    r"(?:s|d|ed|ing)?\b[^.\n]{0,60}?\b(?:tests?|checks?|lint(?:er|ers|ing)?|reviews?|scopes?|gates?|approvals?|budgets?|plans?)\b",
    re.IGNORECASE,
)
"""Words that have less looked at, or more allowed."""
_EMPTY_LINES = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vetted:
    """What came of it."""

    text: str
    """As it is kept."""
    question: str = ""
    problem: str = ""
    """Why it is not kept, in a sentence; empty where it is."""
    doubt: str = ""
    """Why people are to look at it before it counts, whatever the repository's autonomy says; empty where they need not."""


def tidied(text: str) -> str:
    """The one form in which a note is kept and written: line ends, no blanks at ends, no more than one empty line."""
    lines = re.sub(r"\r\n?|[\v\f\x85\u2028\u2029]", "\n", text).expandtabs(4)
    return _EMPTY_LINES.sub("\n\n", _BLANKS.sub("", lines)).strip()


def vetted(text: str, question: str = "", *, most: int = MOST_NOTE_CHARS) -> Vetted:
    """A note's text and its question, held against what is kept. `most`: the characters of its text."""
    kept, asked = tidied(text), " ".join(tidied(question).split())
    problem = _form_problem(kept, asked, most)
    if problem:
        return Vetted(text=kept, question=asked, problem=problem)
    problem, doubt = _harm(kept if not asked else f"{asked}\n{kept}")
    return Vetted(text=kept, question=asked, problem=problem, doubt=doubt)


def _form_problem(text: str, question: str, most: int) -> str:
    if len(text) < LEAST_CHARS:
        return "the note has no words: say what is to be known"
    if len(text) > most:
        return f"the note has {len(text):,} characters, and at most {most:,} are kept: say one thing, shorter"
    if len(question) > MOST_QUESTION_CHARS:
        return f"the note's question has more than {MOST_QUESTION_CHARS} characters: ask one thing, shorter"
    whole = f"{question}\n{text}"
    if MARK in whole or redacted(whole) != whole:
        return "the note holds what looks like a secret: leave that out"
    if without_hidden_characters(whole).hidden or without_hidden(whole).hidden or "<!--" in whole:
        return "the note holds text that people cannot see (hidden characters, or markup that hides): leave that out"
    return ""


@lru_cache(maxsize=256)
def _harm(text: str) -> tuple[str, str]:
    """Why it is not kept, and why people look at it first: the gravest that the rules for skills find."""
    found = scan(text)
    reject = next((item for item in found if item.level is Level.REJECT), None)
    if reject is not None:
        return f"the note could harm whoever follows it ({reject.rule}): {reject.message}", ""
    flag = next((item for item in found if item.level is Level.FLAG), None)
    if flag is not None:
        return "", f"{flag.message} ({flag.rule})"
    return "", "It is about checks that are left out, or what is allowed." if _LOWERS.search(text) else ""
