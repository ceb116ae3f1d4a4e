"""Taking secrets out of text before it is kept or shown: by value, every one Overlord holds; by pattern, tokens whose
shape gives them away. What is not near a marker is never looked at twice, so a megabyte takes milliseconds.
"""

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote

SHORTEST_VALUE = 6
"""A shorter secret would take ordinary words with it."""
MARK = "[redacted]"

_KEY = r"[A-Za-z0-9_-]"
_SHAPES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{20,255}", MARK),
    (("github_pat_",), r"github_pat_[A-Za-z0-9_]{20,255}", MARK),
    (("glpat-",), rf"glpat-{_KEY}{{16,255}}", MARK),
    (("sk-",), rf"(?<![A-Za-z0-9])sk-{_KEY}{{16,255}}", MARK),
    (("xox", "xapp-"), r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,255}", MARK),
    (("hooks.slack.com/",), r"hooks\.slack\.com/[a-z]+/[A-Za-z0-9/_-]{20,255}", MARK),
    (("AKIA", "ASIA", "ABIA", "ACCA"), r"(?<![A-Z0-9])A(?:KI|SI|BI|CC)A[A-Z0-9]{16}(?![A-Z0-9])", MARK),
    (("AIza",), rf"AIza{_KEY}{{35}}", MARK),
    (("GOCSPX-",), rf"GOCSPX-{_KEY}{{20,64}}", MARK),
    (("ya29.",), rf"ya29\.{_KEY}{{20,1024}}", MARK),
    (("_live_",), r"[a-z]{2}_live_[A-Za-z0-9]{16,255}", MARK),
    (("npm_",), r"npm_[A-Za-z0-9]{36}", MARK),
    (("pypi-",), rf"pypi-{_KEY}{{40,512}}", MARK),
    (("hf_",), r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,255}", MARK),
    (("eyJ",), rf"eyJ{_KEY}{{8,4096}}\.eyJ{_KEY}{{8,8192}}\.{_KEY}{{8,4096}}", MARK),
    (
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s\\:,-]{0,16384}",
        MARK,
    ),
    (("earer ",), r"(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{12,4096}", MARK),
    (("asic ",), r"(?<=[Bb]asic )[A-Za-z0-9+/=]{12,4096}", MARK),
    (("://",), r"(?<=://)[^\s/:@\"'\\]{0,100}:[^\s/:@\"'\\]{1,200}(?=@)", MARK),
)
"""Markers of which one must occur, the pattern, and what takes its place."""
_COMPILED = tuple((markers, re.compile(pattern), mark) for markers, pattern, mark in _SHAPES)


class Redactor:
    """Knows the secrets Overlord holds. `redact` is pure and leaves JSON that is valid valid."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        forms = {form for value in values for form in _forms(value.strip())}
        self._forms = sorted(forms, key=len, reverse=True)

    def redact(self, text: str) -> str:
        """The text with a mark in place of every secret."""
        for form in self._forms:
            text = text.replace(form, MARK)
        for markers, pattern, mark in _COMPILED:
            if any(marker in text for marker in markers):
                text = pattern.sub(mark, text)
        return text


def _forms(value: str) -> Iterable[str]:
    """A secret as it may be met: itself, as JSON and URLs write it, in base64, and each long line of a key file."""
    if len(value) < SHORTEST_VALUE:
        return
    yield value
    yield json.dumps(value)[1:-1]
    yield quote(value, safe="")
    yield base64.b64encode(value.encode()).decode().rstrip("=")
    yield from (line for line in value.splitlines() if len(line) >= 32)
