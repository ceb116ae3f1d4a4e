"""What sessions and models said to each other, redacted, one JSON line an exchange, in the session's own folder until it
becomes evidence. A conversation only grows, so each line holds what is new in it. A session has one conversation, and one more for
each exploration, which its lines say.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from minion.protocol import EXPLORATION
from overlord.domain.text.redaction import Redactor
from overlord.home import Home

MAX_BYTES = 16 * 1024 * 1024
"""Of one session's transcript; what comes after is counted in its exchanges and not kept."""
REMEMBERED = 64
"""Conversations held in memory to tell what is new in their next request."""
_FULL = b'{"full": "the transcript has reached its size; later exchanges are not kept"}\n'


class Transcripts:
    """The transcripts of live sessions. `write` may run in any thread, one exchange of a session at a time."""

    def __init__(self, home: Home, redactor: Redactor) -> None:
        self._home = home
        self._redactor = redactor
        self._before: OrderedDict[tuple[str, bool], Sequence[Any]] = OrderedDict()
        self._full: set[str] = set()

    def write(
        self, session: str, facts: Mapping[str, Any], messages: Sequence[Any], reply: Mapping[str, Any] | None
    ) -> None:
        """Append one exchange: `same` says how many of the request's messages were in the conversation's one before, `explores` that
        the conversation is an exploration's."""
        explores = _explores(messages)
        known = (session, explores)
        same = _same(self._before.get(known, ()), messages)
        self._before[known] = messages
        self._before.move_to_end(known)
        while len(self._before) > REMEMBERED:
            self._before.popitem(last=False)
        kind = {"explores": True} if explores else {}
        line = {**facts, **kind, "same": same, "messages": messages[same:], "reply": reply}
        text = self._redactor.redact(json.dumps(line, ensure_ascii=False))
        self._append(session, text.encode("utf-8", "replace") + b"\n")

    def _append(self, session: str, line: bytes) -> None:
        path = self._home.transcript(session)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            size = file.tell()
            if size + len(line) <= MAX_BYTES:
                file.write(line)
            elif session not in self._full:
                self._full.add(session)
                file.write(_FULL)


def _explores(messages: Sequence[Any]) -> bool:
    """Whether a conversation begins with the words that only an exploration's does."""
    first = messages[0] if messages else None
    content = first.get("content") if isinstance(first, dict) and first.get("role") == "system" else None
    return isinstance(content, str) and content.startswith(f"{EXPLORATION} ")


def _same(before: Sequence[Any], now: Sequence[Any]) -> int:
    """How many messages at the beginning are those of the request before."""
    for index, (old, new) in enumerate(zip(before, now, strict=False)):
        if old != new:
            return index
    return min(len(before), len(now))
