"""What a record may not show whatever project it is of: paths, addresses, secrets, and characters that nobody sees."""

import re
from collections.abc import Iterator

from overlord.domain.text.hidden_character import unseen
from overlord.domain.text.redaction import MARK, Redactor
from overlord.domain.text.secret_detection import find_secrets

_EXAMPLE = r"(?:[\w-]+\.)*(?:example(?:\.(?:com|org|net))?|test|invalid|localhost)"
_OPEN_HOST = re.compile(rf"(?i)(?:{_EXAMPLE}|127\.0\.0\.1|0\.0\.0\.0|\[?::1\]?)")
"""Hosts that stand for any host."""
_ADDRESS = re.compile(r"(?i)\b[a-z][a-z0-9+.-]{1,20}://(?:[^\s/@]{0,200}@)?([^\s/:?#\"'`<>()\[\]]{1,253})")
_MAIL = re.compile(r"[\w.+-]{1,64}@((?:[\w-]{1,63}\.)+[A-Za-z]{2,24})\b")
_BARE_HOST = re.compile(r"\b(?:[a-z0-9-]{1,63}\.){1,8}(?:com|org|net|internal|intranet|corp|lan)\b(?![\w(])")
_NUMERIC = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
_ABSOLUTE = re.compile(
    r"(?<![\w/.:])(?:/(?:home|Users|root|tmp|var|opt|etc|srv|mnt|usr|work|workspace|private|app|data)/[\w.@+-]+|~/[\w.@+-]+"
    r"|[A-Za-z]:[\\/][\w.@+-]+)"
)
_RELATIVE = re.compile(
    r"(?<![\w/.:])(?:\.{0,2}/)?(?:[\w@+-][\w.@+-]{0,99}/){1,20}[\w@+-]{1,100}\.[A-Za-z]\w{0,7}\b"
)

_LOOKALIKE = "\u0370-\u0373\u037f\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u0400-\u052f\u0531-\u0587\u13a0-\u13ff"
_TWO_ALPHABETS = re.compile(rf"[A-Za-z_][{_LOOKALIKE}]|[{_LOOKALIKE}][A-Za-z_]")
"""Letters that look like Latin ones, beside Latin ones: so a name that is looked for would not be found."""


def private_in(text: str, redactor: Redactor) -> Iterator[str]:
    """What of a text may not be shown, each as a few words that do not show it."""
    if any(True for _ in unseen(text)):
        yield "a hidden character"
    if _TWO_ALPHABETS.search(text):
        yield "a word of two alphabets"
    if (
        MARK in text
        or redactor.redact(text) != text
        or redactor.search.written_in(text)
        or any(True for _ in find_secrets(text))
    ):
        yield "a secret"
    if _MAIL.search(text) and not all(_OPEN_HOST.fullmatch(host) for host in _MAIL.findall(text)):
        yield "an e-mail address"
    hosts = [*_ADDRESS.findall(text), *_BARE_HOST.findall(text), *_NUMERIC.findall(text)]
    if any(not _OPEN_HOST.fullmatch(host) for host in hosts):
        yield "a host"
    if _ABSOLUTE.search(text) or _RELATIVE.search(text):
        yield "a path"
