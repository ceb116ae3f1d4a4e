"""Taking secrets out of text before it is kept or shown: by value, every one Overlord holds; by pattern, tokens whose
shape gives them away. What is not near a marker is never looked at twice, so a megabyte takes milliseconds.
"""

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote

from overlord.domain.text.secret_form import SHORTEST_SOUGHT, SecretSearch, encoded_forms

SHORTEST_VALUE = 6
"""A shorter secret would take ordinary words with it."""
MARK = "[redacted]"

_KEY = r"[A-Za-z0-9_-]"
_SHAPES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{20,255}"),
    (("github_pat_",), r"github_pat_[A-Za-z0-9_]{20,255}"),
    (("glpat-",), rf"glpat-{_KEY}{{16,255}}"),
    (("ovl_",), rf"ovl_{_KEY}{{43}}"),
    (("sk-",), rf"sk-{_KEY}{{16,255}}"),
    (("xox",), r"xox[a-z]-[A-Za-z0-9-]{10,255}"),
    (("xapp-",), r"xapp-[A-Za-z0-9-]{10,255}"),
    (("hooks.slack.com/",), r"hooks\.slack\.com/[a-z]+/[A-Za-z0-9/_-]{20,255}"),
    (("AKIA", "ASIA", "ABIA", "ACCA"), r"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}"),
    (("AIza",), rf"AIza{_KEY}{{35}}"),
    (("GOCSPX-",), rf"GOCSPX-{_KEY}{{20,64}}"),
    (("ya29.",), rf"ya29\.{_KEY}{{20,1024}}"),
    (("sk_live_",), r"sk_live_[A-Za-z0-9]{16,255}"),
    (("npm_",), r"npm_[A-Za-z0-9]{36}"),
    (("pypi-AgE",), rf"pypi-AgE{_KEY}{{40,512}}"),
    (("hf_",), r"hf_[A-Za-z0-9]{30,255}"),
    ((".eyJ",), rf"eyJ{_KEY}{{8,512}}\.eyJ{_KEY}{{8,8192}}\.{_KEY}{{8,4096}}"),
    (("PRIVATE KEY-----",), r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[A-Za-z0-9+/=\s\\:,-]{0,16384}"),
    (("earer ",), r"earer (?P<secret>[A-Za-z0-9._~+/=-]{16,4096})"),
    (("://",), r"://(?P<secret>[^\s/:@\"'\\]{0,100}:[^\s/:@\"'\\]{1,200})@"),
)
"""Markers of which one must occur, and the pattern. A pattern begins with letters of its own, not with a look behind
it: only so does `re` leap from one candidate to the next."""
_COMPILED = tuple((markers, re.compile(pattern)) for markers, pattern in _SHAPES)


class Redactor:
    """Knows the secrets Overlord holds. `redact` leaves JSON that is valid valid."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._forms: list[str] = []
        self.search = SecretSearch()
        """For what is published, where a mark in place of a secret would not do."""
        self.learn(values)

    def learn(self, values: Iterable[str]) -> None:
        """Know these secrets too from now on."""
        values = tuple(values)
        self.search.learn(values)
        forms = {form for value in values for form in _forms(value.strip())}
        self._forms = sorted({*self._forms, *forms}, key=len, reverse=True)

    def without_values(self, text: str) -> str:
        """The text with a mark in place of every secret that is known; what only looks like one stays."""
        for form in self._forms:
            text = text.replace(form, MARK)
        return text

    def redact(self, text: str) -> str:
        """The text with a mark in place of every secret."""
        text = self.without_values(text)
        for markers, pattern in _COMPILED:
            if any(marker in text for marker in markers):
                text = pattern.sub(_marked, text)
        return text


def _marked(match: re.Match[str]) -> str:
    before = match.string[match.start() - 1 : match.start()]
    if "secret" in match.groupdict():
        return match[0].replace(match["secret"], MARK)
    return match[0] if before.isalnum() else MARK


def _forms(value: str) -> Iterable[str]:
    """A secret as it may be met: itself, as JSON, URLs and Python write it, in base64, and each long line of a key file.
    Not too short ones also backwards, in hexadecimal, and in base64 with something before."""
    if len(value) < SHORTEST_VALUE:
        return
    yield value
    yield json.dumps(value)[1:-1]
    yield from (json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1], repr(value.encode())[2:-1])
    yield quote(value, safe="")
    yield base64.b64encode(value.encode()).decode().rstrip("=")
    yield from (line for line in value.splitlines() if len(line) >= 32)
    if len(value) >= SHORTEST_SOUGHT:
        yield from encoded_forms(value)
