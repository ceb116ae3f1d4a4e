"""A pattern: what is the same in two failures, whatever the file, line or issue. Its fingerprint is stable and versioned.

Two findings are of one pattern when check and rule are the same, and what is left of their messages once everything is taken
out that names a place: numbers, hashes, paths (but for what kind of file they name), quoted names.
"""

import json
import re
from hashlib import sha256

from overlord.domain.text.plain import visible

VERSION = 1
"""Of the rules below. A change to them makes other fingerprints, and what was counted counts anew."""
MOST_CHARS = 2000
"""Of a message that are looked at."""

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://\S+")
_TEST = re.compile(r"[^\s:]*::\S+")
_QUOTED = re.compile(r"""`[^`\n]*`|"[^"\n]*"|“[^”\n]*”|(?<!\w)'[^'\n]*'(?!\w)""")
_PATH = re.compile(r"(?<![\w/])(?:\.{0,2}/)?(?:[\w.@+*~-]+/)+[\w.@+*~-]*|(?<![\w/])/[\w.@+*~-]+")
_FILE = re.compile(
    r"(?<![\w.])[\w-]+(?:\.[\w-]+)*\.(c|cc|cpp|css|go|h|html|java|js|json|jsx|lock|md|mod|py|pyi|rb|rs|rst|sh|sql|toml|ts|tsx|txt"
    r"|xml|yaml|yml)\b"
)
_HASH = re.compile(r"\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,64}\b")
_NUMBER = re.compile(r"\b0x[0-9a-f]+\b|(?<![\w<])[-+]?\d+(?:[.,_:]\d+)*")
_DIGITS = re.compile(r"\d+")
_LIST = re.compile(r"(<[^<>]*>)(?:,? (?:and )?\1)+")
_SPACES = re.compile(r"\s+")


def normalised(message: str) -> str:
    """What is left of a message when everything that names a place in it is taken out."""
    text = _SPACES.sub(" ", visible(message[:MOST_CHARS])).strip().casefold()
    text = text.replace("<", "(").replace(">", ")")  # so that no text passes for a mark of ours
    text = _ADDRESS.sub("<address>", text)
    text = _QUOTED.sub("<name>", text)
    text = _TEST.sub("<test>", text)
    text = _PATH.sub(lambda found: f"<{_kind(found[0])}>", text)
    text = _FILE.sub(lambda found: f"<.{found[1]}>", text)
    text = _HASH.sub("<hash>", text)
    text = _NUMBER.sub("<n>", text)
    text = _DIGITS.sub("n", text)
    return _LIST.sub(r"\1", text)


def _kind(path: str) -> str:
    """What kind of file a path names: by its extension, else a directory."""
    _, dot, extension = path.rpartition("/")[2].rpartition(".")
    return f".{extension}" if dot and extension.isalpha() else "directory"


def normalized(words: str) -> str:
    """What is left of a person's or a Minion's words when only their looks are taken out: case, spaces, the last mark."""
    return _SPACES.sub(" ", visible(words[:MOST_CHARS])).strip().casefold().rstrip(".!? ")


def fingerprint(kind: str, *parts: str) -> str:
    """The name of a pattern of a kind, whose parts were made alike before."""
    return sha256(json.dumps([VERSION, kind, *parts]).encode()).hexdigest()[:16]


def of_finding(check: str, rule: str, message: str) -> str:
    """The fingerprint of what a check holds against a change."""
    return fingerprint("finding", check, rule, normalised(message))
