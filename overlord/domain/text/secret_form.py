"""The ways a secret that is known may be written: backwards, in base64, in hexadecimal. And looking for it in all of them.

A session that reads a secret writes it differently so that a look for the secret finds nothing. What it has to invent
for itself (a cipher, a picture) nobody can list; these ways are one command each. Base64 has three forms, since what
stands before the secret shifts its bits; only the characters that do not depend on the neighbours are looked for.
"""

import base64
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

SHORTEST_SOUGHT = 8
"""A shorter value is looked for in no change: ordinary words would be taken for it."""
SHORTEST_LINE = 32
"""Of a secret of several lines, as a key file, each line that is so long is looked for by itself."""
_BETWEEN = str.maketrans(dict.fromkeys("\0\t\n\r\v\f \"'`,;:\\+()"))
"""What may stand between the pieces of a text that is wrapped, quoted, escaped or put together of parts."""
_URL_SAFE = str.maketrans("+/", "-_")
_HEX_MARKS = ("", "x", "0x", "u00")
"""What stands before two digits in `67 68`, `\\x67\\x68`, `0x67, 0x68` and `\\u0067`, once what is between them is gone."""


def encoded_forms(value: str) -> Iterator[str]:
    """Other ways to write a value, as one word each."""
    yield value[::-1]
    for encoded in _base64_forms(value.encode()):
        yield from {encoded, encoded.translate(_URL_SAFE)}
    yield value.encode().hex()
    yield value.encode().hex().upper()


def _base64_forms(data: bytes) -> Iterator[str]:
    """What base64 makes of these bytes whatever is before and after them: one form for each number of bytes before."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data).decode()
        yield encoded[-(-8 * before // 6) : 8 * (before + len(data)) // 6]


class SecretSearch:
    """Looks for known secrets in what is to be published."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._exact: dict[str, str] = {}
        self._folded: dict[str, str] = {}
        self.learn(values)

    def learn(self, values: Iterable[str]) -> None:
        """Look for these too from now on."""
        for value in values:
            lines = [line for line in value.strip().splitlines() if not line.startswith("-----")]
            for part in {value.strip(), *(line for line in lines if len(line) >= SHORTEST_LINE)}:
                if len(_pieces_joined(part)) >= SHORTEST_SOUGHT:
                    self._learn(part)

    def _learn(self, value: str) -> None:
        self._exact[_pieces_joined(value[::-1])] = "backwards"
        for encoded in _base64_forms(value.encode()):
            self._exact |= dict.fromkeys(
                (_pieces_joined(encoded), _pieces_joined(encoded.translate(_URL_SAFE))), "in base64"
            )
        self._exact[_pieces_joined(value)] = "as it is"
        for mark in _HEX_MARKS:
            self._folded["".join(f"{mark}{byte:02x}" for byte in value.encode())] = "in hexadecimal"

    def written_in(self, text: str) -> str:
        """How a known secret is written in a text, for people; empty when none is."""
        for spelt in {text, unquote(text)} if "%" in text else (text,):
            joined = _pieces_joined(spelt)
            if found := next((how for form, how in self._exact.items() if form in joined), ""):
                return found
            folded = joined.lower()
            if found := next((how for form, how in self._folded.items() if form in folded), ""):
                return found
        return ""


def _pieces_joined(text: str) -> str:
    for escape in ("\\n", "\\r", "\\t"):
        text = text.replace(escape, "")
    return text.translate(_BETWEEN)
