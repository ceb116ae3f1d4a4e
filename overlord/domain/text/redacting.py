"""What a contract's own patterns take out of a text, in bounded time.

A pattern is a regular expression that a project wrote, and some take longer than anybody waits. Python cannot stop one that has begun,
and while it runs no other thread does: so a program of its own applies them, and is ended when its time is over. Then nothing of
the text is kept: what could not be looked through may hold what should not be seen.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from overlord.domain.text.redaction import MARK

TIME_S = 10.0
"""For all texts of one call."""
LEFT_OUT = "[left out: the contract's `redact` patterns took too long to be applied to this]"
_PROGRAM = """\
import json, re, sys
given = json.loads(sys.stdin.buffer.read())
texts = given["texts"]
for pattern in given["patterns"]:
    found = re.compile(pattern)
    texts = [found.sub(lambda match: given["mark"] if match[0] else "", text) for text in texts]
sys.stdout.write(json.dumps(texts))
"""


def redacting(text: str, patterns: Sequence[str], *, time_s: float = TIME_S) -> str:
    """The text with a mark in place of all that a pattern matches."""
    return redacting_all((text,), patterns, time_s=time_s)[0]


def redacting_all(texts: Sequence[str], patterns: Sequence[str], *, time_s: float = TIME_S) -> list[str]:
    """The same for several texts at once. Where the time is not enough, each of them is `LEFT_OUT`."""
    if not patterns or not any(texts):
        return list(texts)
    given = json.dumps({"texts": list(texts), "patterns": list(patterns), "mark": MARK})
    try:
        ran = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            input=given.encode(),
            capture_output=True,
            timeout=time_s,
            check=True,
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return [LEFT_OUT if text else "" for text in texts]
    found: list[str] = json.loads(ran.stdout)
    return found


def redacting_json(text: str, patterns: Sequence[str], *, time_s: float = TIME_S) -> str:
    """A JSON document, or one a line, with its texts `redacting`; it stays JSON. What is no JSON is a text as a whole."""
    if not patterns:
        return text
    lines = [text] if _parsed(text) is not None else text.split("\n")
    values = [_parsed(line) for line in lines]
    texts = [
        item
        for line, value in zip(lines, values, strict=True)
        for item in ((line,) if value is None else _texts(value))
    ]
    redacted = iter(redacting_all(texts, patterns, time_s=time_s))
    return "\n".join(
        next(redacted) if value is None else _dumped(line, _replaced(value, lambda: next(redacted)))
        for line, value in zip(lines, values, strict=True)
    )


def _parsed(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _dumped(line: str, value: Any) -> str:
    indent = 1 if "\n" in line else None
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _replaced(value: Any, following: Callable[[], str]) -> Any:
    """The same value with the next text in place of each, in the order of `_texts`."""
    if isinstance(value, str):
        return following()
    if isinstance(value, dict):
        return {key: _replaced(item, following) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, following) for item in value]
    return value
