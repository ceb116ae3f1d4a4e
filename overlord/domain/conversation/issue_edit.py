"""An issue's text that was edited while it is worked on: whether it differs, which edit it is, and what a person is shown."""

import difflib
import json
from collections.abc import Iterable, Iterator
from hashlib import sha256

from minion.protocol import Issue
from overlord.domain.text.plain import code_block, count, visible

SHOWN_CHARS = 6000
COMPARED_LINES = 200
"""Longer changes are shown as lines taken out and lines put in: to compare them takes time with the square of their length."""
CONTEXT_LINES = 3


def is_same(one: Issue, other: Issue) -> bool:
    """Whether title and body say the same; comments do not count, nor how lines end."""
    return _compared_text(one) == _compared_text(other)


def edition(old: Issue, new: Issue) -> str:
    """The name of this very edit: an answer about it says nothing of any other."""
    return sha256(json.dumps([*_compared_text(old), *_compared_text(new)]).encode()).hexdigest()


def question(old: Issue, new: Issue) -> str:
    """What a person is shown when they are asked which text counts: the difference, and nothing of it live."""
    parts = [
        "The issue was edited after work began.",
        "No session has seen the new text. It may be worked on from now on, or the one that stood when the work began; "
        "putting the work label on again takes the text as it stands then.",
    ]
    if old.title != new.title:
        parts += ["Title:", _block([f"-{old.title}", f"+{new.title}"])]
    before, after = _compared_text(old)[1], _compared_text(new)[1]
    if before != after:
        parts += ["Text:", _block(_difference(before.split("\n"), after.split("\n")))]
    if new.comments != old.comments:
        parts.append(
            f"With the new text the {count(len(new.comments), 'comment')} there were then would be read."
        )
    return "\n\n".join(parts)


def _compared_text(issue: Issue) -> tuple[str, str]:
    return issue.title, issue.body.replace("\r\n", "\n")  # browsers send the one, programs the other


def _difference(before: list[str], after: list[str]) -> Iterator[str]:
    """The changed lines, with those around them."""
    start, end = _common(before, after), 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    out, put = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(out), len(put)) > COMPARED_LINES:
        yield from _first_lines((f"-{line}" for line in out), SHOWN_CHARS // 2)
        yield from _first_lines((f"+{line}" for line in put), SHOWN_CHARS // 2)
    else:
        start, end = max(start - CONTEXT_LINES, 0), max(end - CONTEXT_LINES, 0)
        some, others = before[start : len(before) - end], after[start : len(after) - end]
        _, _, _, *lines = difflib.unified_diff(some, others, lineterm="", n=CONTEXT_LINES)
        yield from ("…" if line.startswith("@@") else line for line in lines)


def _common(before: list[str], after: list[str]) -> int:
    """How many lines both begin with."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(before), len(after)))


def _block(lines: Iterable[str]) -> str:
    return code_block("\n".join(_first_lines(lines, SHOWN_CHARS)), limit=2 * SHOWN_CHARS)


def _first_lines(lines: Iterable[str], limit: int) -> Iterator[str]:
    """The lines up to so many characters, and a word where there are more."""
    for line in lines:
        shown = _revealed(line[: limit + 1])
        if len(shown) > limit:
            yield f"{shown[:limit]} … (cut: the rest stands at the issue)"
            return
        limit -= len(shown) + 1
        yield shown


def _revealed(line: str) -> str:
    """A line in which what cannot be seen can be: a change made of nothing else is one too."""
    return "".join(visible(char) or f"[U+{ord(char):04X}]" for char in line)
