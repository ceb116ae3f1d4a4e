"""Cursors: where a list goes on, as a word that nobody needs to read. Each belongs to the list it was given for."""

import base64
import binascii
import json
from collections.abc import Mapping
from hashlib import sha256

from overlord.entrypoints.web.api.problem import Problem

MOST_CHARS = 200
MOST = 2**53


def cursor(of: str, asked: Mapping[str, str], after: int) -> str:
    """What goes on after an item, of a list and what was asked of it."""
    return base64.urlsafe_b64encode(json.dumps([_name(of, asked), after]).encode()).decode().rstrip("=")


def after(text: str, of: str, asked: Mapping[str, str]) -> int:
    """The item a cursor goes on after; 0 for none. Raises Problem for what is no cursor of this list."""
    if not text:
        return 0
    try:
        padded = text[:MOST_CHARS].encode("ascii") + b"=" * (-len(text[:MOST_CHARS]) % 4)
        name, number = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise Problem(400, "not-understood", "that is no cursor", more={"field": "cursor"}) from None
    if name != _name(of, asked):
        said = "this cursor is of another list, or of other filters; begin without one"
        raise Problem(400, "not-understood", said, more={"field": "cursor"})
    if type(number) is not int or not 0 < number < MOST:
        raise Problem(400, "not-understood", "that is no cursor", more={"field": "cursor"})
    return number


def _name(of: str, asked: Mapping[str, str]) -> str:
    return sha256(json.dumps([of, sorted(asked.items())]).encode()).hexdigest()[:12]
