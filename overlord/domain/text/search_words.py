"""What somebody types to search, as an expression of SQLite's FTS5: each word is quoted, so nothing that is typed commands anything.

All words have to be there. `"in quotes"` is a phrase, `-word` leaves out, and the last word may be the beginning of one.
"""

import re
import unicodedata

MOST_CHARS = 200
"""Of what is typed; what follows is not read."""
MOST_TERMS = 12
"""Each costs a walk through the index."""
BEGINNING_CHARS = 3
"""The shortest beginning of a word that is looked for: a single letter begins half the words there are."""
_TERM = re.compile(r'(?P<leaves_out>-?)(?:"(?P<phrase>[^"]*)(?P<end>"?)|(?P<word>[^\s"]+))')

_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
"""A chat's client and a phone make these of plain ones."""


def match_expression(typed: str) -> str:
    """The expression; empty where no word is to be found in what was typed."""
    wanted, unwanted = dict[str, None](), dict[str, None]()  # each once, in order
    read = typed[:MOST_CHARS].translate(_QUOTES).rstrip()
    for term in list(_TERM.finditer(read))[:MOST_TERMS]:
        words = _words(term["word"] or term["phrase"] or "")
        if not words:
            continue
        is_last = term.end() == len(read)
        may_begin = is_last and not term["end"] and _is_long(words[-1])
        quoted = f'"{" ".join(words)}"'
        if term["leaves_out"]:
            unwanted[quoted] = None
        else:
            wanted[f"{quoted} *" if may_begin else quoted] = None
    if not wanted:
        return ""
    found = " AND ".join(wanted)
    return f"({found}) NOT ({' OR '.join(unwanted)})" if unwanted else found


def _words(text: str) -> list[str]:
    """As the index tells words apart: letters and digits. Nothing else is left, so no quote, NUL or half of a character is."""
    words = "".join(char if _is_part(char) else " " for char in text).split()
    return [word for word in words if not all(unicodedata.combining(char) for char in word)]


def _is_part(char: str) -> bool:
    return unicodedata.category(char)[0] in "LN" or unicodedata.category(char) in {"Co", "Mn", "Mc"}


def _is_long(word: str) -> bool:
    """In scripts that write no spaces, two signs are much already."""
    return len(word) >= (BEGINNING_CHARS if word.isascii() else BEGINNING_CHARS - 1)
