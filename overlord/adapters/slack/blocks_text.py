"""Somebody's words made fit for Block Kit: nothing invisible, cut where Slack's limits say, and cut between letters.

Slack keeps `&`, `<` and `>` escaped, with four or five characters each. Texts are cut before they are escaped, so that no cut is
within an entity, and measured as they are after it.
"""

import re
import unicodedata
from collections.abc import Mapping
from itertools import takewhile

from overlord.domain.text.plain import length, visible

CUT = "…"
BULK_CHARS = 50_000
"""More of one text than this is not even looked at: every limit is far below."""
BACK_CHARS = 40
"""How far a cut moves for the sake of a letter; a longer pile of marks is none."""
ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
LINE_BREAK = re.compile(r"\s*[\n\t\u2028\u2029]\s*")


def escaped(text: str) -> str:
    """A text for a place that Slack parses."""
    return "".join(ESCAPES.get(char, char) for char in text)


def escaped_length(text: str, escapes: Mapping[str, str] = ESCAPES) -> int:
    """How long a text is once Slack's three signs are escaped."""
    return length(text) + sum(text.count(sign) * (len(entity) - 1) for sign, entity in escapes.items())


def cut(text: str, limit: int, *, escapes: Mapping[str, str] = ESCAPES) -> str:
    """The beginning of a text, with a sign that there was more. `limit` is for its escaped form; what a field begins with is
    not escaped."""
    text = visible(text if len(text) <= BULK_CHARS else text[:BULK_CHARS] + CUT)
    if escaped_length(text, escapes) <= limit:
        return text
    end = _within(text, limit - length(CUT), escapes)
    back = next((step for step in range(BACK_CHARS) if not _joins(text, end - step)), 0)
    return text[: end - back].rstrip() + CUT if limit > 0 else ""


def cut_to_end(text: str, limit: int) -> str:
    """The end of a text, with a sign that there was more before. `limit` is for its escaped form."""
    text = visible(text if len(text) <= BULK_CHARS else CUT + text[-BULK_CHARS:])
    if escaped_length(text) <= limit:
        return text
    start = len(text) - _within(text[::-1], limit - length(CUT), ESCAPES)
    forth = next((step for step in range(BACK_CHARS) if not _joins(text, start + step)), 0)
    return CUT + text[start + forth :].lstrip() if limit > 0 else ""


def one_line(text: str) -> str:
    """Without line breaks; a space at either end stays, because words stand before and after."""
    return LINE_BREAK.sub(" ", text)


def title(text: str, limit: int) -> str:
    """One line for a place of its own, cut; empty for a text without words."""
    return cut(" ".join(visible(text[:BULK_CHARS]).split()), limit)


def _within(text: str, limit: int, escapes: Mapping[str, str]) -> int:
    """How many characters from the beginning on have room, escaped."""
    room = max(limit, 0)
    for index, char in enumerate(text):
        room -= len(escapes.get(char, "")) or (2 if char > "\uffff" else 1)
        if room < 0:
            return index
    return len(text)


def _joins(text: str, at: int) -> bool:
    """Whether the character at this place belongs to the one before: a mark, a shade of skin, half a flag."""
    if not 0 < at < len(text):
        return False
    char = text[at]
    if _is_flag_letter(char):
        before = sum(1 for _ in takewhile(_is_flag_letter, reversed(text[:at])))
        return before % 2 == 1
    return unicodedata.category(char).startswith("M") or "\U0001f3fb" <= char <= "\U0001f3ff"


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"
