"""Characters that no reader sees: which of them a text needs, and what the others say."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_UNSEEN_RUN = re.compile(_UNSEEN.pattern + "+")
_FLAG = "\U0001f3f4"
_FLAGS = tuple(
    "".join(chr(0xE0000 + ord(char)) for char in f"gb{part}") + "\U000e007f" for part in ("eng", "sct", "wls")
)
"""What follows a black flag in the three flags that are spelt with tags."""
_ZWSP, _ZWNJ, _ZWJ, _CGJ = "\u200b", "\u200c", "\u200d", "\u034f"
_JOINING = re.compile(
    "[\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af\u1a20-\u1aaf\ua840-\ua87f\ufb50-\ufdff\ufe70-\ufefc]"
)
"""Scripts in which a joiner, or its absence, changes what is read."""
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df]")
"""Scripts whose words are parted by zero-width spaces."""
_IDEOGRAPH = re.compile("[\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KEYCAP = "0123456789#*"


@dataclass(frozen=True, slots=True)
class Unseen:
    """A run of characters that nobody sees, and what it says."""

    start: int
    end: int
    seen_as: str


def is_unseen(char: str) -> bool:
    """Whether a character by itself is nothing that people see."""
    return _UNSEEN.match(char) is not None


def unseen(text: str) -> Iterator[Unseen]:
    """The runs of characters nobody sees, but for those that letters and emoji beside them need."""
    for run in _UNSEEN_RUN.finditer(text):
        start = None
        before = text[run.start() - 1 : run.start()]
        needed_to = run.start()
        for at in range(run.start(), run.end()):
            if at < needed_to:
                continue
            length = _needed(text, at, before)
            if length:
                if start is not None:
                    yield Unseen(start, at, _spelled(text[start:at]))
                    start = None
                needed_to = at + length
                before = text[needed_to - 1]
            else:
                start = at if start is None else start
                before = ""
        if start is not None:
            yield Unseen(start, run.end(), _spelled(text[start : run.end()]))


def spelt(text: str) -> str:
    """Text with what nobody sees in it spelt out."""
    made, at = [], 0
    for found in unseen(text):
        made += [text[at : found.start], f" {found.seen_as} "]
        at = found.end
    return "".join([*made, text[at:]])


def _needed(text: str, at: int, before: str) -> int:
    """How many characters from here on belong to what is seen before them; 0 when none does."""
    char, after = text[at], text[at + 1 : at + 2]
    if before == _FLAG:
        flag = next((flag for flag in _FLAGS if text.startswith(flag, at)), "")
        if flag:
            return len(flag)
    if not before:
        return 1 if char == "\u115f" and _is_jamo(after) else 0
    return int(_is_selector_of(char, before) or _joins(char, before, after))


def _joins(char: str, before: str, after: str) -> bool:
    if char == _ZWJ and _is_emoji(before) and bool(after) and _is_emoji(after):
        return True
    if char in {_ZWJ, _ZWNJ}:
        return _is_letter(before, _JOINING)
    if char == _ZWSP:
        return _is_letter(before, _SPACELESS) and _is_letter(after, _SPACELESS)
    if char == _CGJ:
        return (
            unicodedata.category(before)[0] in "LM" and bool(after) and unicodedata.category(after)[0] == "M"
        )
    if char == "\u115f":
        return _is_jamo(after)
    return char == "\u1160" and _is_jamo(before)


def _is_selector_of(char: str, before: str) -> bool:
    """Whether a variation selector chooses a form that the character before it has."""
    if char in "\ufe0e\ufe0f":
        return before != "\ufe0f" and (
            before in _KEYCAP or _is_emoji(before) or unicodedata.category(before) in {"Sm", "Po", "Pd", "Lo"}
        )
    if "\ufe00" <= char <= "\ufe02":
        return unicodedata.category(before) in {"Lo", "Sm"}
    if "\U000e0100" <= char <= "\U000e011f":
        return _IDEOGRAPH.match(before) is not None
    return char in "\u180b\u180c\u180d\u180f" and "\u1820" <= before <= "\u18aa"


def _is_emoji(char: str) -> bool:
    return (
        unicodedata.category(char) == "So"
        or char == "\ufe0f"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or char in "↔↕"
    )


def _is_letter(char: str, script: re.Pattern[str]) -> bool:
    return bool(char) and script.match(char) is not None and unicodedata.category(char)[0] in "LM"


def _is_jamo(char: str) -> bool:
    return "\u1100" <= char <= "\u11ff" if char else False


def _kind(char: str) -> str:
    if "\U000e0020" <= char <= "\U000e007e":
        return "tag"
    if "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef":
        return "selector"
    return "other"


def _spelled(run: str) -> str:
    """What a run spells, and the numbers of characters that spell nothing."""
    lines = []
    for kind, chars in groupby(run, _kind):
        part = "".join(chars)
        if kind == "tag":
            lines.append("".join(chr(ord(char) - 0xE0000) for char in part))
        else:
            lines.append((_spelt_by_selectors(part) if kind == "selector" else "") or _numbers(part))
    return " ".join(lines)


def _spelt_by_selectors(run: str) -> str:
    """The text whose bytes a run of variation selectors stands for; empty when it is none."""
    values = bytes(ord(char) - (0xFE00 if char <= "\ufe0f" else 0xE0100 - 16) for char in run)
    try:
        text = values.decode()
    except UnicodeDecodeError:
        return ""
    return text if len(text) > 1 and text.isprintable() else ""


def _numbers(run: str) -> str:
    counted = ((char, sum(1 for _ in same)) for char, same in groupby(run))
    return " ".join(f"U+{ord(char):04X}" + (f" ×{number}" if number > 1 else "") for char, number in counted)
